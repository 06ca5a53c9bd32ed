"""Cables for model-parallel traffic: rounds of maximum-weight matching in which what was matched counts half.

TopoOpt, arXiv 2202.00433, TopologyFinder: each round is one port of each server. Halving stands for diminishing return:
a second cable between the same two servers is worth less than the first.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

#: Degrees of preference that stand for chance.
_CHANCES = 8


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
    networkx's Blossom algorithm takes about 1.2 s a round for 128 servers with 8,128 different weights.
    """
    amounts, left = np.asarray(traffic, np.int64), np.asarray(ports, np.int64)
    return _rounds(amounts.tobytes(), left.tobytes(), len(left))


@lru_cache(maxsize=64)  # a search asks for the same demand again and again, at other bandwidths too
def _rounds(amounts: bytes, ports: bytes, servers: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the rounds for a traffic matrix and ports as bytes of int64."""
    import networkx as nx

    traffic = np.frombuffer(amounts, np.int64).reshape(servers, servers)
    left = np.frombuffer(ports, np.int64).tolist()
    most = max(left, default=0)
    # 2^rounds times the bytes, so that every half is a whole number. Python's integers do not overflow.
    both = np.triu(traffic + traffic.T, 1)
    weight = {(a, b): int(both[a, b]) << most for a, b in np.argwhere(both).tolist()}
    rounds: list[tuple[tuple[int, int], ...]] = []
    cables = np.zeros((servers, servers), bool)
    while True:
        graph, spread = nx.Graph(), _spread(cables)
        base = int(spread.max(initial=0)) * servers + 1  # that the preferences of a whole round cannot fill
        graph.add_weighted_edges_from(
            (a, b, (bytes_ * servers + 1) * base + int(spread[a, b]))
            for (a, b), bytes_ in weight.items() if left[a] and left[b]
        )  # fmt: skip
        matched = tuple(sorted((min(pair), max(pair)) for pair in nx.max_weight_matching(graph)))
        if not matched:
            return tuple(rounds)
        rounds.append(matched)
        for pair in matched:
            weight[pair] //= 2
            cables[pair] = cables[pair[::-1]] = True
            for end in pair:
                left[end] -= 1


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
