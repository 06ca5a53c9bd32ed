"""The synthesizer: fabrics that it wires and networks that are there, demands of both sorts, and other schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.evaluate import evaluate
from schedules import collective, demanded, verify
from simulator import bound, simulate_us
from synthesizers import Problem, parse_options
from synthesizers.ring import Ring
from synthesizers.topoopt import TopoOpt, distances
from topologies import Demand, OptionError, SynthesisError, fabric, parse_topology


def solved(topology, work, size, **options):
    """Return the verified schedule of a problem and its time in µs."""
    topology = parse_topology(topology) if isinstance(topology, str) else topology
    work = collective(work, topology.num_npus) if isinstance(work, str) else work
    schedule = TopoOpt().synthesize(Problem(topology, work, size), parse_options(TopoOpt(), options))
    verify(schedule)
    return schedule, simulate_us(schedule, size)


class TestFabric:
    def test_formula(self):
        """128 servers of four ports: the AllReduce takes 2(n−1)(α + S/(nRB)), next to what no wiring beats."""
        size = 128 * 4 * 10**6
        schedule, time_us = solved("fabric:128x4@100Gbps,1us", "all_reduce", size, pieces=1)
        assert time_us == pytest.approx(2 * 127 * (1 + size / 128 / 4 / 12.5e3), abs=1e-6)
        assert schedule.notes["jumps"] == [[1, 3, 11, 37]]
        assert time_us <= 1.02 * bound(fabric(128, 4, 12.5, 1.0), schedule.collective, size).time_us

    @pytest.mark.parametrize("variant", ["paper", "released", "exhaustive"])
    def test_variants(self, variant):
        """All variants reach the bound of an AllReduce with no latency to within a picosecond a step."""
        schedule, time_us = solved("fabric:16x4@100Gbps,0us", "all_reduce", 160_000_000, variant=variant, pieces=1)
        assert time_us == pytest.approx(6000, rel=1e-6)
        assert fabric(16, 4, 12.5, 0.0).fault(schedule.topology) is None

    def test_both_at_once(self):
        """AllReduce of overlapping groups and traffic of pairs are one schedule, on rings and cables of their own."""
        traffic = np.zeros((8, 8), int)
        traffic[0, 5] = traffic[5, 0] = 40_000_000
        demand = Demand(8, [range(8), [0, 2, 4, 6]], [1_000_000, 500_000], traffic)
        schedule, _ = solved(fabric(8, 4, 12.5, 1.0), demanded(demand), demand.size)
        assert schedule.notes["cables"]
        ends = set(zip(schedule.topology.src.tolist(), schedule.topology.dst.tolist(), strict=True))
        assert (0, 5) in ends

    def test_coins(self):
        """With CoinChangeMod traffic within the group keeps to the group's rings, in the fewest jumps; cables idle."""
        traffic = np.full((16, 16), 1_000_000) * (1 - np.eye(16, dtype=int))
        traffic[0, 8] = traffic[8, 0] = 10**8
        demand = Demand(16, [range(16)], [10**9], traffic)
        for routing, idle in (("paths", False), ("coins", True)):
            options = {"routing": routing, "split": "buffers"}
            schedule, _ = solved(fabric(16, 4, 12.5, 1.0), demanded(demand), demand.size, **options)
            (jumps,), cables = schedule.notes["jumps"], np.array(schedule.notes["cables"])
            hops = distances(16, jumps)
            carried = np.bincount(schedule.link, minlength=schedule.topology.num_links)
            assert (carried[cables] == 0).all() == idle
            if routing == "coins":
                one_to_one = schedule.flow >= 0
                offset = (schedule.topology.dst - schedule.topology.src)[schedule.link[one_to_one]] % 16
                assert set(offset.tolist()) <= set(jumps)
                assert np.bincount(schedule.flow[one_to_one]).max() == hops.max()

    def test_coins_need_rings_of_its_own(self):
        """On a network that is wired already CoinChangeMod is refused by name."""
        with pytest.raises(OptionError, match=r"routing=coins .* ring:4 is wired already: use routing=paths, or a fab"):
            solved("ring:4", "all_to_all", 100, routing="coins")

    @pytest.mark.parametrize("schedule", ["tacos", "ring", "direct"])
    def test_schedules_of_others(self, schedule):
        """Another synthesizer schedules on the network that was wired, any collective that it can."""
        found, _ = solved("fabric:12x3", "all_reduce", 10**6, schedule=schedule)
        assert found.topology.name == "fabric:12x3, topoopt"
        assert found.notes["wired_by"] == "topoopt"
        solved("fabric:12x3", "all_gather", 10**6, schedule=schedule)

    def test_refusals(self):
        """What rings cannot carry, schedules that do not exist or cannot, and itself."""
        with pytest.raises(SynthesisError, match="name a schedule that can, such as -o schedule=tacos"):
            solved("fabric:6x2", "all_gather", 100)
        with pytest.raises(SynthesisError, match="ring cannot schedule on what was wired"):
            solved("fabric:6x2", "all_to_all", 100, schedule="ring")
        with pytest.raises(OptionError, match="unknown schedule 'topoopt'; expected rings, or one of .*tacos"):
            solved("fabric:6x2", "all_reduce", 100, schedule="topoopt")
        with pytest.raises(OptionError, match="unknown schedule 'nosuch'; expected rings, or one of .*tacos"):
            solved("fabric:6x2", "all_reduce", 100, schedule="nosuch")
        with pytest.raises(SynthesisError, match="one server has nobody"):
            solved("fabric:1x2", "all_reduce", 100)

    def test_others_refuse_fabrics(self):
        """A synthesizer that wires nothing says so in its record; TopoOpt's is ok, beside the bound of any wiring."""
        problem = Problem(fabric(6, 2), collective("all_reduce", 6), 600)
        record, _ = evaluate(problem, Ring())
        assert (record.status, record.topology) == ("unsupported", "fabric:6x2")
        assert "is not wired yet" in record.reason
        record, schedule = evaluate(problem, TopoOpt())
        assert (record.status, record.verified) == ("ok", True)
        assert 0 < record.efficiency <= 1
        assert schedule.topology.name == "fabric:6x2, topoopt"


