"""The optimum as a CP-SAT model: every schedule of given chunks that the simulator could time, and the least time.

A chunk takes routes, each an optional interval on every link that it crosses. An NPU stores a chunk once (a second
delivery is never of use), and a route leaves it no earlier. Where latency takes the link (blocking), hops of one link
may go as one message, led by one of them, whose interval is as long as all members together; where it does not, a
message gains nothing, and over links without latency no more than its rounding. Times are whole picoseconds, divided
by their greatest common divisor: the optimum is a sum of durations, so nothing is rounded. The one exception are
messages of chunks whose wire time is itself rounded up: the model lets each member but one save that picosecond.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from schedules import Schedule
from simulator.link_model import LinkModel, wire_ps
from synthesizers.exact.routes import Route
from synthesizers.taccl.cp_sat import configured, solved
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, OPTIMAL, Limits
from topologies import Topology


@dataclass(frozen=True)
class Answer:
    """What the search came to.

    Attributes
    ----------
    status : str
        `OPTIMAL`, `FEASIBLE`, `NOTHING` or `INFEASIBLE` (nothing is as fast as `horizon_ps`).
    schedule : Schedule or None
        The best that was found.
    bound_ps : int
        What no schedule of these chunks goes below.
    by_clock : bool
        Whether the wall clock ended the search.
    seconds : float
    variables, constraints : int
        Of the model.
    """

    status: str
    schedule: Schedule | None
    bound_ps: int
    by_clock: bool = False
    seconds: float = 0.0
    variables: int = 0
    constraints: int = 0


@dataclass
class _Hop:
    """One crossing: chunk, link, and the variables of its times and of whether it happens."""

    chunk: int
    link: int
    taken: Any
    start: Any
    end: Any
    place: int  # within its route
    leads: Any = None  # whether it is alone or the first of a message


def optimum(
    topology: Topology, demand: Demand, model: LinkModel, routes: list[Route], horizon_ps: int, bundles: bool,
    limits: Limits,
) -> Answer:  # fmt: skip
    """Return the fastest schedule of a demand.

    Parameters
    ----------
    topology : Topology
    demand : Demand
        Of a collective that copies; every transfer must take some time.
    model : LinkModel
    routes : list of Route
        All that `routes_of` gives.
    horizon_ps : int
        A time that some schedule reaches.
    bundles : bool
        Whether hops may share a message.
    limits : Limits
    """
    begin = time.perf_counter()
    search = _Search(topology, demand, model, routes, horizon_ps, bundles)
    solver = configured(limits, time.perf_counter() - begin)
    word, by_clock = solved(solver, search.model)
    bound_ps = math.ceil(max(solver.best_objective_bound - 1e-6, 0)) * search.unit
    schedule = search.schedule(solver) if word in (OPTIMAL, FEASIBLE) else None
    return Answer(
        word, schedule, horizon_ps + 1 if word == INFEASIBLE else bound_ps, by_clock, time.perf_counter() - begin,
        len(search.model.proto.variables), len(search.model.proto.constraints),
    )  # fmt: skip


class _Search:
    """The model, and how to read a schedule out of its solution."""

    def __init__(
        self, topology: Topology, demand: Demand, link_model: LinkModel, routes: list[Route], horizon_ps: int,
        bundles: bool,
    ) -> None:  # fmt: skip
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self.topology, self.demand = topology, demand
        self.blocking = link_model.latency == "blocking"
        self.cut_through = link_model.switching == "cut_through"
        nbytes, rate = np.array(demand.nbytes, np.int64), topology.bytes_per_s
        wires = wire_ps(nbytes[:, None], rate[None, :])
        # Messages over these links are at most a picosecond per member shorter than the sum.
        rounded = np.array([[int(n) * 10**12 % int(r) != 0 for r in rate] for n in nbytes], bool).any(axis=0)
        self.bundled = bundles & self.blocking & (topology.latency_ps > 0)
        self.rounded = rounded & self.bundled
        self.unit = (
            1 if self.rounded.any() else max(math.gcd(*wires.ravel().tolist(), *topology.latency_ps.tolist()), 1)
        )
        self.wire = (wires // self.unit).tolist()
        self.alpha = (topology.latency_ps // self.unit).tolist()
        self.most = horizon_ps // self.unit
        self.total = self.model.new_int_var(0, self.most, "")
        self.hops: list[_Hop] = []
        self.before: dict[int, int] = {}  # hop → the hop of its route before it
        self.arrival: dict[tuple[int, int], Any] = {}
        for chunk in demand.wanted:
            self._chunk(chunk, routes)
        self._alike()
        self._links()
        self.model.minimize(self.total)

    def _chunk(self, chunk: int, routes: list[Route]) -> None:
        """Add the routes of a chunk, its arrivals, and that it is there before it is sent on."""
        model, src, dst = self.model, self.topology.src.tolist(), self.topology.dst.tolist()
        sources, targets = set(self.demand.sources[chunk]), set(self.demand.targets[chunk])
        earliest = self._earliest(chunk, routes)
        into: dict[int, list[Any]] = defaultdict(list)
        out: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
        for route in routes:
            first, last = src[route[0]], dst[route[-1]]
            inner = {src[link] for link in route[1:]}
            # A route over a holder is no faster than the one from there.
            if last in sources or inner & sources or earliest[first] + self._least(chunk, route) > self.most:
                continue
            taken = model.new_bool_var("")
            begins, ends = self._crossings(chunk, route, taken, earliest[first])
            into[last].append(taken)
            out[first].append((taken, begins))
            model.add(self._at(chunk, last) == ends).only_enforce_if(taken)
        for npu in sorted(targets | set(into)):
            if npu in targets:
                model.add_exactly_one(into[npu])
                model.add(self._at(chunk, npu) <= self.total)
            else:
                model.add_at_most_one(into[npu])
                # What is stored and not wanted is sent on.
                for taken in into[npu]:
                    model.add_bool_or([sent for sent, _ in out[npu]]).only_enforce_if(taken)
        for npu, sent in sorted(out.items()):
            for taken, begins in sent if npu not in sources else ():
                model.add_bool_or(into[npu]).only_enforce_if(taken)
                model.add(begins >= self._at(chunk, npu)).only_enforce_if(taken)

    def _at(self, chunk: int, npu: int) -> Any:
        """Return the variable of a chunk's arrival."""
        if (chunk, npu) not in self.arrival:
            self.arrival[chunk, npu] = self.model.new_int_var(0, self.most, "")
        return self.arrival[chunk, npu]

    def _crossings(self, chunk: int, route: Route, taken: Any, earliest: int) -> tuple[Any, Any]:
        """Add the hops of a route; return its start and its end."""
        model = self.model
        for place, link in enumerate(route):
            start = model.new_int_var(min(earliest, self.most), self.most, "")
            length = self.alpha[link] + self.wire[chunk][link]
            end = model.new_int_var(0, self.most, "") if self.bundled[link] else start + length
            hop = _Hop(chunk, link, taken, start, end, place)
            if place:
                last = self.hops[-1]
                self.before[len(self.hops)] = len(self.hops) - 1
                if self.cut_through:
                    model.add(start >= last.start + self.alpha[last.link]).only_enforce_if(taken)
                    model.add(end >= last.end + self.alpha[link]).only_enforce_if(taken)
                else:
                    model.add(start >= last.end).only_enforce_if(taken)
            self.hops.append(hop)
        return self.hops[-len(route)].start, self.hops[-1].end

    def _least(self, chunk: int, route: Route) -> int:
        """Return the time that a chunk takes over a route that is free."""
        start = end = 0
        for place, link in enumerate(route):
            wire = self.wire[chunk][link]
            start = max(start + self.alpha[route[place - 1]], end - wire) if place and self.cut_through else end
            end = start + self.alpha[link] + wire
        return end

    def _earliest(self, chunk: int, routes: list[Route]) -> list[int]:
        """Return when a chunk can be at each NPU if no link is ever taken."""
        src, dst = self.topology.src.tolist(), self.topology.dst.tolist()
        earliest = [self.most + 1] * self.topology.num_npus
        for npu in self.demand.sources[chunk]:
            earliest[npu] = 0
        least = [(src[route[0]], dst[route[-1]], self._least(chunk, route)) for route in routes]
        for _ in range(self.topology.num_npus):
            for first, last, span in least:
                earliest[last] = min(earliest[last], earliest[first] + span)
        return earliest

    def _alike(self) -> None:
        """Add an order among chunks that could be exchanged for each other."""
        alike: dict[tuple, list[int]] = defaultdict(list)
        for chunk in self.demand.wanted:
            alike[self.demand.sources[chunk], self.demand.targets[chunk], self.demand.nbytes[chunk]].append(chunk)
        for (_, targets, _), chunks in sorted(alike.items()):
            for one, other in pairwise(chunks):
                self.model.add(self._at(one, targets[0]) <= self._at(other, targets[0]))

    def _links(self) -> None:
        """Add that a link serves one transfer at a time."""
        model = self.model
        on: dict[int, list[_Hop]] = defaultdict(list)
        for hop in self.hops:
            on[hop.link].append(hop)
        for link, hops in sorted(on.items()):
            held = self.alpha[link] if self.blocking else 0
            if not self.bundled[link]:
                spans = [held + self.wire[hop.chunk][link] for hop in hops]
                model.add_no_overlap([
                    model.new_optional_fixed_size_interval_var(hop.start, span, hop.taken, "")
                    for hop, span in zip(hops, spans, strict=True)
                ])  # fmt: skip
                model.add(sum(span * hop.taken for hop, span in zip(hops, spans, strict=True)) <= self.total)
                continue
            self._messages(link, hops)

    def _messages(self, link: int, hops: list[_Hop]) -> None:
        """Add messages on a link: each hop leads one, or rides on that of a hop listed before it."""
        model, alpha, wire = self.model, self.alpha[link], [self.wire[hop.chunk][link] for hop in hops]
        saved = int(self.rounded[link])
        riders: list[list[tuple[int, Any]]] = [[] for _ in hops]
        intervals = []
        for place, hop in enumerate(hops):
            rides = [model.new_bool_var("") for _ in hops[:place]]
            hop.leads = model.new_bool_var("")
            model.add(sum(rides) + hop.leads == hop.taken)
            for leader, ride in enumerate(rides):
                model.add_implication(ride, hops[leader].leads)
                model.add(hop.start == hops[leader].start).only_enforce_if(ride)
                model.add(hop.end == hops[leader].end).only_enforce_if(ride)
                riders[leader].append((wire[place] - saved, ride))
        for place, hop in enumerate(hops):
            size = model.new_int_var(alpha + wire[place], max(self.most, alpha + wire[place]), "")
            model.add(size == alpha + wire[place] + sum(more * ride for more, ride in riders[place]))
            intervals.append(model.new_optional_interval_var(hop.start, size, hop.end, hop.leads, ""))
        model.add_no_overlap(intervals)
        model.add(
            sum((each - saved) * hop.taken + (alpha + saved) * hop.leads for each, hop in zip(wire, hops, strict=True))
            <= self.total
        )

    def schedule(self, solver: Any) -> Schedule:
        """Return the schedule of a solution, listed by planned start."""
        taken = [index for index, hop in enumerate(self.hops) if solver.value(hop.taken)]
        starts = {index: solver.value(self.hops[index].start) for index in taken}
        together: dict[tuple[int, int], list[int]] = defaultdict(list)
        for index in taken:
            together[self.hops[index].link, starts[index]].append(index)
        joined = {index for members in together.values() if len(members) > 1 for index in members}

        def key(index: int) -> tuple[int, ...]:
            """Order hops: of those that start at once, only a route over links without latency says which is first."""
            hop = self.hops[index]
            return starts[index], index in joined, 0 if index in joined else hop.place, hop.link, index

        order = sorted(taken, key=key)
        flow: dict[int, int] = {}
        for index in order:
            flow[index] = flow.get(self.before.get(index, -1), index)
        message = [min(together[self.hops[index].link, starts[index]]) if index in joined else -1 for index in order]
        return Schedule(
            self.topology, self.demand.collective,
            chunk=np.array([self.hops[index].chunk for index in order], np.int64),
            link=np.array([self.hops[index].link for index in order], np.int64),
            flow=np.array([flow[index] for index in order], np.int64),
            message=np.array(message, np.int64),
        )  # fmt: skip
