"""The cut search: against all subsets, in budget, and with numbers too large for exact capacities."""

import time
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.bounds import densest_cut
from topologies import Topology, parse_topology, ring, torus


def best_of_all(topology, suppliers, sinks):
    """Return the greatest ratio over all subsets of nodes, by trying each."""
    best = Fraction(0)
    for count in range(1, topology.num_nodes):
        for nodes in combinations(range(topology.num_nodes), count):
            inside = np.isin(np.arange(topology.num_nodes), nodes)
            if all(inside[sink] for sink in sinks):
                continue
            leaving = sum(topology.bytes_per_s[inside[topology.src] & ~inside[topology.dst]].tolist())
            best = max(best, Fraction(sum(npu in nodes for npu in suppliers), leaving))
    return best


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_against_all_subsets(data):
    """The search finds the best of all subsets, exactly, whoever supplies and whoever needs."""
    nodes, npus = data.draw(st.sampled_from([(3, 3), (5, 5), (6, 4)]))
    ends = [(node, (node + 1) % nodes) for node in range(nodes)]
    extra = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda pair: pair[0] != pair[1])
    ends += data.draw(st.lists(extra, max_size=8))
    rows = [(a, b, 0.5, data.draw(st.sampled_from([0.5, 1.0, 3.7, 12.345678901]))) for a, b in ends]
    topology = Topology.from_links(npus, rows, num_switches=nodes - npus)
    some = st.lists(st.integers(0, npus - 1), min_size=1, max_size=npus, unique=True)
    suppliers, sinks = tuple(data.draw(some)), tuple(data.draw(some))
    cut = densest_cut(topology, suppliers, sinks)
    expected = best_of_all(topology, suppliers, sinks)
    assert (cut.ratio if cut else 0) == expected
    if cut:
        inside = np.isin(np.arange(nodes), cut.nodes)
        leaving = sum(topology.bytes_per_s[inside[topology.src] & ~inside[topology.dst]].tolist())
        assert cut.ratio == Fraction(sum(npu in cut.nodes for npu in suppliers), leaving)
        assert cut.complete


def test_torus_in_time():
    """A 16×16 torus takes 0.3 s at most (0.05 s on two cores)."""
    npus = tuple(range(256))
    densest_cut(ring(3), (0, 1, 2), (0, 1, 2))  # imports
    before = time.process_time()
    assert densest_cut(torus([16, 16], 40.0), npus, npus).ratio == Fraction(255, 160 * 10**9)
    assert time.process_time() - before < 0.3


def test_capacities_past_64_bits():
    """Bandwidths whose exact capacities would overflow are rounded for the search, and the ratio is still a cut's."""
    rows = [(a, b, 0.0, 1e9 / (1 + 1e-3 * (a + 7) ** 0.5)) for a in range(40) for b in range(40) if a != b]
    cut = densest_cut(Topology.from_links(40, rows), tuple(range(40)), tuple(range(40)))
    assert not cut.complete
    slowest = rows[-1][3]
    assert float(cut.ratio) == pytest.approx(1 / (39 * slowest * 1e9), rel=1e-6), "the last NPU alone"


def test_one_who_needs_only_its_own():
    """An NPU that supplies itself alone needs no cut."""
    assert densest_cut(ring(3), (1,), (1,)) is None


#: AllGather's optimum in GB/s, as fractions (tables of ForestColl and TE-CCL, links of 50 GB/s).
OPTIMA = {
    "ring:8": (800, 7), "ring:64": (6400, 63), "hypercube:3": (1200, 7), "hypercube:6": (6400, 21),
    "mesh:4x4": (320, 3), "mesh:8x8": (6400, 63), "mesh:10x10": (10000, 99),
    "torus:4x4": (640, 3), "torus:8x8": (12800, 63), "torus:10x10": (20000, 99), "torus:16x16": (51200, 255),
    "dgx_a100:1": (2400, 7), "dgx_a100:2": (1040, 3), "dgx_a100:4": (800, 3), "dgx_a100:8": (1600, 7),
    "mi250:1": (2400, 7), "mi250:2": (5312, 15), "ndv2:2": (25, 1), "ndv2:4": (50, 3), "dgx2:2": (4000, 31),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMA)
def test_exact_fractions(name):
    """The optimum table comes out as fractions, on the network and, for ReduceScatter, on the reversed one."""
    topology = parse_topology(name)
    npus = tuple(range(topology.num_npus))
    for each in (topology, topology.reversed()):
        cut = densest_cut(each, npus, npus)
        assert Fraction(topology.num_npus, 10**9) / cut.ratio == Fraction(*OPTIMA[name])