class TestWired:
    @pytest.mark.parametrize("name", ["torus:4x4", "switch:8", "fat_tree:12", "ndv2:2", "kautz:9x2", "jellyfish:10x3"])
    @pytest.mark.parametrize("kind", ["all_reduce", "all_to_all"])
    def test_networks_that_are_there(self, name, kind):
        """On a network that is wired its rings and shortest paths serve, also through switches and at uneven speeds."""
        solved(name, kind, 10**6, pieces=1)

    def test_unsupported(self):
        """What is no demand is refused with its name."""
        problem = Problem(parse_topology("torus:3x3"), collective("all_gather", 9), 90)
        assert "all_gather is neither" in TopoOpt().supports(problem)

    def test_repeats(self):
        """The same problem gives the same schedule."""
        one, other = (solved("fabric:10x3", "all_to_all", 10**6)[0] for _ in range(2))
        assert one.topology == other.topology
        assert (one.link.tolist(), one.chunk.tolist()) == (other.link.tolist(), other.chunk.tolist())

    @pytest.mark.parametrize("size", [0, 1, 7])
    def test_odd_sizes(self, size):
        """No bytes, and fewer than there are servers."""
        solved("fabric:5x2", "all_reduce", size)
        solved("fabric:5x2", "all_to_all", size)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_demand_on_any_fabric(data):
    """Whatever the demand and the ports, the wiring has no more links than ports and the schedule is right."""
    servers, ports = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 4))
    everyone = st.permutations(range(servers))
    groups = [order[: data.draw(st.integers(2, servers))] for order in data.draw(st.lists(everyone, max_size=3))]
    traffic = np.zeros((servers, servers), int)
    for source, target in data.draw(st.lists(st.tuples(*[st.integers(0, servers - 1)] * 2), max_size=8)):
        if source != target:
            traffic[source, target] = data.draw(st.integers(1, 10**7))
    if not groups and not traffic.any():
        traffic[0, 1] = 1
    demand = Demand(servers, groups, [data.draw(st.integers(1, 10**7)) for _ in groups], traffic)
    unwired = fabric(servers, ports)
    routing = data.draw(st.sampled_from(["paths", "coins"]))
    schedule, time_us = solved(unwired, demanded(demand), demand.size, pieces=1, routing=routing)
    assert unwired.fault(schedule.topology) is None
    assert bound(unwired, schedule.collective, demand.size).time_us <= time_us * (1 + 1e-9)
