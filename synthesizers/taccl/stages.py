"""The stages one after another, within one budget: the best verified plan at any time, and a record of each stage.

A start without a solver comes first (greedy routes; TACOS and a ring where no sketch forbids it), then routing,
ordering and scheduling, and for small problems routing and scheduling at once. Each has a share of the effort, which
does not depend on the clock; the wall clock of the problem's time limit ends what takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from simulator import bound
from synthesizers.problem import Problem
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.exact import MOST_PAIRS, exact_plan
from synthesizers.taccl.greedy import greedy_routes
from synthesizers.taccl.model import INFEASIBLE, Limits, Model, Solution
from synthesizers.taccl.network import Network, allowed_wires
from synthesizers.taccl.ordering import best_order
from synthesizers.taccl.plan import Plan
from synthesizers.taccl.routing import routing_model
from synthesizers.taccl.scheduling import scheduling_model
from synthesizers.taccl.warm_start import warm_starts

Solver = Literal["auto", "highs", "cp_sat"]

#: Which solver ``auto`` takes for each stage: the faster one as measured by benchmarks/test_taccl.py.
FASTER: dict[str, Literal["highs", "cp_sat"]] = {"routing": "cp_sat", "scheduling": "highs"}

#: Shares of the effort.
_SHARE = {"routing": 0.5, "exact": 0.3, "scheduling": 0.2}

#: Pairs of chunk and wire above which no model is built, and those that are built in a second.
_MOST_PAIRS, _PAIRS_PER_S = 100_000, 15_000


@dataclass
class Budget:
    """What the stages may use.

    Attributes
    ----------
    effort : float
        For all stages, in the units of `Limits`.
    until : float or None
        When `time.perf_counter` says that time is up.
    seed : int
    clock : bool
        Whether the clock has ended something.
    """

    effort: float
    until: float | None
    seed: int
    clock: bool = False

    def limits(self, stage: str) -> Limits:
        """Return the limits of a stage."""
        return Limits(self.effort * _SHARE[stage], self.left, self.seed)

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a time limit."""
        return None if self.until is None else max(self.until - time.perf_counter(), 0.0)

    def allows(self, seconds: float) -> bool:
        """Return whether there is time for something that takes so long; if not, the clock has ended something."""
        if self.left is not None and self.left < seconds:
            self.clock = True
            return False
        return True


@dataclass
class Outcome:
    """The best plan of a problem that copies, and how it came about.

    Attributes
    ----------
    network, demand, costs, plan
        The plan and what it refers to; timed by the problem's own links.
    origin : str
        What made it: ``greedy``, ``tacos``, ``ring``, ``routing``, ``exact``.
    stages : list of dict
        For each stage: solver, status, gap, seconds, variables, constraints.
    """

    network: Network
    demand: Demand
    costs: Costs
    plan: Plan
    origin: str
    stages: list[dict[str, Any]] = field(default_factory=list)


