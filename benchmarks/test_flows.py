"""Speed of the synthesizers that solve for flows: BFB's balance and AllToAll's multi-commodity LP, warm.

Nothing is asserted: machines are shared. Each benchmark reports transfers and efficiency in its extra information.
"""

from __future__ import annotations

import pytest

from schedules import collective
from simulator import bound, simulate_us
from synthesizers import Problem
from synthesizers.alltoall_lp import AllToAllLp
from synthesizers.bfb import Bfb
from topologies import parse_topology

GB = 10**9


@pytest.mark.parametrize(
    ("synthesizer", "kind", "name"),
    [
        (Bfb(), "all_gather", "mesh:16x16"),  # max-flows for every NPU
        (Bfb(), "all_gather", "torus:32x32"),  # max-flows for one, carried to all
        (AllToAllLp(), "all_to_all", "mesh:8x8"),  # the LP of all sources
        (AllToAllLp(), "all_to_all", "torus:16x16"),  # of one
        (AllToAllLp(), "all_to_all", "dgx_a100:4"),  # through switches
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_synthesis(benchmark, synthesizer, kind, name):
    """Default options, pieces tuned at 1 GB."""
    topology = parse_topology(name)
    problem = Problem(topology, collective(kind, topology.num_npus), GB)
    options = synthesizer.Options()
    schedule = benchmark.pedantic(synthesizer.synthesize, (problem, options), rounds=3, iterations=1, warmup_rounds=1)
    least = bound(topology, problem.collective, GB, problem.model).time_us
    benchmark.extra_info["transfers"] = schedule.num_hops
    benchmark.extra_info["efficiency"] = round(least / simulate_us(schedule, GB, problem.model), 4)
