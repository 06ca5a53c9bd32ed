"""Cables for model-parallel traffic: rounds of maximum-weight matching in which what was matched counts half.

TopoOpt, arXiv 2202.00433, TopologyFinder: each round is one port of each server. Halving stands for diminishing return:
a second cable between the same two servers is worth less than the first.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

#: Degrees of preference that stand for chance.
_CHANCES = 32

#: Rounds that bytes are made ready to be halved for, at least: what demands share are rounds made ready alike.
_SHIFT = 8

#: What the compiled matching takes; heavier weights are Python's integers, which do not overflow.
_MOST = 2**60

#: A round: pairs of servers, each and all ascending.
_Pairs = tuple[tuple[int, int], ...]


def match_rounds(traffic: np.ndarray, ports: np.ndarray) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return for each round the pairs of servers that get a cable, each pair and the list ascending.

    A cable takes one port at both ends and carries bytes both ways, so the weight of a pair is the bytes of both
    directions. A server without a port left takes no part; rounds end when no two servers with traffic have ports left.
    Of equally heavy matchings one with the most pairs is taken, as an idle port serves nobody, and of those one whose
    pairs are the farthest apart over the cables so far and otherwise as if by chance: where all pairs weigh the same,
    the same few servers would else be joined round after round. Weights are whole numbers and the order of servers and
    pairs is fixed, so that the result is too.

    Parameters
    ----------
    traffic : (servers, servers) int array
        Bytes from each server (row) to each other one.
    ports : (servers,) int array
        Ports of each server for this; in the paper all have d_MP.

    Notes
    -----
    A round takes about 10 ms for 128 servers with 8,128 different weights (`blossom`); networkx takes 1.2 s.
    """
    both, left = np.asarray(traffic, np.int64), np.array(ports, np.int64)
    both = np.triu(both + both.T, 1)
    divisor = int(np.gcd.reduce(both, axis=None)) or 1
    both //= divisor
    most = int(left.max(initial=0))
    # As long as all servers have a port, rounds do not depend on how many.
    shared, alike = _first_rounds(both.tobytes(), max(most, _SHIFT)), int(left.min(initial=most))
    while len(shared) < alike and (pairs := _round(both, max(most, _SHIFT), shared, left > 0)):
        shared.append(pairs)
    rounds = shared[:alike]
    for pairs in rounds:
        left[np.array(pairs).ravel()] -= 1
    while pairs := _round(both, max(most, _SHIFT), rounds, left > 0):
        rounds.append(pairs)
        left[np.array(pairs).ravel()] -= 1
    return tuple(rounds)


@lru_cache(
    maxsize=64
)  # a search asks for the same demand again and again, with other ports and at other bandwidths too
def _first_rounds(amounts: bytes, shift: int) -> list[_Pairs]:  # noqa: ARG001
    """Return the list of rounds that are known where all servers have ports; whoever finds more appends them."""
    return []


def _round(both: np.ndarray, shift: int, before: list[_Pairs], open_: np.ndarray) -> _Pairs:
    """Return the pairs of the round after others between servers that have a port left."""
    servers = len(both)
    halvings = np.zeros((servers, servers), np.int64)
    for pairs in before:
        halvings[tuple(np.array(pairs).T)] += 1
    cables = halvings > 0
    spread = _spread(cables | cables.T)
    base = int(spread.max(initial=0)) * servers + 1  # that the preferences of a whole round cannot fill
    # 2^shift times the bytes, so that every half is a whole number.
    heaviest = ((int(both.max(initial=0)) << shift) * servers + 1) * base + base
    weight = both if heaviest < _MOST else both.astype(object)
    weight = (((weight << shift) >> halvings) * servers + 1) * base + spread
    weight = np.where((both > 0) & np.logical_and.outer(open_, open_), weight, 0)
    if not weight.any():
        return ()
    if heaviest < _MOST:
        from synthesizers.topoopt.blossom import heaviest_matching  # needs numba from its first line

        partner = heaviest_matching(weight + weight.T)
        return tuple((a, b) for a, b in enumerate(partner.tolist()) if a < b)
    import networkx as nx

    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, weight[a, b]) for a, b in np.argwhere(weight).tolist())
    return tuple(sorted((min(pair), max(pair)) for pair in nx.max_weight_matching(graph)))


def _spread(cables: np.ndarray) -> np.ndarray:
    """Return how welcome each pair is among equals: first the cables between the two, then what looks like chance.

    Servers that no cables join are as far apart as there are servers. Chance keeps rounds of equals from making small
    closed clusters; it is a hash of the two numbers.
    """
    from scipy.sparse.csgraph import shortest_path

    servers = len(cables)
    hops = shortest_path(cables, unweighted=True) if cables.any() else np.full(cables.shape, np.inf)
    low, high = np.meshgrid(np.arange(servers), np.arange(servers), indexing="ij")
    mixed = (np.minimum(low, high) * 0x9E3779B1 + np.maximum(low, high) * 0x85EBCA77) & 0xFFFFFFFF
    mixed = (mixed ^ (mixed >> 15)) * 0x2C1B3C6D & 0xFFFFFFFF
    return np.where(np.isinf(hops), servers, hops).astype(np.int64) * _CHANCES + (mixed >> 12) % _CHANCES