def run_stages(
    problem: Problem, network: Network, demand: Demand, costs: Costs, solver: Solver, budget: Budget, warm: bool
) -> Outcome:
    """Return the best plan that the budget allows.

    Parameters
    ----------
    problem : Problem
        One whose collective copies.
    network : Network
    demand : Demand
    costs : Costs
        What the stages count with.
    solver : str
    budget : Budget
    warm : bool
        Whether schedules of other synthesizers may be the start, or the result.

    Raises
    ------
    OptionError
        A sketch that keeps a chunk from somebody who wants it.
    """
    allowed = allowed_wires(network, demand)
    plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
    outcome = Outcome(network, demand, costs, plan, "greedy")
    least_ps = _bound_ps(problem)
    if warm and plan.time_ps > least_ps and budget.allows(0.2):
        for name, started in warm_starts(problem, network, demand, costs, allowed):
            _offer(outcome, started, name)
    single = outcome.plan
    if outcome.plan.time_ps <= least_ps:
        for stage in _SHARE:
            _note(outcome, stage, "not needed: the start meets the bound")
    else:
        single = _improve(outcome, allowed, least_ps, solver, budget)
    _schedule(outcome, single, least_ps, solver, budget)
    return outcome


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
            _note(outcome, "routing", "no solution in time")
            break
        begin = time.perf_counter()
        routing = routing_model(network, demand, costs, allowed, outcome.plan.time_ps, symmetric)
        _hint(routing.model, routing.used, routing.time, outcome.plan, routing.step_ps, symmetric)
        solution = _solved(routing.model, "routing", solver, budget)
        _record(outcome, "routing", solution, routing.model, time.perf_counter() - begin, routing.step_ps / 1e6)
        budget.clock |= solution.ended_by_clock
        if solution.values:
            _offer(outcome, best_order(network, demand, costs, routing.routes(solution, demand, network)), "routing")
        # Under its symmetries a problem may have no solution as good as the start: then it is tried without.
        if solution.status != INFEASIBLE:
            break
    if pairs <= MOST_PAIRS and outcome.plan.time_ps > least_ps:
        if not budget.allows(0.1):
            _note(outcome, "exact", "no solution in time")
        else:
            solution, plan, rows = exact_plan(network, demand, costs, allowed, outcome.plan, budget.limits("exact"))
            budget.clock |= solution.ended_by_clock
            outcome.stages.append(_row("exact", solution, len(solution.values), rows, solution.seconds, 1.0))
            if plan is not None:
                _offer(outcome, plan, "exact")
    return outcome.plan


def _schedule(outcome: Outcome, single: Plan, least_ps: float, solver: Solver, budget: Budget) -> None:
    """Run scheduling on the best order."""
    model = None
    if single.time_ps > least_ps:
        model = scheduling_model(outcome.network, outcome.demand, outcome.costs, single)
    if model is None:
        _note(outcome, "scheduling", "optimal: nothing to merge, as soon as possible is best")
        return
    if not budget.allows(len(model.model.rows) / _PAIRS_PER_S / 4 + 0.1):
        _note(outcome, "scheduling", "no solution in time")
        return
    begin = time.perf_counter()
    solution = _solved(model.model, "scheduling", solver, budget)
    budget.clock |= solution.ended_by_clock
    step = max(single.time_ps // 100_000, 1) / 1e6
    _record(outcome, "scheduling", solution, model.model, time.perf_counter() - begin, step)
    if solution.values:
        _offer(outcome, model.plan(solution, outcome.network, outcome.demand, outcome.costs), outcome.origin)


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
    """Keep a plan if it is the best."""
    if plan.time_ps < outcome.plan.time_ps:
        outcome.plan, outcome.origin = plan, origin


def _bound_ps(problem: Problem) -> float:
    """Return the provable bound in picoseconds, with room for rounding."""
    found = bound(problem.topology, problem.collective, problem.size, problem.model)
    return found.time_us * 1e6 * (1 + 1e-9) + 1


def _record(outcome: Outcome, stage: str, solution: Solution, model: Model, seconds: float, unit_us: float) -> None:
    """Add the record of a stage that a solver ran for."""
    outcome.stages.append(_row(stage, solution, len(model.low), len(model.rows), seconds, unit_us))


def _row(stage: str, solution: Solution, variables: int, rows: int, seconds: float, unit_us: float) -> dict[str, Any]:
    """Return the record of a stage."""
    bound_us = None if solution.bound is None else round(solution.bound * unit_us, 6)
    return {
        "stage": stage, "solver": solution.solver, "status": solution.status,
        "gap": None if solution.gap is None else round(solution.gap, 6), "bound_us": bound_us,
        "seconds": round(seconds, 3), "variables": variables, "constraints": rows,
    }  # fmt: skip


def _note(outcome: Outcome, stage: str, status: str) -> None:
    """Add the record of a stage that needed no solver, or got none."""
    outcome.stages.append({"stage": stage, "solver": "", "status": status, "gap": None, "bound_us": None,
                           "seconds": 0.0, "variables": 0, "constraints": 0})  # fmt: skip
