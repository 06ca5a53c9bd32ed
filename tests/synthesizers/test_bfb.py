"""Tests of `synthesizers.bfb`; steps and rounds from Zhao et al. (arXiv 2202.03356) and the bounds that they meet."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from schedules import collective, verify
from simulator import LinkModel, bound, simulate_us
from synthesizers import Problem, parse_options
from synthesizers.bfb import Bfb
from synthesizers.bfb.balance import Need, least_time, shares
from synthesizers.conformance import cases
from topologies import Topology, circulant, fully_connected, hypercube, mesh, parse_topology, ring, torus

ALPHA = 0.5  # microseconds
SHARD = 12 * 50_000  # bytes that take 12 us on a link of 50 GB/s


def wired(graph):
    """Return the network of an undirected graph, cables as in the short names."""
    nx.set_edge_attributes(graph, 50.0, "bandwidth_gbps")
    nx.set_edge_attributes(graph, ALPHA, "latency_us")
    return Topology.from_networkx(graph)


def synthesized(topology, kind, shard=SHARD, chunks=1, groups=None, model=None, **options):
    """Return the schedule of a collective and its problem."""
    wanted = collective(kind, topology.num_npus, chunks=chunks, groups=groups)
    problem = Problem(topology, wanted, topology.num_npus * shard, model or LinkModel())
    return Bfb().synthesize(problem, parse_options(Bfb(), options)), problem


#: Network, steps (its diameter), rounds of a shard over a link ((N − 1) over its degree).
KNOWN = {
    "ring 8": (ring(8), 4, Fraction(7, 2)),
    "ring 9": (ring(9), 4, Fraction(8, 2)),
    "K8": (fully_connected(8), 1, Fraction(7, 7)),
    "K4,4": (wired(nx.complete_bipartite_graph(4, 4)), 2, Fraction(7, 4)),
    "K3,3": (wired(nx.complete_bipartite_graph(3, 3)), 2, Fraction(5, 3)),
    "Q3": (hypercube(3), 3, Fraction(7, 3)),
    "Q4": (hypercube(4), 4, Fraction(15, 4)),
    "torus 4x4": (torus((4, 4)), 4, Fraction(15, 4)),
    "torus 3x4": (torus((3, 4)), 3, Fraction(11, 4)),
    "torus 5x5": (torus((5, 5)), 4, Fraction(24, 4)),
    "Petersen": (wired(nx.petersen_graph()), 2, Fraction(9, 3)),
    "C12{2,3}": (circulant(12, [2, 3], one_way=False), 2, Fraction(11, 4)),
    "Hoffman-Singleton": (wired(nx.hoffman_singleton_graph()), 2, Fraction(49, 7)),
    "mesh 4x4": (mesh((4, 4)), 6, Fraction(15, 2)),  # (N − 1) over the least degree
}


@pytest.mark.parametrize("name", KNOWN)
class TestKnownAnswers:
    @pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter"])
    def test_time(self, name, kind):
        """It takes T_L steps and T_B rounds, to the picosecond, and meets the bandwidth bound."""
        topology, steps, rounds = KNOWN[name]
        schedule, problem = synthesized(topology, kind)
        verify(schedule)
        assert schedule.notes["steps"] == steps
        assert schedule.notes["balanced"]
        assert simulate_us(schedule, problem.size) == pytest.approx(steps * ALPHA + float(12 * rounds), abs=1e-9)
        assert simulate_us(schedule, problem.size) == schedule.notes["planned_us"]
        least = bound(topology, problem.collective, problem.size).bandwidth_us
        assert least == pytest.approx(float(12 * rounds), rel=1e-12)

    def test_all_reduce(self, name):
        """ReduceScatter and AllGather one after the other take twice as long."""
        topology, steps, rounds = KNOWN[name]
        schedule, problem = synthesized(topology, "all_reduce")
        verify(schedule)
        assert simulate_us(schedule, problem.size) <= 2 * (steps * ALPHA + float(12 * rounds)) + 1e-9


class TestStructure:
    @pytest.mark.parametrize("name", ["ring 9", "Q4", "torus 3x4"])
    def test_translated(self, name, monkeypatch):
        """What NPU 0 gets, carried to all, takes as long as what is worked out for each."""
        topology = KNOWN[name][0]
        schedule, problem = synthesized(topology, "all_gather")
        monkeypatch.setattr("synthesizers.bfb.synthesizer.translations_of", lambda _: None)
        other, _ = synthesized(topology, "all_gather")
        verify(other)
        assert simulate_us(other, problem.size) == simulate_us(schedule, problem.size)

    def test_pieces(self):
        """As few pieces as balance the loads, a multiple of the chunks asked for; or as many as the option says."""
        assert synthesized(hypercube(3), "all_gather")[0].collective.chunks == 3
        assert synthesized(hypercube(3), "all_gather", chunks=2)[0].collective.chunks == 6
        schedule, problem = synthesized(hypercube(3), "all_gather", pieces=1)
        assert schedule.collective.chunks == 1
        assert not schedule.notes["balanced"]
        # One link of three gets the whole shard of step 3, the others none.
        assert simulate_us(schedule, problem.size) == pytest.approx(3 * ALPHA + 12 * 3)

    def test_a_message_for_each_link_and_step(self):
        """Latencies are paid once a step: with no bytes to send a ring takes as many as it has steps."""
        schedule, _ = synthesized(ring(8), "all_gather", shard=0, pieces=8)
        assert simulate_us(schedule, 0) == 4 * ALPHA

    def test_groups(self):
        """Each group does its own on the links between its NPUs."""
        groups = [[0, 1, 2, 3], [8, 4, 9, 5], [15]]
        schedule, _ = synthesized(mesh((4, 4)), "all_reduce", groups=groups)
        verify(schedule)
        assert schedule.collective.groups == tuple(map(tuple, groups))

    def test_scales(self):
        """A torus of 256 NPUs in 16 steps."""
        schedule, problem = synthesized(torus((16, 16)), "all_gather")
        assert simulate_us(schedule, problem.size) == pytest.approx(16 * ALPHA + 12 * 255 / 4)


class TestRefusals:
    def test_conformance_cases(self):
        """Of the conformance cases of its kinds it refuses those with switches, and the corners of a mesh."""
        for case in cases():
            if case.problem.collective.kind in ("all_gather", "all_reduce", "reduce_scatter"):
                refused = Bfb().supports(case.problem) is not None
                needs_others = case.problem.topology.num_switches > 0 or case.name.endswith("corners")
                assert refused == needs_others, case.name

    @pytest.mark.parametrize(("name", "kind", "groups", "reason"), [
        ("switch:4", "all_gather", None, "has switches"),
        ("ring:4", "broadcast", None, "not broadcast"),
        ("mesh:3x3", "all_reduce", [[0, 8]], "not connected without NPUs outside"),
    ])  # fmt: skip
    def test_reason(self, name, kind, groups, reason):
        """Other kinds, switches and groups that need relays get a reason."""
        topology = parse_topology(name)
        wanted = collective(kind, topology.num_npus, groups=groups)
        assert reason in Bfb().supports(Problem(topology, wanted, 1))


@st.composite
def needs(draw):
    """Draw what an NPU needs in one step, and the rates of its links."""
    links = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(st.booleans(), min_size=links, max_size=links).filter(any), min_size=1, max_size=8))
    rates = np.array(draw(st.lists(st.sampled_from([1, 2, 3, 7, 400]), min_size=links, max_size=links)), np.int64)
    usable, count = np.unique(np.array(rows), axis=0, return_counts=True)
    return Need(np.arange(links), np.arange(len(rows)), count, usable), rates


@settings(max_examples=80, deadline=None)
@given(needs(), st.integers(1, 7))
def test_against_the_linear_program(given_need, pieces):
    """The exact time is the optimum of the LP; in whole pieces it is no less, and the shares keep to it."""
    need, rates = given_need
    classes, links = need.usable.shape
    cost = np.append(np.zeros(classes * links), 1.0)
    load = np.hstack([np.tile(np.eye(links), classes), -rates[:, None]])
    whole = np.hstack([np.kron(np.eye(classes), np.ones(links)), np.zeros((classes, 1))])
    most = [(0, None if used else 0) for used in need.usable.ravel()] + [(0, None)]
    optimum = linprog(cost, load, np.zeros(links), whole, need.count, most).fun
    exact = least_time([need], rates)
    assert float(exact) == pytest.approx(optimum, rel=1e-7)
    time = least_time([need], rates, pieces)
    assert exact <= time
    source, piece, link = shares(need, rates, time, pieces)
    assert sorted(zip(source, piece, strict=True)) == [(s, p) for s in need.sources for p in range(pieces)]
    carried = np.bincount(link, minlength=links)
    assert all(Fraction(int(n), pieces * int(r)) <= time for n, r in zip(carried, rates, strict=True))
    # No less time will do: on some link a piece ends exactly then.
    assert time == exact or any((time * pieces * int(rate)).denominator == 1 for rate in rates)
    assert least_time([need], rates, exact.denominator) == exact


@st.composite
def networks(draw):
    """Draw a strongly connected direct network with uneven and parallel links."""
    npus = draw(st.integers(2, 9))
    ends = [(a, (a + 1) % npus) for a in range(npus)]
    npu = st.integers(0, npus - 1)
    ends += draw(st.lists(st.tuples(npu, npu).filter(lambda pair: pair[0] != pair[1]), max_size=20))
    return Topology.from_links(npus, [(a, b, draw(st.sampled_from([0.0, 0.5, 3.0])),
                                       draw(st.sampled_from([12.5, 50.0, 75.3]))) for a, b in ends])  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(networks(), st.sampled_from(["all_gather", "reduce_scatter", "all_reduce"]), st.integers(1, 3),
       st.sampled_from([0, 1, 10**6]), st.sampled_from(["blocking", "pipelined"]))  # fmt: skip
def test_keeps_to_the_plan(topology, kind, chunks, shard, latency):
    """On uneven networks it verifies, and is never later than steps that wait for each other."""
    schedule, problem = synthesized(topology, kind, shard, chunks, model=LinkModel(latency))
    verify(schedule)
    assert simulate_us(schedule, problem.size, problem.model) <= schedule.notes["planned_us"] * (1 + 1e-12)
