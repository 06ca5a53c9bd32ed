"""What trying schedules elsewhere costs: one AllReduce in all scenarios, with its bounds, and the simulations alone."""

from __future__ import annotations

import pytest

from experiments.evaluate import evaluate
from experiments.replay import schedule_of
from experiments.runner.run import Run
from experiments.sensitivity import scenarios
from experiments.sensitivity.trials import attempt
from experiments.tables import row_of
from simulator import LinkModel, simulate_ps
from synthesizers import find

RUN = Run(topology="dgx_a100:2", collective="all_reduce", size=2**24, synthesizer="direct", label="direct",
          options={"pieces": 4})  # fmt: skip


@pytest.fixture(scope="module")
def row():
    """Return the row of a run, and have everything compiled."""
    found = row_of(RUN, evaluate(RUN.problem(), find(RUN.synthesizer), RUN.options)[0])
    attempt(scenarios(), None, found)
    return found


def test_all_scenarios(benchmark, row):
    """A schedule made again, verified, and tried in every scenario; bounds are known after the first round."""
    answer = benchmark(attempt, scenarios(), None, row)
    assert not answer.lost


def test_simulations_alone(benchmark, row):
    """The same number of simulations of the same schedule."""
    schedule, count = schedule_of(row), len(scenarios())

    def work():
        for _ in range(count):
            simulate_ps(schedule, RUN.size, LinkModel())

    benchmark(work)
