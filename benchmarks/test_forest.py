"""Speed of the forest synthesizer: packing alone, whole schedules with the tuning of pieces, and free root shares."""

from __future__ import annotations

import pytest

from schedules import collective
from synthesizers import Problem
from synthesizers.forest import Forest, ForestOptions
from synthesizers.forest.root_shares import root_share_trees
from synthesizers.forest.spanning import spanning_trees
from topologies import parse_topology

GIGABYTE = 10**9


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """Compile the kernels outside the times."""
    Forest().warm_up()


@pytest.mark.parametrize("name", ["torus:8x8", "torus:12x12", "mesh:8x8", "mesh:12x12", "dgx_a100:4", "dgx_a100:8"])
def test_packing(benchmark, name):
    """Trees for AllGather over all NPUs."""
    topology = parse_topology(name)
    benchmark.pedantic(spanning_trees, (topology, range(topology.num_npus)), rounds=3)


@pytest.mark.parametrize("name", ["torus:8x8", "torus:12x12", "mesh:8x8", "dgx_a100:4"])
def test_all_gather(benchmark, name):
    """A schedule for AllGather of 1 GB; 3 s at most for 8×8 tori and four boxes of A100, 60 s for 12×12."""
    topology = parse_topology(name)
    problem = Problem(topology, collective("all_gather", topology.num_npus), GIGABYTE)
    benchmark.pedantic(Forest().synthesize, (problem, ForestOptions()), rounds=3)


@pytest.mark.parametrize("name", ["mesh:4x4", "mesh:8x8", "dgx_a100:2"])
def test_root_shares(benchmark, name):
    """Trees for AllReduce: the linear program, its rounding, and two packings."""
    topology = parse_topology(name)
    benchmark.pedantic(root_share_trees, (topology, range(topology.num_npus), None, float("inf")), rounds=3)
