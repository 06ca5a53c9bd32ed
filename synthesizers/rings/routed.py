"""Rings on shortest routes, whose steps may share links: for networks without a Hamiltonian ring.

Rank order, nearest neighbours and a minimum spanning tree's preorder are each improved by 2-opt, as for travelling
salesmen; the shortest is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizers.rings.arcs import Circuit, with_reverses
from topologies import Paths, Topology


def routed_ring(topology: Topology, group: Sequence[int], order: Sequence[int] | None = None) -> list[Circuit]:
    """Return a ring and its reverse on shortest routes, in the order given or in one of short routes in all.

    Rank order, nearest neighbours and a spanning tree's preorder are each improved by 2-opt; the shortest is kept.

    Parameters
    ----------
    topology : Topology
        Any network in which the group's NPUs reach each other.
    group : sequence of int
        At least two NPUs.
    order : sequence of int, optional
        Places of the group, each once.
    """
    members = np.asarray(group, np.int64)
    paths = Paths(topology, sources=members.tolist())
    if order is None:
        cost = paths.cost[:, members]
        np.fill_diagonal(cost, 0)
        starts = [np.arange(len(members)), _nearest(cost), _preorder(cost)]
        chosen = min((_two_opt(cost, each) for each in starts), key=lambda each: _length(cost, each))
        chosen = np.roll(chosen, -int(np.argmin(chosen)))
    else:
        chosen = np.asarray(order, np.int64)
    rings = []
    for places in with_reverses([chosen]):
        start, links = paths.routes(members[places], members[np.roll(places, -1)])
        rings.append(Circuit(members[places], start, links))
    return rings


def _nearest(cost: np.ndarray) -> np.ndarray:
    """Return the order that goes from the first place to the nearest new one each time."""
    left = np.ones(len(cost), bool)
    order = [0]
    left[0] = False
    while left.any():
        order.append(int(np.argmin(np.where(left, cost[order[-1]], np.inf))))
        left[order[-1]] = False
    return np.array(order)


def _preorder(cost: np.ndarray) -> np.ndarray:
    """Return the preorder of a minimum spanning tree: at most twice the shortest ring where cost is symmetric."""
    from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

    tree = minimum_spanning_tree(cost + cost.T)
    order: np.ndarray = depth_first_order(tree + tree.T, 0, directed=False, return_predecessors=False).astype(np.int64)
    return order


def _length(cost: np.ndarray, order: np.ndarray) -> float:
    """Return the cost of a ring."""
    return float(cost[order, np.roll(order, -1)].sum())


def _two_opt(cost: np.ndarray, order: np.ndarray, passes: int = 20) -> np.ndarray:
    """Return the order after reversals of parts that shorten it; exact for networks that differ by direction too."""
    order, count = order.copy(), len(order)
    for _ in range(passes):
        before = _length(cost, order)
        for i in range(count - 2):
            # Part i+1…j is reversed: two joints change, and every step inside goes the other way.
            a, inner = order[i], order[i + 1 :]
            after = np.roll(order, -1)[i + 1 :]
            turned = np.concatenate([[0], np.cumsum(cost[inner[1:], inner[:-1]] - cost[inner[:-1], inner[1:]])])
            gain = cost[a, inner[0]] + cost[inner, after] - cost[a, inner] - cost[inner[0], after] - turned
            best = int(np.argmax(gain))
            if gain[best] > 0.5:
                order[i + 1 : i + best + 2] = order[i + 1 : i + best + 2][::-1].copy()
        if _length(cost, order) >= before:
            break
    return order
