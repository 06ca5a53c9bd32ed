"""Cut bounds, exact: the nodes with the most data for the bandwidth that leaves them (ForestColl, arXiv 2402.06787).

AllGather cannot beat max over S of |S ∩ NPUs| / B⁺(S), S any set that lacks some NPU, and trees reach it. The maximum
is found by integer Newton steps (Dinkelbach): a source joins every NPU with capacity q, links carry B·p; where the
max-flow to an NPU falls short of N·q, the min cut S has a ratio above p/q, which becomes the next p/q. About N
max-flows in all. ReduceScatter is the same on the reversed network; one source gives Broadcast, one sink gives Gather.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from topologies import Topology

if TYPE_CHECKING:
    from ortools.graph.python.max_flow import SimpleMaxFlow

#: Max-flows × arcs that one search may take (about two seconds); sinks past it are left out, which is still a bound.
MAX_WORK = 2**23

#: Sums of capacities stay below this, so that no flow overflows.
_MAX_FLOW = 2**62


@dataclass(frozen=True)
class Cut:
    """A set of nodes.

    Attributes
    ----------
    ratio : Fraction
        Supply of the set, in counts, over the bandwidth that leaves it, in bytes per second.
    nodes : tuple of int
        The set.
    complete : bool
        Whether no set has a higher ratio; False where the search was cut short to keep its budget.
    """

    ratio: Fraction
    nodes: tuple[int, ...]
    complete: bool


@lru_cache(maxsize=64)
def densest_cut(topology: Topology, suppliers: tuple[int, ...], sinks: tuple[int, ...]) -> Cut | None:
    """Return the set S that lacks a sink and has the most suppliers for the bandwidth that leaves it.

    Parameters
    ----------
    topology : Topology
        The network; switches are nodes like others.
    suppliers, sinks : tuples of int
        NPUs that hold one unit each, and NPUs that must get all of it. Every sink must be reachable.

    Returns
    -------
    Cut or None
        None where nothing has to move.
    """
    network = _Network(topology, suppliers)
    best = network.best_single(sinks)
    if best is None:
        return None
    ratio, nodes = best
    budget = MAX_WORK // max(network.num_arcs, 1)
    for sink in sinks:
        while True:
            if budget <= 0:
                return Cut(network.exact(nodes), tuple(np.flatnonzero(nodes).tolist()), False)
            budget -= 1
            found = network.denser(ratio, sink)
            if found is None:
                break
            ratio, nodes = found
    return Cut(network.exact(nodes), tuple(np.flatnonzero(nodes).tolist()), network.unit_is_exact)


def joined_links(topology: Topology) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (source, destination, bytes per second) of the links, parallel ones joined; rates are Python integers."""
    key = topology.src.astype(np.int64) * topology.num_nodes + topology.dst
    pairs, pair_of = np.unique(key, return_inverse=True)
    rate = np.zeros(len(pairs), object)  # sums of exact integers
    np.add.at(rate, pair_of, topology.bytes_per_s.astype(object))
    return pairs // topology.num_nodes, pairs % topology.num_nodes, rate


class _Network:
    """Capacities of one topology, parallel links joined, ready for many max-flows."""

    def __init__(self, topology: Topology, suppliers: Sequence[int]) -> None:
        self.src, self.dst, self.rate = joined_links(topology)
        rate = self.rate
        self.num_nodes = topology.num_nodes
        self.supply = np.zeros(topology.num_nodes, np.int64)
        self.supply[list(suppliers)] = 1
        self.suppliers = np.flatnonzero(self.supply)
        self.num_arcs = len(rate) + len(self.suppliers)
        # Capacities are rate/unit · p and q with p ≤ suppliers, q ≤ Σ rate/unit: keep suppliers · Σ rate/unit small.
        unit = math.gcd(*rate) or 1
        total, count = sum(rate), len(self.suppliers)
        self.unit_is_exact = total // unit * count < _MAX_FLOW
        if not self.unit_is_exact:
            unit = total * count // (_MAX_FLOW // 2) + 1
        # Rounded up: the search may then miss the very best cut, but `exact` makes what it finds a bound.
        self.capacity = np.array([-(-value // unit) for value in rate], np.int64)
        self._flow: SimpleMaxFlow | None = None

    def ratio(self, nodes: np.ndarray) -> Fraction | None:
        """Return supply over leaving capacity in units of the search; None where nothing leaves."""
        leaving = int(self.capacity[nodes[self.src] & ~nodes[self.dst]].sum())
        return Fraction(int(self.supply[nodes].sum()), leaving) if leaving else None

    def exact(self, nodes: np.ndarray) -> Fraction:
        """Return supply over leaving bandwidth in bytes per second."""
        return Fraction(int(self.supply[nodes].sum()), sum(self.rate[nodes[self.src] & ~nodes[self.dst]].tolist()))

    def best_single(self, sinks: Sequence[int]) -> tuple[Fraction, np.ndarray] | None:
        """Return the best of the sets of one supplier and of all nodes but one sink."""
        into, out_of = np.zeros(self.num_nodes, np.int64), np.zeros(self.num_nodes, np.int64)
        np.add.at(into, self.dst, self.capacity)
        np.add.at(out_of, self.src, self.capacity)
        total, best, choice = int(self.supply.sum()), Fraction(0), (-1, False)
        for sink in sinks:
            lacking = total - int(self.supply[sink])
            if lacking and into[sink] and lacking > best * int(into[sink]):
                best, choice = Fraction(lacking, int(into[sink])), (sink, False)
        for supplier in self.suppliers.tolist():
            others = len(sinks) > 1 or sinks[0] != supplier
            if others and out_of[supplier] and best * int(out_of[supplier]) < 1:
                best, choice = Fraction(1, int(out_of[supplier])), (supplier, True)
        if not best:
            return None
        node, inside = choice
        nodes = np.full(self.num_nodes, not inside)
        nodes[node] = inside
        return best, nodes

    def denser(self, ratio: Fraction, sink: int) -> tuple[Fraction, np.ndarray] | None:
        """Return a set without `sink` whose ratio is above the given one; None where there is none."""
        from ortools.graph.python.max_flow import SimpleMaxFlow

        p, q = ratio.numerator, ratio.denominator
        source = self.num_nodes
        capacities = np.concatenate([self.capacity * p, np.full(len(self.suppliers), q)])
        if self._flow is None:
            self._flow = SimpleMaxFlow()
            self._arcs = self._flow.add_arcs_with_capacity(
                np.concatenate([self.src, np.full(len(self.suppliers), source)]),
                np.concatenate([self.dst, self.suppliers]),
                capacities,
            )
            self._current = ratio
        elif self._current != ratio:
            self._flow.set_arcs_capacity(self._arcs, capacities)
            self._current = ratio
        status = self._flow.solve(source, sink)
        if status != SimpleMaxFlow.OPTIMAL:
            raise ArithmeticError(f"max-flow to node {sink} failed: {status}")
        if self._flow.optimal_flow() >= len(self.suppliers) * q:
            return None
        nodes = np.zeros(self.num_nodes + 1, bool)
        nodes[self._flow.get_source_side_min_cut()] = True
        nodes = nodes[: self.num_nodes]
        found = self.ratio(nodes)
        if found is None or found <= ratio:
            raise ArithmeticError(f"node {sink} cannot be reached from every supplier")
        return found, nodes
