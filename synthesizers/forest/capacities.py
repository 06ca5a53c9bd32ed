"""Capacities in whole trees: how many trees each link carries where every root has a fixed number of them.

ForestColl (arXiv 2402.06787) scales the links by a unit U so that k trees per root just fit: k trees of one unit each
exist where, with capacities ⌊U · bandwidth⌋, every NPU can receive all of them by itself (Edmonds). The least such U
for a given k is found by bisection over the steps of the floors. No U is below k times the ratio of the exact cut of
`simulator.bounds.cuts`, and some k reaches that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from simulator.bounds.cuts import densest_cut, joined_links
from topologies import Topology
from topologies.exceptions import SynthesisError

#: Trees of each root are as many as the optimum needs, up to this.
MAX_TREES = 16

#: Past `MAX_TREES`, the least number of trees per root that comes this near to the optimum is.
NEAR = Fraction(99, 100)

#: Sums of capacities stay below this.
_MAX_FLOW = 2**62


@dataclass(frozen=True)
class Arcs:
    """Directed arcs with capacities: the links of a network, parallel ones joined.

    Attributes
    ----------
    num_nodes : int
    src, dst : (A,) int arrays
    room : (A,) array of integers
        Bytes per second as Python integers, or trees as int64.
    """

    num_nodes: int
    src: np.ndarray
    dst: np.ndarray
    room: np.ndarray

    def turned(self) -> Arcs:
        """Return the arcs turned round, in the same order."""
        return replace(self, src=self.dst, dst=self.src)

    def through(self, node: int) -> tuple[int, int]:
        """Return the capacities into and out of a node."""
        return int(self.room[self.dst == node].sum()), int(self.room[self.src == node].sum())


def arcs_of(topology: Topology) -> Arcs:
    """Return the arcs of a network in bytes per second."""
    return Arcs(topology.num_nodes, *joined_links(topology))


def balanced(arcs: Arcs, relays: Sequence[int]) -> Arcs:
    """Return the arcs with no relay sending more than it can receive: relays do not copy.

    The arcs out of one that could are lowered in proportion.
    """
    room = arcs.room.copy()
    lowered = True
    while lowered:
        lowered = False
        for node in relays:
            leaving = np.flatnonzero(arcs.src == node)
            received, sent = int(room[arcs.dst == node].sum()), int(room[leaving].sum())
            if sent > received:
                room[leaving] = [int(each) * received // sent for each in room[leaving]]
                lowered = True
    return replace(arcs, room=room)


def least_flow(arcs: Arcs, supply: Mapping[int, int], sinks: Sequence[int], enough: int, given_up: int = -1) -> int:
    """Return the least max-flow from the supplies to any sink, or `enough` where all have that.

    Parameters
    ----------
    arcs : Arcs
        In whole trees.
    supply : mapping
        What each root sends at most.
    sinks : sequence of int
        Tried in this order.
    enough : int
    given_up : int
        A flow of at most this ends the search.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    flow = SimpleMaxFlow()
    roots = list(supply)
    source = np.full(len(roots), arcs.num_nodes)
    flow.add_arcs_with_capacity(
        np.concatenate([arcs.src, source]), np.concatenate([arcs.dst, roots]),
        np.concatenate([arcs.room, [supply[root] for root in roots]]).astype(np.int64),
    )  # fmt: skip
    least = enough
    for sink in sinks:
        flow.solve(arcs.num_nodes, int(sink))
        least = min(least, flow.optimal_flow())
        if least <= given_up:
            break
    return least


