"""AllToAll's bound: the known optima, the flow LP solved another way, and what is beyond the search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from schedules import collective, custom
from simulator.bounds import bound
from simulator.bounds.cuts import joined_links
from simulator.bounds.flow_search import FlowSearch
from topologies import Topology, parse_topology


def flow_optimum_us(topology, bytes_of):
    """Return the multi-commodity flow optimum by its primal LP, flows aggregated by source."""
    npus, nodes, links = topology.num_npus, topology.num_nodes, topology.num_links
    sources = [s for s in range(npus) if bytes_of[s].any()]
    width = len(sources) * links + 1
    balance, due = np.zeros((len(sources) * nodes, width)), np.zeros(len(sources) * nodes)
    load = np.zeros((links, width))
    for place, source in enumerate(sources):
        for link in range(links):
            balance[place * nodes + topology.dst[link], place * links + link] += 1
            balance[place * nodes + topology.src[link], place * links + link] -= 1
            load[link, place * links + link] = 1
        due[place * nodes : place * nodes + npus] = bytes_of[source]
        due[place * nodes + source] = -bytes_of[source].sum() + bytes_of[source][source]
    load[:, -1] = -topology.bytes_per_s / 1e6
    cost = np.zeros(width)
    cost[-1] = 1
    return linprog(cost, load, np.zeros(links), balance, due).fun


@pytest.mark.parametrize(
    ("name", "gbps"),
    [("ring:8@50GB/s", 50), ("mesh:4x4@50GB/s", 50), ("mesh:8x8@50GB/s", 25), ("torus:4x4@50GB/s", 100),
     ("torus:8x8@50GB/s", 50), ("dgx_a100:2", 50), ("mi250:2", 32), ("ndv2:2", 3.125), ("dgx2:2", 12.5)],
)  # fmt: skip
def test_known_answers(name, gbps):
    """The optimum of AllToAll on rings, grids and machines (tables of ForestColl and TE-CCL)."""
    topology = parse_topology(name)
    size = 10**6 * topology.num_npus
    found = bound(topology, collective("all_to_all", topology.num_npus), size)
    assert size / found.time_us / 1e3 == pytest.approx(gbps, rel=1e-6)
    assert "not all" not in found.binding


def test_dgx1_in_rounds():
    """On a DGX-1 an AllToAll needs 8/3 rounds of one shard over one link of 25 GB/s."""
    found = bound(parse_topology("dgx1"), collective("all_to_all", 8), 8 * 25_000)
    assert found.bandwidth_us == pytest.approx(8 / 3)


def test_says_which_links_bind():
    """Two triangles joined by one cable: the 9 pairs each way need the one link between them."""
    triangle = [(a, b) for a in range(3) for b in range(3) if a != b]
    rows = [(a + at, b + at, 0.0, 50.0) for a, b in triangle for at in (0, 3)] + [(2, 3, 0.0, 1.0), (3, 2, 0.0, 1.0)]
    found = bound(Topology.from_links(6, rows), collective("all_to_all", 6), 6000)
    assert found.bandwidth_us == pytest.approx(9.0)
    phrases = {f"flows from NPU to NPU over 1 link (NPU {a} → NPU {b})" for a, b in ((2, 3), (3, 2))}
    assert found.binding in phrases


def test_large_networks_say_so():
    """Past the search few lengths are tried; hops are right on a torus, and the phrase says what was left out."""
    found = bound(parse_topology("torus:16x16@50GB/s"), collective("all_to_all", 256), 256 * 10**6)
    assert 256 / found.time_us * 1e3 == pytest.approx(25, rel=1e-6)
    assert found.binding.endswith("(a large network: not all cuts and flows were searched)")


def test_unequal_demands():
    """Pairs that carry more count for more; what several want, or several hold, is left to the other bounds."""
    line = Topology.from_links(3, [(0, 1, 0.0, 1.0), (1, 0, 0.0, 1.0), (1, 2, 0.0, 1.0), (2, 1, 0.0, 1.0)])
    moves = custom(3, [[0], [0], [1], [0, 1]], [[2], [1], [2], [2]], weights=[1, 2, 4, 1])
    assert bound(line, moves, 8000).bandwidth_us == pytest.approx(6.0)


@st.composite
def cases(draw):
    """Draw a strongly connected network, perhaps with switches and parallel links, and pairs that talk."""
    nodes, npus = draw(st.sampled_from([(3, 3), (5, 5), (6, 4), (7, 6)]))
    ends = [(node, (node + 1) % nodes) for node in range(nodes)]
    extra = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda pair: pair[0] != pair[1])
    ends += draw(st.lists(extra, max_size=10))
    rows = [(a, b, 0.5, draw(st.sampled_from([0.5, 1.0, 3.7, 12.5]))) for a, b in ends]
    talk = st.tuples(st.integers(0, npus - 1), st.integers(0, npus - 1)).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(talk, min_size=1, max_size=12, unique=True))
    return Topology.from_links(npus, rows, num_switches=nodes - npus), pairs


@settings(max_examples=150, deadline=None)
@given(cases())
def test_against_the_primal(case):
    """The bound is the optimum of the flow LP, solved from the other side."""
    topology, pairs = case
    bytes_of = np.zeros((topology.num_npus, topology.num_npus))
    for source, target in pairs:
        bytes_of[source, target] = 10**6
    found = bound(topology, collective("send_recv", topology.num_npus, pairs=pairs), 10**6)
    assert found.bandwidth_us == pytest.approx(flow_optimum_us(topology, bytes_of), rel=1e-6)
    assert "not all" not in found.binding


@settings(max_examples=50, deadline=None)
@given(cases(), st.sampled_from([0.0, 0.01]))
def test_flows_of_the_search(case, detours):
    """The rounds of the search mix into flows that bring all where it is wanted as early as the LP says."""
    topology, pairs = case
    wanted = np.zeros((topology.num_npus, topology.num_nodes))
    for source, target in pairs:
        wanted[source, target] = 10**6
    sources = np.flatnonzero(wanted.any(axis=1))
    src, dst, rate = joined_links(topology)
    search = FlowSearch(topology.num_nodes, src, dst, rate.astype(float) / 1e6, sources, wanted[sources], None, detours)
    assert search.run(1 / rate.astype(float))[1]
    flows = search.flows()
    for source, flow in zip(sources.tolist(), flows, strict=True):
        gained = np.bincount(dst, flow, topology.num_nodes) - np.bincount(src, flow, topology.num_nodes)
        gained[source] = 0
        assert gained == pytest.approx(wanted[source], abs=1)
    optimum = flow_optimum_us(topology, wanted[:, : topology.num_npus])
    time = float((flows.sum(axis=0) / rate.astype(float) * 1e6).max())
    assert optimum * (1 - 1e-6) <= time <= optimum * (1 + 1e-6 + detours)
