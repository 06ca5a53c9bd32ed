"""Speed of synthesis, simulation, verification and bounds, warm, as `make benchmark` prints it.

Nothing is asserted: machines are shared. Each benchmark reports transfers per second in its extra information.
"""

from __future__ import annotations

import pytest

from schedules import Schedule, collective, verify
from simulator import LinkModel, bound, hop_times, simulate_ps
from synthesizers import Problem
from synthesizers.tacos import Tacos, TacosOptions
from topologies import Topology, mesh, torus

GIB = 2**30
GIBPS = GIB / 1e9


def gathered(topology: Topology) -> Schedule:
    """Return the TACOS AllGather of a network."""
    problem = Problem(topology, collective("all_gather", topology.num_npus), GIB)
    return Tacos().synthesize(problem, TacosOptions())


@pytest.fixture(scope="module")
def mesh32() -> Schedule:
    """The 32×32 mesh AllGather: a million transfers."""
    return gathered(mesh([32, 32]))


def rate(benchmark, transfers: int) -> None:
    """Note how many million transfers a second the fastest round made."""
    benchmark.extra_info["million_transfers_per_s"] = round(transfers / benchmark.stats["min"] / 1e6, 1)


SYNTHESIS = {
    "all_gather mesh 32x32": (mesh([32, 32]), "all_gather"),
    "all_gather mesh 64x64": (mesh([64, 64]), "all_gather"),
    "all_gather mesh 100x100": (mesh([100, 100]), "all_gather"),
    "all_gather mesh 16x16 at 50x75": (mesh([16, 16], [50 * GIBPS, 75 * GIBPS]), "all_gather"),
    "all_reduce mesh 16x8 at 50x75": (mesh([16, 8], [50 * GIBPS, 75 * GIBPS]), "all_reduce"),
}


@pytest.mark.parametrize("name", SYNTHESIS)
def test_tacos(benchmark, name):
    """TACOS with its default options."""
    topology, kind = SYNTHESIS[name]
    problem = Problem(topology, collective(kind, topology.num_npus), GIB)
    synthesizer = Tacos()
    schedule = benchmark.pedantic(
        synthesizer.synthesize, (problem, TacosOptions()), rounds=5, iterations=1, warmup_rounds=1
    )
    rate(benchmark, schedule.num_hops)


def test_simulate_program(benchmark, mesh32):
    """The bare completion time in program order."""
    benchmark(simulate_ps, mesh32, GIB)
    rate(benchmark, mesh32.num_hops)


@pytest.mark.parametrize("latency", ["blocking", "pipelined"])
def test_simulate_fifo(benchmark, mesh32, latency):
    """The event loop on the same hops, dataflow included once."""
    schedule = mesh32.replaced(order="fifo")
    benchmark(hop_times, schedule, GIB, LinkModel(latency))
    rate(benchmark, mesh32.num_hops)


@pytest.mark.parametrize("direction", ["copies", "reductions"])
def test_verify(benchmark, mesh32, direction):
    """The verifier on random words."""
    schedule = mesh32 if direction == "copies" else mesh32.reverse()
    benchmark(verify, schedule, "random")
    rate(benchmark, schedule.num_hops)


@pytest.mark.parametrize("side", [8, 16])
def test_bound(benchmark, side):
    """The AllGather bound of a torus, its tightest cut included."""
    topology = torus([side, side])
    benchmark(bound, topology, collective("all_gather", topology.num_npus), GIB)
