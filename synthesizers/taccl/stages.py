"""The stages one after another, within one budget: the best verified plan at any time, and a record of each stage.

A start without a solver comes first (greedy routes; TACOS and a ring where no sketch forbids it), then routing,
ordering and scheduling, and for small problems routing and scheduling at once. Each has a share of the effort, which
does not depend on the clock; the wall clock of the problem's time limit ends what takes longer.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from simulator import bound, quantised_bound_us
from synthesizers.problem import Problem
from synthesizers.taccl.budget import Budget, OutOfTime
from synthesizers.taccl.contiguity import mergeable
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand, demand_of
from synthesizers.taccl.exact import exact_plan
from synthesizers.taccl.greedy import greedy_routes
from synthesizers.taccl.model import INFEASIBLE, LATE, NOTHING, OPTIMAL, Model, Solution
from synthesizers.taccl.network import Network, allowed_wires
from synthesizers.taccl.ordering import best_order
from synthesizers.taccl.plan import Plan, delivers
from synthesizers.taccl.routing import routing_model
from synthesizers.taccl.scheduling import merged_at_once, scheduling_model
from synthesizers.taccl.symmetry import WireMaps, free_symmetries
from synthesizers.taccl.warm_start import warm_starts

Solver = Literal["auto", "highs", "cp_sat"]

#: Which solver ``auto`` takes for each stage: the faster one as measured by benchmarks/test_taccl.py.
FASTER: dict[str, Literal["highs", "cp_sat"]] = {"routing": "cp_sat", "scheduling": "cp_sat"}

#: Pairs of chunk and wire above which no model is built, and those that are built in a second.
_MOST_PAIRS, _PAIRS_PER_S = 100_000, 15_000

#: Deliveries up to which smaller chunks are planned anew; fewer where whole chunks make many already.
_MOST_FINER, _MANY_WHOLE, _MOST_OF_MANY = 4_000, 500, 2_000

#: Sends above which scheduling asks no solver, as its effort would be spent before it is through with reading; and
#: about the constraints of each.
_MOST_SENDS, _ROWS_OF_SEND = 5_000, 5

#: Pairs up to which longer paths are tried.
_MOST_LOOSE = 20_000


@dataclass
class Outcome:
    """The best plan of a problem that copies, and how it came about.

    Attributes
    ----------
    network, demand, costs, plan
        The plan and what it refers to; timed by the problem's own links.
    origin : str
        What made it: ``greedy``, ``tacos``, ``ring``, ``routing``, ``exact``.
    problem : Problem
    plans : dict of str to Plan
        The best plan of each origin: which is best may change when chunks are cut into pieces.
    stages : list of dict
        For each stage: solver, status, gap, seconds, variables, constraints.
    """

    network: Network
    demand: Demand
    costs: Costs
    plan: Plan
    origin: str
    problem: Problem
    plans: dict[str, Plan] = field(default_factory=dict)
    stages: list[dict[str, Any]] = field(default_factory=list)


def run_stages(
    problem: Problem,
    drawn: Sequence[tuple[Network, Costs]],
    demand: Demand,
    solver: Solver,
    budget: Budget,
    warm: bool,
    slacks: Sequence[int],
) -> Outcome:
    """Return the best plan that the budget allows.

    Parameters
    ----------
    problem : Problem
        One whose collective copies.
    drawn : sequence of (Network, Costs)
        Networks, each with the costs that the stages count with; that of the best start is taken.
    demand : Demand
    solver : str
    budget : Budget
    warm : bool
        Whether schedules of other synthesizers may be the start, or the result.
    slacks : sequence of int
        Hops by which paths may be longer than the shortest; that of the best greedy start is taken.

    Raises
    ------
    OptionError
        A sketch that keeps a chunk from somebody who wants it.
    """
    least_ps = _bound_ps(problem)
    outcome, allowed = _start(problem, drawn, demand, budget, slacks, least_ps)
    if warm and outcome.plan.time_ps > least_ps and budget.allows(0.2):
        _warm_up(outcome, allowed)
    single = outcome.plan
    # What sends each chunk by itself cannot go below this; messages can.
    single_ps = max(least_ps, _quantised_ps(problem, demand))
    if outcome.plan.time_ps <= single_ps:
        _note(outcome, "routing", "not needed: the start meets the bound")
    else:
        single = _improve(outcome, allowed, single_ps, solver, budget)
    _schedule(outcome, single, least_ps, solver, budget)
    return outcome


def finer(outcome: Outcome, pieces: int, budget: Budget, warm: bool) -> Outcome | None:
    """Return the start of the same problem in smaller chunks, for which no solver runs; None where that takes long.

    Parameters
    ----------
    outcome : Outcome
        Of the whole chunks; its network and slack are kept.
    pieces : int
        How often each chunk is cut.
    budget : Budget
    warm : bool
        As for `run_stages`.
    """
    coarse = outcome.demand
    whole = sum(map(len, coarse.targets))
    most = _MOST_OF_MANY if whole > _MANY_WHOLE else _MOST_FINER
    if whole * pieces > most or not budget.allows(0.5):
        return None
    problem, network, costs = outcome.problem, outcome.network, outcome.costs
    demand = demand_of(coarse.collective.refined(pieces), problem.size)
    try:
        found, allowed = _start(problem, [(network, costs)], demand, budget, (network.slack,), 0.0)
    except OutOfTime:
        budget.clock = True
        return None
    if warm:
        _warm_up(found, allowed)
    return found


def _warm_up(outcome: Outcome, allowed: list[list[int]]) -> None:
    """Offer the schedules of other synthesizers."""
    for name, plan in warm_starts(outcome.problem, outcome.network, outcome.demand, outcome.costs, allowed):
        _offer(outcome, plan, name)


def _start(
    problem: Problem,
    drawn: Sequence[tuple[Network, Costs]],
    demand: Demand,
    budget: Budget,
    slacks: Sequence[int],
    least_ps: float,
) -> tuple[Outcome, list[list[int]]]:
    """Return the greedy start, and the wires that each chunk may take, in the network and with the slack it suits best.

    What counts is the time with all neighbours merged; the plan that is returned still sends each chunk alone.
    """
    best: tuple[Outcome, list[list[int]]] | None = None
    best_ps = 0
    begin = time.perf_counter()
    before: dict[int, list[list[int]]] = {}
    for slack, (number, (network, costs)) in itertools.product(slacks, enumerate(drawn)):
        if best is not None and (best_ps <= least_ps or not budget.allows(2 * (time.perf_counter() - begin))):
            break
        loose = replace(network, slack=slack)
        try:
            allowed = allowed_wires(loose, demand, budget.last)
            if number in before and (allowed == before[number] or sum(map(len, allowed)) > _MOST_LOOSE):
                continue
            before[number] = allowed
            routes = greedy_routes(loose, demand, costs, allowed, budget.until, budget.last)
            plan = best_order(loose, demand, costs, routes, budget.until, budget.last)
        except OutOfTime:
            if best is None:
                raise
            break
        merged_ps = merged_at_once(loose, demand, costs, plan, budget.until).time_ps
        if best is None or merged_ps < best_ps:
            best_ps = merged_ps
            best = Outcome(loose, demand, costs, plan, "greedy", problem, {"greedy": plan}), allowed
    assert best is not None
    return best


def _improve(
    outcome: Outcome, allowed: Sequence[Sequence[int]], least_ps: float, solver: Solver, budget: Budget
) -> Plan:
    """Run routing and ordering, and the exact model of a small problem; return the best plan of single sends."""
    network, demand, costs = outcome.network, outcome.demand, outcome.costs
    pairs = sum(map(len, allowed))
    for symmetric in (True, False) if network.symmetries else (False,):
        if pairs > _MOST_PAIRS:
            _note(outcome, "routing", f"not tried: {pairs} pairs of chunk and wire, {_MOST_PAIRS} at most")
            break
        if not budget.allows(pairs / _PAIRS_PER_S + 0.1):
            _note(outcome, "routing", LATE)
            break
        begin = time.perf_counter()
        routing = routing_model(network, demand, costs, allowed, outcome.plan.time_ps, symmetric)
        _hint(routing.model, routing.used, routing.time, outcome.plan, routing.step_ps, symmetric)
        solution = _solved(routing.model, "routing", solver, budget)
        seconds = time.perf_counter() - begin
        _record(outcome, "routing", solution, routing.model.counts, seconds, routing.bound_us(solution))
        budget.clock |= solution.ended_by_clock
        if solution.values:
            _offer(
                outcome,
                best_order(network, demand, costs, routing.routes(solution, demand, network), budget.until),
                "routing",
            )
        # Under its symmetries a problem may have no solution as good as the start: then it is tried without.
        if solution.status != INFEASIBLE:
            break
    if solver != "highs":
        _solve_exactly(outcome, allowed, least_ps, budget, pairs)
    elif outcome.plan.time_ps > least_ps:
        _note(outcome, "exact", "not tried: its intervals are for CP-SAT, and solver=highs")
    return outcome.plan


def _solve_exactly(
    outcome: Outcome, allowed: Sequence[Sequence[int]], least_ps: float, budget: Budget, pairs: int
) -> None:
    """Run the exact model, with symmetries first; those of the network where a sketch names none."""
    network, demand, costs = outcome.network, outcome.demand, outcome.costs
    if not network.symmetries and pairs <= _MOST_PAIRS:
        maps = WireMaps(network.wires, costs, max(demand.nbytes, default=0))
        network = replace(network, symmetries=free_symmetries(maps, network.wires.topology.num_npus))
    for symmetric in (True, False):
        if outcome.plan.time_ps <= least_ps or pairs > _MOST_PAIRS:
            break
        if not budget.allows(pairs / _PAIRS_PER_S + 0.1):
            _note(outcome, "exact", LATE)
            break
        limits = budget.limits("exact")
        found = exact_plan(network, demand, costs, allowed, outcome.plan, limits, symmetric)
        if found is None:
            continue
        solution, plan, counts = found
        budget.clock |= solution.ended_by_clock
        _record(outcome, "exact", solution, counts, solution.seconds, solution.bound)
        if plan is not None:
            _offer(outcome, plan, "exact")
        # Where the smaller, symmetric model was not solved, the whole one will not be.
        if solution.status not in (OPTIMAL, INFEASIBLE):
            break


def _schedule(outcome: Outcome, single: Plan, least_ps: float, solver: Solver, budget: Budget) -> None:
    """Run scheduling on the best order."""
    network, demand, costs, sends = outcome.network, outcome.demand, outcome.costs, len(single.units)
    if single.time_ps <= least_ps or not mergeable(network, demand, costs, single.units):
        _note(outcome, "scheduling", "optimal: nothing to merge, as soon as possible is best")
        return
    _offer(outcome, merged_at_once(network, demand, costs, single, budget.until), outcome.origin)
    if sends > _MOST_SENDS:
        _note(outcome, "scheduling", f"not tried: {sends} sends, {_MOST_SENDS} at most")
        return
    model = None
    if budget.allows(_ROWS_OF_SEND * sends / _PAIRS_PER_S / 4 + 0.1):
        model = scheduling_model(network, demand, costs, single)
    if model is None:
        _note(outcome, "scheduling", LATE)
        return
    begin = time.perf_counter()
    solution = _solved(model.model, "scheduling", solver, budget)
    seconds = time.perf_counter() - begin
    budget.clock |= solution.ended_by_clock
    if solution.values:
        _offer(outcome, model.plan(solution, outcome.network, outcome.demand, outcome.costs), outcome.origin)
    bound_us = None if solution.bound is None else solution.bound * model.step_ps / 1e6
    _record(outcome, "scheduling", solution, model.model.counts, seconds, bound_us)


def _solved(model: Model, stage: str, solver: Solver, budget: Budget) -> Solution:
    """Return the solution of a model by the solver that was chosen for the stage."""
    from synthesizers.taccl.cp_sat import solve_cp_sat
    from synthesizers.taccl.highs import solve_highs

    chosen = FASTER[stage] if solver == "auto" else solver
    return (solve_cp_sat if chosen == "cp_sat" else solve_highs)(model, budget.limits(stage))


def _hint(
    model: Model, used: dict[tuple[int, int], int], total: int, plan: Plan, step_ps: int, symmetric: bool
) -> None:
    """Give a solver the routes of a plan to begin from."""
    if symmetric:
        return  # they seldom are
    chosen = {(chunk, wire) for wire, chunks in plan.units for chunk in chunks}
    model.hint = {variable: int(pair in chosen) for pair, variable in used.items()}
    model.hint[total] = plan.time_ps // step_ps


def _offer(outcome: Outcome, plan: Plan, origin: str) -> None:
    """Keep a plan that delivers everything if it is the best, or the best of its origin."""
    best, best_of_origin = plan.time_ps < outcome.plan.time_ps, outcome.plans.get(origin)
    if not best and best_of_origin is not None and plan.time_ps >= best_of_origin.time_ps:
        return
    if not delivers(plan, outcome.network.wires, outcome.demand):
        return
    if best_of_origin is None or plan.time_ps < best_of_origin.time_ps:
        outcome.plans[origin] = plan
    if best:
        outcome.plan, outcome.origin = plan, origin


def _bound_ps(problem: Problem) -> float:
    """Return the provable bound in picoseconds, with room for rounding."""
    found = bound(problem.topology, problem.collective, problem.size, problem.model)
    return found.time_us * 1e6 * (1 + 1e-9) + 1


def _quantised_ps(problem: Problem, demand: Demand) -> float:
    """Return the bound of schedules that send each chunk by itself, in picoseconds; 0 where there is none."""
    found = quantised_bound_us(problem.topology, demand.collective, problem.size, problem.model)
    return 0.0 if found is None else found * 1e6 * (1 + 1e-9) + 1


def _record(
    outcome: Outcome, stage: str, solution: Solution, counts: tuple[int, int], seconds: float, bound_us: float | None
) -> None:
    """Add the record of a stage that a solver ran for; `counts` are its variables and constraints."""
    late = solution.status == NOTHING and solution.ended_by_clock
    if bound_us is not None:
        # A model's time is up to some steps above that of its plan.
        bound_us = round(min(bound_us, outcome.plan.time_ps / 1e6), 6)
    outcome.stages.append({
        "stage": stage, "solver": solution.solver, "status": LATE if late else solution.status,
        "gap": None if solution.gap is None else round(solution.gap, 6), "bound_us": bound_us,
        "seconds": round(seconds, 3), "variables": counts[0], "constraints": counts[1],
    })  # fmt: skip


def _note(outcome: Outcome, stage: str, status: str) -> None:
    """Add the record of a stage that needed no solver, or got none."""
    outcome.stages.append(not_run(stage, status))


def not_run(stage: str, status: str) -> dict[str, Any]:
    """Return the record of a stage for which no solver ran."""
    return {"stage": stage, "solver": "", "status": status, "gap": None, "bound_us": None,
            "seconds": 0.0, "variables": 0, "constraints": 0}  # fmt: skip
