"""Composition: one schedule after another, without a barrier, under the name of what both compute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import Collective, Schedule, collective, custom, verify
from schedules.composition import then
from simulator import simulate_ps
from tests.schedules import generator, oracle
from tests.schedules.generator import hops, one_shot, trees
from topologies import ScheduleError, Topology, fully_connected, line, mesh, ring, switch

NOTHING = np.zeros(0, int)


def right(schedule: Schedule) -> Schedule:
    """Return the schedule after both modes and the oracle have accepted it."""
    for mode in ("exact", "random"):
        verify(schedule, mode)
    assert oracle.judge(schedule)[0] == "right"
    return schedule


def copies(topology: Topology, problem: Collective, seed: int = 0) -> Schedule:
    """Return a random schedule of a copying collective."""
    return right(trees(topology, problem, np.random.default_rng(seed), 0.2))


def sums(topology: Topology, problem: Collective, seed: int = 1) -> Schedule:
    """Return a random schedule of a reducing collective."""
    return right(trees(topology.reversed(), problem.reversed(), np.random.default_rng(seed), 0.2).reverse())


def build(topology: Topology, problem: Collective) -> Schedule:
    """Return a random schedule of either."""
    return (sums if problem.reduces else copies)(topology, problem)


class TestNames:
    """What two collectives over the same groups are called together."""

    @pytest.mark.parametrize("groups", [None, [[3, 1], [0, 2]], [[0, 1, 2, 3]], [[0, 3]]])
    @pytest.mark.parametrize("topology", [fully_connected(4), switch(4)], ids=lambda topology: topology.name)
    @pytest.mark.parametrize(("first", "following", "named", "fields"), [
        ("reduce_scatter", "all_gather", "all_reduce", {}),
        ("reduce_scatter", "gather", "reduce", {"root": 1}),
        ("reduce", "broadcast", "all_reduce", {"root": 1}),
        ("scatter", "all_gather", "broadcast", {"root": 1}),
    ])  # fmt: skip
    def test_named(self, topology, groups, first, following, named, fields):
        """The result is the regular collective, right, with the bytes of the parts."""
        parts = [collective(kind, 4, groups=groups, chunks=2, **fields) for kind in (first, following)]
        joined = right(then(*(build(topology, part) for part in parts)))
        assert (joined.collective.kind, joined.order) == (named, "fifo")
        assert joined.collective.groups == parts[0].groups
        assert joined.collective.chunk_bytes(1001).tolist() == parts[0].chunk_bytes(1001).tolist()
        ranks = len(parts[0].groups[0])
        if named != "all_reduce":
            assert joined.collective.root == 1
            assert joined.collective == collective(named, 4, groups=groups, chunks=2, root=1, shards=ranks)
        elif first == "reduce_scatter":
            assert joined.collective == collective("all_reduce", 4, groups=groups, chunks=2)

    def test_groups_of_different_sizes(self):
        """ReduceScatter and AllGather make an AllReduce whatever the groups."""
        groups = [[0, 1], [4, 3, 2]]
        parts = [collective(kind, 5, groups=groups) for kind in ("reduce_scatter", "all_gather")]
        joined = right(then(*(build(ring(5), part) for part in parts)))
        assert joined.collective == collective("all_reduce", 5, groups=groups)

    def test_weights(self):
        """Chunk weights that both parts share stay; others make it a custom collective with those of the first."""
        weights = np.array([3, 1] * 3)
        parts = [collective(kind, 3).refined(2, weights) for kind in ("reduce_scatter", "all_gather")]
        joined = right(then(*(build(ring(3), part) for part in parts)))
        assert joined.collective == collective("all_reduce", 3).refined(2, weights)
        other = right(then(build(ring(3), parts[0]), build(ring(3), collective("all_gather", 3, chunks=2))))
        assert other.collective.kind == "custom"
        assert other.collective.chunk_bytes(1200).tolist() == parts[0].chunk_bytes(1200).tolist()

    def test_unnamed(self):
        """Gather and Scatter bring shards home: nothing regular."""
        parts = [copies(ring(3), collective(kind, 3, root=2)) for kind in ("gather", "scatter")]
        joined = right(then(*parts))
        assert joined.collective == custom(3, [[0], [1], [2]], [[0], [1], [2]], weights=[1, 1, 1])

    def test_custom_keeps_its_weights(self):
        """What follows a custom collective has its chunk sizes, exactly."""
        first = hops(line(3), custom(3, [[0], [0]], [[1], [1]], weights=[1, 2]), [(0, 0, 1), (1, 0, 1)])
        following = hops(line(3), custom(3, [[1], [1]], [[2], [2]]), [(0, 1, 2), (1, 1, 2)])
        assert right(then(first, following)).collective == custom(3, [[0], [0]], [[2], [2]], weights=[1, 2])


class TestThen:
    """Concatenation without a barrier."""

    def test_no_barrier(self):
        """A chunk whose sum is complete is handed on while others are still being added."""
        # A shard of one hop and one of three: the short one is back before the long one is there.
        rows = [(0, 1, 0), (1, 3, 2), (1, 2, 1), (1, 1, 0)]
        topology, problem = line(4, 1.0, 0.0), custom(4, [[1], [3]], [[0], [0]])
        first = right(hops(topology, problem, rows))
        following = right(hops(topology, custom(4, [[0], [0]], [[1], [1]]), [(0, 0, 1), (1, 0, 1)]))
        joined = right(then(first, following))
        assert joined.order == "fifo"
        assert simulate_ps(first, 2000) + simulate_ps(following, 2000) == 5_000_000
        assert simulate_ps(joined, 2000) == 4_000_000

    @settings(max_examples=100, deadline=None)
    @given(generator.copying(("all_gather", "scatter", "gather", "broadcast")), st.integers(0, 2**32))
    def test_any(self, schedule, seed):
        """Whatever is spread can be gathered from where it is, and the join is right."""
        problem = schedule.collective
        back = custom(
            problem.num_npus,
            [problem.set_of(index) for index in problem.final],
            [problem.set_of(index) for index in problem.initial],
        )
        following = trees(schedule.topology, back, np.random.default_rng(seed), 0.2)
        joined = right(then(schedule, following))
        assert joined.num_hops == schedule.num_hops + following.num_hops
        assert joined.collective.kind == "custom"

    @settings(max_examples=60, deadline=None)
    @given(generator.copying(("all_gather",)))
    def test_a_sum_and_its_copies(self, schedule):
        """A reversed schedule and its original make an AllReduce on a network like its reverse."""
        mirrored = trees(schedule.topology.reversed(), schedule.collective, np.random.default_rng(3), 0.2)
        joined = right(then(mirrored.reverse(), schedule))
        assert joined.collective.kind == "all_reduce"

    def test_chunk_map(self):
        """Each chunk of the second schedule is one of the first, several of one if need be."""
        first = hops(line(3), custom(3, [[1], [0]], [[1], [1]]), [(1, 0, 1)])
        following = hops(line(3), collective("send_recv", 3, pairs=[(1, 0), (1, 2)]), [(0, 1, 0), (1, 1, 2)])
        joined = right(then(first, following, np.array([0, 1])))
        assert joined.collective == custom(3, [[1], [0]], [[0], [2]])
        both = right(then(first, following, [1, 1]))
        assert both.collective == custom(3, [[1], [0]], [[1], [0, 2]])
        assert set(both.chunk.tolist()) == {1}

    def test_fewer_chunks(self):
        """Chunks that the second schedule does not touch stay where the first left them."""
        first = copies(line(3), collective("send_recv", 3, pairs=[(0, 1), (0, 1)]))
        following = copies(line(3), collective("send_recv", 3, pairs=[(1, 2)]))
        assert right(then(first, following)).collective == custom(3, [[0], [0]], [[2], [1]])

    def test_hierarchical_all_gather(self):
        """Columns gather, then each row's members hand on what their columns gathered."""
        topology = mesh((2, 2))  # NPUs 0 1 / 2 3
        columns = copies(topology, collective("all_gather", 4, groups=[[0, 2], [1, 3]]))  # chunks of 0, 2, 1, 3
        rows = copies(topology, custom(4, [[0, 2], [0, 2], [1, 3], [1, 3]], [[0, 1, 2, 3]] * 4))
        joined = right(then(columns, rows))
        assert joined.collective == custom(4, [[0], [2], [1], [3]], [[0, 1, 2, 3]] * 4)

    def test_three(self):
        """Joins can be joined."""
        legs = [copies(ring(4), collective("send_recv", 4, pairs=[(leg, leg + 1)])) for leg in range(3)]
        joined = right(legs[0].then(legs[1]).then(legs[2]))
        assert joined.collective == custom(4, [[0]], [[3]])

    def test_nothing_first_or_after(self):
        """Schedules without hops or chunks can be joined too."""
        still = Schedule(line(2), custom(2, [[0]], [[0]]), NOTHING, NOTHING)
        send = copies(line(2), collective("send_recv", 2, pairs=[(0, 1)]))
        assert right(then(still, send)).num_hops == 1
        assert right(then(send, Schedule(line(2), collective("send_recv", 2), NOTHING, NOTHING))).num_hops == 1

    def test_adding_into_what_the_first_left_behind(self):
        """A reduce that stored into an empty place copies: after the first schedule the place may not be empty."""
        first = hops(line(3), custom(3, [[0]], [[2]]), [(0, 0, 1), (0, 1, 2)])
        following = right(hops(line(3), custom(3, [[2]], [[0]]), [(0, 2, 1), (0, 1, 0)], reduce=[True, True]))
        assert right(then(first, following)).reduce is None

    def test_reduces_of_the_following_that_count_stay(self):
        """Sums on top of what the second schedule itself starts from are kept as they are."""
        problem = custom(3, [[0]], [[1]], reduces=True)
        following = right(hops(line(3), problem, [(0, 0, 1), (0, 1, 2), (0, 1, 2)], reduce=[True] * 3))
        first = Schedule(line(3), custom(3, [[0]], [[0]]), NOTHING, NOTHING)
        assert right(then(first, following)).reduce.tolist() == [False, False, True]


