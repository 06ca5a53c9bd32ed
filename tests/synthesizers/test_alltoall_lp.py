"""Tests of `synthesizers.alltoall_lp`; optima of AllToAll as in the tests of the bounds (ForestColl, TE-CCL)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import KINDS, collective, verify
from simulator import LATENCIES, SWITCHINGS, LinkModel, bound, simulate_us
from synthesizers import Problem, parse_options
from synthesizers.alltoall_lp import AllToAllLp
from synthesizers.alltoall_lp.dispatch import dispatched
from synthesizers.alltoall_lp.flows import best_flows
from synthesizers.alltoall_lp.rounding import routes_of, whole_flows
from topologies import Topology, parse_topology, ring, torus

GB = 10**9


def synthesized(topology, size=GB, groups=None, chunks=1, model=None, **options):
    """Return the schedule of an AllToAll, and its problem."""
    wanted = collective("all_to_all", topology.num_npus, groups=groups, chunks=chunks)
    problem = Problem(topology, wanted, size, model or LinkModel())
    return AllToAllLp().synthesize(problem, parse_options(AllToAllLp(), options)), problem


def others_of(collective):
    """Return the other members of each member's group."""
    return [np.array([npu for npu in group if npu != member])
            for group in collective.groups if len(group) > 1 for member in group]  # fmt: skip


class TestKnownAnswers:
    @pytest.mark.parametrize(
        ("name", "gbps"),
        [("ring:8", 50), ("mesh:4x4", 50), ("mesh:8x8", 25), ("torus:4x4", 100), ("torus:8x8", 50), ("dgx_a100:2", 50),
         ("mi250:2", 32), ("ndv2:2", 3.125), ("dgx2:2", 12.5)],
    )  # fmt: skip
    def test_bandwidth(self, name, gbps):
        """At 1 GB it is within 2 % of the optimum of AllToAll."""
        schedule, _ = synthesized(parse_topology(name))
        verify(schedule)
        time = simulate_us(schedule, GB)
        assert 0.98 * gbps <= GB / time / 1e3 <= gbps
        assert time <= schedule.notes["planned_us"]

    @pytest.mark.parametrize("pieces", ["auto", 3])
    def test_dgx1_in_rounds(self, pieces):
        """On a DGX-1 it takes 8/3 rounds of one shard over one link of 25 GB/s."""
        schedule, _ = synthesized(parse_topology("dgx1"), 8 * 10**8, pieces=pieces)
        verify(schedule)
        assert 8 / 3 <= simulate_us(schedule, 8 * 10**8) / 4000 <= 8 / 3 * 1.05

    def test_large_torus(self):
        """A torus of 256 NPUs, whose LP is that of one of them, at 2 % or less below 25 GB/s."""
        schedule, _ = synthesized(torus((16, 16)), pieces=1)
        assert 0.98 * 25 <= GB / simulate_us(schedule, GB) / 1e3 <= 25


