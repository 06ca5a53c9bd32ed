"""Speed of exact searches: SCCL's trades between steps and rounds on DGX-1V, and the optimum of a small ring."""

from __future__ import annotations

import pytest

from schedules import collective
from simulator import simulate_us
from synthesizers import Problem
from synthesizers.exact import Exact, ExactOptions
from synthesizers.sccl import frontier, satisfiable
from synthesizers.taccl.model import Limits
from tests.synthesizers.exact.yardstick import KINDS, measured, tiny_problem
from topologies import dgx1, ring


@pytest.mark.parametrize("point", [(5, 3, 6), (6, 3, 7), (6, 2, 7)], ids=str)
def test_satisfiable(benchmark, point):
    """One question about AllGather; the last answer is no."""
    schedule = benchmark.pedantic(satisfiable, (dgx1(), collective("all_gather", 8), *point), rounds=3)
    assert (schedule is not None) == (point[1] == 3)


def test_frontier(benchmark):
    """All that SCCL publishes of AllGather: (2, 2, 3) and (6, 3, 7) are the trades of up to six chunks."""
    given = dgx1(), collective("all_gather", 8), range(1, 7), Limits(20.0)
    search = benchmark.pedantic(frontier, given, rounds=1)
    assert [(point.chunks, point.steps, point.rounds) for point in search.points] == [(2, 2, 3), (6, 3, 7)]
    assert search.proven


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "broadcast"])
def test_exact(benchmark, kind):
    """The optimum of a ring of five, cut-through routes and messages included."""
    problem = Problem(ring(5), collective(kind, 5), 10**6)
    schedule = benchmark.pedantic(Exact().synthesize, (problem, ExactOptions(effort=10.0)), rounds=3)
    (stage,) = schedule.notes["stages"]
    assert stage["bound_us"] == simulate_us(schedule, problem.size)


@pytest.mark.parametrize("kind", KINDS)
def test_yardstick(benchmark, kind):
    """More of what the tests do on a few: optima, the bounds below and the synthesizers above, on 20 networks each."""
    compared = benchmark.pedantic(lambda: [measured(tiny_problem(seed, kind)) for seed in range(20)], rounds=1)
    assert sum("taccl" in names for names in compared) >= 10  # the others are too large or not proven