class TestColumns:
    """Ids and steps of the second schedule come after those of the first."""

    def test_steps(self):
        """Steps go on; a part without steps has one for each hop."""
        exchange = one_shot(2)
        send = copies(line(2), collective("broadcast", 2))
        assert right(then(exchange, send)).step.tolist() == [0, 0, 1]
        first = copies(line(2), collective("reduce_scatter", 2).reversed())
        gather = hops(line(2), collective("all_gather", 2), [(0, 0, 1), (1, 1, 0)], step=[7, 7])
        joined = then(first, gather.replaced(collective=custom(2, [[0, 1]] * 2, [[0, 1]] * 2)))
        assert joined.step.tolist() == [0, 1, *[joined.step[-1]] * 2]
        assert joined.step[-1] > 1

    def test_negative_steps(self):
        """Steps may be numbered from anywhere."""
        exchange = one_shot(2).replaced(step=[-9, -9])
        again = custom(2, [[0, 1]], [[0, 1]])
        swap = hops(line(2), again, [(0, 0, 1), (0, 1, 0)], step=[-3, -3])
        assert right(then(exchange, swap)).step.tolist() == [-9, -9, -8, -8]

    def test_flows_and_messages(self):
        """Ids of the second schedule are moved past those of the first; what had none has none."""
        topology = switch(2)
        pair = collective("send_recv", 2, pairs=[(0, 1), (0, 1)])
        rows = [(0, 0, 2), (1, 0, 2), (0, 2, 1), (1, 2, 1)]
        there = right(hops(topology, pair, rows, flow=[0, 1, 0, 1], message=[0, 0, -1, -1]))
        back = there.reverse().replaced(topology=topology, link=[2, 2, 1, 1])
        joined = right(then(there, right(back)))
        assert joined.flow.tolist() == [0, 1, 0, 1, 3, 2, 3, 2]
        assert joined.message.tolist() == [0, 0, -1, -1, -1, -1, 1, 1]

    @pytest.mark.parametrize("name", ["flow", "message"])
    def test_one_part_without(self, name):
        """A part without the column gets −1."""
        pair = custom(3, [[0], [0]], [[2], [2]])
        rows = [(0, 0, 1), (1, 0, 1), (0, 1, 2), (1, 1, 2)]
        ids = {"flow": [0, 1, 0, 1], "message": [0, 0, 1, 1]}[name]
        there = right(hops(line(3), pair, rows, **{name: ids}))
        more = right(hops(line(3), custom(3, [[2], [2]], [[1], [1]]), [(0, 2, 1), (1, 2, 1)]))
        joined = right(then(there, more))
        assert getattr(joined, name).tolist() == [*ids, -1, -1]
        less = right(hops(line(3), custom(3, [[1], [1]], [[0], [0]]), [(0, 1, 0), (1, 1, 0)]))
        assert getattr(right(then(less, there)), name).tolist() == [-1, -1, *ids]

    def test_reduce(self):
        """Additions stay with the part that adds."""
        parts = [build(line(2), collective(kind, 2)) for kind in ("reduce_scatter", "all_gather")]
        assert then(*parts).reduce.tolist() == [True, True, False, False]

    def test_notes(self):
        """The notes of the first stay, except what was planned for it alone."""
        first = build(line(2), collective("reduce_scatter", 2)).replaced(notes={"planned_us": 1.0, "seed": 3})
        assert then(first, build(line(2), collective("all_gather", 2))).notes == {"seed": 3}


