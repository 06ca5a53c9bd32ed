"""Tests of `synthesizers.sccl`; known answers on DGX-1V are those of Cai et al. (PPoPP 2021, arXiv 2008.08708)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from schedules import Schedule, collective, custom, verify
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.sccl import Sccl, frontier, satisfiable
from synthesizers.sccl.instance import Instance
from synthesizers.sccl.pareto import Frontier
from synthesizers.sccl.rounds import fewest_rounds, schedule_of
from synthesizers.sccl.trees import tree_sends
from synthesizers.taccl.model import INFEASIBLE, Limits
from topologies import Topology, dgx1, fully_connected, hypercube, line, ring, star, switch
from topologies.exceptions import OptionError, SynthesisError

KNOWN = {
    "all_gather": (
        [(1, 2, 2), (2, 2, 3), (3, 3, 4), (4, 3, 5), (5, 3, 6), (6, 3, 7)],
        [(1, 1, 1), (2, 2, 2), (3, 2, 4), (4, 2, 5), (5, 2, 6), (6, 2, 7)],
    ),
    "all_to_all": ([(1, 2, 3), (1, 3, 3), (3, 2, 8)], [(1, 1, 1), (1, 2, 2)]),
    "broadcast": ([(1, 2, 2), (2, 2, 2), (6, 3, 3), (7, 3, 3), (12, 4, 4)], [(1, 1, 1), (3, 2, 2)]),
}
ANSWERS = [(kind, *point, answer) for kind, both in KNOWN.items() for answer, points in
           zip((True, False), both, strict=True) for point in points]  # fmt: skip
#: In up to 6 chunks.
PARETO = {"all_gather": [(2, 2, 3), (6, 3, 7)], "all_to_all": [(3, 2, 8)], "broadcast": [(2, 2, 2), (6, 3, 3)]}


def _measured(schedule: Schedule) -> tuple[int, int]:
    """Return the steps and rounds of a schedule on DGX-1, counted from its hops."""
    sent = Counter(zip(schedule.step.tolist(), schedule.link.tolist(), strict=True))
    rounds: Counter[int] = Counter()
    for (step, link), chunks in sent.items():
        in_a_round = round(schedule.topology.bandwidth_gbps[link] / 25)
        rounds[step] = max(rounds[step], -(-chunks // in_a_round))
    return len(rounds), rounds.total()


def _trades(search: Frontier) -> list[tuple[int, int, int]]:
    """Return (chunks, steps, rounds) of the points."""
    return [(point.chunks, point.steps, point.rounds) for point in search.points]


def _one_way(seed: int, npus: int) -> Topology:
    """Return a strongly connected network of one-way links, some twice or three times as fast."""
    rng = random.Random(seed)
    ends = [(npu, (npu + 1) % npus) for npu in range(npus)] + [tuple(rng.sample(range(npus), 2)) for _ in range(npus)]
    return Topology.from_links(npus, [(a, b, 0.5, 10.0 * rng.randint(1, 3)) for a, b in ends])


class TestSatisfiable:
    @pytest.mark.parametrize(("kind", "chunks", "steps", "rounds", "expected"), ANSWERS, ids=str)
    def test_dgx1(self, kind, chunks, steps, rounds, expected):
        """The published answers come out, and what is found is an algorithm of so many steps and rounds."""
        schedule = satisfiable(dgx1(), collective(kind, 8), chunks, steps, rounds)
        assert (schedule is not None) == expected
        if schedule is not None:
            verify(schedule)
            assert schedule.collective == collective(kind, 8, chunks=chunks)
            found = _measured(schedule)
            assert found[0] <= steps
            assert found[1] <= rounds

    @pytest.mark.parametrize("npus", range(3, 8))
    def test_ring(self, npus):
        """A ring lets AllGather through in ⌈(p−1)/2⌉ rounds and steps, and in no fewer."""
        least = npus // 2
        assert satisfiable(ring(npus), collective("all_gather", npus), 1, least, least) is not None
        assert satisfiable(ring(npus), collective("all_gather", npus), 1, least - 1, least) is None
        assert satisfiable(ring(npus), collective("all_gather", npus), 1, least, least - 1) is None

    def test_one_step_at_a_time(self):
        """A chunk crosses one link in a step: down a line of four, one chunk takes three steps, two take four."""
        work = collective("broadcast", 4)
        assert satisfiable(line(4), work, 1, 3, 3) is not None
        assert satisfiable(line(4), work, 2, 4, 4) is not None
        assert satisfiable(line(4), work, 2, 3, 4) is None
        assert satisfiable(line(4), work, 2, 3, 6) is not None

    @pytest.mark.parametrize("kind", ["gather", "scatter", "all_to_all", "send_recv"])
    def test_flows_are_copies(self, kind, monkeypatch):
        """Chunks with one taker come to the same fewest rounds one by one and as flows."""
        from synthesizers.sccl.models import Copied

        for seed in range(3):
            given = {"pairs": [(0, 3), (0, 3), (2, 1)]} if kind == "send_recv" else {}
            instance = Instance(_one_way(seed, 4), collective(kind, 4, chunks=2, **given))
            for steps in range(instance.least_steps, instance.least_steps + 2):
                found = fewest_rounds(instance, steps, 40, Limits(10.0))
                verify(schedule_of(instance, found.sends, together=True))
                with monkeypatch.context() as patch:
                    patch.setattr("synthesizers.sccl.rounds.model_of", Copied)
                    assert fewest_rounds(instance, steps, 40, Limits(10.0)).rounds == found.rounds

    def test_given_up(self):
        """An effort that does not tell is an error, not an answer."""
        with pytest.raises(SynthesisError, match="an effort of 1e-05 does not tell"):
            satisfiable(dgx1(), collective("all_gather", 8), 6, 3, 7, effort=1e-5)

    @pytest.mark.parametrize("topology", [switch(3), ring(13)], ids=lambda topology: topology.name)
    def test_refused(self, topology):
        """Switches, and more NPUs than all cuts can be tried of, are an error of one line."""
        with pytest.raises(SynthesisError, match="expected at most 12 NPUs and no switches"):
            satisfiable(topology, collective("all_gather", topology.num_npus), 1, 2, 2)


class TestInstance:
    @pytest.mark.parametrize(("kind", "expected"), [("all_gather", "7/6"), ("all_to_all", "8/3"), ("broadcast", "1/6")])
    def test_dgx1(self, kind, expected):
        """Distances ask for two steps; cuts for 7/6 and 8/3 rounds (ForestColl), and the root's six links for 1/6."""
        instance = Instance(dgx1(), collective(kind, 8))
        assert (instance.least_steps, str(instance.least_rounds)) == (2, expected)

    def test_bandwidth(self):
        """A link carries as many chunks as its bandwidth is a multiple of the slowest, rounded down."""
        links = [(0, 1, 0.5, 10.0), (1, 0, 0.5, 29.9), (0, 1, 0.5, 30.0)]
        assert Instance(Topology.from_links(2, links), collective("all_gather", 2)).per_round == [1, 2, 3]

    @pytest.mark.parametrize("kind", KNOWN)
    def test_refutations(self, kind):
        """What distances and cuts refute, the solver does not find either."""
        instance = Instance(_one_way(4, 4), collective(kind, 4, chunks=2))
        refuted = [
            (steps, rounds) for steps in range(1, 4) for rounds in range(1, 7) if instance.refuted(steps, rounds)
        ]
        assert refuted
        loose = Instance(instance.topology, instance.collective)
        loose.__dict__.update(least_steps=0, least_rounds=instance.least_rounds * 0)
        for steps, rounds in refuted:
            if rounds >= steps:
                assert fewest_rounds(loose, steps, rounds, Limits(10.0)).status == INFEASIBLE


