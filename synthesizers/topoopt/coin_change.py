"""Routes over the rings of a group: the fewest jumps that add up to the offset, in the order that spreads the load.

CoinChangeMod of TopoOpt (arXiv 2202.00433, section 4.3): rings with jumps P make a circulant, in which a transfer from
rank i to rank j may take any jumps that add up to j − i (mod n). Their order is free. For traffic that is the same from
every rank, a fixed order already loads all links of a ring alike, and only the choice of coins tells; for all other
traffic the order tells too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizers.topoopt.routing import Routing
from synthesizers.topoopt.wiring import GroupRings
from topologies import SynthesisError


def distances(n: int, jumps: Sequence[int]) -> np.ndarray:
    """Return the fewest jumps that add up to each offset (mod n); −1 where none do.

    Parameters
    ----------
    n : int
        Ranks.
    jumps : sequence of int
        Coins.

    Returns
    -------
    (n,) int64 array
    """
    hops = np.full(n, -1, np.int64)
    hops[0] = 0
    coins, front = np.array(jumps, np.int64), np.zeros(1, np.int64)
    while front.size:
        reached = np.zeros(n, bool)
        reached[np.add.outer(front, coins) % n] = True
        reached &= hops < 0
        hops[reached] = hops[front[0]] + 1
        front = np.flatnonzero(reached)
    return hops


def coin_change(n: int, jumps: Sequence[int]) -> np.ndarray:
    """Return for each offset the fewest coins that add up to it (mod n), smaller coins before larger ones.

    Of the sets of fewest coins it is the first where sets are compared as ascending lists of coins.

    Parameters
    ----------
    n : int
        Ranks.
    jumps : sequence of int
        Coins, each once; they reach every offset.

    Returns
    -------
    (n, len(jumps)) int64 array
        How often each jump is taken; row 0 is zero.

    Raises
    ------
    SynthesisError
        An offset that no coins add up to.
    """
    order = np.argsort(jumps, kind="stable")
    coins = np.array(jumps, np.int64)[order]
    hops = _all_distances(n, coins)
    first = _first_coins(coins, hops)
    counts = np.zeros((n, len(jumps)), np.int64)
    for level in range(1, int(hops.max()) + 1):
        offsets = np.flatnonzero(hops == level)
        counts[offsets] = counts[(offsets - coins[first[offsets]]) % n]
        counts[offsets, order[first[offsets]]] += 1
    return counts


def coin_routes(
    rings: GroupRings,
    num_links: int,
    source: np.ndarray,
    target: np.ndarray,
    nbytes: np.ndarray,
    spread: bool = True,
    load: np.ndarray | None = None,
) -> Routing:
    """Return routes over a group's rings, each of the fewest hops.

    Parameters
    ----------
    rings : GroupRings
        A group's rings.
    num_links : int
        Links of the network.
    source, target : (K,) int arrays
        Members of the group at the ends of each transfer.
    nbytes : (K,) int array
        Bytes of each.
    spread : bool
        Choose coins and their order by load, the heaviest transfer first (of equal ones in the given order); else take
        the coins of `coin_change`, smaller ones first.
    load : (num_links,) int array, optional
        Bytes that links carry already.

    Raises
    ------
    SynthesisError
        A group without rings, a server that is not in it, or jumps that do not reach all ranks.
    """
    source, target, nbytes = (np.asarray(column, np.int64) for column in (source, target, nbytes))
    n, order = len(rings.members), np.argsort(rings.jumps, kind="stable")
    if not len(order):
        raise SynthesisError(f"routes over the rings of {n} servers: the group has no ring; route on the whole network")
    jumps, links = np.array(rings.jumps)[order], np.asarray(rings.links)[order]
    rank = {server: place for place, server in enumerate(rings.members)}
    try:
        ends = [np.array([rank[each] for each in column.tolist()], np.int64) for column in (source, target)]
    except KeyError as missing:
        raise SynthesisError(f"routes over the rings of {n} servers: server {missing} is not one of them") from None
    hops = _all_distances(n, jumps)
    if spread:
        from synthesizers.topoopt.least_loaded import coins  # needs numba from its first line

        before = np.zeros(num_links, np.int64) if load is None else np.array(load, np.int64)
        heaviest = np.argsort(-nbytes, kind="stable")
        start, taken = coins(hops, jumps, links, ends[0][heaviest], ends[1][heaviest], nbytes[heaviest], before)
        placed = Routing(num_links, source[heaviest], target[heaviest], nbytes[heaviest], start, taken)
        return placed.of(np.argsort(heaviest))
    return Routing(num_links, source, target, nbytes, *_fixed_routes(jumps, links, hops, *ends))


def _all_distances(n: int, jumps: np.ndarray) -> np.ndarray:
    """Return `distances`; refuse jumps that do not reach everything."""
    hops = distances(n, jumps.tolist())
    if (hops < 0).any():
        raise SynthesisError(
            f"jumps {sorted(jumps.tolist())} on {n} servers: no sum of them is {int(np.argmin(hops))} (mod {n}); "
            f"add a jump that is coprime with {n}"
        )
    return hops


def _first_coins(coins: np.ndarray, hops: np.ndarray) -> np.ndarray:
    """Return for each offset the place of the smallest coin of those that a shortest way may begin with."""
    n = len(hops)
    nearer = hops[np.subtract.outer(np.arange(n), coins) % n] == hops[:, None] - 1
    return nearer.argmax(axis=1)


def _fixed_routes(
    coins: np.ndarray, links: np.ndarray, hops: np.ndarray, source: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (start, links) of the routes between ranks that take smaller coins first."""
    n, first = len(hops), _first_coins(coins, hops)
    start = np.zeros(len(source) + 1, np.int64)
    np.cumsum(hops[(target - source) % n], out=start[1:])
    taken = np.empty(start[-1], np.int32)
    at, place = source.copy(), start[:-1].copy()
    active = np.flatnonzero(at != target)
    while active.size:
        coin = first[(target[active] - at[active]) % n]
        taken[place[active]] = links[coin, at[active]]
        at[active] = (at[active] + coins[coin]) % n
        place[active] += 1
        active = active[at[active] != target[active]]
    return start, taken
