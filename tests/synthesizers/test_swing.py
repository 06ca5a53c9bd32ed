"""Tests of `synthesizers.swing`; partners and times after De Sensi, Bonato, Saam, Hoefler (NSDI 2024)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import KINDS, collective
from schedules.verifier import verify
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.conformance import cases
from synthesizers.halving_doubling import HalvingDoubling
from synthesizers.recursive_doubling import RecursiveDoubling
from synthesizers.swing import Swing
from topologies import fully_connected, hypercube, mesh, parse_topology, ring, torus

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]  # no link is used twice in a row: the times are the same
DONE = ["all_gather", "all_reduce", "reduce_scatter"]
SHARD = 10**6
WIRE = SHARD * 10**12 // RATE


def _schedule(topology, wanted, size=1_000_003, **options):
    """Return the schedule."""
    return Swing().synthesize(Problem(topology, wanted, size), parse_options(Swing(), options))


def _steps(ranks: int) -> int:
    """Return lg p."""
    return ranks.bit_length() - 1


class TestClosedForms:
    @pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_bandwidth(self, ranks, model):
        """One collective takes lg p·α + (p−1)/p·nβ for each half, as halving and doubling does."""
        for kind, halves in (("all_gather", 1), ("reduce_scatter", 1), ("all_reduce", 2)):
            wanted = collective(kind, ranks)
            schedule = _schedule(fully_connected(ranks), wanted, variant="bandwidth", ports="one")
            expected = halves * (_steps(ranks) * ALPHA + (ranks - 1) * WIRE)
            assert simulate_ps(schedule, ranks * SHARD, model) == expected, kind

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
    def test_latency(self, ranks):
        """Whole vectors take lg p (α + nβ), as in recursive doubling."""
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks), variant="latency", ports="one")
        for size in (0, SHARD):
            assert simulate_ps(schedule, size) == _steps(ranks) * (ALPHA + size * 10**12 // RATE)

    @pytest.mark.parametrize("ranks", [4, 8, 16])
    def test_both_ways(self, ranks):
        """The mirrored collective uses other links, so that n counts half."""
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks), variant="bandwidth", ports="all")
        expected = 2 * _steps(ranks) * ALPHA + (ranks - 1) * WIRE
        assert simulate_ps(schedule, ranks * SHARD) == expected

    @pytest.mark.parametrize("shape", [(4,), (4, 4), (4, 4, 4)], ids=str)
    def test_tori_without_contention(self, shape):
        """Where each dimension has four ranks all partners are neighbours: 2 lg p·α + 2(p−1)/p·nβ over 2D ports."""
        ranks, ports = 4 ** len(shape), 2 * len(shape)
        schedule = _schedule(torus(shape), collective("all_reduce", ranks), variant="bandwidth", ports="all")
        expected = 2 * _steps(ranks) * ALPHA + 2 * (ranks - 1) * WIRE
        assert simulate_ps(schedule, ranks * ports * SHARD) == expected

    def test_hypercube(self):
        """On dimensions of two ranks it is recursive halving and doubling, in every dimension at once."""
        schedule = _schedule(hypercube(3), collective("all_reduce", 8), variant="bandwidth", ports="all")
        assert schedule.notes["collectives"] == 3
        assert simulate_ps(schedule, 3 * 8 * SHARD) == 2 * (3 * ALPHA + 7 * WIRE)


class TestChoice:
    def test_auto(self):
        """Whole vectors win where α counts, halves where β does, and then all ports."""
        network, wanted = torus((4, 4)), collective("all_reduce", 16)
        small, large = _schedule(network, wanted, 16), _schedule(network, wanted, 2**28)
        assert small.notes["variant"] == "latency"
        assert large.notes == {"variant": "bandwidth", "collectives": 4}

    @pytest.mark.parametrize("name", ["ring:16", "torus:8x8", "torus:4x8"])
    def test_faster_on_tori(self, name):
        """It beats partners at powers of two at sizes small and large, as the paper says."""
        network = parse_topology(name)
        for size, other in ((256, RecursiveDoubling), (2**28, HalvingDoubling)):
            problem = Problem(network, collective("all_reduce", network.num_npus), size)
            theirs = other().synthesize(problem, parse_options(other(), {}))
            for ports in ("one", "all"):
                mine = Swing().synthesize(problem, parse_options(Swing(), {"ports": ports}))
                assert simulate_ps(mine, size) < simulate_ps(theirs, size)


class TestEveryKind:
    @pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32])
    @pytest.mark.parametrize("kind", DONE)
    @pytest.mark.parametrize("ports", ["one", "all"])
    @pytest.mark.parametrize("variant", ["bandwidth", "latency"])
    def test_rings(self, kind, ranks, ports, variant):
        """Every power of two and number of chunks verifies."""
        for chunks in (1, 3):
            wanted = collective(kind, ranks, chunks=chunks)
            verify(_schedule(ring(ranks), wanted, ports=ports, variant=variant))

    @pytest.mark.parametrize("name", ["torus:2x4", "torus:8x2x4", "torus:1x8", "mesh:4x4", "hypercube:4", "switch:8",
                                      "dgx1", "ndv2:2", "ring_one_way:8", "star:4"])  # fmt: skip
    @pytest.mark.parametrize("kind", DONE)
    def test_networks(self, kind, name):
        """Every kind verifies on tori, equal or not, and where routes are long or lead through switches."""
        network = parse_topology(name)
        for ports in ("one", "all"):
            schedule = _schedule(network, collective(kind, network.num_npus, chunks=2), ports=ports)
            verify(schedule)
            assert simulate_ps(schedule, 0) > 0

    @pytest.mark.parametrize("kind", DONE)
    def test_groups(self, kind):
        """Several groups of different sizes, ranks in any order."""
        groups = [[15, 3, 8, 6], [0, 1], [7], [12, 10, 5, 4, 2, 9, 11, 14]]
        schedule = _schedule(torus((4, 4)), collective(kind, 16, groups=groups), ports="all")
        verify(schedule)
        assert schedule.collective.groups == tuple(map(tuple, groups))

    @pytest.mark.parametrize("kind", sorted({*KINDS} - {*DONE, "custom"}))
    def test_others_are_refused(self, kind):
        """Kinds that are no part of an AllReduce get a reason."""
        wanted = collective(kind, 8, pairs=[(0, 1)] if kind == "send_recv" else ())
        assert f"not {kind}" in Swing().supports(Problem(ring(8), wanted, 1))

    def test_other_numbers_are_refused(self):
        """Of the conformance cases of its kinds it refuses those with a group that is no power of two, naming it."""
        refused = 0
        for case in cases():
            if case.problem.collective.kind in DONE:
                odd = [len(group) for group in case.problem.collective.groups if len(group) not in (1, 2, 4, 8, 16, 32)]
                reason = Swing().supports(case.problem)
                assert (reason is not None) == bool(odd), case.name
                assert not odd or f"not {odd[0]} ranks" in reason
                refused += bool(odd)
        assert refused


class TestStructure:
    @pytest.mark.parametrize("swings", [(1, -1, 3, -5), (1, -1, 3, -5, 11, -21, 43)])
    def test_partners(self, swings):
        """Rank 0 exchanges with 1, −1, 3, −5, 11, … and an odd rank the other way; mirrored the reverse."""
        ranks = 2 ** len(swings)
        wanted = collective("reduce_scatter", ranks)
        schedule = _schedule(fully_connected(ranks), wanted, variant="bandwidth", ports="all")
        src, dst = (
            np.asarray(end)[schedule.link].astype(int) for end in (schedule.topology.src, schedule.topology.dst)
        )
        for number, sign in enumerate((1, -1)):
            for rank in range(0, ranks, 3):
                mine = (src == rank) & (schedule.chunk % 2 == number)
                away = {int(step): {int(each) for each in (dst - rank)[mine & (schedule.step == step)] % ranks}
                        for step in range(len(swings))}  # fmt: skip
                turn = sign if rank % 2 == 0 else -sign
                assert away == {step: {turn * swing % ranks} for step, swing in enumerate(swings)}

    def test_dimensions_take_turns(self):
        """On a 4×8 torus the plain collective swings in x, y, x, y, y; the next one begins in y."""
        schedule = _schedule(torus((4, 8)), collective("reduce_scatter", 32), variant="bandwidth", ports="all")
        src, dst = (
            np.asarray(end)[schedule.link].astype(int) for end in (schedule.topology.src, schedule.topology.dst)
        )
        for number, order in enumerate(("xyxyy", "yxyxy")):
            mine = schedule.chunk % 4 == number
            for step, dimension in enumerate(order):
                here = mine & (schedule.step == step)
                along_x = src[here] // 4 == dst[here] // 4
                assert (along_x == (dimension == "x")).all()

    def test_shapes(self):
        """Only a mesh or torus over all NPUs in order has dimensions; whatever else there is, is taken for a ring."""
        for network, groups, collectives in (
            (torus((4, 4)), None, 4), (mesh((2, 8)), None, 4), (torus((4, 4)), [list(range(15, -1, -1))], 2),
            (fully_connected(16), None, 2), (torus((4, 4)).without(links=[0]), None, 2), (torus((1, 16)), None, 2),
        ):  # fmt: skip
            wanted = collective("all_gather", 16, groups=groups)
            assert _schedule(network, wanted, ports="all").notes["collectives"] == collectives, network

    def test_deterministic(self):
        """The same problem gives the same schedule."""
        wanted = collective("all_reduce", 16)
        assert _schedule(torus((4, 4)), wanted) == _schedule(torus((4, 4)), wanted)
