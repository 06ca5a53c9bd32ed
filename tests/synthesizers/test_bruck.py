"""Tests of `synthesizers.bruck`; closed forms from Bruck, Ho, Kipnis, Upfal, Weathersby (1997)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.bruck import Bruck
from synthesizers.direct import Direct
from topologies import fully_connected, switch

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]  # no link is used twice in a row: the times are the same
DONE = ["all_gather", "all_to_all"]
SHARD = 10**6


def _send(shards: int) -> int:
    """Return α + β·bytes of some shards in whole picoseconds."""
    return ALPHA + shards * SHARD * 10**12 // RATE


def _schedule(topology, wanted, size=1_000_003):
    """Return the schedule."""
    return Bruck().synthesize(Problem(topology, wanted, size), parse_options(Bruck(), {}))


def _shards(kind: str, ranks: int) -> list[int]:
    """Return how many shards a rank sends in each step."""
    steps = range((ranks - 1).bit_length())
    if kind == "all_gather":
        return [min(1 << step, ranks - (1 << step)) for step in steps]
    return [sum(away >> step & 1 for away in range(ranks)) for step in steps]


class TestClosedForms:
    @pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_powers_of_two(self, ranks, model):
        """AllGather takes lg p·α + (p−1)/p·nβ, AllToAll lg p (α + nβ/2)."""
        steps = ranks.bit_length() - 1
        gathered = _schedule(fully_connected(ranks), collective("all_gather", ranks))
        exchanged = _schedule(fully_connected(ranks), collective("all_to_all", ranks))
        bytes_ps = ranks * SHARD * 10**12 // RATE
        assert simulate_ps(gathered, ranks * SHARD, model) == steps * ALPHA + (ranks - 1) * bytes_ps // ranks
        assert simulate_ps(exchanged, ranks * SHARD, model) == steps * (ALPHA + bytes_ps // 2)

    @pytest.mark.parametrize("ranks", [3, 5, 6, 7, 9, 11, 12, 15, 17, 24])
    @pytest.mark.parametrize("kind", DONE)
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_any_number(self, kind, ranks, model):
        """The steps follow each other, but the last, of m = p − 2^⌊lg p⌋ shards, needs only the first ⌈lg m⌉ of them.

        Where it waits for all of them, AllGather takes ⌈lg p⌉α + (p−1)/p·nβ, so it never takes longer.
        """
        schedule = _schedule(fully_connected(ranks), collective(kind, ranks))
        *sent, last = (_send(shards) for shards in _shards(kind, ranks))
        missing = ranks - (1 << (ranks.bit_length() - 1))
        expected = max(sum(sent), sum(sent[: (missing - 1).bit_length()]) + last)
        assert simulate_ps(schedule, ranks * SHARD, model) == expected
        if kind == "all_gather":
            assert expected <= len(sent) * ALPHA + _send(ranks - 1)

    @pytest.mark.parametrize("ranks", [2, 4, 8, 16])
    def test_one_port(self, ranks):
        """At a switch, with one port for all that a rank sends, the times of powers of two are those of the book."""
        network = switch(ranks, latency_us=0.0)
        for kind in DONE:
            schedule = _schedule(network, collective(kind, ranks))
            expected = sum(_send(shards) - ALPHA for shards in _shards(kind, ranks))
            assert simulate_ps(schedule, ranks * SHARD) == expected

    def test_small_shards(self):
        """Fewer latencies than direct exchange at a switch: faster where α counts, slower where β does."""
        problem = Problem(switch(16), collective("all_to_all", 16), 256)
        direct = Direct().synthesize(problem, parse_options(Direct(), {}))
        mine = _schedule(problem.topology, problem.collective)
        assert simulate_ps(mine, 256) < simulate_ps(direct, 256)
        assert simulate_ps(mine, 2**30) > simulate_ps(direct, 2**30)


class TestStructure:
    @pytest.mark.parametrize("ranks", [2, 3, 8, 11])
    @pytest.mark.parametrize("kind", DONE)
    def test_one_message_for_each_rank_and_step(self, kind, ranks):
        """A rank sends one message a step, to the one that is 2^k before it (AllGather) or after it (AllToAll)."""
        schedule = _schedule(fully_connected(ranks), collective(kind, ranks))
        src, dst = (
            np.asarray(end)[schedule.link].astype(int) for end in (schedule.topology.src, schedule.topology.dst)
        )
        step = np.zeros(len(src), int) if schedule.step is None else schedule.step
        distance = (src - dst if kind == "all_gather" else dst - src) % ranks
        assert (distance == 1 << step).all()
        sends = {(int(at), int(rank)) for at, rank in zip(step, src, strict=True)}
        assert len(sends) == ranks * (ranks - 1).bit_length()
        message = np.full(len(src), -1) if schedule.message is None else schedule.message
        assert len(sends) == int((message < 0).sum()) + len(np.unique(message[message >= 0]))
