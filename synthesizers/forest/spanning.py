"""The forest of a group: throughput-optimal trees of all roots on any network (ForestColl, arXiv 2402.06787).

Where the network looks the same from every NPU, one root's breadth-first trees are moved to all roots. Elsewhere relays
(switches, and NPUs outside the group) are split off, trees are packed into what is left, and every edge gets back a
route through the relays.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from synthesizers.forest.capacities import Arcs, tree_capacities
from synthesizers.forest.distances import Distances
from synthesizers.forest.listing import flooding_times
from synthesizers.forest.lowering import lowered
from synthesizers.forest.packing import pack_trees
from synthesizers.forest.splitting import Route, split_off
from synthesizers.forest.translations import translated_trees, translations
from synthesizers.forest.trees import Trees, on_links
from topologies import Topology

#: Orders of the roots that are tried besides the one given, on edges in all of at most so many.
_TRIES, _MAX_EDGES = 7, 2**12

#: Trees flooded in this many times what the fullest link takes are good enough.
_GOOD = 1.02


def spanning_trees(
    topology: Topology, members: Sequence[int], roots: Sequence[int] | None = None, trees: int | None = None
) -> tuple[Trees, Fraction]:
    """Return as many trees of each root, and how much of a link each takes.

    Parameters
    ----------
    topology : Topology
        Every member can reach every other.
    members : sequence of int
        Two NPUs or more, in rank order.
    roots : sequence of int, optional
        All members by default.
    trees : int, optional
        Trees of each root; by default as `tree_capacities` chooses.

    Returns
    -------
    trees : Trees
        Ordered by root as given; all span the members.
    unit : Fraction
        Trees per byte per second: no link carries more than ⌊unit · rate⌋ trees.

    Raises
    ------
    SynthesisError
        The network is too large for the exact optimum, or too uneven for whole trees.
    """
    if roots is None and len(members) == topology.num_npus:
        group = translations(topology)
        found = translated_trees(topology, group, trees) if group else None
        if found:
            count, unit, edges = found
            place = [root * count + number for root in members for number in range(count)]
            return on_links(topology, np.repeat(members, count).tolist(), [edges[at] for at in place]), unit
    roots = tuple(roots or members)
    count, unit, arcs = tree_capacities(topology, tuple(sorted(members)), roots, trees)
    return packed(topology, arcs, members, dict.fromkeys(roots, count)), unit


def packed(topology: Topology, arcs: Arcs, members: Sequence[int], supply: Mapping[int, int]) -> Trees:
    """Return trees of the roots of `supply` within capacities, in whole trees, in which they fit.

    The order in which roots get their trees decides which are low. Several orders are tried, and the trees kept that
    are flooded soonest.
    """
    nodes = sorted(members)
    relays = sorted(set(range(topology.num_nodes)) - set(nodes))
    logical = split_off(arcs, relays, supply, nodes)
    distances = Distances(topology)
    cost = [distances.shortest(logical.routes[pair]) for pair in sorted(logical.routes)]
    found, shortest = None, math.inf
    tries = 1 + min(_TRIES, _MAX_EDGES // (sum(supply.values()) * len(nodes)))
    for number in range(tries):
        order = list(supply)
        if number:
            random.Random(number).shuffle(order)
        free = logical.copy()
        roots: list[int] = []
        edges: list[list[Route]] = []
        for growth in pack_trees(logical.arcs(), cost, {root: supply[root] for root in order}, nodes):
            # Like trees share their edges, but each takes a route of its own.
            routes = [_singly(free.take(*edge, growth.count)) for edge in growth.edges]
            for tree in range(growth.count):
                roots.append(growth.root)
                edges.append([route[tree] for route in routes])
        edges = lowered(topology, logical, roots, edges, nodes)
        place = {root: index for index, root in enumerate(supply)}
        by_root = sorted(range(len(roots)), key=lambda tree: place[roots[tree]])
        trees = on_links(topology, [roots[tree] for tree in by_root], [edges[tree] for tree in by_root])
        if tries == 1:
            return trees
        time, least = flooding_times(topology, trees)
        if time < shortest:
            found, shortest = trees, time
        if time < least * _GOOD:
            break
    assert found is not None
    return found


def _singly(routes: list[tuple[Route, int]]) -> list[Route]:
    """Return each route as often as it is counted."""
    return [route for route, count in routes for _ in range(count)]
