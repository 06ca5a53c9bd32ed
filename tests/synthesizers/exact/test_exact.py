"""Tests of `synthesizers.exact`: against brute force and closed forms, and as the yardstick of everything else."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from schedules import Schedule, collective, custom
from simulator import LinkModel, simulate_ps
from simulator.link_model import wire_ps
from synthesizers import Problem
from synthesizers.exact import Exact, ExactOptions
from tests.synthesizers.exact.yardstick import KINDS, MODELS, measured, optimum, tiny_network, tiny_problem
from topologies import line, parse_topology, ring, star
from topologies.exceptions import SynthesisError

STORED = LinkModel("blocking", "store_and_forward")


class TestYardstick:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("seed", [1, 2])
    def test_bounds_and_synthesizers(self, kind, seed):
        """No bound is above the optimum, and no synthesizer that keeps the chunks is below it."""
        assert {"direct", "taccl"} <= set(measured(tiny_problem(seed, kind)))


class TestBruteForce:
    @pytest.mark.parametrize("seed", range(6))
    def test_all_gather(self, seed):
        """On three NPUs that store and forward, trying every order of hops finds nothing else."""
        problem = Problem(tiny_network(random.Random(seed), 3), collective("all_gather", 3), 300_000, STORED)
        assert optimum(problem, bundles=False) == _tried(problem)

    @pytest.mark.parametrize("seed", range(6))
    def test_reduce(self, seed):
        """Reversal loses nothing: trying every list of hops that add or copy finds no faster Reduce."""
        problem = Problem(tiny_network(random.Random(seed), 3), collective("reduce", 3), 300_000, STORED)
        assert optimum(problem) == _tried_sums(problem)


def _tried(problem: Problem) -> int:
    """Return the least time over all lists of hops, each of which brings an NPU a chunk that it lacks."""
    topology = problem.topology
    wire = wire_ps(problem.collective.chunk_bytes(problem.size)[:, None], topology.bytes_per_s[None, :])
    span = (wire + topology.latency_ps).tolist()
    ends = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    best = [2**62]

    def grow(ready: dict[tuple[int, int], int], free: tuple[int, ...], done: int) -> None:
        if done >= best[0]:
            return
        if len(ready) == topology.num_npus**2:
            best[0] = done
            return
        for chunk in range(topology.num_npus):
            for link, (source, target) in enumerate(ends):
                if (chunk, source) in ready and (chunk, target) not in ready:
                    end = max(ready[chunk, source], free[link]) + span[chunk][link]
                    grow({**ready, (chunk, target): end}, (*free[:link], end, *free[link + 1 :]), max(done, end))

    grow({(npu, npu): 0 for npu in range(topology.num_npus)}, (0,) * topology.num_links, 0)
    return best[0]


def _tried_sums(problem: Problem) -> int:
    """Return the least time over all lists of up to four hops after which NPU 0 has each contribution once."""
    topology = problem.topology
    span = (wire_ps(np.int64(problem.size), topology.bytes_per_s) + topology.latency_ps).tolist()
    ends = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    best = [2**62]

    def grow(held: list[Counter], ready: list[int], free: list[int], hops: int) -> None:
        if held[0] == Counter(range(topology.num_npus)):
            best[0] = min(best[0], ready[0])
        for link, (source, target) in enumerate(ends) if hops < 4 else ():
            end = max(ready[source], free[link]) + span[link]
            if end >= best[0]:
                continue
            later, taken = ready.copy(), free.copy()
            later[target], taken[link] = max(ready[target], end), end
            for value in (held[source], held[source] + held[target]):
                grow([*held[:target], value, *held[target + 1 :]], later, taken, hops + 1)

    grow([Counter([npu]) for npu in range(topology.num_npus)], [0] * topology.num_npus, [0] * topology.num_links, 0)
    return best[0]


class TestKnownOptima:
    """Links of 50 GB/s and 0.5 µs: a transfer of 1 MB holds its link for 20.5 µs."""

    def test_message(self):
        """Two chunks over one link pay its latency once, unless messages are ruled out."""
        problem = Problem(line(2), collective("send_recv", 2, pairs=[(0, 1), (0, 1)]), 10**6)
        assert optimum(problem) == 40_500_000
        assert optimum(problem, bundles=False) == 41_000_000

    @pytest.mark.parametrize(
        ("model", "expected"),
        [(STORED, 61_500_000), (LinkModel("blocking"), 41_500_000), (LinkModel("pipelined"), 41_500_000)],
        ids=str,
    )
    def test_cut_through(self, model, expected):
        """A Broadcast down a line of four stores three times, or cuts through to the last and serves the others too."""
        # Cut through, NPU 0 sends twice (41 µs), and what goes on to the next ends a latency later.
        assert optimum(Problem(line(4), collective("broadcast", 4), 10**6, model)) == expected

    @pytest.mark.parametrize("pieces", [1, 2, 4])
    def test_pieces(self, pieces):
        """A Broadcast down a line of three that stores and forwards takes pieces + 1 turns of a piece."""
        problem = Problem(line(3), collective("broadcast", 3), 10**6, STORED)
        assert optimum(problem, pieces=pieces) == (pieces + 1) * (500_000 + 20_000_000 // pieces)

    def test_all_gather_on_ring(self):
        """Each of the four NPUs of a ring gets three chunks over two links: two turns (quantised bound)."""
        problem = Problem(ring(4), collective("all_gather", 4), 4 * 10**6)
        assert optimum(problem) == 2 * 20_500_000

    def test_switches(self):
        """Through a switch a chunk cuts, or is stored there; both copies of an NPU's own go up as one message."""
        topology, work = parse_topology("switch:3"), collective("all_gather", 3)
        assert optimum(Problem(topology, work, 3 * 10**6)) == 41_000_000
        assert optimum(Problem(topology, work, 3 * 10**6), bundles=False) == 41_500_000
        assert optimum(Problem(topology, collective("send_recv", 3, pairs=[(0, 1)]), 10**6)) == 21_000_000
        assert optimum(Problem(topology, collective("send_recv", 3, pairs=[(0, 1)]), 10**6, STORED)) == 41_000_000

    def test_reverse_takes_as_long(self):
        """ReduceScatter on a network takes what AllGather takes on its reverse, in every link model."""
        network = tiny_network(random.Random(5), 4)
        for model in MODELS:
            scattered = Problem(network, collective("reduce_scatter", 4), 400_000, model)
            gathered = Problem(network.reversed(), collective("all_gather", 4), 400_000, model)
            least = optimum(scattered)
            assert least is not None
            assert least == optimum(gathered)

    def test_nothing_to_do(self):
        """One NPU alone needs no hops."""
        assert Exact().synthesize(Problem(line(1), collective("all_gather", 1), 9), ExactOptions()).num_hops == 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("problem", "reason"),
        [
            (Problem(ring(4), collective("all_reduce", 4), 9), "partial sum"),
            (Problem(ring(7), collective("all_gather", 7), 9), "7 NPUs are too many .* at most 6"),
            (Problem(ring(6), collective("all_to_all", 6), 9), "30 chunks over all their routes are too many"),
            (Problem(ring(4), collective("all_gather", 4, chunks=10**6), 9), "4000000 chunks are too many"),
            (Problem(ring(5), collective("all_gather", 5, chunks=2), 9), "49500 pairs .* bundles=false"),
            (Problem(ring(3, latency_us=0.0), collective("all_gather", 3), 0), "take no time"),
            (Problem(star(3), custom(3, [{0, 1}], [{2}], reduces=True), 9), "no reverse"),
        ],
        ids=lambda value: None,
    )
    def test_supports(self, problem, reason):
        """What is too large or has no exact model is refused with the reason."""
        assert re.search(reason, Exact().supports(problem))

    def test_pieces(self):
        """Pieces that make a problem too large are an error of one line."""
        with pytest.raises(SynthesisError, match=r"^exact: 3000 chunks are too many"):
            Exact().synthesize(Problem(ring(3), collective("all_gather", 3), 10**6), ExactOptions(pieces=1000))

    def test_defect(self, monkeypatch):
        """A schedule that is faster than the model allows is reported as a defect."""
        problem = Problem(ring(3), collective("all_gather", 3), 3 * 10**6)
        start = Exact().synthesize(problem, ExactOptions())
        monkeypatch.setattr("synthesizers.exact.synthesizer._start", lambda problem: start)
        monkeypatch.setattr("synthesizers.exact.synthesizer.simulate_ps", lambda *given: 20_499_999)
        with pytest.raises(SynthesisError, match="please report it"):
            Exact().synthesize(problem, ExactOptions())


class TestEffort:
    @pytest.mark.parametrize("kind", ["all_to_all", "reduce_scatter"])
    def test_bound(self, kind):
        """Without the effort for a proof, the start comes back with a bound below it."""
        problem = Problem(tiny_network(random.Random(3), 5), collective(kind, 5), 10**6, STORED)
        schedule = Exact().synthesize(problem, ExactOptions(effort=1e-4))
        assert isinstance(schedule, Schedule)
        (stage,) = schedule.notes["stages"]
        assert stage["status"] == "feasible"
        time_us = simulate_ps(schedule, problem.size, problem.model) / 1e6
        assert stage["gap"] == pytest.approx((time_us - stage["bound_us"]) / time_us, abs=1e-6)

    def test_time_limit(self):
        """A time limit that ends the search is said."""
        problem = Problem(tiny_network(random.Random(3), 5), collective("all_to_all", 5), 10**6, STORED)
        schedule = Exact().synthesize(replace(problem, time_limit_s=0.01), ExactOptions(effort=100.0))
        assert schedule.notes["time_limited"]
