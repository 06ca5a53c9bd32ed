"""Routing and scheduling in one model: where a problem is small, what the three stages leave between them is closed.

The stages of TACCL (arXiv 2111.04867) relax the order first and then keep to the routes; here each send of a chunk over
a wire is an interval that may be absent, the intervals of a port do not overlap, and the last arrival is minimised
(CP-SAT). It starts from the best plan so far and knows no messages.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, NOTHING, OPTIMAL, Limits, Solution
from synthesizers.taccl.network import Network
from synthesizers.taccl.plan import Plan, timed
from synthesizers.taccl.routing import trimmed
from synthesizers.taccl.waiting import wait_for

#: Pairs of chunk and wire at most.
MOST_PAIRS = 1200

#: Steps into which the time of the best plan is divided; durations are rounded down, and timed exactly afterwards.
STEPS = 20_000


def exact_plan(
    network: Network, demand: Demand, costs: Costs, allowed: Sequence[Sequence[int]], best: Plan, limits: Limits
) -> tuple[Solution, Plan | None, int]:
    """Return what CP-SAT found, its plan if it beats the best one, and the number of constraints."""
    from ortools.sat.python import cp_model

    begin = time.perf_counter()
    step = max(best.time_ps // STEPS, 1)
    most = best.time_ps // step
    model = cp_model.CpModel()
    total = model.new_int_var(0, most, "")
    wires = network.wires
    used: dict[tuple[int, int], Any] = {}
    starts: dict[tuple[int, int], Any] = {}
    ports: dict[int, list[tuple[Any, int, Any]]] = defaultdict(list)
    for chunk in demand.wanted:
        sources, targets = set(demand.sources[chunk]), set(demand.targets[chunk])
        arrival = {npu: model.new_int_var(0, most, "") for npu in sorted({wires.dst[w] for w in allowed[chunk]})}
        into: dict[int, list[Any]] = defaultdict(list)
        for wire in allowed[chunk]:
            cost = costs.of(wire, demand.nbytes[chunk])
            lat = cost.time // step
            taken, start = model.new_bool_var(""), model.new_int_var(0, most, "")
            used[chunk, wire], starts[chunk, wire] = taken, start
            into[wires.dst[wire]].append(taken)
            model.add(arrival[wires.dst[wire]] == start + lat).only_enforce_if(taken)
            if wires.src[wire] not in sources:
                model.add(start >= arrival[wires.src[wire]]).only_enforce_if(taken)
            for port, offset, held in cost.holds:
                span = held // step
                interval = model.new_optional_fixed_size_interval_var(start + offset // step, span, taken, "")
                ports[port].append((interval, span, taken))
        for npu, entering in into.items():
            if npu in targets:
                model.add_exactly_one(entering)
                model.add(arrival[npu] <= total)
            else:
                model.add_at_most_one(entering)
        for wire in allowed[chunk]:
            source = wires.src[wire]
            if source not in sources and source not in targets:
                model.add_bool_or(into[source]).only_enforce_if(used[chunk, wire])
    for port in sorted(ports):
        model.add_no_overlap([interval for interval, _, _ in ports[port]])
        model.add(sum(span * taken for _, span, taken in ports[port]) <= total)
    chosen = {(chunk, wire): start for (wire, chunks), start in zip(best.units, best.starts, strict=True)
              for chunk in chunks}  # fmt: skip
    for pair, taken in used.items():
        model.add_hint(taken, pair in chosen)
        if pair in chosen:
            model.add_hint(starts[pair], chosen[pair] // step)
    model.minimize(total)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = limits.seed % 2**31
    solver.parameters.max_deterministic_time = limits.effort
    solver.parameters.catch_sigint_signal = False
    if limits.seconds is not None:
        solver.parameters.max_time_in_seconds = max(limits.seconds - (time.perf_counter() - begin), 0.01)
    status = wait_for(lambda: solver.solve(model), solver.stop_search)
    words = {cp_model.OPTIMAL: OPTIMAL, cp_model.FEASIBLE: FEASIBLE, cp_model.INFEASIBLE: INFEASIBLE}
    word = words.get(status, NOTHING)
    by_clock = limits.seconds is not None and solver.wall_time >= solver.parameters.max_time_in_seconds
    seconds, rows = time.perf_counter() - begin, len(model.proto.constraints)
    if word not in (OPTIMAL, FEASIBLE):
        return Solution(word, [], None, None, "cp_sat", seconds, by_clock), None, rows
    solution = Solution(word, [0.0] * len(model.proto.variables), solver.objective_value * step / 1e6,
                        solver.best_objective_bound * step / 1e6, "cp_sat", seconds, by_clock)  # fmt: skip
    sends = []
    for chunk in demand.wanted:
        mine = [wire for wire in allowed[chunk] if solver.value(used[chunk, wire])]
        for depth, wire in enumerate(trimmed(network, demand, chunk, mine)):
            sends.append((solver.value(starts[chunk, wire]), depth, chunk, wire))
    plan = timed([(wire, (chunk,)) for _, _, chunk, wire in sorted(sends)], wires, demand, costs)
    return solution, plan if plan.time_ps < best.time_ps else None, rows
