"""Models solved by HiGHS through PuLP: one thread, limited by nodes of the search tree, so that runs repeat.

PuLP calls whatever HiGHS has at a time limit "Optimal"; what is recorded is read from `sol_status` and from HiGHS.
"""

from __future__ import annotations

import math
import time
from typing import Any

from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, NOTHING, OPTIMAL, Limits, Model, Solution
from synthesizers.taccl.waiting import wait_for

#: Nodes, and iterations of each simplex run, that a unit of effort buys.
_NODES, _ITERATIONS = 200, 20_000

#: Seconds for a unit of effort at which the clock ends HiGHS all the same: its nodes may be of any size.
_GUARD_S = 20.0


def solve_highs(model: Model, limits: Limits) -> Solution:
    """Return what HiGHS makes of a model.

    Raises
    ------
    KeyboardInterrupt
        The search is stopped first.
    """
    import pulp

    begin = time.perf_counter()
    problem = pulp.LpProblem("taccl", pulp.LpMinimize)
    variables = [
        problem.add_variable(f"v{index}", low, high, "Integer" if whole else "Continuous")
        for index, (low, high, whole) in enumerate(zip(model.low, model.high, model.whole, strict=True))
    ]
    problem += pulp.LpAffineExpression({variables[v]: factor for factor, v in _merged(model.objective)})
    for terms, low, when in model.rows:
        merged = _merged(terms)
        bound = low
        if when >= 0:
            needed = model.slackness(merged, low)
            merged = _merged([*merged, (-needed, when)])
            bound = low - needed
        expression = pulp.LpAffineExpression({variables[v]: factor for factor, v in merged})
        problem += pulp.LpConstraint(expression, pulp.LpConstraintGE, rhs=bound)
    # HiGHS is handed the columns in the order of `problem.variables()`; unused ones are not among them.
    seconds = _GUARD_S * limits.effort
    if limits.seconds is not None:
        seconds = max(min(seconds, limits.seconds - (time.perf_counter() - begin)), 0.01)
    solver = _solver(model, limits, seconds)
    problem.solve(solver)
    native = problem.solverModel
    took = time.perf_counter() - begin
    by_clock = native.modelStatusToString(native.getModelStatus()) == "Time limit reached"
    values = [variable.varValue for variable in variables]
    info = native.getInfo()
    found = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    if problem.sol_status == pulp.LpSolutionInfeasible:
        return Solution(INFEASIBLE, [], None, None, "highs", took)
    if not found or info.primal_solution_status != 2 or not math.isfinite(info.objective_function_value):
        return Solution(NOTHING, [], None, None, "highs", took, by_clock)
    word = OPTIMAL if problem.sol_status == pulp.LpSolutionOptimal else FEASIBLE
    filled = [float(low) if value is None else value for value, low in zip(values, model.low, strict=True)]
    dual = info.mip_dual_bound if any(model.whole) else info.objective_function_value
    return Solution(word, filled, info.objective_function_value, dual, "highs", took, by_clock)


def _merged(terms: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return terms with each variable once."""
    found: dict[int, int] = {}
    for factor, variable in terms:
        found[variable] = found.get(variable, 0) + factor
    return [(factor, variable) for variable, factor in found.items() if factor]


def _solver(model: Model, limits: Limits, seconds: float) -> Any:
    """Return PuLP's HiGHS, with the hint as a start and the wait that lets Ctrl-C through."""
    import pulp

    class _HiGHS(pulp.HiGHS):
        """HiGHS that begins from the hint."""

        def callSolver(self, lp: Any) -> None:
            native = lp.solverModel
            native.HandleUserInterrupt = True  # without it cancelSolve does nothing
            if len(model.hint) == len(model.low):
                import highspy

                start = highspy.HighsSolution()
                start.col_value = [float(model.hint[int(variable.name[1:])]) for variable in lp.variables()]
                native.setSolution(start)
            wait_for(native.run, native.cancelSolve)

        def findSolutionValues(self, lp: Any) -> tuple[int, int]:
            # PuLP has no word for the node limit and fails there.
            import highspy

            if lp.solverModel.getModelStatus() != highspy.HighsModelStatus.kSolutionLimit:
                found: tuple[int, int] = super().findSolutionValues(lp)
                return found
            values = list(lp.solverModel.getSolution().col_value)
            for variable in lp.variables():
                variable.varValue = values[variable.index] if values else None
            return pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible

    return _HiGHS(
        msg=False, threads=1, timeLimit=seconds, gapRel=1e-6, random_seed=limits.seed % 2**31,
        mip_max_nodes=max(int(_NODES * limits.effort), 1),
        simplex_iteration_limit=max(int(_ITERATIONS * limits.effort), 1000), parallel="off",
    )  # fmt: skip
