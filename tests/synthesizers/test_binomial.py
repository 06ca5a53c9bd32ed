"""Tests of `synthesizers.binomial`; closed forms from Thakur, Rabenseifner, Gropp (2005)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import KINDS, collective
from schedules.verifier import verify
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.binomial import Binomial
from topologies import fully_connected, mesh, parse_topology, switch, torus

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]  # no link is used twice: the times are the same
DONE = ["broadcast", "reduce", "gather", "scatter"]
SHARD = 10**6
WIRE = SHARD * 10**12 // RATE


def _schedule(topology, wanted, pieces: int | str = 1, size=1_000_003):
    """Return the schedule."""
    return Binomial().synthesize(Problem(topology, wanted, size), parse_options(Binomial(), {"pieces": pieces}))


def _longest(ranks: int) -> int:
    """Return the time of the longest way from the root to a rank, with the shards of the ranks below in each send."""
    time = [0]
    for rank in range(1, ranks):
        bit = rank & -rank
        time.append(time[rank - bit] + ALPHA + min(bit, ranks - rank) * WIRE)
    return max(time)


class TestClosedForms:
    @pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_powers_of_two(self, ranks, model):
        """Broadcast and Reduce take lg p (α + nβ), Gather and Scatter lg p·α + (p−1)/p·nβ."""
        steps, size = ranks.bit_length() - 1, ranks * SHARD
        for root in {0, ranks - 1}:
            for kind in DONE:
                schedule = _schedule(fully_connected(ranks), collective(kind, ranks, root=root))
                whole = kind in ("broadcast", "reduce")
                expected = steps * ALPHA + (steps * ranks if whole else ranks - 1) * WIRE
                assert simulate_ps(schedule, size, model) == expected, (kind, root)

    @pytest.mark.parametrize("ranks", [3, 5, 6, 7, 9, 12, 15, 17, 24])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_any_number(self, ranks, model):
        """With a port for each child no way has more than ⌊lg p⌋ sends: one less than with one port."""
        steps = ranks.bit_length() - 1
        for kind in DONE:
            schedule = _schedule(fully_connected(ranks), collective(kind, ranks, root=1))
            expected = steps * (ALPHA + ranks * WIRE) if kind in ("broadcast", "reduce") else _longest(ranks)
            assert simulate_ps(schedule, ranks * SHARD, model) == expected, kind

    @pytest.mark.parametrize("ranks", range(2, 18))
    def test_one_port(self, ranks):
        """At a switch without latency a Broadcast or Reduce takes ⌈lg p⌉nβ, a Gather or Scatter (p−1)/p·nβ."""
        network = switch(ranks, latency_us=0.0)
        for kind in DONE:
            time = simulate_ps(_schedule(network, collective(kind, ranks)), ranks * SHARD)
            shards = (ranks - 1).bit_length() * ranks if kind in ("broadcast", "reduce") else ranks - 1
            assert time == shards * WIRE, kind

    @pytest.mark.parametrize("pieces", [2, 5, 10])
    def test_pieces(self, pieces):
        """A Broadcast in k pieces takes lg p + k − 1 times the time of a piece."""
        for kind in ("broadcast", "reduce"):
            schedule = _schedule(fully_connected(8), collective(kind, 8), pieces)
            assert simulate_ps(schedule, pieces * SHARD) == (3 + pieces - 1) * (ALPHA + WIRE)

    def test_tuned(self):
        """Small buffers stay whole, large ones are cut."""
        wanted = collective("broadcast", 16)
        assert _schedule(fully_connected(16), wanted, "auto", 1000).notes["pieces"] == 1
        assert _schedule(fully_connected(16), wanted, "auto", 10**9).notes["pieces"] == 128


class TestEveryKind:
    @pytest.mark.parametrize("ranks", range(1, 18))
    @pytest.mark.parametrize("kind", DONE)
    def test_fully_connected(self, kind, ranks):
        """Every number of ranks, root, number of chunks and of pieces verifies."""
        for root in {0, ranks // 2, ranks - 1}:
            for chunks, pieces in ((1, 1), (3, 1), (2, 3)):
                wanted = collective(kind, ranks, root=root, chunks=chunks)
                verify(_schedule(fully_connected(ranks), wanted, pieces))

    @pytest.mark.parametrize("name", ["mesh:3x3", "ring:7", "ring_one_way:6", "dgx1", "ndv2:2", "switch:5"])
    @pytest.mark.parametrize("kind", DONE)
    def test_networks(self, kind, name):
        """Every kind verifies, and ends, where routes are long or lead through switches."""
        network = parse_topology(name)
        schedule = _schedule(network, collective(kind, network.num_npus, root=2, chunks=2), "auto")
        verify(schedule)
        assert simulate_ps(schedule, 0) > 0

    @pytest.mark.parametrize("kind", DONE)
    @pytest.mark.parametrize("root", [0, 1])
    def test_groups(self, kind, root):
        """Several groups of different sizes, ranks in any order, a root in each."""
        groups = [[15, 3, 8], [0, 1], [7, 6], [12, 10, 5, 4, 2]]
        schedule = _schedule(torus((4, 4)), collective(kind, 16, groups=groups, root=root), 2)
        verify(schedule)
        assert schedule.collective.groups == tuple(map(tuple, groups))

    @pytest.mark.parametrize("kind", sorted({*KINDS} - {*DONE, "custom"}))
    def test_others_are_refused(self, kind):
        """Kinds without a root get a reason."""
        wanted = collective(kind, 9, pairs=[(0, 1)] if kind == "send_recv" else ())
        assert f"not {kind}" in Binomial().supports(Problem(mesh((3, 3)), wanted, 1))


class TestStructure:
    def test_tree(self):
        """Of six ranks the root 2 sends to those 4, 2 and 1 further on, each of which sends on to the next."""
        schedule = _schedule(fully_connected(6), collective("broadcast", 6, root=2))
        src, dst = (np.asarray(end)[schedule.link].tolist() for end in (schedule.topology.src, schedule.topology.dst))
        assert sorted(zip(src, dst, strict=True)) == [(0, 1), (2, 0), (2, 3), (2, 4), (4, 5)]

    @pytest.mark.parametrize("kind", ["gather", "scatter"])
    def test_a_subtree_is_one_message(self, kind):
        """Four children are leaves whose shards go alone, the three others' subtrees are a message each."""
        schedule = _schedule(fully_connected(8), collective(kind, 8))
        assert int((schedule.message < 0).sum()) == 4
        assert sorted(np.unique(schedule.message[schedule.message >= 0], return_counts=True)[1].tolist()) == [2, 2, 4]
