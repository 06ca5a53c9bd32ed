"""The quantised bound: TACOS' known answers, fluid bounds below it, and both link models."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import collective, custom
from simulator.bounds import bound, quantised_bound_us
from simulator.bounds.demands import demands
from simulator.bounds.ingress import npu_bounds
from simulator.link_model import LinkModel
from topologies import Topology, mesh, ring, switch, torus

GIB = 2**30 / 1e9


@pytest.mark.parametrize(
    ("build", "shape", "gibps", "alpha", "chunks", "mib", "expected"),
    [
        (mesh, [5, 5], 50, 0.5, 1, 1024, 9606.0),
        (mesh, [10, 10], 100, 1, 2, 1024, 5049.0),
        (mesh, [7, 12], 100, 1, 3, 4096, 19966.27),
        (mesh, [5, 5], [50, 75], 0.5, 1, 1024, 8005.0),
        (mesh, [8, 5], [80, 35], 1, 2, 1024, 8595.43),
        (mesh, [7, 10], [16, 73], 1.5, 3, 4096, 44612.47),
        (mesh, [3, 3, 3], 50, 0.5, 1, 1024, 6671.17),
        (mesh, [3, 4, 5], 50, 0.5, 2, 2048, 13353.33),
        (mesh, [4, 2, 3], 50, 0.5, 3, 3072, 19178.17),
        (torus, [3, 3, 3], 50, 0.5, 1, 1024, 3706.20),
        (torus, [3, 4, 5], 50, 0.5, 2, 2048, 6676.67),
        (torus, [4, 2, 3], 50, 0.5, 3, 3072, 11673.67),
        (mesh, [4, 3], 50, 0.5, 3, 12, 119.18),
    ],
)
def test_known_answers_of_tacos(build, shape, gibps, alpha, chunks, mib, expected):
    """The thirteen AllGathers of TACOS' tests (arXiv 2304.05301, v1.3.0) end at the quantised bound."""
    rates = [value * GIB for value in gibps] if isinstance(gibps, list) else gibps * GIB
    topology = build(shape, rates, alpha)
    npus = topology.num_npus
    size = mib * 2**20 // (npus * chunks) * npus * chunks
    found = quantised_bound_us(topology, collective("all_gather", npus, chunks=chunks), size)
    assert found == pytest.approx(expected, rel=1e-6, abs=0.01)
    backwards = quantised_bound_us(topology, collective("reduce_scatter", npus, chunks=chunks), size)
    assert backwards == found, "a mesh reversed is the same mesh"


def test_pipelined_pays_latency_once():
    """Seven chunks of 1 µs over two links: four on one of them, α once instead of each time."""
    problem = collective("all_gather", 8)
    assert quantised_bound_us(ring(8, 1.0, 0.5), problem, 8000) == 6.0
    assert quantised_bound_us(ring(8, 1.0, 0.5), problem, 8000, LinkModel("pipelined")) == 4.5


def test_broadcast_counts_the_root_once():
    """A broadcast of four chunks leaves the root once and enters the others."""
    assert quantised_bound_us(mesh([3], 1.0, 0.0), collective("broadcast", 3, chunks=4), 4000) == 4.0


def test_all_reduce_counts_all_receipts():
    """2·15·16 chunks over the 48 links of a 4×4 mesh are ten each, where the corners alone need eight."""
    assert quantised_bound_us(mesh([4, 4], 1.0, 0.0), collective("all_reduce", 16), 16000) == 10.0


def test_switch_links_are_held_for_their_own_transfer():
    """Behind a switch an NPU takes in three chunks one after another."""
    assert quantised_bound_us(switch(4, 1.0, 0.0), collective("all_gather", 4), 4000) == 3.0


def test_free_links_and_no_bytes():
    """Zero bytes cost α per chunk; without latency they cost nothing."""
    problem = collective("all_gather", 8)
    assert quantised_bound_us(ring(8, 1.0, 0.5), problem, 0) == 2.0
    assert quantised_bound_us(ring(8, 1.0, 0.5), problem, 0, LinkModel("pipelined")) == 0.5
    assert quantised_bound_us(ring(8, 1.0, 0.0), problem, 0) == 0.0


def test_not_defined():
    """Chunks of unequal weight have no quantised bound, nor has an NPU without links."""
    assert quantised_bound_us(ring(3), custom(3, [[0], [1]], [[1], [2]], weights=[1, 2]), 30) is None
    assert quantised_bound_us(Topology.from_links(2, [(0, 1, 1.0, 1.0)]), collective("all_gather", 2), 2) is None


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([2, 3, 4]), min_size=1, max_size=2),
    st.sampled_from([10.0, 33.0, 50.0]),
    st.sampled_from([0.0, 0.5]),
    st.integers(1, 4),
    st.sampled_from(["all_gather", "reduce_scatter", "broadcast", "all_reduce"]),
    st.sampled_from(["blocking", "pipelined"]),
)
def test_at_least_the_fluid_bound(shape, rate, alpha, chunks, kind, latency):
    """With equal chunks whole chunks never take less than bytes do, on grids, where single NPUs and volume bind."""
    topology = mesh(shape, rate, alpha)
    problem = collective(kind, topology.num_npus, chunks=chunks)
    size = problem.num_chunks * 1000
    quantised = quantised_bound_us(topology, problem, size, LinkModel(latency))
    fluid = max((float(time) for time, _ in npu_bounds(topology, demands(problem, size))), default=0.0)
    assert quantised >= fluid
    assert bound(topology, problem, size).time_us > 0
