"""Tests of `synthesizers.auto`, in small worlds of their own: who is registered is told to it."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from schedules.verifier import verify
from simulator import bound, simulate_ps
from synthesizers import Problem, Synthesizer
from synthesizers.auto import Auto
from synthesizers.binomial import Binomial
from synthesizers.direct import Direct
from synthesizers.halving_doubling import HalvingDoubling
from synthesizers.registry import OURS, Plugin, discover
from synthesizers.ring import Ring
from synthesizers.topoopt import TopoOpt
from topologies import mesh, parse_topology, torus
from topologies.exceptions import SynthesisError


class Crashing(HalvingDoubling):
    """Supports what it cannot do."""

    name = "crashing"

    def synthesize(self, problem, options):
        raise IndexError("list\nindex out of range")


class Incomplete(HalvingDoubling):
    """Forgets the last hop."""

    name = "incomplete"

    def synthesize(self, problem, options):
        schedule = super().synthesize(problem, options)
        return schedule.selected(np.arange(schedule.num_hops - 1))


class Elsewhere(HalvingDoubling):
    """Answers for another network."""

    name = "elsewhere"

    def synthesize(self, problem, options):
        return super().synthesize(Problem(torus((2, 8)), problem.collective, problem.size), options)


class Undecided(HalvingDoubling):
    """Cannot even say what it supports."""

    name = "undecided"

    def supports(self, problem):
        raise ZeroDivisionError("division by zero")


class Dear(Ring):
    """Rings that claim to take long."""

    name = "dear"
    cost = 4.0


class Clocked(HalvingDoubling):
    """Says that the clock ended it, and tells what limit it was given."""

    name = "clocked"

    def synthesize(self, problem, options):
        limit = problem.time_limit_s
        return super().synthesize(problem, options).with_notes(time_limited=True, limit=limit)


@pytest.fixture
def world(monkeypatch):
    """Return a function that registers synthesizers, and nobody else."""

    def register(*synthesizers: Synthesizer, source: str = OURS, **broken: str):
        plugins = {each.name: Plugin(each.name, source, each) for each in synthesizers}
        plugins |= {name: Plugin(name, "a test", None, error) for name, error in broken.items()}
        monkeypatch.setattr("synthesizers.auto.discover", lambda: dict(sorted(plugins.items())))

    return register


def problem(topology=None, kind="all_reduce", size=10**8, **more):
    """Return a problem on a 4×4 mesh."""
    topology = topology or mesh((4, 4))
    return Problem(topology, collective(kind, topology.num_npus), size, **more)


def made(of, **options):
    """Return the schedule, and its league by name as (status, reason)."""
    schedule = Auto().synthesize(of, Auto.Options(**options))
    return schedule, {line["name"]: (line["status"], line["reason"]) for line in schedule.notes["league"]}


class TestBest:
    def test_fastest_wins(self, world):
        """The schedule is the fastest one's, as fast as it is by itself; the league is in order of time."""
        world(Auto(), HalvingDoubling(), Ring(), Direct(), Binomial())
        schedule, league = made(problem())
        verify(schedule)
        alone = simulate_ps(Ring().synthesize(problem(), Ring.Options()), 10**8)
        assert (schedule.notes["chosen"], simulate_ps(schedule, 10**8)) == ("ring", alone)
        lines = schedule.notes["league"]
        assert [line["name"] for line in lines] == ["ring", "direct", "halving_doubling", "binomial"]
        least_us = bound(mesh((4, 4)), collective("all_reduce", 16), 10**8).time_us
        assert lines[0]["time_us"] == alone / 1e6
        assert lines[0]["efficiency"] == least_us * 1e6 / alone
        assert league["binomial"][0] == "unsupported"

    def test_no_worse_than_any(self):
        """With all that are registered, it is as good as each that was tried."""
        schedule, league = made(problem(size=10**6))
        assert {"ring", "direct", "tacos"} <= {name for name, (status, _) in league.items() if status == "ok"}
        times = [line["time_us"] for line in schedule.notes["league"] if line["time_us"] is not None]
        assert simulate_ps(schedule, 10**6) / 1e6 == min(times) == times[0]
        assert set(league) == {*discover()} - {"auto"}

    def test_same_bytes(self, world):
        """The same problem, options and seed give the same schedule and notes."""
        world(HalvingDoubling(), Ring(), Crashing(), Dear())
        (one, _), (two, _) = (made(problem(), budget_s=1) for _ in range(2))
        assert one.fingerprint == two.fingerprint
        assert one.notes == two.notes


