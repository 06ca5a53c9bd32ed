"""Tests of `synthesizers.double_binary_tree`; structure from Sanders, Speck, Träff (2009)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from schedules.verifier import verify
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.double_binary_tree import DoubleBinaryTree, depths, trees
from synthesizers.tuning import LADDER
from topologies import fully_connected, mesh, parse_topology, torus

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
BLOCKING, PIPELINED = LinkModel("blocking"), LinkModel("pipelined")
KINDS = ["all_reduce", "broadcast", "reduce"]
NETWORKS = ["mesh:3x3", "torus:4x4", "ring:7", "ring_one_way:6", "dgx1", "ndv2:2", "switch:5", "dgx_a100:2",
            "dragonfly:4x3", "star:6"]  # fmt: skip


def _wire(nbytes: int) -> int:
    """Return β·nbytes in whole picoseconds, rounded up."""
    return -(-nbytes * 10**12 // RATE)


def _sizes(ranks: int) -> list[int]:
    """Return sizes with and without remainders."""
    return [0, 1, ranks - 1, 1_000_003, 2**30, 2**34]


def _schedule(topology, wanted, size=1_000_003, **options):
    """Return the schedule."""
    synthesizer = DoubleBinaryTree()
    return synthesizer.synthesize(Problem(topology, wanted, size), parse_options(synthesizer, options))


class TestTrees:
    """The functions `trees` and `depths`."""

    @pytest.mark.parametrize("ranks", [*range(1, 66), 1000, 1024])
    def test_structure(self, ranks):
        """Both are binary trees of depth ⌊lg p⌋, and no rank is inner in both."""
        inner = []
        for parents in trees(ranks):
            assert (parents < 0).sum() == 1
            children = np.bincount(parents[parents >= 0], minlength=ranks)
            assert children.max() <= 2
            assert depths(parents).max() == ranks.bit_length() - 1
            inner.append(children > 0)
        assert not (inner[0] & inner[1]).any()

    def test_no_ranks(self):
        """Trees over nobody have no edges."""
        assert [len(parents) for parents in trees(0)] == [0, 0]

    def test_seven(self):
        """The first tree over 7 ranks is the complete in-order tree, the second is it shifted by one."""
        first, second = trees(7)
        assert first.tolist() == [1, 3, 1, -1, 5, 3, 5]
        assert second.tolist() == [2, 0, -1, 4, 2, 4, 0]


class TestClosedForms:
    """Exact times on a fully connected network."""

    @pytest.mark.parametrize("ranks", range(2, 18))
    @pytest.mark.parametrize("model", [BLOCKING, PIPELINED], ids=lambda model: model.latency)
    def test_all_reduce_in_one_piece(self, ranks, model):
        """Up and down ⌊lg p⌋ levels: 2⌊lg p⌋(α + ⌈n/2⌉β)."""
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks), pieces=1)
        for size in _sizes(ranks):
            assert simulate_ps(schedule, size, model) == 2 * (ranks.bit_length() - 1) * (ALPHA + _wire(-(-size // 2)))

    @pytest.mark.parametrize("ranks", range(3, 18))
    @pytest.mark.parametrize("pieces", [1, 2, 7, 64])
    @pytest.mark.parametrize("kind", ["broadcast", "reduce"])
    def test_pipelines(self, ranks, pieces, kind):
        """k pieces through d = 1 + ⌊lg(p−1)⌋ levels of links of their own: all pieces, then d − 1 times the largest.

        Blocking, a piece costs α + bβ, so (d + k − 1)(α + bβ) where they are equal; else each level adds α and the
        link only bβ: dα + (d + k − 1)bβ.
        """
        schedule = _schedule(fully_connected(ranks), collective(kind, ranks, root=ranks // 2), pieces=pieces)
        levels = (ranks - 1).bit_length()
        for size in _sizes(ranks):
            half = -(-size // 2)
            wires = [_wire(half // pieces + (piece < half % pieces)) for piece in range(pieces)]
            wire = sum(wires) + (levels - 1) * wires[0]
            assert simulate_ps(schedule, size, BLOCKING) == (levels + pieces - 1) * ALPHA + wire
            assert simulate_ps(schedule, size, PIPELINED) == levels * ALPHA + wire

    @pytest.mark.parametrize("ranks", range(4, 18))
    def test_all_reduce_streams(self, ranks):
        """With k pieces AllReduce needs at least (2⌊lg p⌋ + k − 1)(α + bβ), and at most twice the bytes of a link."""
        pieces, size = 32, 2 * 32 * 10**6
        levels = ranks.bit_length() - 1
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks), pieces=pieces)
        time, piece = simulate_ps(schedule, size), ALPHA + _wire(10**6)
        assert (2 * levels + pieces - 1) * piece <= time <= 2 * (levels + pieces) * piece


class TestEveryKind:
    """Whatever is asked, the schedule computes it."""

    @pytest.mark.parametrize("ranks", range(1, 18))
    @pytest.mark.parametrize("kind", KINDS)
    def test_fully_connected(self, kind, ranks):
        """Every kind, number of ranks and root verifies."""
        for root in {0, ranks // 2, ranks - 1}:
            verify(_schedule(fully_connected(ranks), collective(kind, ranks, root=root, chunks=2), pieces=3))

    @pytest.mark.parametrize("name", NETWORKS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_networks(self, kind, name):
        """Every kind verifies where routes are long or lead through switches."""
        network = parse_topology(name)
        verify(_schedule(network, collective(kind, network.num_npus, root=2)))

    @pytest.mark.parametrize("kind", KINDS)
    def test_groups(self, kind):
        """Several groups of different sizes, ranks in any order."""
        groups = [[15, 3, 8], [0, 1], [7], [12, 10, 5, 4, 2]]
        schedule = _schedule(torus((4, 4)), collective(kind, 16, groups=groups))
        verify(schedule)
        assert schedule.collective.groups == tuple(map(tuple, groups))

    @pytest.mark.parametrize("size", [0, 1])
    def test_hardly_any_bytes(self, size):
        """Nothing, or less than a byte for each half, works and stays in one piece."""
        schedule = _schedule(mesh((3, 3)), collective("all_reduce", 9), size)
        verify(schedule)
        assert schedule.notes["pieces"] == 1

    def test_one_rank(self):
        """One rank has nothing to do."""
        assert _schedule(mesh((1, 1)), collective("all_reduce", 1)).num_hops == 0

    @pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"])
    def test_others_are_refused(self, kind):
        """Kinds in which ranks own shards get a reason."""
        assert f"not {kind}" in DoubleBinaryTree().supports(Problem(mesh((3, 3)), collective(kind, 9), 1))

    @pytest.mark.parametrize("kind", KINDS)
    def test_supported(self, kind):
        """The others get none."""
        assert DoubleBinaryTree().supports(Problem(mesh((3, 3)), collective(kind, 9), 1)) is None


class TestPieces:
    """The option pieces."""

    @pytest.mark.parametrize("size", [10**5, 10**8])
    def test_auto_is_the_best_rung(self, size):
        """Auto is the fastest of the ladder."""
        network, wanted = torus((4, 4)), collective("all_reduce", 16)
        times = [simulate_ps(_schedule(network, wanted, size, pieces=rung), size) for rung in LADDER]
        assert simulate_ps(_schedule(network, wanted, size), size) == min(times)

    def test_halves(self):
        """Half of the bytes is on each tree."""
        schedule = _schedule(mesh((3, 3)), collective("all_reduce", 9), pieces=4)
        nbytes = schedule.collective.chunk_bytes(1001)
        assert (nbytes[:4].sum(), nbytes[4:].sum()) == (501, 500)

    def test_deterministic(self):
        """The same problem gives the same schedule."""
        wanted = collective("all_reduce", 9)
        assert _schedule(mesh((3, 3)), wanted) == _schedule(mesh((3, 3)), wanted)
