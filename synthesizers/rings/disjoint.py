"""Arc-disjoint Hamiltonian rings of a group: which number of rings of which width is tried, and how, cheap to dear.

First orders that often fit (`families`), then for cabled networks of more than a few NPUs joined 2-factors
(`factors`), then exact search, and where that stays undecided rings are packed one by one (`exact`). All searches of a
call share their effort, so that it ends in about a second on a network of up to 64 NPUs. Links of very different widths
make rings of the narrowest by the thousand, into which nobody cuts data: that many are not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from synthesizers.rings.arcs import Arcs, Circuit, arcs_between, lopsided, most_rings, on_links, with_reverses
from synthesizers.rings.effort import Effort
from synthesizers.rings.exact import exact_rings, exchanged
from synthesizers.rings.factors import joined_factors
from synthesizers.rings.families import fitting
from topologies import Topology

#: Up to so many NPUs exact search alone is fast.
_FEW = 24

#: Deterministic seconds of a call for up to so many NPUs, in proportion for more: of all searches for a given number of
#: rings, of a last one for a single ring, and of packing as many as fit.
_USUAL, _SEARCHES, _ONE, _PACKING = 64, 1.0, 0.15, 0.3

#: Rings at most; in a large group one for each other member, which is what a fully connected one has.
_MOST_RINGS = 64


def disjoint_rings(
    topology: Topology, group: Sequence[int], count: int | None = None, two_way: bool = False, share: float = 1.0
) -> list[Circuit]:
    """Return arc-disjoint Hamiltonian rings of a group, as wide in all as was found.

    Parameters
    ----------
    topology : Topology
        Any network.
    group : sequence of int
        At least two NPUs. Rings pass through these and switches only.
    count : int, optional
        At most so many rings, each on the widest links that carry them; None: the number of the largest total width.
    two_way : bool
        Each ring is followed by its reverse, which is disjoint from all the others too.
    share : float
        How much of the usual effort the searches may use.

    Returns
    -------
    rings : list of Circuit
        Empty where none was found. The same arguments give the same rings: effort is counted, not timed.
    """
    return list(_found(topology, tuple(group), count, two_way, share))


@lru_cache(maxsize=128)
def _found(
    topology: Topology, group: tuple[int, ...], count: int | None, two_way: bool, share: float
) -> tuple[Circuit, ...]:
    """Return the rings; kept, as every collective and size on a network asks for the same ones."""
    members = np.asarray(group, np.int64)
    wide = np.unique(topology.bandwidth_gbps)[::-1]
    attempts = []
    for unit in wide[:: max(1, len(wide) // 4)].tolist() if len(wide) > 4 else wide.tolist():
        arcs = arcs_between(topology, members, unit, two_way)
        most = min(most_rings(arcs) // (2 if two_way else 1), max(_MOST_RINGS, len(members) - 1))
        if count is not None:
            most = min(most, count)
        # Large cabled networks are searched in two-way rings only: an odd number of one-way ones is for exact search.
        even = arcs.cabled and len(members) > _USUAL and not two_way
        attempts += [(number, unit, arcs) for number in range(1, most + 1) if number == 1 or not (even and number % 2)]

    def worth(number: int, unit: float) -> tuple[float, float]:
        """Return what is maximised: the total width, or the number and then the width of each."""
        return (number * unit, -number) if count is None else (number, unit)

    attempts.sort(key=lambda attempt: worth(*attempt[:2]), reverse=True)
    scale = max(1.0, len(members) / _USUAL)
    all_of_it = scale * share
    effort, packing, failed = Effort(_SEARCHES * all_of_it, scale), Effort(_PACKING * all_of_it, scale), 0.0
    best: tuple[tuple[float, float], list[Circuit]] = (0.0, 0.0), []
    packed = set()
    for number, unit, arcs in attempts:
        if worth(number, unit) <= best[0]:
            break
        # A search that fails at its limit is dear: the next one aims well below it. One ring is tried in any case.
        if failed and number > 1 and number * unit > 0.8 * failed:
            continue
        failed = number * unit
        if number == 1:
            effort.left = max(effort.left, _ONE * all_of_it)
        effort.undecided = False
        orders = _search(arcs, number, two_way, effort)
        if not orders and effort.undecided and unit not in packed:
            packed.add(unit)
            orders = exchanged(arcs, fitting(arcs, number, two_way), number, two_way, packing)
        if orders and worth(len(orders), unit) > best[0]:
            best = worth(len(orders), unit), on_links(arcs, with_reverses(orders) if two_way else orders)
    return tuple(best[1])


def _search(arcs: Arcs, count: int, two_way: bool, effort: Effort) -> list[np.ndarray]:
    """Return `count` disjoint rings of places, or none."""
    orders = fitting(arcs, count, two_way)
    if len(orders) == count:
        return orders
    if lopsided(arcs):
        return []
    if arcs.cabled and len(arcs.members) > _FEW and (two_way or count == 1 or count % 2 == 0):
        pairs = count if two_way or count == 1 else count // 2
        orders = joined_factors(arcs, pairs, effort)
        if orders:
            return orders if pairs == count else with_reverses(orders)
    # Few rings are a small model, worth more of the effort.
    return exact_rings(arcs, count, two_way, effort, limit=0.5 if count <= 3 else 0.2)