class TestBudget:
    def test_cheap_first(self, world):
        """What the estimates leave no room for is not tried, and the league says what it would have taken."""
        world(HalvingDoubling(), Dear())
        schedule, league = made(problem(), budget_s=4)
        assert schedule.notes["chosen"] == "halving_doubling"
        assert league["dear"] == ("not tried", "estimated at 4 s, of budget_s=4 there is 4 s left")
        assert made(problem(), budget_s=5)[0].notes["chosen"] == "dear"
        assert "time_limited" not in schedule.notes

    def test_cost_grows_with_the_problem(self, world):
        """An AllReduce over 64 ranks has 8,192 deliveries, eight times the least that is counted."""
        world(HalvingDoubling(), Dear())
        _, league = made(problem(mesh((8, 8))), budget_s=10)
        assert league["dear"][1] == "estimated at 32.8 s, of budget_s=10 there is 9.96 s left"

    def test_first_is_always_tried(self, world):
        """A budget of nothing still gets the cheapest."""
        world(HalvingDoubling(), Ring())
        assert made(problem(), budget_s=0)[0].notes["chosen"] == "halving_doubling"

    def test_near_the_bound(self, world):
        """Trying ends once the best is within 3 % of the bound, or whatever was asked for."""
        world(Ring(), Dear())
        near = problem(torus((4, 4)), size=10**9)
        assert made(near)[1]["dear"] == ("not tried", "ring is within 3 % of the bound")
        assert made(near, within=0)[1]["dear"][0] == "ok"

    def test_time_limit(self, world):
        """A time limit is handed on, ends the trying where it is near, and the schedule says that the clock did."""
        world(HalvingDoubling(), Dear())
        schedule, league = made(problem(time_limit_s=1.0), budget_s=10)
        assert league["dear"] == ("not tried", "the time limit is near")
        assert schedule.notes["time_limited"] is True
        world(Clocked())
        schedule, _ = made(problem(time_limit_s=100.0))
        assert 0 < schedule.notes["limit"] <= 100
        assert schedule.notes["time_limited"] is True


class TestFaults:
    def test_lines_of_the_league(self, world):
        """What crashes, is wrong, answers for another network or cannot be imported is a line, and nothing else."""
        world(HalvingDoubling(), Crashing(), Incomplete(), Elsewhere(), Undecided(), gone="ImportError: no such module")
        schedule, league = made(problem())
        assert schedule.notes["chosen"] == "halving_doubling"
        assert league["crashing"] == ("failed", "IndexError: list index out of range")
        assert league["incomplete"][0] == league["elsewhere"][0] == "invalid"
        assert "another network" in league["elsewhere"][1]
        assert league["undecided"] == ("failed", "supports() failed: ZeroDivisionError: division by zero")
        assert league["gone"] == ("broken", "ImportError: no such module")

    def test_nobody_is_right(self, world):
        """Where none is right the error names the first fault."""
        world(Crashing(), Incomplete())
        with pytest.raises(SynthesisError, match="crashing: IndexError"):
            made(problem())

    def test_nobody_takes_it(self, world):
        """A problem that nobody takes is refused beforehand, and it never asks itself."""
        world(Auto(), Binomial())
        assert Auto().supports(problem()) == "no synthesizer takes all_reduce on mesh:4x4"


class TestPlugins:
    def test_only_where_asked_for(self, world):
        """Other people's code runs in this process where the user says so, and not before."""
        world(HalvingDoubling(), Ring(), source="somebody")
        assert "no synthesizer takes" in Auto().supports(problem())
        with pytest.raises(SynthesisError, match="none was tried"):
            made(problem())
        schedule, _ = made(problem(), plugins=True)
        assert schedule.notes["chosen"] == "ring"


class TestFabrics:
    def test_wired_networks_are_kept(self, world):
        """Those that wire networks are not asked for a schedule on one that is there."""
        world(HalvingDoubling(), TopoOpt())
        assert made(problem())[1]["topoopt"] == ("unsupported", "wires fabrics; mesh:4x4 is a network already")

    def test_fabric(self, world):
        """A fabric is for those that wire it alone."""
        world(HalvingDoubling(), TopoOpt())
        schedule, league = made(problem(parse_topology("fabric:8x2@100Gbps,1us")))
        assert schedule.notes["chosen"] == "topoopt"
        assert league["halving_doubling"][0] == "unsupported"
        verify(schedule)
