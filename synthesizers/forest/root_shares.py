"""AllReduce over trees of any roots: how much of the buffer each root reduces and floods is free.

ReduceScatter and AllGather give each rank the same share, which on irregular networks leaves links idle: the corners of
a mesh have half the links of its middle. A linear program chooses the shares x of the roots, and on each link the
capacity g for trees down from them and h for trees up to them, so that the fullest link is as empty as can be. Trees
exist where every rank can receive all that is supplied within g, and likewise up within h (Edmonds): conditions on
cuts, added as max-flows find them violated. Then shares and capacities are rounded to whole trees, and packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synthesizers.forest.capacities import Arcs, arcs_of, balanced, least_flow
from synthesizers.forest.spanning import packed
from synthesizers.forest.trees import Trees
from topologies import Topology
from topologies.exceptions import SynthesisError

#: Trees in all that are tried where the program's solution is not one in whole trees itself; the best is taken.
_COUNTS = (8, 12, 16, 24, 32, 48, 64)

#: Trees in all, and trees on the fastest link, up to which a solution in whole trees is looked for.
_MAX_COUNT, _MAX_SCALE = 128, 128

#: How far from a whole number a number may be.
_WHOLE = 10**-6

#: Flows are searched in whole numbers of this part of all that is supplied.
_GRAIN = 10**9

#: Relative violation of a cut that is let pass.
_TOLERANCE = 10**-6


def root_share_trees(topology: Topology, members: Sequence[int], trees: int | None, least: float) -> list[Trees]:
    """Return trees down from, and up to, the roots that suit a network, or none where they gain nothing.

    Parameters
    ----------
    topology : Topology
    members : sequence of int
        Two NPUs or more.
    trees : int, optional
        Trees in all; by default as many as suit the solution of the program.
    least : float
        Seconds per byte of the fullest link that other trees reach; where no shares do with less, nothing is returned.

    Returns
    -------
    list of Trees
        Empty, or (down, up); tree t of both has the same root, and the same part of the buffer.
    """
    program = RootShares(topology, members)
    load, *solution = program.solve()
    if load / program.fastest >= least * (1 - _TOLERANCE):
        return []
    found, best = [], least
    for count in _counts(load, solution) if trees is None else [trees]:
        shares, down, up = program.rounded(count, *solution)
        reached = program.load_of(down, up) / count
        if reached < best * (1 - _TOLERANCE):
            found, best = [(shares, down, up)], reached
    if not found:
        return []
    supply, down, up = found[0]
    return [packed(topology, down, members, supply), packed(topology.reversed(), up, members, supply).turned()]


def _counts(load: float, solution: list[np.ndarray]) -> list[int]:
    """Return the number of trees that makes a solution one in whole trees, or several to round it to."""
    numbers = np.concatenate(solution) / load
    total = float(solution[0].sum()) / load
    for scale in range(1, _MAX_SCALE + 1):
        if total * scale > _MAX_COUNT:
            break
        if np.abs(numbers * scale - np.rint(numbers * scale)).max() < _WHOLE * scale:
            return [round(total * scale)]
    return list(_COUNTS)


class RootShares:
    """The linear program, with the cuts found so far.

    Columns are the shares of the members, g and h of the arcs, and the load of the fullest link for a buffer of 1.

    Parameters
    ----------
    topology : Topology
    members : sequence of int
        Two NPUs or more.
    """

    def __init__(self, topology: Topology, members: Sequence[int]) -> None:
        import highspy

        self.topology, self.members = topology, sorted(members)
        self.relays = sorted(set(range(topology.num_nodes)) - set(members))
        arcs = balanced(arcs_of(topology), self.relays)
        keep = arcs.room.astype(float) > 0
        self.arcs = Arcs(arcs.num_nodes, arcs.src[keep], arcs.dst[keep], arcs.room[keep])
        self.fastest = max(self.arcs.room.tolist())
        self.rate = self.arcs.room.astype(float) / self.fastest
        self.infinity = highspy.kHighsInf
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.highs: Any = highspy.Highs()
        self.highs.silent()
        self.highs.setOptionValue("threads", 1)
        ranks, count = len(self.members), len(self.rate)
        self.load_column = ranks + 2 * count
        columns = self.load_column + 1
        self.highs.addVars(columns, np.zeros(columns), np.full(columns, self.infinity))
        self.highs.changeColCost(self.load_column, 1.0)
        self._row(1.0, 1.0, dict.fromkeys(range(ranks), 1.0))
        for arc, rate in enumerate(self.rate.tolist()):
            down, up = ranks + arc, ranks + count + arc
            self._row(-self.infinity, 0.0, {down: 1.0, up: 1.0, self.load_column: -rate})
        for relay in self.relays:  # neither way more may leave a relay than comes in
            into, out = np.flatnonzero(self.arcs.dst == relay), np.flatnonzero(self.arcs.src == relay)
            for first, enters, leaves in ((ranks, into, out), (ranks + count, out, into)):
                row = {first + int(arc): 1.0 for arc in enters} | {first + int(arc): -1.0 for arc in leaves}
                if row:
                    self._row(0.0, self.infinity, row)
        nodes = np.arange(topology.num_nodes)
        for member in self.members:
            for inside in (nodes == member, nodes != member):
                self._cut(inside, False)
                self._cut(inside, True)

    def _row(self, low: float, high: float, entries: dict[int, float]) -> None:
        """Add a row."""
        columns = np.array(list(entries), np.int32)
        self.highs.addRow(low, high, len(columns), columns, np.array(list(entries.values())))

    def _cut(self, inside: np.ndarray, up: bool) -> None:
        """Demand that what a set of nodes supplies can leave it, going down; or come in, going up."""
        ranks = len(self.members)
        here, there = inside[self.arcs.src], inside[self.arcs.dst]
        crossing = np.flatnonzero(there & ~here if up else here & ~there) + ranks + up * len(self.rate)
        row = {int(column): 1.0 for column in crossing}
        row |= {place: -1.0 for place, member in enumerate(self.members) if inside[member]}
        self._row(0.0, self.infinity, row)

    def solve(self, shares: np.ndarray | None = None) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Return the least load with the shares, g and h that reach it; for given shares where there are some.

        Raises
        ------
        SynthesisError
            The solver fails.
        """
        ranks, count = len(self.members), len(self.rate)
        for place in range(ranks):
            low, high = (0.0, 1.0) if shares is None else (shares[place], shares[place])
            self.highs.changeColBounds(place, low, high)
        while True:
            self.highs.run()
            if self.highs.getModelStatus() != self.optimal:
                raise SynthesisError("forest: the linear program of root shares was not solved; use allreduce=rsag")
            values = np.array(self.highs.getSolution().col_value)
            share, down, up = values[:ranks], values[ranks : ranks + count], values[ranks + count : self.load_column]
            if not (self._separate(share, down, False) | self._separate(share, up, True)):
                return float(values[self.load_column]), share, down, up

    def rounded(
        self, count: int, share: np.ndarray, down: np.ndarray, up: np.ndarray
    ) -> tuple[dict[int, int], Arcs, Arcs]:
        """Return the number of trees of each root, `count` in all, and capacities down and up in which they fit."""
        whole = np.floor(share * count + _WHOLE).astype(np.int64)
        rest = share * count - whole
        whole[np.argsort(-rest, kind="stable")[: count - int(whole.sum())]] += 1
        if np.abs(rest).max() > _WHOLE * count:
            _, _, down, up = self.solve(whole / count)
        supply = {member: trees for member, trees in zip(self.members, whole.tolist(), strict=True) if trees}
        return supply, self._fitted(count, supply, down, False), self._fitted(count, supply, up, True)

    def _fitted(self, count: int, supply: dict[int, int], room: np.ndarray, up: bool) -> Arcs:
        """Return capacities in whole trees, rounded up, in which the supply fits."""
        arcs = self.arcs.turned() if up else self.arcs
        extra = 0
        while True:
            whole = np.ceil(np.maximum(room * count - _WHOLE * count, 0)).astype(np.int64) + extra
            fitted = balanced(replace(arcs, room=whole), self.relays)
            if least_flow(fitted, supply, self.members, count, count - 1) == count:
                return fitted
            extra += 1

    def load_of(self, down: Arcs, up: Arcs) -> float:
        """Return how many trees the fullest link carries, in trees per byte per second."""
        rooms = zip(down.room.tolist(), up.room.tolist(), self.arcs.room.tolist(), strict=True)
        return max((one + other) / rate for one, other, rate in rooms)

    def _separate(self, share: np.ndarray, room: np.ndarray, up: bool) -> bool:
        """Add the cuts that capacities violate; return whether there were any."""
        from ortools.graph.python.max_flow import SimpleMaxFlow

        arcs = self.arcs.turned() if up else self.arcs
        flow, source = SimpleMaxFlow(), self.topology.num_nodes
        supply = np.rint(share * _GRAIN).astype(np.int64)
        flow.add_arcs_with_capacity(
            np.concatenate([arcs.src, np.full(len(share), source)]), np.concatenate([arcs.dst, self.members]),
            np.concatenate([np.rint(room * _GRAIN).astype(np.int64), supply]),
        )  # fmt: skip
        found: set[bytes] = set()
        for member in self.members:
            flow.solve(source, member)
            if flow.optimal_flow() < int(supply.sum()) - _TOLERANCE * _GRAIN:
                inside = np.zeros(source + 1, bool)
                inside[flow.get_source_side_min_cut()] = True
                if inside.tobytes() not in found:
                    found.add(inside.tobytes())
                    self._cut(inside[:source], up)
        return bool(found)