def least_unit(rates: Sequence[int], floor: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """Return the least U ≥ `floor` for which the capacities ⌊U · rate⌋ fit; larger ones then do too.

    Raises
    ------
    SynthesisError
        None does: capacities would pass 2^62.
    """
    different, total = sorted({int(rate) for rate in rates if rate}), sum(map(int, rates))

    def settled(unit: Fraction) -> Fraction:
        """Return the least unit of the same capacities."""
        return max(Fraction(math.floor(unit * rate), rate) for rate in different)

    low, high = floor, max(floor, Fraction(1, different[-1]))
    if fits(high):
        if high == floor:
            return high
    else:
        while not fits(high):
            low, high = high, 2 * high
            if high * total >= _MAX_FLOW:
                raise SynthesisError("forest: no number of trees fits these links; their bandwidths are too uneven")
    high = max(settled(high), floor)
    while True:
        before = max(Fraction(math.ceil(high * rate) - 1, rate) for rate in different)
        if before <= low or high == floor:
            return high
        middle = (low + high) / 2
        if fits(middle):
            high = max(settled(middle), floor)
        else:
            low = middle


def scaled(topology: Topology, unit: Fraction, relays: Sequence[int]) -> Arcs:
    """Return the arcs in whole trees: ⌊U · rate⌋ on each of parallel links, balanced at the relays."""
    up, down = unit.numerator, unit.denominator
    key = topology.src.astype(np.int64) * topology.num_nodes + topology.dst
    pairs, arc = np.unique(key, return_inverse=True)
    room = np.zeros(len(pairs), np.int64)
    np.add.at(room, arc, [rate * up // down for rate in topology.bytes_per_s.tolist()])
    arcs = Arcs(topology.num_nodes, pairs // topology.num_nodes, pairs % topology.num_nodes, room)
    return balanced(arcs, relays)


def tree_capacities(
    topology: Topology, members: tuple[int, ...], roots: tuple[int, ...], trees: int | None = None
) -> tuple[int, Fraction, Arcs]:
    """Return how many trees each root gets, in which unit, and how many of all trees each arc carries at most.

    Parameters
    ----------
    topology : Topology
    members : tuple of int
        NPUs that every tree spans; other nodes are relays.
    roots : tuple of int
        Members that have trees, all the same number.
    trees : int, optional
        Trees of each root; by default the fewest that reach the optimum, or where these are over `MAX_TREES` the fewest
        that reach `NEAR` of it (the best number up to `MAX_TREES` where none does).

    Returns
    -------
    trees : int
    unit : Fraction
        U, in trees per byte per second: a tree takes 1/U bytes per second of each of its links.
    arcs : Arcs
        In whole trees.

    Raises
    ------
    SynthesisError
        The network is too large for the exact optimum.
    """
    relays = sorted(set(range(topology.num_nodes)) - set(members))
    arcs = balanced(arcs_of(topology), relays)
    cut = densest_cut(_network(topology, arcs), roots, members)
    if cut is None or not cut.complete:
        raise SynthesisError(
            f"forest: {topology.name} is too large to find the optimum exactly; choose a smaller group"
        )
    rates, ratio = topology.bytes_per_s.tolist(), cut.ratio

    def fits(count: int, unit: Fraction) -> bool:
        """Return whether so many trees of each root fit."""
        wanted, supply = count * len(roots), dict.fromkeys(roots, count)
        return least_flow(scaled(topology, unit, relays), supply, members, wanted, wanted - 1) == wanted

    def fitting(count: int) -> tuple[int, Fraction, Arcs]:
        """Return the capacities for a number of trees of each root."""
        unit = least_unit(rates, count * ratio, lambda unit: fits(count, unit))
        return count, unit, scaled(topology, unit, relays)

    if trees is not None:
        return fitting(trees)
    for count in range(1, MAX_TREES + 1):
        if fits(count, count * ratio):
            return count, count * ratio, scaled(topology, count * ratio, relays)
    best = fitting(1)
    for count in range(2, MAX_TREES + 1):
        if Fraction(best[0]) / best[1] * ratio >= NEAR:
            break
        found = fitting(count)
        if Fraction(found[0]) / found[1] > Fraction(best[0]) / best[1]:
            best = found
    return best


def _network(topology: Topology, arcs: Arcs) -> Topology:
    """Return a network of the given arcs, the one itself where nothing was lowered."""
    if sum(arcs.room.tolist()) == sum(topology.bytes_per_s.tolist()):
        return topology
    used = np.flatnonzero(arcs.room)
    rows = [(int(arcs.src[arc]), int(arcs.dst[arc]), 0.0, int(arcs.room[arc]) / 1e9) for arc in used]
    return Topology.from_links(topology.num_npus, rows, num_switches=topology.num_switches, name=topology.name)
