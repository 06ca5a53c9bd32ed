"""Speed of TopoOpt on 128 servers of four ports: wiring, routes, whole schedules, and evaluations of a search."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.workloads import Placement, read_workload
from schedules import collective, demanded
from synthesizers import Problem
from synthesizers.topoopt import TopoOpt, TopoOptOptions, alternate, find_topology, route_traffic
from topologies import Demand, fabric

FABRIC = fabric(128, 4, 12.5, 1.0)


@pytest.fixture(scope="module")
def hybrid():
    """DLRM with its tables spread over the servers."""
    return Placement(read_workload("dlrm"), 128)


def test_wiring(benchmark):
    """The topology finder on an AllReduce of all."""
    benchmark(find_topology, FABRIC, Demand(128, [range(128)], [10**9]))


def test_routes(benchmark):
    """Four shortest paths and the choice among them, for all 16,256 pairs."""
    wiring = find_topology(FABRIC, Demand(128, [range(128)], [10**9]))
    traffic = np.full((128, 128), 10**6)
    np.fill_diagonal(traffic, 0)
    benchmark.pedantic(route_traffic, (wiring.topology, traffic), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("kind", ["all_reduce", "all_to_all"])
def test_schedule(benchmark, kind):
    """A schedule, wiring included, in one piece."""
    problem = Problem(FABRIC, collective(kind, 128), 10**9)
    TopoOpt().warm_up()
    benchmark.pedantic(TopoOpt().synthesize, (problem, TopoOptOptions(pieces=1)), rounds=3, warmup_rounds=1)


def test_training_demand(benchmark, hybrid):
    """A schedule of a whole iteration of DLRM."""
    demand = hybrid.demand(hybrid.start())
    problem = Problem(FABRIC, demanded(demand), demand.size)
    benchmark.pedantic(TopoOpt().synthesize, (problem, TopoOptOptions(pieces=1)), rounds=3, warmup_rounds=1)


def test_search(benchmark, hybrid):
    """A hundred evaluations of strategies and wirings."""
    benchmark.pedantic(lambda: alternate(FABRIC, hybrid, budget=100), rounds=3, warmup_rounds=1)
