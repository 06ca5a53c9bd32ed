"""Models solved by OR-Tools CP-SAT: one worker, a fixed seed and a deterministic time limit, so that runs repeat."""

from __future__ import annotations

import math
import time
from typing import Any

from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, NOTHING, OPTIMAL, Limits, Model, Solution
from synthesizers.taccl.waiting import wait_for

#: Conflicts that a unit of effort buys.
_CONFLICTS = 20_000


def configured(limits: Limits, spent_s: float) -> Any:
    """Return a solver with limits, of whose seconds some are spent."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.random_seed = limits.seed % 2**31
    parameters.max_deterministic_time = limits.effort
    # Some small models take long without much of what counts as deterministic time.
    parameters.max_number_of_conflicts = max(int(_CONFLICTS * limits.effort), 100)
    parameters.catch_sigint_signal = False
    if limits.seconds is not None:
        parameters.max_time_in_seconds = max(limits.seconds - spent_s, 0.01)
    return solver


def solved(solver: Any, model: Any) -> tuple[str, bool]:
    """Run a configured solver; return what it said, and whether the wall clock ended it.

    Raises
    ------
    KeyboardInterrupt
        The search is stopped first.
    """
    from ortools.sat.python import cp_model

    status = wait_for(lambda: solver.solve(model), solver.stop_search)
    words = {cp_model.OPTIMAL: OPTIMAL, cp_model.FEASIBLE: FEASIBLE, cp_model.INFEASIBLE: INFEASIBLE}
    word = words.get(status, NOTHING)
    if word not in (FEASIBLE, NOTHING) or math.isinf(solver.parameters.max_time_in_seconds):
        return word, False
    # What it reports as its time may be a little short of the limit that ended it; its effort tells.
    given, response = solver.parameters, solver.response_proto
    effort = response.deterministic_time >= given.max_deterministic_time
    return word, not effort and response.num_conflicts < given.max_number_of_conflicts


def solve_cp_sat(model: Model, limits: Limits) -> Solution:
    """Return what CP-SAT makes of a model.

    Raises
    ------
    KeyboardInterrupt
        The search is stopped first.
    """
    from ortools.sat.python import cp_model

    begin = time.perf_counter()
    work = cp_model.CpModel()
    variables = [
        work.new_bool_var("") if (low, high) == (0, 1) else work.new_int_var(low, high, "")
        for low, high in zip(model.low, model.high, strict=True)
    ]

    def total(terms: list[tuple[int, int]]) -> Any:
        return cp_model.LinearExpr.weighted_sum([variables[v] for _, v in terms], [factor for factor, _ in terms])

    for terms, low, when in model.rows:
        constraint = work.add(total(terms) >= low)
        if when >= 0:
            constraint.only_enforce_if(variables[when])
    for variable, value in model.hint.items():
        work.add_hint(variables[variable], value)
    work.minimize(total(model.objective))
    solver = configured(limits, time.perf_counter() - begin)
    word, by_clock = solved(solver, work)
    seconds = time.perf_counter() - begin
    if word not in (OPTIMAL, FEASIBLE):
        return Solution(word, [], None, None, "cp_sat", seconds, by_clock)
    values = [float(solver.value(variable)) for variable in variables]
    return Solution(word, values, solver.objective_value, solver.best_objective_bound, "cp_sat", seconds, by_clock)