class TestFlows:
    @pytest.mark.parametrize("name", ["torus:4x4@50x75GB/s,0.5us", "hypercube:3", "ring_one_way:5", "circulant:9x2x5"])
    def test_one_source_for_all(self, name, monkeypatch):
        """One source's flow carried to all others loads the links as the LP of all sources does."""
        topology = parse_topology(name)
        wanted = collective("all_to_all", topology.num_npus)
        one = best_flows(topology, wanted)
        monkeypatch.setattr("synthesizers.alltoall_lp.flows.translations_of", lambda _: None)
        every = best_flows(topology, wanted)
        most = [(flows.amount.sum(axis=0) / topology.bytes_per_s).max() for flows in (one, every)]
        assert most[0] == pytest.approx(most[1], rel=0.01)

    def test_no_detours(self):
        """Of the flows that are done equally early it takes those with the fewest hops."""
        topology = parse_topology("mesh:4x4")
        flows = best_flows(topology, collective("all_to_all", 16))
        x, y = np.arange(16) % 4, np.arange(16) // 4
        apart = abs(x[:, None] - x) + abs(y[:, None] - y)
        assert flows.amount.sum() == pytest.approx(apart.sum())

    def test_parallel_links(self):
        """Parallel links carry in proportion to their bandwidth."""
        topology = Topology.from_links(2, [(0, 1, 0.5, 30.0), (0, 1, 0.5, 10.0), (1, 0, 0.5, 5.0)])
        flows = best_flows(topology, collective("all_to_all", 2))
        assert flows.amount.tolist() == [[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]


class TestStructure:
    def test_stored_on_the_way(self):
        """On a direct network NPUs on the way hold what they pass on: no hop is part of a longer flow."""
        schedule, _ = synthesized(ring(8), pieces=2)
        assert schedule.flow is None
        assert schedule.num_hops == 2 * 8 * (1 + 1 + 2 + 2 + 3 + 3 + 4)

    def test_both_ways_round(self):
        """On an even ring the two halves of what goes to the opposite NPU take the two ways."""
        schedule, _ = synthesized(ring(8), pieces=2)
        assert np.ptp(np.bincount(schedule.link)) == 0

    def test_groups(self):
        """Groups of different sizes at once, whose shards differ in size."""
        groups = [[0, 5, 10, 15, 3], [1, 2], [4], [6, 9, 12]]
        schedule, problem = synthesized(parse_topology("mesh:4x4"), groups=groups, chunks=2)
        verify(schedule)
        assert schedule.collective.groups == tuple(map(tuple, groups))
        least = bound(problem.topology, problem.collective, GB).time_us
        assert least <= simulate_us(schedule, GB) <= 1.1 * least


class TestRefusals:
    @pytest.mark.parametrize("kind", sorted({*KINDS} - {"all_to_all", "custom"}))
    def test_kinds(self, kind):
        """Every other kind gets a reason."""
        wanted = collective(kind, 4, pairs=[(0, 1)] if kind == "send_recv" else ())
        assert f"not {kind}" in AllToAllLp().supports(Problem(ring(4), wanted, 1))

    def test_size(self):
        """An LP that is too large is refused with its size; the torus as large needs one source only."""
        wanted = collective("all_to_all", 256)
        assert "245760 variables" in AllToAllLp().supports(Problem(parse_topology("mesh:16x16"), wanted, 1))
        assert AllToAllLp().supports(Problem(torus((16, 16)), wanted, 1)) is None


@st.composite
def networks(draw):
    """Draw a strongly connected network, perhaps with switches, uneven and parallel links."""
    npus, switches = draw(st.integers(2, 7)), draw(st.integers(0, 2))
    nodes = draw(st.permutations(range(npus + switches)))
    ends = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    node = st.integers(0, npus + switches - 1)
    ends += draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=12))
    rows = [(a, b, draw(st.sampled_from([0.0, 0.5, 3.0])), draw(st.sampled_from([12.5, 50.0, 75.3]))) for a, b in ends]
    return Topology.from_links(npus, rows, num_switches=switches)


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(1, 3), st.sampled_from([0, 1, 10**6]),
       st.sampled_from(LATENCIES), st.sampled_from(SWITCHINGS))  # fmt: skip
def test_keeps_to_the_plan(topology, pieces, size, latency, switching):
    """On any network and in any link model it verifies, and simulates no later than was planned."""
    model = LinkModel(latency, switching)
    schedule, _ = synthesized(topology, size, model=model, pieces=pieces)
    verify(schedule)
    assert simulate_us(schedule, size, model) <= schedule.notes["planned_us"] * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(1, 5))
