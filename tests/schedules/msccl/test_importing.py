"""Algorithms of MSCCL as schedules: on which links, in which order, and what cannot be said in a schedule."""

from __future__ import annotations

import pytest

from schedules import verify
from schedules.msccl import MscclFault, judge, load_msccl, parse_msccl, schedule_of
from simulator import simulate_us
from tests.schedules.msccl import damage
from tests.schedules.msccl.samples import BY_HAND, algo, case, exported, made
from topologies import ScheduleError, Topology, TopologyError, fully_connected, line, mesh, parse_topology, switch


def through_scratch(algorithm):
    """Return an algorithm in which whatever is added on arrival is first stored in scratch, then added by a step."""
    added = [step[:3] for step in damage.steps_of(algorithm) if step[3].kind == "rrc"]
    for gpu, block, index in reversed(added):
        step, size = algorithm.step(gpu, block, index), algorithm.gpus[gpu].scratch_chunks
        first = step._replace(kind="r", dst_buffer="s", dst_offset=size, has_dependents=False)
        second = step._replace(kind="re", src_buffer="s", src_offset=size, dep_block=-1, dep_step=-1)
        algorithm = damage.with_step(algorithm, gpu, block, index, first, second)
        for number, b, i, each in list(damage.steps_of(algorithm)):  # who waited for the sum waits for the second
            if (number, each.dep_block, each.dep_step) == (gpu, block, index):
                algorithm = damage.with_step(algorithm, number, b, i, each._replace(dep_step=index + 1))
        gpus = list(algorithm.gpus)
        gpus[gpu] = gpus[gpu]._replace(scratch_chunks=size + step.cnt)
        algorithm = algorithm._replace(gpus=tuple(gpus))
    return algorithm


