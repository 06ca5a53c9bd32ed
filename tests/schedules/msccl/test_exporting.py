"""Schedules as MSCCL XML: the judge accepts them, every attribute is there, and they mean what the schedule means."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings

from schedules import Schedule, collective, custom, verify
from schedules.msccl import deployment_of, export_msccl, judge, parse_msccl, program_of, schedule_of
from simulator import simulate_us
from synthesizers.registry import names
from tests.schedules import generator
from tests.schedules.msccl import damage
from tests.schedules.msccl.samples import exported, made
from topologies import ScheduleError, Topology, fully_connected, line

#: Attributes that a runtime wants, by element (reference: the published files and their readers).
ATTRIBUTES = {
    "algo": "name proto nchannels nchunksperloop ngpus coll inplace outofplace minBytes maxBytes",
    "gpu": "id i_chunks o_chunks s_chunks",
    "tb": "id send recv chan",
    "step": "s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep",
}


def composed(network):
    """Return an AllReduce made of a ReduceScatter and an AllGather of TACOS."""
    return made("tacos", network, "reduce_scatter").then(made("tacos", network, "all_gather"))


class TestExport:
    @pytest.mark.parametrize("instances", [1, 2, 4, 8])
    @pytest.mark.parametrize("network", ["dgx1", "ring:4"])
    @pytest.mark.parametrize("synthesizer", ["ring", "halving_doubling", "tacos", "forest", "composed"])
    def test_known_algorithms(self, synthesizer, network, instances):
        """Each is valid with any number of instances, and no attribute is left out."""
        if synthesizer not in (*names(), "composed"):
            pytest.skip("not installed")
        schedule = composed(network) if synthesizer == "composed" else made(synthesizer, network, "all_reduce")
        text = export_msccl(schedule, instances=instances)
        algorithm = parse_msccl(text)
        assert judge(algorithm).status == "valid"
        assert algorithm.channels % instances == 0
        for element, attributes in ATTRIBUTES.items():
            found = re.findall(rf"<{element} ([^>]*?)/?>", text)
            assert found
            assert all(re.findall(r'(\w+)="[^"]*"', each) == attributes.split() for each in found)

    @pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"])
    def test_in_place(self, kind):
        """In place, the output is the input or a part of it, and nothing else of the input is written."""
        for instances in (1, 3):
            algorithm = parse_msccl(export_msccl(made("ring", "ring:4", kind, root=2), "x", True, instances))
            assert judge(algorithm).status == "valid"
            assert (algorithm.in_place, algorithm.out_of_place) == (True, False)

    @pytest.mark.parametrize(
        "kind", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce"]
    )
    def test_input_is_left_alone(self, kind):
        """Out of place no step writes the input buffer."""
        algorithm = exported("direct", "switch:4", kind)
        written = {step.dst_buffer for *_, step in damage.steps_of(algorithm) if step.kind in ("r", "rrc", "cpy")}
        assert "i" not in written

    def test_all_to_all_in_place(self):
        """An exchange in place would arrive where others still have to leave: refused in one line."""
        with pytest.raises(ScheduleError, match="out of place only"):
            export_msccl(made("direct", "switch:4", "all_to_all"), in_place=True)

    def test_weights(self):
        """A chunk that weighs three times another takes three of MSCCL's chunks."""
        problem = collective("all_gather", 2, chunks=2)
        problem = problem.refined(1, np.array([3, 1, 3, 1]))
        schedule = generator.hops(line(2), problem, [(0, 0, 1), (1, 0, 1), (2, 1, 0), (3, 1, 0)])
        algorithm = parse_msccl(export_msccl(schedule))
        assert judge(algorithm).status == "valid"
        assert algorithm.chunks == 8
        assert {step.cnt for *_, step in damage.steps_of(algorithm) if step.kind == "s"} == {1, 3}

    def test_large_messages_are_cut(self):
        """No step moves 72 chunks or more; what is larger goes in several."""
        problem = collective("broadcast", 2, chunks=100)
        rows = [(chunk, 0, 1) for chunk in range(100)]
        schedule = generator.hops(line(2), problem, rows, message=np.zeros(100, int))
        algorithm = parse_msccl(export_msccl(schedule))
        assert judge(algorithm).status == "valid"
        assert [step.cnt for *_, step in damage.steps_of(algorithm) if step.kind == "s"] == [71, 29]

    def test_parallel_links_are_channels(self):
        """Two links between the same NPUs are two channels."""
        topology = Topology(2, np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.ones(4), np.ones(4))
        problem = collective("all_gather", 2, chunks=2)
        schedule = Schedule(topology, problem, np.arange(4), np.arange(4))
        assert parse_msccl(export_msccl(schedule)).channels == 2

    @pytest.mark.parametrize("work", [custom(3, [(0,), (1,)], [(0, 2), (2,)]), collective("gather", 3, root=2)])
    def test_what_has_no_name_is_custom(self, work):
        """What MSCCL has no name for is written as custom, and the judge finds nothing wrong."""
        rows = [(chunk, npu, 2) for chunk, npu in enumerate(range(work.num_chunks)) if npu < 2]
        schedule = generator.hops(fully_connected(3), work, rows)
        verify(schedule)
        assert judge(parse_msccl(export_msccl(schedule))).status == "cannot verify"

    def test_wrong_schedule(self):
        """A schedule that does not compute its collective is not written."""
        schedule = made("ring", "ring:4", "all_gather")
        with pytest.raises(ScheduleError, match="cannot be written"):
            export_msccl(schedule.selected(np.arange(schedule.num_hops - 1)))

    @settings(max_examples=80, deadline=None)
    @given(generator.right())
    def test_anything_right(self, schedule):
        """Any right schedule can be written; what comes back from the file is right too, with as many deliveries."""
        algorithm = parse_msccl(export_msccl(schedule))
        verdict = judge(algorithm)
        assert verdict.status != "invalid"
        if verdict.status == "valid":
            again = schedule_of(algorithm, schedule.topology, schedule.collective.groups[0])
            verify(again)
            sends = [step.cnt for *_, step in damage.steps_of(algorithm) if step.kind == "s"]
            ends = again.num_hops if again.flow is None else int(again.dataflow.delivers.sum())
            assert ends == sum(sends)
            for damaged in damage.missing_dependencies(algorithm):
                assert judge(damaged).status == "invalid"


