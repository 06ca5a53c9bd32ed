"""The models: both solvers agree, statuses are what they say, and Ctrl-C gets through."""

from __future__ import annotations

import itertools
import random
import threading
import time

import pytest

from synthesizers.taccl.cp_sat import solve_cp_sat
from synthesizers.taccl.highs import solve_highs
from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, NOTHING, OPTIMAL, Limits, Model
from synthesizers.taccl.waiting import wait_for

SOLVERS = {"highs": solve_highs, "cp_sat": solve_cp_sat}


def random_model(seed):
    """Return a small model with conditions, and its optimum by trying all 0/1 values (None: infeasible)."""
    rng = random.Random(seed)
    model = Model()
    bits = [model.variable(0, 1) for _ in range(5)]
    total = model.variable(0, 60, whole=False)
    rows = []
    for _ in range(6):
        terms = [(rng.randint(-3, 5), bit) for bit in rng.sample(bits, 3)]
        low, when = rng.randint(-2, 5), rng.choice([-1, *bits])
        model.at_least(terms, low, when=when)
        rows.append((terms, low, when))
    costs = [(rng.randint(1, 9), bit) for bit in bits]
    model.at_least([(1, total), *((-cost, bit) for cost, bit in costs)], 0)
    model.objective = [(2, total), (-3, bits[0])]
    best = None
    for values in itertools.product((0, 1), repeat=5):
        kept = all((when >= 0 and not values[when]) or sum(f * values[v] for f, v in terms) >= low
                   for terms, low, when in rows)  # fmt: skip
        if kept:
            value = 2 * sum(cost * values[bit] for cost, bit in costs) - 3 * values[0]
            best = value if best is None else min(best, value)
    return model, best


def covering_model(size, rows):
    """Return a model that takes many nodes of a search tree."""
    rng = random.Random(1)
    model = Model()
    bits = [model.variable(0, 1) for _ in range(size)]
    for _ in range(rows):
        model.at_least([(rng.randint(1, 99), bit) for bit in rng.sample(bits, 20)], 400)
    model.objective = [(rng.randint(50, 99), bit) for bit in bits]
    return model


@pytest.mark.parametrize("solver", SOLVERS)
class TestSolvers:
    @pytest.mark.parametrize("seed", range(12))
    def test_optimum(self, solver, seed):
        """The optimum is that of trying everything, or there is none."""
        model, best = random_model(seed)
        solution = SOLVERS[solver](model, Limits(5.0))
        assert solution.solver == solver
        if best is None:
            assert (solution.status, solution.values, solution.gap) == (INFEASIBLE, [], None)
        else:
            assert solution.status == OPTIMAL
            assert solution.objective == pytest.approx(best)
            assert solution.gap == 0

    def test_limit(self, solver):
        """What is ended by its limit does not call itself optimal."""
        solution = SOLVERS[solver](covering_model(60, 40), Limits(0.005))
        assert solution.status in (FEASIBLE, NOTHING)
        if solution.status == FEASIBLE:
            assert solution.gap > 0
            assert solution.bound < solution.objective

    def test_repeats(self, solver):
        """Two runs give one solution."""
        values = [SOLVERS[solver](random_model(3)[0], Limits(1.0, seed=7)).values for _ in range(2)]
        assert values[0] == values[1]


def test_highs_stops(monkeypatch):
    """HiGHS hears that it shall stop: it goes no further with a model that it can solve."""
    assert solve_highs(covering_model(30, 15), Limits(5.0)).status == OPTIMAL
    monkeypatch.setattr("synthesizers.taccl.highs.wait_for", lambda solve, stop: (stop(), solve()))
    assert solve_highs(covering_model(30, 15), Limits(5.0)).status in (FEASIBLE, NOTHING)


class TestWaitFor:
    def test_result(self):
        """What the solver returns or raises comes through."""
        assert wait_for(lambda: 3, lambda: None) == 3
        with pytest.raises(ZeroDivisionError):
            wait_for(lambda: 1 // 0, lambda: None)

    def test_interrupt(self, monkeypatch):
        """Ctrl-C stops the solver, waits for it, and goes on to the caller."""
        stopped = threading.Event()
        interrupted = []

        class Waiting(threading.Event):
            """An event whose first wait is interrupted, as the main thread's is by Ctrl-C."""

            def wait(self, timeout=None):
                if timeout is not None and not interrupted:
                    interrupted.append(True)
                    raise KeyboardInterrupt
                return super().wait(timeout)

        monkeypatch.setattr("synthesizers.taccl.waiting.threading.Event", Waiting)
        ended = []

        def solve():
            stopped.wait(30)
            time.sleep(0.01)
            ended.append(True)

        with pytest.raises(KeyboardInterrupt):
            wait_for(solve, stopped.set)
        assert ended