class TestPublic:
    @pytest.mark.parametrize("name", ["01", "05", "07", "15", "18"])
    def test_right_on_any_network(self, name):
        """Five public files are right schedules on networks with links, switches and routes."""
        algorithm = load_msccl(case(name))
        count = len(algorithm.gpus)
        for topology in (fully_connected(count), switch(count), mesh((2, count // 2))):
            verify(schedule_of(algorithm, topology))

    def test_halving_doubling(self):
        """A public AllReduce by recursive halving and doubling takes as long as ours."""
        topology = parse_topology("dgx1")
        theirs = schedule_of(load_msccl(case("18")), topology)
        ours = made("halving_doubling", "dgx1", "all_reduce")
        assert simulate_us(theirs, 2**26) == simulate_us(ours, 2**26)


class TestSchedule:
    def test_ring_by_hand(self):
        """What is received, copied and sent by one step goes on from where it arrived."""
        topology = parse_topology("ring:3")
        schedule = schedule_of(parse_msccl(BY_HAND), topology)
        verify(schedule)
        assert (schedule.num_hops, schedule.order, schedule.collective.kind) == (6, "program", "all_gather")
        assert simulate_us(schedule, 3 * 10**6) == pytest.approx(2 * (0.5 + 1e6 / 50e3))

    def test_receive_reduce_send(self):
        """A sum that is sent on without being stored, and one that is stored and sent, are sums in a schedule."""
        first = [(1, 0, 0), (1, 2, 0, "s i0 i0", "rcs i0 i0")]
        middle = [(1, 0, 0), (2, 0, 0, "rrs i0 i0", "r i0 i0")]
        last = [(1, 0, 0), (0, 1, 0, "rrcs i0 i0")]
        algorithm = algo(first, middle, last, coll="allreduce", chunks=1, inplace=1)
        assert judge(algorithm).status == "valid"
        schedule = schedule_of(algorithm, parse_topology("ring:3"))
        verify(schedule)
        assert schedule.reduce.tolist() == [True, True, False, False]

    @pytest.mark.parametrize("sample", [("ring", "ring:4"), ("halving_doubling", "dgx1"), ("tacos", "mesh:2x2")])
    def test_sums_in_scratch(self, sample):
        """What arrives in scratch and is added later is the same as what is added on arrival."""
        algorithm = through_scratch(exported(*sample, "all_reduce"))
        assert judge(algorithm).status == "valid"
        schedule = schedule_of(algorithm, parse_topology(sample[1]))
        verify(schedule)
        assert simulate_us(schedule, 2**20) == simulate_us(
            schedule_of(exported(*sample, "all_reduce"), schedule.topology), 2**20
        )

    def test_exchange(self):
        """Two GPUs that send their buffers and then add what arrives exchange in one step."""
        gpus = [[(1, 0, 0), (other, other, 0, "s i0 i0", "rrc i0 i0")] for other in (1, 0)]
        schedule = schedule_of(algo(*gpus, coll="allreduce", chunks=1, inplace=1), line(2))
        verify(schedule)
        assert len(set(schedule.step.tolist())) == 1

    def test_chunks_of_a_step_are_a_message(self):
        """A step of several chunks pays the latency once."""
        schedule = schedule_of(exported("halving_doubling", "dgx1", "all_reduce"), parse_topology("dgx1"))
        assert schedule.message is not None

    def test_parallel_links_share(self):
        """Messages between two NPUs take the less loaded of their links."""
        topology = parse_topology("ring:3")
        twice = Topology(3, [*topology.src] * 2, [*topology.dst] * 2, [*topology.latency_us] * 2,
                               [*topology.bandwidth_gbps] * 2)  # fmt: skip
        schedule = schedule_of(parse_msccl(BY_HAND), twice)
        verify(schedule)
        assert len(set(schedule.link.tolist())) == 6

    def test_group(self):
        """A file of three GPUs runs on three NPUs of four, in the order of the group."""
        schedule = schedule_of(parse_msccl(BY_HAND), parse_topology("ring:4"), (3, 0, 1))
        verify(schedule)
        assert schedule.collective.groups == ((3, 0, 1),)

    def test_one_more_copy(self):
        """What arrives twice is a hop twice, as the time is spent."""
        own = (-1, -1, 0)
        gpus = [[(1, 2, 1), (1, -1, 0, "s i0 o0", "s i0 o0"), (-1, 1, 0, "r i0 o1"), (*own, "cpy i0 o0")],
                [(1, 2, 1), (-1, 0, 0, "r i0 o0", "r i0 s0"), (0, -1, 0, "s i0 o1"), (*own, "cpy i0 o1")]]  # fmt: skip
        schedule = schedule_of(algo(*gpus), line(2))
        verify(schedule)
        assert schedule.num_hops == 3


class TestRefused:
    def test_sum_and_part(self):
        """A GPU that passes on what it got, and its sum with its own, needs two places: verified, not simulated."""
        gpus = [
            [(1, 1, 0), (1, -1, 0, "s i0 i0"), (-1, 2, 0, "r o0 o0 -1 -1 1"), (-1, 1, 1, "rrc o0 o0 1 0")],
            [(1, 1, 1), (2, 0, 0, "rcs i0 s0 -1 -1 1"), (-1, -1, 0, "cpy i0 o0", "re s0 o0 0 0 1"),
             (2, -1, 1, "s o0 o0 1 1 1"), (0, -1, 1, "s i0 i0"), (-1, 2, 1, "r o0 o0 2 0")],
            [(1, 1, 0), (0, 1, 0, "rrs i0 i0"), (-1, -1, 0, "cpy i0 o0 -1 -1 1"),
             (1, 1, 1, "rrc o0 o0 1 0", "s o0 o0")],
        ]  # fmt: skip
        algorithm = algo(*gpus, coll="allreduce", chunks=1)
        assert judge(algorithm).status == "valid"
        with pytest.raises(ScheduleError, match="gpu 1 keeps several versions of chunk 0 at once"):
            schedule_of(algorithm, fully_connected(3))

    def test_other_networks(self):
        """Another number of NPUs, or GPUs that nothing connects, are named."""
        with pytest.raises(ScheduleError, match=r"for 3 gpus, ring:4 has 4 NPUs"):
            schedule_of(parse_msccl(BY_HAND), parse_topology("ring:4"))
        apart = line(3).without(links=[0, 1])
        with pytest.raises(TopologyError, match="cannot reach"):
            schedule_of(parse_msccl(BY_HAND), apart)

    def test_custom_and_wrong(self):
        """What has no postcondition, or is wrong, is no schedule."""
        with pytest.raises(ScheduleError, match="custom"):
            schedule_of(parse_msccl(BY_HAND.replace("allgather", "custom")), parse_topology("ring:3"))
        with pytest.raises(MscclFault, match="line "):
            schedule_of(next(damage.lost_receives(parse_msccl(BY_HAND))), parse_topology("ring:3"))