class TestRoundTrip:
    @pytest.mark.parametrize("network", ["ring:4", "dgx1", "torus:3x3"])
    @pytest.mark.parametrize("synthesizer", ["ring", "tacos"])
    @pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter"])
    def test_same_time(self, synthesizer, network, kind):
        """On networks without routes or parallel links a schedule comes back with its time to the picosecond."""
        schedule = made(synthesizer, network, kind, chunks=2)
        again = schedule_of(parse_msccl(export_msccl(schedule)), schedule.topology)
        verify(again)
        assert again.num_hops == schedule.num_hops
        assert simulate_us(again, 2**20) == simulate_us(schedule, 2**20)

    def test_twice(self):
        """Written again, what came back is the same text."""
        schedule = made("halving_doubling", "dgx1", "all_reduce")
        text = export_msccl(schedule, "x")
        again = export_msccl(schedule_of(parse_msccl(text), schedule.topology), "x")
        assert deployment_of(parse_msccl(again)) == deployment_of(parse_msccl(text))


class TestDeployment:
    def test_figures(self):
        """A ring of four, both ways, has a threadblock for each neighbour and direction, and one that copies."""
        needs = deployment_of(exported("ring", "ring:4", "all_reduce"))
        assert (needs.channels, needs.threadblocks, needs.scratch, needs.over) == (1, 5, 0, "")

    def test_past_the_limits(self):
        """More than 256 steps, 32 channels or 216 threadblocks are named."""
        schedule = made("ring", "ring:4", "all_reduce", chunks=43)
        over = deployment_of(program_of(schedule, "x", instances=48)).over
        assert "258 steps, at most 256 run" in over
        assert "48 channels, at most 32 run" in over
        assert "240 threadblocks, at most 216 run" in over

    @pytest.mark.parametrize(
        ("npus", "over"), [(33, ""), (34, "33 sends a channel, at most 32 run; 33 receives a channel, at most 32 run")]
    )
    def test_peers(self, npus, over):
        """A GPU that sends to more than 32 others on one channel, or receives from as many, is past a limit too."""
        algorithm = parse_msccl(export_msccl(made("direct", f"switch:{npus}", "all_to_all")))
        assert deployment_of(algorithm).over == over

    def test_sizes(self):
        """Without a limit all sizes are named, as 0 is none to some runtimes; limits and protocol are written."""
        schedule = made("ring", "ring:4", "all_reduce")
        assert 'minBytes="0" maxBytes="1099511627776"' in export_msccl(schedule)
        text = export_msccl(schedule, protocol="LL", min_bytes=1024, max_bytes=2**20)
        assert 'minBytes="1024" maxBytes="1048576"' in text
        assert 'proto="LL"' in text
        with pytest.raises(ScheduleError, match="found 8 and 8"):
            export_msccl(schedule, min_bytes=8, max_bytes=8)

    def test_deterministic(self):
        """The same schedule gives the same bytes."""
        schedule = made("tacos", "torus:3x3", "all_reduce")
        assert program_of(schedule, "x") == program_of(schedule.replaced(), "x")
