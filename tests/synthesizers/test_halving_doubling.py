"""Tests of `synthesizers.halving_doubling`; closed forms from Thakur, Rabenseifner, Gropp (2005)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from schedules.verifier import verify
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.halving_doubling import HalvingDoubling
from topologies import fully_connected, mesh, parse_topology, torus

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]  # no link is used twice in a row: the times are the same
KINDS = ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "gather", "scatter"]
NETWORKS = ["mesh:3x3", "torus:4x4", "ring:7", "ring_one_way:6", "dgx1", "ndv2:2", "switch:5", "dgx_a100:2",
            "dragonfly:4x3", "star:6"]  # fmt: skip


def _wire(nbytes: int) -> int:
    """Return β·nbytes in whole picoseconds, rounded up."""
    return -(-nbytes * 10**12 // RATE)


def _sizes(ranks: int) -> list[int]:
    """Return sizes with and without remainders."""
    return [0, 1, ranks - 1, 1_000_003, 2**30, 2**34]


def _prefix(size: int, parts: int, first: int) -> int:
    """Return the bytes of the `first` shards of `parts`; remainders are on the first, so no other block is larger."""
    return first * (size // parts) + min(first, size % parts)


def _half(size: int, ranks: int) -> int:
    """Return the exact time of one half, ReduceScatter or AllGather, for a power of two."""
    return sum(ALPHA + _wire(_prefix(size, ranks, 1 << step)) for step in range(ranks.bit_length() - 1))


def _schedule(topology, wanted, size=1_000_003):
    """Return the schedule."""
    return HalvingDoubling().synthesize(Problem(topology, wanted, size), parse_options(HalvingDoubling(), {}))


class TestClosedForms:
    """Exact times on a fully connected network."""

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_powers_of_two(self, ranks, model):
        """Each half takes lg p·α + (p−1)/p·nβ, exactly the sum over the largest blocks of its steps; AllReduce both."""
        for kind, halves in (("all_gather", 1), ("reduce_scatter", 1), ("all_reduce", 2)):
            schedule = _schedule(fully_connected(ranks), collective(kind, ranks))
            for size in _sizes(ranks):
                time = simulate_ps(schedule, size, model)
                assert time == halves * _half(size, ranks), (kind, size)
                steps = ranks.bit_length() - 1
                rounded = steps * ALPHA + (ranks - 1) * _wire(-(-size // ranks))
                assert time <= halves * rounded
                if size % ranks == 0:
                    book = steps * ALPHA + (ranks - 1) * size * 10**12 / (ranks * RATE)
                    assert time == pytest.approx(halves * book, abs=halves * steps)

    @pytest.mark.parametrize("ranks", [3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_folded_all_reduce(self, ranks, model):
        """Otherwise 2(α + nβ) for handing in and getting back, and the time of the power of two below between."""
        power = 1 << (ranks.bit_length() - 1)
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks))
        for size in [*_sizes(ranks), power * 10**6]:
            folded = 2 * (ALPHA + _wire(size)) + 2 * _half(size, power)
            time = simulate_ps(schedule, size, model)
            if size % power == 0:
                assert time == folded
            assert folded - 4 * power * _wire(1) <= time <= folded

    @pytest.mark.parametrize("ranks", [3, 5, 6, 7, 9, 12, 15, 17])
    def test_folded_all_gather(self, ranks):
        """A shard is handed in, blocks of at most twice as many shards double, and all but one shard come back."""
        power = 1 << (ranks.bit_length() - 1)
        size = ranks * 10**6
        gathered = simulate_ps(_schedule(fully_connected(ranks), collective("all_gather", ranks)), size)
        scattered = simulate_ps(_schedule(fully_connected(ranks), collective("reduce_scatter", ranks)), size)
        extras = ranks - power
        blocks = [min(2 << step, (1 << step) + extras) for step in range(power.bit_length() - 1)]
        exact = ALPHA + _wire(10**6) + sum(ALPHA + _wire(block * 10**6) for block in blocks)
        assert gathered <= exact + ALPHA + _wire((ranks - 1) * 10**6)
        assert gathered == scattered

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16])
    def test_broadcast_and_reduce(self, ranks):
        """Scatter and AllGather take at most 2 lg p·α + 2(p−1)/p·nβ; a node with several ports is faster."""
        for kind in ("broadcast", "reduce"):
            time = simulate_ps(_schedule(fully_connected(ranks), collective(kind, ranks, root=1)), ranks * 10**6)
            assert _half(ranks * 10**6, ranks) < time <= 2 * _half(ranks * 10**6, ranks)

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16])
    def test_scatter_and_gather(self, ranks):
        """The binomial tree takes lg p·α + (p−1)/p·nβ."""
        for kind in ("scatter", "gather"):
            for size in (0, ranks * 10**6):
                schedule = _schedule(fully_connected(ranks), collective(kind, ranks))
                assert simulate_ps(schedule, size) == _half(size, ranks)


class TestEveryKind:
    """Whatever is asked, the schedule computes it."""

    @pytest.mark.parametrize("ranks", range(1, 18))
    @pytest.mark.parametrize("kind", KINDS)
    def test_fully_connected(self, kind, ranks):
        """Every kind, number of ranks and root verifies."""
        for root in {0, ranks // 2, ranks - 1}:
            for chunks in (1, 3):
                verify(_schedule(fully_connected(ranks), collective(kind, ranks, root=root, chunks=chunks)))

    @pytest.mark.parametrize("name", NETWORKS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_networks(self, kind, name):
        """Every kind verifies, and ends, where routes are long or lead through switches."""
        network = parse_topology(name)
        schedule = _schedule(network, collective(kind, network.num_npus, root=2, chunks=2))
        verify(schedule)
        assert simulate_ps(schedule, 0) > 0

    @pytest.mark.parametrize("kind", KINDS)
    def test_groups(self, kind):
        """Several groups of different sizes, ranks in any order."""
        groups = [[15, 3, 8], [0, 1], [7], [12, 10, 5, 4, 2]]
        schedule = _schedule(torus((4, 4)), collective(kind, 16, groups=groups))
        verify(schedule)
        assert schedule.collective.groups == tuple(map(tuple, groups))

    @pytest.mark.parametrize("kind", ["all_to_all", "send_recv"])
    def test_others_are_refused(self, kind):
        """Kinds that are no exchange of halves get a reason."""
        wanted = collective(kind, 9, pairs=[(0, 1)] if kind == "send_recv" else ())
        assert f"not {kind}" in HalvingDoubling().supports(Problem(mesh((3, 3)), wanted, 1))

    @pytest.mark.parametrize("kind", KINDS)
    def test_supported(self, kind):
        """The others get none."""
        assert HalvingDoubling().supports(Problem(mesh((3, 3)), collective(kind, 9), 1)) is None


class TestStructure:
    """Exchanges and messages."""

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16])
    def test_partners(self, ranks):
        """In step k of AllGather every rank exchanges with rank XOR 2^k."""
        schedule = _schedule(fully_connected(ranks), collective("all_gather", ranks))
        src, dst = schedule.topology.src[schedule.link], schedule.topology.dst[schedule.link]
        steps = ranks.bit_length() - 1
        assert np.unique(schedule.step).tolist() == list(range(1, steps + 1))
        assert ((src ^ dst) == 1 << (schedule.step - 1)).all()

    def test_a_block_is_one_message(self):
        """The blocks of an AllReduce over 8 ranks are 2·3·8 messages, single chunks go alone."""
        schedule = _schedule(fully_connected(8), collective("all_reduce", 8))
        alone = int((schedule.message < 0).sum())
        assert alone == 2 * 8
        assert len(np.unique(schedule.message[schedule.message >= 0])) == 2 * 2 * 8

    def test_each_place_is_filled_once(self):
        """Broadcast sends no chunk to a rank that has it, so that Reduce, played backwards, adds nothing twice."""
        for ranks in range(2, 18):
            schedule = _schedule(fully_connected(ranks), collective("broadcast", ranks))
            place = schedule.topology.dst[schedule.link].astype(int) * schedule.collective.num_chunks + schedule.chunk
            assert len(np.unique(place)) == len(place) == (ranks - 1) * schedule.collective.num_chunks

    def test_deterministic(self):
        """The same problem gives the same schedule."""
        wanted = collective("all_reduce", 9)
        assert _schedule(mesh((3, 3)), wanted) == _schedule(mesh((3, 3)), wanted)