class TestTrees:
    @pytest.mark.parametrize("kind", ["all_gather", "all_to_all", "broadcast", "gather", "scatter"])
    @pytest.mark.parametrize("seed", range(3))
    def test_start(self, kind, seed):
        """The start is correct, in the least steps."""
        instance = Instance(_one_way(seed, 6), collective(kind, 6, chunks=2))
        sends, rounds = tree_sends(instance)
        verify(schedule_of(instance, sends, together=True))
        assert max(step for step, _, _ in sends) + 1 == instance.least_steps <= rounds


class TestFrontier:
    @pytest.mark.parametrize("kind", PARETO)
    def test_dgx1(self, kind):
        """The published trades between steps and rounds come out, and are proven."""
        search = frontier(dgx1(), collective(kind, 8), range(1, 7), Limits(20.0))
        assert _trades(search) == PARETO[kind]
        assert search.proven
        for point in search.found:
            verify(point.schedule())

    def test_full_mesh(self):
        """On a full mesh one step and one round do."""
        search = frontier(fully_connected(5), collective("all_gather", 5), range(1, 7), Limits(1.0))
        assert _trades(search) == [(1, 1, 1)]
        assert search.stages == []

    def test_steps(self):
        """So many steps are all that is tried, if they are asked for."""
        search = frontier(hypercube(3), collective("all_gather", 8), (1,), Limits(1.0), steps=2)
        assert (search.found, search.stages) == ([], [])
        search = frontier(hypercube(3), collective("all_gather", 8), (1,), Limits(1.0), steps=3)
        assert _trades(search) == [(1, 3, 3)]

    def test_effort(self):
        """Without effort there is the start."""
        search = frontier(dgx1(), collective("all_gather", 8), range(1, 7), Limits(1e-6))
        assert len(search.found) == 1
        assert not search.proven