class TestRefused:
    """What cannot be joined, and what the message says."""

    def test_other_network(self):
        """Link numbers mean nothing on another network."""
        parts = [copies(topology, collective("all_gather", 3)) for topology in (ring(3), line(3))]
        with pytest.raises(
            ScheduleError, match="cannot join a schedule on ring:3 with one on line:3: not the same links"
        ):
            then(*parts)

    def test_needed_chunk_is_elsewhere(self):
        """What the second schedule starts from must be where the first ends."""
        first = copies(ring(3), collective("scatter", 3))
        following = copies(ring(3), collective("all_gather", 3, groups=[[0, 2, 1]]))
        message = "cannot join: the second schedule starts with chunk 1 at NPU 2, where the first does not leave it"
        with pytest.raises(ScheduleError, match=message):
            then(first, following)
        right(then(first, following, [0, 2, 1]))

    @pytest.mark.parametrize("mapping", [[0, 1, 3], [0, 1], [0, -1, 2]])
    def test_bad_map(self, mapping):
        """A map has an entry for each chunk of the second and leads to chunks of the first."""
        part = copies(ring(3), collective("all_gather", 3))
        with pytest.raises(ScheduleError, match="the second schedule has 3 chunks and the map leads to chunks of the"):
            then(part, part, mapping)

    def test_more_chunks(self):
        """Without a map the second schedule may not have more chunks than the first."""
        first, following = (copies(ring(3), collective("all_gather", 3, chunks=chunks)) for chunks in (1, 2))
        with pytest.raises(ScheduleError, match=r"has 6 chunks .* outside 0…2; give a chunk_map that fits"):
            then(first, following)

    def test_copies_are_not_contributions(self):
        """What the first has completed must not be added up again."""
        gathered = copies(ring(3), collective("all_gather", 3))
        scattered = sums(ring(3), collective("reduce_scatter", 3))
        with pytest.raises(ScheduleError, match="the second schedule would add up copies of what the first completed"):
            then(gathered, scattered)