def test_rounding(topology, pieces):
    """Every flow is rounded up or down to one that gives each target its pieces, and its routes use no more."""
    wanted = collective("all_to_all", topology.num_npus)
    flows, targets = best_flows(topology, wanted), others_of(wanted)
    whole = whole_flows(topology, flows, targets, pieces)
    assert (abs(whole - flows.amount * pieces) < 1 + 1e-5).all()
    start, into = topology.in_links
    for source, carried, others in zip(flows.sources.tolist(), whole, targets, strict=True):
        gained = np.zeros(topology.num_nodes, np.int64)
        np.add.at(gained, topology.dst, carried)
        np.add.at(gained, topology.src, -carried)
        assert (gained[others] == pieces).all()
        begin, links = routes_of(carried.copy(), source, others, pieces, topology.src, start, into)
        assert (np.bincount(links, minlength=topology.num_links) <= carried).all()
        for route, target in enumerate(np.repeat(others, pieces)):
            way = links[begin[route] : begin[route + 1]]
            nodes = [source, *topology.dst[way].tolist()]
            assert nodes[:-1] == topology.src[way].tolist()
            assert nodes[-1] == target
            assert len({*nodes}) == len(nodes)


def dispatched_twin(start, links, last, rank, kind, wire, latency, blocking, cut_through):
    """Plan as `dispatched` does, looking at every link whenever anything can have changed."""
    ways = [links[a:b].tolist() for a, b in pairwise(start)]
    ready = {leg: 0 for leg in range(len(ways)) if leg == 0 or last[leg - 1]}
    free, order, finish, now = [0] * len(latency), [], 0, 0

    def possible(leg):
        """Return when a leg can set out as links are."""
        earliest = at = ready[leg]
        for link in ways[leg]:
            earliest = max(earliest, free[link] - (at - ready[leg]))
            at += latency[link] + (0 if cut_through else wire[kind[leg]][link])
        return earliest

    while ready:
        now = min(possible(leg) for leg in ready)
        for link in range(len(latency)):
            going = [leg for leg in ready if ways[leg][0] == link and possible(leg) <= now]
            if not going:
                continue
            leg = min(going, key=lambda leg: rank[leg])
            sets_out = arrives = now
            for used in ways[leg]:
                arrives = max(sets_out + wire[kind[leg]][used], arrives) + latency[used]
                free[used] = arrives - (0 if blocking else latency[used])
                sets_out = sets_out + latency[used] if cut_through else arrives
            order.append(leg)
            del ready[leg]
            finish = max(finish, arrives)
            if not last[leg]:
                ready[leg + 1] = arrives
    return order, finish


@settings(max_examples=60, deadline=None)
@given(st.data(), st.booleans(), st.booleans())
def test_twin(data, blocking, cut_through):
    """The kernel plans what its pure-Python twin plans."""
    count = data.draw(st.integers(2, 5))
    routes = data.draw(st.lists(st.lists(st.lists(st.integers(0, 2 * count - 1), max_size=2), min_size=1, max_size=4),
                                min_size=1, max_size=8))  # fmt: skip
    # The first link of a leg is out of an NPU, the others out of switches: no link is both.
    legs = [[data.draw(st.integers(0, count - 1)), *(count + link % count for link in leg)] for route in routes
            for leg in route]  # fmt: skip
    last = np.concatenate([np.arange(len(route)) == len(route) - 1 for route in routes])
    start = np.cumsum([0, *map(len, legs)])
    links = np.concatenate(legs).astype(np.int32)
    rank = np.array(data.draw(st.permutations(range(len(legs)))))
    *wire, latency = (np.array(data.draw(st.lists(st.integers(low, 4), min_size=2 * count, max_size=2 * count)))
                      for low in (1, 1, 0))  # fmt: skip
    kind, wire = (
        np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(legs), max_size=len(legs)))),
        np.array(wire),
    )
    order, finish = dispatched(start, links, last, rank, kind, wire, latency, blocking, cut_through)
    twin_order, twin_finish = dispatched_twin(start, links, last, rank, kind, wire, latency, blocking, cut_through)
    assert order.tolist() == twin_order
    assert finish == twin_finish