class TestSccl:
    def test_size(self):
        """Small sizes take the fewest steps, large ones the fewest rounds."""
        found = {}
        for size in (8, 8 * 10**8):
            schedule = Sccl().synthesize(Problem(dgx1(), collective("broadcast", 8), size), parse_options(Sccl(), {}))
            verify(schedule)
            found[size] = _measured(schedule)
        assert found == {8: (2, 2), 8 * 10**8: (3, 3)}

    @pytest.mark.parametrize(("pieces", "steps", "rounds"), KNOWN["all_gather"][0][:3])
    def test_time(self, pieces, steps, rounds):
        """A point takes no longer than its steps' latencies and its rounds: links of 25 GB/s and 0.7 µs."""
        problem = Problem(dgx1(), collective("all_gather", 8), 48 * 10**6)
        point = {"pieces": pieces, "steps": steps, "rounds": rounds}
        schedule = Sccl().synthesize(problem, parse_options(Sccl(), point))
        assert simulate_ps(schedule, problem.size) <= steps * 700_000 + rounds * (6 * 10**6 // pieces) * 40

    @pytest.mark.parametrize("kind", ["reduce_scatter", "reduce", "all_reduce"])
    def test_reductions(self, kind):
        """On a one-way ring of three, reductions take what their reverse takes: a turn for each step."""
        one_way = Topology.from_links(3, [(npu, (npu + 1) % 3, 0.5, 50.0) for npu in range(3)])
        problem = Problem(one_way, collective(kind, 3), 3 * 10**6)
        schedule = Sccl().synthesize(problem, parse_options(Sccl(), {"pieces": 1}))
        verify(schedule)
        shard = 60 if kind == "reduce" else 20
        assert simulate_ps(schedule, 3 * 10**6) == (4 if kind == "all_reduce" else 2) * (shard * 10**6 + 500_000)

    @pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"])
    def test_point(self, kind):
        """Pieces, steps and rounds may be asked for."""
        problem = Problem(ring(4), collective(kind, 4), 10**6)
        schedule = Sccl().synthesize(problem, parse_options(Sccl(), {"pieces": 2, "steps": 2, "rounds": 4}))
        verify(schedule)
        assert schedule.collective.chunks == schedule.notes["pieces"] == 2

    def test_impossible(self):
        """What cannot be is said to be proven."""
        problem = Problem(ring(6), collective("all_gather", 6), 10**6)
        with pytest.raises(SynthesisError, match="1 pieces in 3 steps and 2 rounds cannot be, which is proven"):
            Sccl().synthesize(problem, parse_options(Sccl(), {"pieces": 1, "steps": 3, "rounds": 2}))
        with pytest.raises(SynthesisError, match="2 steps are too few, which is proven"):
            Sccl().synthesize(problem, parse_options(Sccl(), {"steps": 2}))

    def test_rounds_alone(self):
        """Rounds without pieces and steps say nothing."""
        with pytest.raises(OptionError, match="rounds=3 says nothing without pieces and steps"):
            parse_options(Sccl(), {"rounds": 3})

    @pytest.mark.parametrize(
        ("problem", "reason"),
        [
            (Problem(switch(4), collective("all_gather", 4), 9), "has switches"),
            (Problem(ring(9), collective("all_gather", 9), 9), "9 NPUs are too many .* at most 8"),
            (Problem(ring(8), collective("all_gather", 8, chunks=20), 9), "160 chunks .* more than 10000 variables"),
            (Problem(ring(4), collective("all_gather", 4, chunks=10**6), 9), "4000000 chunks"),
            (Problem(star(3), custom(3, [{0, 1}], [{2}], reduces=True), 9), "neither"),
        ],
        ids=lambda value: None,
    )
    def test_refused(self, problem, reason):
        """Switches, custom reductions and large problems are refused with the reason."""
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(Sccl().supports(problem))

    def test_messages(self):
        """Where latency leaves a link free, chunks of a step go one by one, and are there sooner."""
        problem = Problem(line(3), collective("broadcast", 3), 10**6, LinkModel("pipelined"))
        schedule = Sccl().synthesize(problem, parse_options(Sccl(), {"pieces": 4, "steps": 2, "rounds": 8}))
        assert schedule.message is None
        assert simulate_ps(schedule, 10**6, problem.model) < 2 * 20_500_000

    def test_time_limit(self):
        """A time limit that ends the search is said, and leaves the start."""
        problem = Problem(dgx1(), collective("all_gather", 8), 10**6, time_limit_s=0.01)
        schedule = Sccl().synthesize(problem, parse_options(Sccl(), {"effort": 100}))
        verify(schedule)
        assert schedule.notes["time_limited"]

    def test_several_holders(self):
        """A custom chunk may start at several NPUs, and goes from the nearest."""
        work = custom(4, [{0, 3}, {1}], [{1, 2}, {2}])
        schedule = Sccl().synthesize(Problem(ring(4), work, 100), parse_options(Sccl(), {}))
        verify(schedule)
        assert np.unique(schedule.chunk).tolist() == [0, 1]
        assert simulate_ps(schedule, 100) == simulate_ps(replace(schedule, message=None, step=None), 100)
