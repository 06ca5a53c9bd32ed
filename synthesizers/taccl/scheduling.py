"""Stage 3 of TACCL (arXiv 2111.04867, section 5.3), scheduling: exact start times, with the order of stage 2 kept.

For sends i before j on a port, with the times of `synthesizers.taccl.contiguity`, offsets and spare times of the port:

- s[j] + offset[j] ≥ e[i] − spare[i], unless the two are one message (b[i,j] = 1); where a wire is one link, this is
  s[j] ≥ s[i] + lat[i];
- s[j] ≥ e[i] where i brings to its sender what j sends;
- T ≥ e[i]; minimise T.

Without two neighbours that could be merged nothing is left to decide: as soon as possible is optimal.
"""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from dataclasses import dataclass

from synthesizers.taccl.contiguity import LONGEST, Times, merge, mergeable
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.model import Model, Solution
from synthesizers.taccl.network import Network
from synthesizers.taccl.plan import Plan, Unit, timed

#: Steps into which the time of the plan is divided; durations are rounded up to a step, and timed exactly afterwards.
STEPS = 100_000


@dataclass(frozen=True)
class Scheduling:
    """The model of stage 3, and what its variables mean; `step_ps` is the unit of its times."""

    model: Model
    step_ps: int
    units: tuple[Unit, ...]
    times: tuple[Times, ...]
    merged: dict[tuple[int, int], tuple[int, int]]

    def plan(self, solution: Solution, network: Network, demand: Demand, costs: Costs) -> Plan:
        """Return the plan of a solution, its times exact."""
        follows = {j: i for (i, j), (together, _) in self.merged.items() if solution.values[together] > 0.5}
        members: dict[int, list[int]] = defaultdict(list)
        head = list(range(len(self.units)))
        for index in range(len(self.units)):
            if index in follows:
                head[index] = head[follows[index]]
            members[head[index]].append(index)
        # A message takes the place of its last member: what brings that is listed before.
        order = sorted(members, key=lambda first: (solution.values[self.times[first].start], members[first][-1]))
        units = [(self.units[first][0], tuple(self.units[i][1][0] for i in members[first])) for first in order]
        return timed(units, network.wires, demand, costs)


def merged_at_once(network: Network, demand: Demand, costs: Costs, plan: Plan, until: float | None = None) -> Plan:
    """Return the plan of single sends with all neighbours merged that may be, or itself where that is no faster.

    When `time.perf_counter` says `until`, no more lengths of messages are tried.
    """
    pairs = mergeable(network, demand, costs, plan.units)
    best = plan
    for longest in range(2, LONGEST + 1) if pairs else ():
        if until is not None and time.perf_counter() > until:
            break
        head = list(range(len(plan.units)))
        length = [1] * len(plan.units)
        for i, j in pairs:
            if length[head[i]] < longest:
                head[j] = head[i]
                length[head[i]] += 1
        units = _in_order(plan, head, network)
        if units is not None:
            merged = timed(units, network.wires, demand, costs)
            best = min(best, merged, key=lambda each: each.time_ps)
    return best


def _in_order(plan: Plan, head: list[int], network: Network) -> list[Unit] | None:
    """Return the messages that sends with the same head are, what brings a chunk first; None where that is a circle."""
    wires = network.wires
    members: dict[int, list[int]] = defaultdict(list)
    brought: dict[tuple[int, int], int] = {}
    for index, (wire, chunks) in enumerate(plan.units):
        members[head[index]].append(index)
        brought[chunks[0], wires.dst[wire]] = head[index]
    after: dict[int, list[int]] = defaultdict(list)
    missing = dict.fromkeys(members, 0)
    for index, (wire, chunks) in enumerate(plan.units):
        bringer = brought.get((chunks[0], wires.src[wire]))
        if bringer is not None:
            after[bringer].append(head[index])
            missing[head[index]] += 1
    # A message goes when its last member would have.
    heap = [(members[first][-1], first) for first, count in missing.items() if not count]
    heapq.heapify(heap)
    units: list[Unit] = []
    while heap:
        _, first = heapq.heappop(heap)
        units.append((plan.units[first][0], tuple(plan.units[index][1][0] for index in members[first])))
        for waiting in after[first]:
            missing[waiting] -= 1
            if not missing[waiting]:
                heapq.heappush(heap, (members[waiting][-1], waiting))
    return units if len(units) == len(members) else None


def scheduling_model(network: Network, demand: Demand, costs: Costs, plan: Plan) -> Scheduling | None:
    """Return the model of stage 3 for the order of a plan of single sends; None where nothing is left to decide."""
    pairs = mergeable(network, demand, costs, plan.units)
    if not pairs:
        return None
    step = max(plan.time_ps // STEPS, 1)
    count = len(plan.units)
    most = 2 * (plan.time_ps // step + count) + 1
    model = Model()
    total = model.variable(0, most, whole=False)
    times = tuple(Times(*(model.variable(0, most, whole=False) for _ in range(3))) for _ in range(count))
    cost = [costs.of(wire, demand.nbytes[chunks[0]]) for wire, chunks in plan.units]
    lat = [-(-each.time // step) for each in cost]
    wire_time = [-(-(cost[i].time - costs.alpha(wire)) // step) for i, (wire, _) in enumerate(plan.units)]
    merged = merge(model, pairs, times, wire_time)
    brought: dict[tuple[int, int], int] = {}
    last_on: dict[int, tuple[int, int]] = {}
    for j, (wire, chunks) in enumerate(plan.units):
        model.at_least([(1, times[j].through), (-1, times[j].start)], lat[j])
        model.at_least([(1, times[j].arrival), (-1, times[j].through)], 0)
        model.at_least([(1, total), (-1, times[j].arrival)], 0)
        bringer = brought.get((chunks[0], network.wires.src[wire]))
        if bringer is not None:
            model.at_least([(1, times[j].start), (-1, times[bringer].arrival)], 0)
        brought[chunks[0], network.wires.dst[wire]] = j
        needed: dict[int, int] = {}
        for port, offset, held in cost[j].holds:
            if port in last_on:
                i, spare = last_on[port]
                needed[i] = max(needed.get(i, -most), -((offset + spare) // step))
            last_on[port] = j, cost[j].time - offset - held
        for i, wait in needed.items():
            when = merged[i, j][1] if (i, j) in merged else -1
            model.at_least([(1, times[j].start), (-1, times[i].arrival)], wait, when=when)
    model.objective = [(1, total)]
    for index, (start, each) in enumerate(zip(plan.starts, cost, strict=True)):
        begin, end = start // step, (start + each.time) // step
        model.hint |= {times[index].start: begin, times[index].arrival: end, times[index].through: end}
    model.hint |= {together: 0 for together, _ in merged.values()} | {apart: 1 for _, apart in merged.values()}
    return Scheduling(model, step, plan.units, times, merged)
