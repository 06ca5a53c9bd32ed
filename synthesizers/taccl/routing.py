"""Stage 1 of TACCL (arXiv 2111.04867, section 5.1), routing: which wires each chunk takes, as a mixed-integer program.

A relaxation: links have no order, they only must not carry more than fits. With x[c,w] ∈ {0, 1} (chunk c crosses wire
w = u → v), start[c,n] (c is at n), lat = α + β of a chunk, hold = how long a send holds a port, and T the time:

- Σ x[c,w] over the wires into n = 1 where n wants c, ≤ 1 elsewhere, and c leaves only where it is;
- what one NPU wants takes one path: Σ out ≤ Σ in (not in the paper; it makes the relaxation much tighter);
- x[c,w] = 1 ⇒ start[c,v] ≥ start[c,u] + lat; start = 0 at a holder (the paper's send time, start ≤ send, is as early as
  it may be); start[c,n] ≤ T;
- T ≥ Σ hold · x over all that crosses a port: a link, or what a switch has of one;
- T ≥ start[c,u] + Σ hold · x[c,w] over the wires out of u through one port: copies leave one after another;
- relay: c crosses at least once from its box to each box that wants it, over the wires that the sketch allows;
- `enforce_ordering`: what crosses from its relay u → v after u's own chunks cannot be there before they are through:
  x[c,w] = 1 ⇒ start[c,v] ≥ lat + Σ hold · x[own,w] over u's own chunks;
- symmetry: variables of one orbit are one variable, where the paper sets them equal.

The objective is T; round a switch with ``uc-min`` (``uc-max``) the number of different wires used is added
(subtracted), with ``minmax`` (``maxmin``) the load of the busiest (idlest) wire, weighing 1 % of T at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.model import Model, Solution, Terms
from synthesizers.taccl.network import Network
from synthesizers.taccl.orbits import Pair, orbits_of

#: Steps into which the upper bound of the time is divided, and at most, so that the shortest send takes one: HiGHS is
#: exact to a millionth. Durations are rounded down.
STEPS, MOST_STEPS = 20_000, 2**18


@dataclass
class Routing:
    """The model of stage 1, and what its variables mean.

    Attributes
    ----------
    model : Model
    time : int
        The variable T.
    step_ps : int
        Picoseconds of a unit of time in the model.
    spare : int
        Steps by which T may be above the time of a plan: sends of no step count as one.
    used : dict of (chunk, wire) to int
        The variable x of each pair; pairs of an orbit share theirs, pairs that cannot be used are missing.
    """

    model: Model
    time: int
    step_ps: int
    spare: int
    used: dict[Pair, int] = field(default_factory=dict)

    def bound_us(self, solution: Solution) -> float | None:
        """Return what no plan of single sends can go below, in microseconds; None where the solver knows nothing.

        The objective may weigh T, and add what breaks ties: that is taken off.
        """
        if solution.bound is None:
            return None
        (weight, _), *ties = self.model.objective
        most = sum(factor * self.model.high[variable] for factor, variable in ties if factor > 0)
        return max((solution.bound - most) / weight - self.spare, 0.0) * self.step_ps / 1e6

    def routes(self, solution: Solution, demand: Demand, network: Network) -> list[list[int]]:
        """Return the wires that each chunk takes, without those that bring nothing to anybody."""
        routes: list[list[int]] = [[] for _ in demand.sources]
        for (chunk, wire), variable in self.used.items():
            if solution.values[variable] > 0.5:
                routes[chunk].append(wire)
        return [trimmed(network, demand, chunk, taken) for chunk, taken in enumerate(routes)]


def trimmed(network: Network, demand: Demand, chunk: int, taken: Sequence[int]) -> list[int]:
    """Return the wires of a chunk that lead to somebody who wants it, from the holders outwards."""
    wires = network.wires
    outward: dict[int, list[int]] = defaultdict(list)
    for wire in sorted(taken):
        outward[wires.src[wire]].append(wire)
    entered: dict[int, int] = {}
    reached = list(demand.sources[chunk])
    have = set(reached)
    for npu in reached:
        for wire in outward[npu]:
            if wires.dst[wire] not in have:
                have.add(wires.dst[wire])
                entered[wires.dst[wire]] = wire
                reached.append(wires.dst[wire])
    needed: set[int] = set()
    for target in demand.targets[chunk]:
        npu = target
        while npu in entered and entered[npu] not in needed:
            needed.add(entered[npu])
            npu = wires.src[entered[npu]]
    return [entered[npu] for npu in reached if npu in entered and entered[npu] in needed]


def routing_model(
    network: Network, demand: Demand, costs: Costs, allowed: Sequence[Sequence[int]], limit_ps: int, symmetric: bool
) -> Routing:
    """Return the model of stage 1.

    Parameters
    ----------
    network : Network
    demand : Demand
    costs : Costs
    allowed : sequence of sequences of int
        The wires that each chunk may take.
    limit_ps : int
        An upper bound of the time that is known to be attainable.
    symmetric : bool
        Whether to join the variables of the network's symmetries.
    """
    return _Builder(network, demand, costs, allowed, limit_ps, symmetric).build()


class _Builder:
    """Builds the model part by part; its methods follow the docstring of the module."""

    def __init__(self, network, demand, costs, allowed, limit_ps, symmetric):
        self.network: Network = network
        self.demand: Demand = demand
        self.costs: Costs = costs
        self.chunks = demand.wanted
        times = {costs.of(wire, demand.nbytes[chunk]).time for chunk in self.chunks for wire in allowed[chunk]}
        shortest = min(times - {0}, default=1)
        self.step_ps = max(min(-(-limit_ps // STEPS), shortest), -(-limit_ps // MOST_STEPS), 1)
        # A chunk's way is at most so many sends longer in steps than in time.
        spare = network.wires.topology.num_npus if min(times, default=1) < self.step_ps else 0
        self.most = -(-limit_ps // self.step_ps) + spare
        self.model = Model()
        self.time = self.model.variable(0, self.most, whole=False)
        self.result = Routing(self.model, self.time, self.step_ps, spare)
        self.near = {chunk: self._distances(chunk, allowed[chunk], forth=True) for chunk in self.chunks}
        self.rest = {chunk: self._distances(chunk, allowed[chunk], forth=False) for chunk in self.chunks}
        self.allowed = {chunk: self._in_time(chunk, allowed[chunk]) for chunk in self.chunks}
        self.leaders = self._join(symmetric)

    def build(self) -> Routing:
        """Return the whole model."""
        for chunk in self.leaders:
            self._chunk(chunk)
        self._loads()
        self._objective()
        return self.result

    def lat(self, chunk: int, wire: int) -> int:
        """Return the steps that a chunk takes over a wire, at least one."""
        return max(self.costs.of(wire, self.demand.nbytes[chunk]).time // self.step_ps, 1)

    def _distances(self, chunk: int, wires: Sequence[int], forth: bool) -> dict[int, int]:
        """Return the steps from the nearest holder to each NPU, or from it to the nearest that wants the chunk."""
        ends = self.network.wires.src, self.network.wires.dst
        begin, end = ends if forth else (ends[1], ends[0])
        places = self.demand.sources[chunk] if forth else self.demand.targets[chunk]
        steps = dict.fromkeys(places, 0)
        changed = True
        while changed:
            changed = False
            for wire in wires:
                a, b = begin[wire], end[wire]
                if a in steps and steps[a] + self.lat(chunk, wire) < steps.get(b, 2**62):
                    steps[b] = steps[a] + self.lat(chunk, wire)
                    changed = True
        return steps

    def _in_time(self, chunk: int, wires: Sequence[int]) -> list[int]:
        """Return the wires over which a chunk can still reach somebody within the upper bound."""
        near, rest, drawn = self.near[chunk], self.rest[chunk], self.network.wires
        far = 2**40
        return [
            wire for wire in wires
            if near.get(drawn.src[wire], far) + self.lat(chunk, wire) + rest.get(drawn.dst[wire], far) <= self.most
        ]  # fmt: skip

    def _join(self, symmetric: bool) -> list[int]:
        """Make the variables, one for each orbit; return the chunks that stand for the others."""
        orbits = orbits_of(self.network, self.demand, self.costs, self.allowed, symmetric)
        variable: dict[Pair, int] = {}
        for pair, root in orbits.pair.items():
            if root not in variable:
                variable[root] = self.model.variable(0, 1)
            self.result.used[pair] = variable[root]
        start: dict[Pair, int] = {}
        self.start: dict[Pair, int] = {}
        for (chunk, npu), root in orbits.place.items():
            if npu in self.near[chunk] and npu not in self.demand.sources[chunk]:
                if root not in start:
                    start[root] = self.model.variable(min(self.near[chunk][npu], self.most), self.most, whole=False)
                self.start[chunk, npu] = start[root]
        return orbits.leaders

    def _chunk(self, chunk: int) -> None:
        """Add what a chunk has to keep to: receipts, times and relays."""
        model, drawn, used = self.model, self.network.wires, self.result.used
        into: dict[int, list[int]] = defaultdict(list)
        for wire in self.allowed[chunk]:
            if (chunk, wire) in used:
                into[drawn.dst[wire]].append(wire)
        targets, sources = set(self.demand.targets[chunk]), set(self.demand.sources[chunk])
        for npu in sorted(into.keys() | targets):
            receipts: Terms = [(1, used[chunk, wire]) for wire in into[npu]]
            if npu in targets:
                model.at_least(receipts, 1)
            model.at_most(receipts, 1)
            model.at_least([(1, self.time), (-1, self.start[chunk, npu])], 0)
        for npu in sorted(into):
            for wire in into[npu]:
                source, crossed = drawn.src[wire], used[chunk, wire]
                lat = self.lat(chunk, wire)
                if source in sources:
                    if lat > model.low[self.start[chunk, npu]]:
                        model.at_least([(1, self.start[chunk, npu])], lat, when=crossed)
                    continue
                model.at_least([(1, self.start[chunk, npu]), (-1, self.start[chunk, source])], lat, when=crossed)
                if source not in targets:
                    model.at_least([*((1, used[chunk, before]) for before in into[source]), (-1, crossed)], 0)
                back = [w for w in into.get(source, ()) if drawn.src[w] == npu]
                if back and npu < source:
                    model.at_most([(1, crossed), *((1, used[chunk, w]) for w in back)], 1)
        if len(targets) == 1:
            self._path(chunk, into)
        self._fan_out(chunk, sources)
        self._relays(chunk, sources)
        self._after_own(chunk, sources)

    def _path(self, chunk: int, into: dict[int, list[int]]) -> None:
        """Add that a chunk that one NPU wants is never copied: it leaves where it came in, or not at all."""
        out_of: dict[int, list[int]] = defaultdict(list)
        for wires in into.values():
            for wire in wires:
                out_of[self.network.wires.src[wire]].append(wire)
        for npu in sorted(out_of):
            came = [(1, self.result.used[chunk, wire]) for wire in into.get(npu, ())]
            left = [(-1, self.result.used[chunk, wire]) for wire in sorted(out_of[npu])]
            here = 1 if npu in self.demand.sources[chunk] else 0
            self.model.at_least([*came, *left], -here)

    def _fan_out(self, chunk: int, sources: set[int]) -> None:
        """Add that copies of a chunk leave an NPU through one port one after another."""
        leaving: dict[Pair, Terms] = defaultdict(list)
        for wire in self.allowed[chunk]:
            if (chunk, wire) in self.result.used and self.network.wires.src[wire] not in sources:
                first = self.costs.of(wire, self.demand.nbytes[chunk]).holds[0]
                leaving[self.network.wires.src[wire], first[0]].append(
                    (-(first[2] // self.step_ps), self.result.used[chunk, wire])
                )
        for (npu, _), terms in sorted(leaving.items()):
            if len(terms) > 1:
                self.model.at_least([(1, self.time), (-1, self.start[chunk, npu]), *terms], 0)

    def _relays(self, chunk: int, sources: set[int]) -> None:
        """Add that a chunk crosses from its box to each box that wants it."""
        network = self.network
        if not network.relayed:
            return
        home = {network.box[npu] for npu in sources}
        for box in sorted({network.box[npu] for npu in self.demand.targets[chunk]} - home):
            crossings: Terms = [
                (1, self.result.used[chunk, wire]) for wire in self.allowed[chunk]
                if (chunk, wire) in self.result.used and wire in network.cross
                and network.box[network.wires.dst[wire]] == box
            ]  # fmt: skip
            self.model.at_least(crossings, 1)

    def _after_own(self, chunk: int, sources: set[int]) -> None:
        """Add that a chunk crosses to another box after those of the NPU that sends it, where the sketch says so."""
        network, used = self.network, self.result.used
        for wire in self.allowed[chunk] if network.own_first else ():
            source, target = network.wires.src[wire], network.wires.dst[wire]
            if wire not in network.cross or source in sources or (chunk, wire) not in used:
                continue
            before: dict[int, int] = defaultdict(int)  # pairs of an orbit have one variable
            for own in self.chunks:
                if source in self.demand.sources[own] and (own, wire) in used:
                    held = self.costs.of(wire, self.demand.nbytes[own]).holds[0][2]
                    before[used[own, wire]] -= held // self.step_ps
            own_terms = [(factor, variable) for variable, factor in sorted(before.items())]
            if own_terms:
                lat = self.lat(chunk, wire)
                self.model.at_least([(1, self.start[chunk, target]), *own_terms], lat, when=used[chunk, wire])

    def _loads(self) -> None:
        """Add that no port carries more than there is time for."""
        load: dict[int, Terms] = defaultdict(list)
        for (chunk, wire), variable in self.result.used.items():
            for port, _, held in self.costs.of(wire, self.demand.nbytes[chunk]).holds:
                load[port].append((-(held // self.step_ps), variable))
        seen = set()
        for port in sorted(load):
            summed: dict[int, int] = defaultdict(int)
            for factor, variable in load[port]:
                summed[variable] += factor
            terms = [(factor, variable) for variable, factor in sorted(summed.items()) if factor]
            if terms and tuple(terms) not in seen:
                seen.add(tuple(terms))
                self.model.at_least([(1, self.time), *terms], 0)

    def _objective(self) -> None:
        """Set the objective: T, and what the strategy of the sketch adds."""
        model, strategy, sparing = self.model, self.network.strategy, self.network.sparing
        by_wire: dict[int, list[Pair]] = defaultdict(list)
        for pair in self.result.used:
            by_wire[pair[1]].append(pair)
        if any(sparing):
            weight = max(-(-100 * len(by_wire) // self.most), 1)
            model.objective = [(weight, self.time)]
            for wire in sorted(by_wire):
                if not sparing[wire]:
                    continue
                chosen = {self.result.used[pair] for pair in by_wire[wire]}
                seen = model.variable(0, 1)
                if sparing[wire] > 0:
                    for variable in sorted(chosen):
                        model.at_least([(1, seen), (-1, variable)], 0)
                else:
                    model.at_least([*((1, variable) for variable in sorted(chosen)), (-1, seen)], 0)
                model.objective.append((sparing[wire], seen))
            return
        model.objective = [(100 if strategy != "none" else 1, self.time)]
        if strategy in ("minmax", "maxmin"):
            extreme = model.variable(0, self.most, whole=False)
            for wire in sorted(by_wire):
                load = [(self.lat(*pair), self.result.used[pair]) for pair in by_wire[wire]]
                if strategy == "minmax":
                    model.at_least([(1, extreme), *((-factor, variable) for factor, variable in load)], 0)
                else:
                    model.at_least([*load, (-1, extreme)], 0)
            model.objective.append((1 if strategy == "minmax" else -1, extreme))
