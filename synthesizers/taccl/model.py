"""A linear model with whole-number variables, written once for both solvers; and what came of solving it.

Variables and coefficients are whole numbers. A constraint may hold only where a 0/1 variable is 1: CP-SAT takes that as
it is, for HiGHS it becomes a big-M constraint with the least M that the bounds of the variables allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Terms = list[tuple[int, int]]  # (coefficient, variable)

#: What a solver can say, as recorded: none of them is ever guessed.
OPTIMAL, FEASIBLE, NOTHING, INFEASIBLE = "optimal", "feasible", "no solution within the effort", "infeasible"

#: What is recorded instead of `NOTHING` where it was the clock that ended it.
LATE = "no solution in time"


@dataclass
class Model:
    """Variables, constraints Σ coefficient · variable ≥ low, and an objective to minimise."""

    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    rows: list[tuple[Terms, int, int]] = field(default_factory=list)  # terms, low, condition (−1: always)
    objective: Terms = field(default_factory=list)
    hint: dict[int, int] = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, int]:
        """(variables, constraints)."""
        return len(self.low), len(self.rows)

    def variable(self, low: int, high: int, whole: bool = True) -> int:
        """Return a new variable; `whole=False` lets HiGHS take fractions."""
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.low) - 1

    def at_least(self, terms: Terms, low: int, when: int = -1) -> None:
        """Ask for Σ ≥ low, where `when` (a 0/1 variable) is 1."""
        self.rows.append((terms, low, when))

    def at_most(self, terms: Terms, high: int, when: int = -1) -> None:
        """Ask for Σ ≤ high, where `when` is 1."""
        self.rows.append(([(-factor, variable) for factor, variable in terms], -high, when))

    def equal(self, terms: Terms, value: int) -> None:
        """Ask for Σ = value."""
        self.at_least(terms, value)
        self.at_most(terms, value)

    def slackness(self, terms: Terms, low: int) -> int:
        """Return the least M for which Σ + M ≥ low holds whatever the variables are."""
        least = sum(factor * (self.low[v] if factor > 0 else self.high[v]) for factor, v in terms)
        return max(low - least, 0)


@dataclass(frozen=True)
class Solution:
    """What came of solving a model.

    Attributes
    ----------
    status : str
        `OPTIMAL`, `FEASIBLE`, `NOTHING` or `INFEASIBLE`.
    values : list of float
        Of each variable; empty without a solution.
    objective, bound : float or None
        Value of the solution, and what no solution can go below.
    solver : str
        Which one it was.
    seconds : float
    ended_by_clock : bool
        Whether the wall clock ended it: another run may end elsewhere.
    """

    status: str
    values: list[float]
    objective: float | None
    bound: float | None
    solver: str
    seconds: float
    ended_by_clock: bool = False

    @property
    def gap(self) -> float | None:
        """(objective − bound) / objective; 0 where optimal, None without a solution."""
        if self.objective is None or self.bound is None:
            return None
        if self.status == OPTIMAL or self.objective <= 0:
            return 0.0
        return max(self.objective - self.bound, 0.0) / self.objective


@dataclass(frozen=True)
class Limits:
    """When a solver gives up.

    Attributes
    ----------
    effort : float
        Work that it may do, about seconds of one core, in units that do not depend on the clock: CP-SAT's
        deterministic time; for HiGHS branch-and-bound nodes.
    seconds : float or None
        Wall-clock limit; None: none.
    seed : int
    """

    effort: float
    seconds: float | None = None
    seed: int = 0
