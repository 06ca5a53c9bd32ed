"""Tests of `synthesizers.scatter_allgather`; the closed form is from Thakur, Rabenseifner, Gropp (2005)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import KINDS, collective
from schedules.verifier import verify
from simulator import simulate_ps
from synthesizers import Problem
from synthesizers.binomial import Binomial
from synthesizers.scatter_allgather import ScatterAllGather
from topologies import fully_connected, mesh, parse_topology, switch, torus

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
SHARE = 10**6
WIRE = SHARE * 10**12 // RATE
DONE = ["broadcast", "reduce"]


def _schedule(topology, wanted, size=1_000_003):
    """Return the schedule."""
    return ScatterAllGather().synthesize(Problem(topology, wanted, size), None)


def _step_by_step(schedule, size):
    """Return the time were each step to end before the next begins: the sum of their longest messages."""
    nbytes, total = schedule.collective.chunk_bytes(size)[schedule.chunk], 0
    for step in np.unique(schedule.step):
        mine = schedule.step == step
        total += ALPHA + int(np.bincount(schedule.link[mine], nbytes[mine]).max()) * 10**12 // RATE
    return total


class TestClosedForm:
    @pytest.mark.parametrize("kind", DONE)
    @pytest.mark.parametrize("ranks", [4, 8, 16, 32])
    def test_powers_of_two(self, ranks, kind):
        """Step by step it takes (lg p + p − 1)α + 2(p−1)/p·nβ, and never longer without a barrier between steps."""
        for root in {0, ranks - 1}:
            schedule = _schedule(fully_connected(ranks), collective(kind, ranks, root=root), ranks * SHARE)
            expected = (ranks.bit_length() - 1 + ranks - 1) * ALPHA + 2 * (ranks - 1) * WIRE
            assert _step_by_step(schedule, ranks * SHARE) == expected
            assert simulate_ps(schedule, ranks * SHARE) <= expected

    @pytest.mark.parametrize("ranks", range(3, 18))
    def test_one_port(self, ranks):
        """At a switch without latency the root's port carries each share twice, but its own once: 2(p−1)/p·nβ."""
        network = switch(ranks, latency_us=0.0)
        time = simulate_ps(_schedule(network, collective("broadcast", ranks), ranks * SHARE), ranks * SHARE)
        assert time == 2 * (ranks - 1) * WIRE

    def test_large_buffers(self):
        """It overtakes a binomial tree in one piece where nβ counts, and not where α does."""
        network, wanted = switch(16), collective("broadcast", 16)
        for size, sooner in ((10**9, True), (100, False)):
            tree = Binomial().synthesize(Problem(network, wanted, size), Binomial.Options(pieces=1))
            assert (simulate_ps(_schedule(network, wanted, size), size) < simulate_ps(tree, size)) == sooner


class TestEveryKind:
    @pytest.mark.parametrize("kind", DONE)
    def test_fully_connected(self, kind):
        """Every number of ranks verifies, every root of a few."""
        for ranks in range(1, 18):
            for root in {0, ranks // 3, ranks - 1}:
                verify(_schedule(fully_connected(ranks), collective(kind, ranks, root=root, chunks=2)))

    @pytest.mark.parametrize("name", ["mesh:3x3", "ring_one_way:6", "dgx1", "ndv2:2"])
    def test_networks(self, name):
        """It verifies, and ends, where routes are long or lead through switches."""
        network = parse_topology(name)
        for kind in DONE:
            schedule = _schedule(network, collective(kind, network.num_npus, root=3))
            verify(schedule)
            assert simulate_ps(schedule, 0) > 0

    @pytest.mark.parametrize("kind", DONE)
    def test_groups(self, kind):
        """Groups of different sizes share one number of shards: a rank of a small group owns several."""
        groups = [[15, 3, 8], [0, 1], [7, 6], [12, 10, 5, 4, 2]]
        schedule = _schedule(torus((4, 4)), collective(kind, 16, groups=groups, root=1))
        verify(schedule)
        assert schedule.collective.shards == 5

    @pytest.mark.parametrize("kind", sorted({*KINDS} - {*DONE, "custom"}))
    def test_others_are_refused(self, kind):
        """Every other kind gets a reason that names it."""
        wanted = collective(kind, 9, pairs=[(0, 1)] if kind == "send_recv" else ())
        assert f"not {kind}" in ScatterAllGather().supports(Problem(mesh((3, 3)), wanted, 1))
