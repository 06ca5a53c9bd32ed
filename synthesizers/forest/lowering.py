"""Packed trees made low: at one node after another, the trees share the arcs into it out anew.

Packing says which arcs all trees together use, not that each tree is low; late ones tend to be chains. Of two trees
that enter a node by different arcs each may take the other's, as long as no tree closes a circle. So at each node an
assignment problem gives every tree the arc that keeps the squared distances from its root least, within the same
capacities. Distances are times, of one message over each edge.
"""

from __future__ import annotations

import numba
import numpy as np

from synthesizers.forest.distances import Distances
from synthesizers.forest.splitting import Logical, Route
from topologies import Topology

#: Rounds over all nodes; the last ones change little.
_ROUNDS = 4

#: Trees × slots of arcs at a node, summed over the nodes, beyond which trees stay as they are (some seconds).
_MAX_WORK = 2**24


def lowered(
    topology: Topology, logical: Logical, roots: list[int], edges: list[list[Route]], members: list[int]
) -> list[list[Route]]:
    """Return trees that use the arcs of a network no more than they may, with lower paths.

    Parameters
    ----------
    topology : Topology
    logical : Logical
        Arcs between members with all their routes, those in use included.
    roots : list of int
        Of each tree.
    edges : list of lists of routes
        The edges of each tree, source first, in an order in which they reach their sources.
    members : list of int

    Returns
    -------
    list of lists of routes
        Nearer nodes first.
    """
    place = {node: index for index, node in enumerate(members)}
    slots: list[list[Route]] = [[] for _ in members]
    for (_, target), routes in sorted(logical.routes.items()):
        for route, count in sorted(routes.items(), key=lambda item: (len(item[0]), item[0])):
            slots[place[target]] += [route] * count
    trees, nodes = len(roots), len(members)
    if trees * sum(map(len, slots)) > _MAX_WORK:
        return edges
    costs = Distances(topology)
    parent = np.full((trees, nodes), -1)
    chosen: list[list[Route]] = [[()] * nodes for _ in roots]
    distance = np.zeros((trees, nodes))
    for tree, way in enumerate(edges):
        for route in way:
            source, target = place[route[0]], place[route[-1]]
            parent[tree, target], chosen[tree][target] = source, route
            distance[tree, target] = distance[tree, source] + costs.along(route)
    from scipy.optimize import linear_sum_assignment

    at_root = np.array([place[root] for root in roots])
    slot_source = [np.array([place[route[0]] for route in each], np.int64) for each in slots]
    slot_cost = [np.array([costs.along(route) for route in each]) for each in slots]
    for _ in range(_ROUNDS):
        changed = False
        for node in range(nodes):
            mine = np.flatnonzero(at_root != node)
            below, beyond = _subtrees(parent, distance, node)
            size = below.sum(axis=1)
            reach = distance[mine][:, slot_source[node]] + slot_cost[node]  # of each tree over each slot
            price = size[mine, None] * reach**2 + 2 * beyond[mine, None] * reach
            price[below[mine][:, slot_source[node]]] = 1e30
            before = size[mine] * distance[mine, node] ** 2 + 2 * beyond[mine] * distance[mine, node]
            row, column = linear_sum_assignment(price)
            if price[row, column].sum() > before.sum() * (1 - 1e-9):
                continue
            changed = True
            for tree, slot, new in zip(mine[row], column.tolist(), reach[row, column], strict=True):
                parent[tree, node] = slot_source[node][slot]
                chosen[tree][node] = slots[node][slot]
                distance[tree, below[tree]] += new - distance[tree, node]
        if not changed:
            break
    order = np.argsort(distance, axis=1, kind="stable")
    return [[chosen[tree][node] for node in order[tree].tolist() if node != at_root[tree]] for tree in range(trees)]


@numba.njit(cache=True, nogil=True)
def _subtrees(parent, distance, node):
    """Return for each tree which nodes are at or below a node, and the sum of their distances from it."""
    trees, nodes = parent.shape
    below = np.zeros((trees, nodes), np.bool_)
    beyond = np.zeros(trees)
    for tree in range(trees):
        for start in range(nodes):
            at = start
            while at >= 0 and at != node:
                at = parent[tree, at]
            if at == node:
                below[tree, start] = True
                beyond[tree] += distance[tree, start] - distance[tree, node]
    return below, beyond
