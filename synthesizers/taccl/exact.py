"""Routing and scheduling in one model: where a problem is small, what the three stages leave between them is closed.

The stages of TACCL (arXiv 2111.04867) relax the order first and then keep to the routes; here each send of a chunk over
a wire is an interval that may be absent, the intervals of a port do not overlap, and the last arrival is minimised
(CP-SAT). It starts from the best plan so far and knows no messages.

Times are whole steps. A chunk that comes in a round of sends to where it went out would need no source if all of them
took no step; so a step is no longer than the shortest send, and sends that take none all the same are counted.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from synthesizers.taccl.costs import Costs
from synthesizers.taccl.cp_sat import configured, solved
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.model import FEASIBLE, OPTIMAL, Limits, Solution
from synthesizers.taccl.network import Network
from synthesizers.taccl.orbits import Orbits, Pair, orbits_of
from synthesizers.taccl.plan import Plan, timed
from synthesizers.taccl.routing import trimmed

#: Pairs of chunk and wire at most, orbits counted once.
MOST_PAIRS = 500

#: Steps into which the time of the best plan is divided, and at most, so that the shortest send takes one; durations
#: are rounded down, and timed exactly afterwards.
STEPS, MOST_STEPS = 20_000, 10**9


def exact_plan(
    network: Network,
    demand: Demand,
    costs: Costs,
    allowed: Sequence[Sequence[int]],
    best: Plan,
    limits: Limits,
    symmetric: bool,
) -> tuple[Solution, Plan | None, tuple[int, int]] | None:
    """Return what CP-SAT found, its plan if it beats the best one, and how many variables and constraints there were.

    None where the problem is too large, or symmetry was asked for and there is none.
    """
    orbits = orbits_of(network, demand, costs, {chunk: allowed[chunk] for chunk in demand.wanted}, symmetric)
    if len(set(orbits.pair.values())) > MOST_PAIRS or (symmetric and not orbits.joined):
        return None
    begin = time.perf_counter()
    search = _Search(network, demand, costs, orbits, best)
    solver = configured(limits, time.perf_counter() - begin)
    word, by_clock = solved(solver, search.model)
    seconds = time.perf_counter() - begin
    counts = len(search.model.proto.variables), len(search.model.proto.constraints)
    if word not in (OPTIMAL, FEASIBLE):
        return Solution(word, [], None, None, "cp_sat", seconds, by_clock), None, counts
    solution = Solution(word, [], solver.objective_value * search.step / 1e6,
                        solver.best_objective_bound * search.step / 1e6, "cp_sat", seconds, by_clock)  # fmt: skip
    sends = []
    for chunk in demand.wanted:
        mine = [
            wire for wire in allowed[chunk] if (chunk, wire) in search.used and solver.value(search.used[chunk, wire])
        ]
        for depth, wire in enumerate(trimmed(network, demand, chunk, mine)):
            sends.append((solver.value(search.starts[chunk, wire]), depth, chunk, wire))
    plan = timed([(wire, (chunk,)) for _, _, chunk, wire in sorted(sends)], network.wires, demand, costs)
    return solution, plan if plan.time_ps < best.time_ps else None, counts


class _Search:
    """The model: an interval for each pair of chunk and wire that may be used, one for all pairs of an orbit."""

    def __init__(self, network: Network, demand: Demand, costs: Costs, orbits: Orbits, best: Plan) -> None:
        from ortools.sat.python import cp_model

        self.model = model = cp_model.CpModel()
        self.network, self.demand, self.costs, self.orbits = network, demand, costs, orbits
        shortest = min((time for pair in orbits.pair if (time := self._time(*pair))), default=1)
        self.step = max(min(best.time_ps // STEPS, shortest), best.time_ps // MOST_STEPS, 1)
        self.most = best.time_ps // self.step
        self.total = model.new_int_var(0, self.most, "")
        roots = sorted(set(orbits.pair.values()))
        taken = {root: model.new_bool_var("") for root in roots}
        start = {root: model.new_int_var(0, self.most, "") for root in roots}
        self.used = {pair: taken[root] for pair, root in orbits.pair.items()}
        self.starts = {pair: start[root] for pair, root in orbits.pair.items()}
        self.arrival: dict[Pair, Any] = {}
        self.sends_before: dict[Pair, Any] = {}
        for chunk in orbits.leaders:
            self._chunk(chunk)
        self._ports()
        self._own_first()
        chosen = {(chunk, wire): start for (wire, chunks), start in zip(best.units, best.starts, strict=True)
                  for chunk in chunks}  # fmt: skip
        # A start that is not symmetric is no hint for a symmetric model.
        for root in roots if not orbits.joined else ():
            model.add_hint(taken[root], root in chosen)
            if root in chosen:
                model.add_hint(start[root], chosen[root] // self.step)
        model.minimize(self.total)

    def _time(self, chunk: int, wire: int) -> int:
        """Return how long a chunk takes over a wire, in picoseconds."""
        return self.costs.of(wire, self.demand.nbytes[chunk]).time

    def _at(self, chunk: int, npu: int) -> Any:
        """Return the variable of a chunk's arrival."""
        root = self.orbits.place[chunk, npu]
        if root not in self.arrival:
            self.arrival[root] = self.model.new_int_var(0, self.most, "")
        return self.arrival[root]

    def _depth(self, chunk: int, npu: int) -> Any:
        """Return the variable that grows by one with each send of a chunk that takes no step."""
        root = self.orbits.place[chunk, npu]
        if root not in self.sends_before:
            self.sends_before[root] = self.model.new_int_var(0, self.network.wires.topology.num_npus, "")
        return self.sends_before[root]

    def _chunk(self, chunk: int) -> None:
        """Add receipts and times of a chunk."""
        model, wires = self.model, self.network.wires
        sources, targets = set(self.demand.sources[chunk]), set(self.demand.targets[chunk])
        mine = [wire for each, wire in self.used if each == chunk]
        into: dict[int, list[Any]] = {npu: [] for npu in targets}
        for wire in mine:
            taken, start = self.used[chunk, wire], self.starts[chunk, wire]
            lat = self._time(chunk, wire) // self.step
            into.setdefault(wires.dst[wire], []).append(taken)
            model.add(self._at(chunk, wires.dst[wire]) == start + lat).only_enforce_if(taken)
            if wires.src[wire] not in sources:
                model.add(start >= self._at(chunk, wires.src[wire])).only_enforce_if(taken)
                if not lat:
                    before = self._depth(chunk, wires.src[wire])
                    model.add(self._depth(chunk, wires.dst[wire]) > before).only_enforce_if(taken)
        for npu in sorted(into):
            if npu in targets:
                model.add_exactly_one(into[npu])
                model.add(self._at(chunk, npu) <= self.total)
            else:
                model.add_at_most_one(into[npu])
        for wire in mine:
            source = wires.src[wire]
            if source not in sources and source not in targets:
                model.add_bool_or(into.get(source, [])).only_enforce_if(self.used[chunk, wire])

    def _ports(self) -> None:
        """Add that the intervals of a port do not overlap, for one port of each orbit."""
        model = self.model
        holding: dict[int, list[tuple[Pair, int, int]]] = defaultdict(list)
        for chunk, wire in self.used:
            for port, offset, held in self.costs.of(wire, self.demand.nbytes[chunk]).holds:
                holding[port].append((self.orbits.pair[chunk, wire], offset // self.step, held // self.step))
        for held_by in sorted({tuple(sorted(held)) for held in holding.values()}):
            model.add_no_overlap([
                model.new_optional_fixed_size_interval_var(self.starts[root] + offset, span, self.used[root], "")
                for root, offset, span in held_by
            ])  # fmt: skip
            model.add(sum(span * self.used[root] for root, _, span in held_by) <= self.total)

    def _own_first(self) -> None:
        """Add that an NPU sends its own chunks to other boxes before those of others, where the sketch says so."""
        network = self.network
        over: dict[int, list[int]] = defaultdict(list)
        for chunk, wire in self.used if network.own_first else ():
            if wire in network.cross:
                over[wire].append(chunk)
        for wire, chunks in sorted(over.items()):
            own = [chunk for chunk in chunks if network.wires.src[wire] in self.demand.sources[chunk]]
            for chunk in chunks:
                for before in own if chunk not in own else ():
                    both = self.used[before, wire], self.used[chunk, wire]
                    self.model.add(self.starts[before, wire] <= self.starts[chunk, wire]).only_enforce_if(both)
