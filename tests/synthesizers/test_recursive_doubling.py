"""Tests of `synthesizers.recursive_doubling`; closed forms from Thakur, Rabenseifner, Gropp (2005)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.halving_doubling import HalvingDoubling
from synthesizers.recursive_doubling import RecursiveDoubling
from topologies import fully_connected

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]  # no link is used twice in a row: the times are the same
DONE = ["all_gather", "all_reduce"]


def _send(nbytes: int) -> int:
    """Return α + β·nbytes in whole picoseconds, rounded up."""
    return ALPHA - (-nbytes * 10**12 // RATE)


def _schedule(topology, wanted, size=1_000_003):
    """Return the schedule."""
    return RecursiveDoubling().synthesize(Problem(topology, wanted, size), parse_options(RecursiveDoubling(), {}))


class TestClosedForms:
    @pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_all_reduce(self, ranks, model):
        """A power of two takes lg p (α + nβ)."""
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks))
        for size in (0, 1, 1_000_003, 2**30):
            assert simulate_ps(schedule, size, model) == (ranks.bit_length() - 1) * _send(size)

    @pytest.mark.parametrize("ranks", [3, 5, 6, 7, 9, 12, 15, 17])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_folded_all_reduce(self, ranks, model):
        """Otherwise a vector is handed in before and back after: (⌊lg p⌋ + 2)(α + nβ) where each step waits for all.

        Here a send waits for its own rank only. The longest way to a rank that folded is from its opposite: only where
        that one folded too, which takes more than half of them, do both extra sends cost time of their own.
        """
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks))
        power = 1 << (ranks.bit_length() - 1)
        extra = 2 if ranks - power > power // 2 else 1
        for size in (0, 1, 1_000_003, 2**30):
            assert simulate_ps(schedule, size, model) == (ranks.bit_length() - 1 + extra) * _send(size)

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
    def test_all_gather(self, ranks):
        """A power of two takes lg p·α + (p−1)/p·nβ."""
        schedule = _schedule(fully_connected(ranks), collective("all_gather", ranks))
        expected = sum(_send(10**6 << step) for step in range(ranks.bit_length() - 1))
        assert simulate_ps(schedule, ranks * 10**6) == expected

    def test_small_vectors(self):
        """Half as many steps as halving and doubling: faster where α counts, slower where β does."""
        problem = Problem(fully_connected(16), collective("all_reduce", 16), 1)
        other = HalvingDoubling().synthesize(problem, parse_options(HalvingDoubling(), {}))
        mine = _schedule(problem.topology, problem.collective)
        assert simulate_ps(mine, 16) < simulate_ps(other, 16)
        assert simulate_ps(mine, 2**30) > simulate_ps(other, 2**30)


class TestStructure:
    @pytest.mark.parametrize("ranks", [4, 8, 16])
    def test_partners(self, ranks):
        """In step k every rank exchanges with rank XOR 2^k, and adds."""
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks))
        src, dst = schedule.topology.src[schedule.link], schedule.topology.dst[schedule.link]
        assert np.bincount(schedule.step).tolist() == [0] + [ranks] * (ranks.bit_length() - 1)
        assert ((src ^ dst) == 1 << (schedule.step - 1)).all()
        assert schedule.reduce.all()

    def test_a_vector_is_one_message(self):
        """A vector of several chunks pays the latency once."""
        cut = _schedule(fully_connected(8), collective("all_reduce", 8, chunks=3))
        assert len(np.unique(cut.message)) == 3 * 8
        assert simulate_ps(cut, 3 * 10**6) == 3 * _send(3 * 10**6)
