"""Reversal: copies become sums and back, on the reversed network, and what cannot be reversed is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective, custom, verify
from schedules.reversal import pruned, reverse
from simulator import LinkModel, simulate_ps
from tests.schedules import generator, oracle
from tests.schedules.generator import COPYING, doubling, hops, one_shot, trees
from topologies import CollectiveError, ScheduleError, fully_connected, hypercube, line, mesh, ring, switch

MODES = ("exact", "random")
MODELS = [LinkModel(a, b) for a in ("blocking", "pipelined") for b in ("cut_through", "store_and_forward")]


def right(schedule: Schedule) -> Schedule:
    """Return the schedule after both modes and the oracle have accepted it."""
    for mode in MODES:
        verify(schedule, mode)
    assert oracle.judge(schedule)[0] == "right"
    return schedule


class TestReverse:
    """The schedule played backwards."""

    @pytest.mark.parametrize(("kind", "becomes"), [
        ("all_gather", "reduce_scatter"), ("broadcast", "reduce"), ("scatter", "gather"), ("gather", "scatter"),
        ("all_to_all", "all_to_all"),
    ])  # fmt: skip
    @pytest.mark.parametrize("topology", [mesh((3, 2)), switch(4), line(3)], ids=lambda topology: topology.name)
    def test_there_and_back(self, kind, becomes, topology):
        """The reverse computes its collective on the reversed network, and reversed again it is the first schedule."""
        problem = collective(kind, topology.num_npus, chunks=2, root=2)
        schedule = pruned(right(trees(topology, problem, np.random.default_rng(1), 0.2)))
        back = right(reverse(schedule))
        assert (back.collective.kind, back.topology) == (becomes, topology.reversed())
        assert back.collective.root == problem.root
        assert (back.reduce is not None) == back.collective.reduces
        assert back.link.tolist() == schedule.link[::-1].tolist()
        assert right(reverse(back)) == schedule

    def test_send_recv(self):
        """Pairs are turned round."""
        schedule = hops(line(3), collective("send_recv", 3, pairs=[(0, 2)]), [(0, 0, 1), (0, 1, 2)])
        assert right(reverse(schedule)).collective.pairs == ((2, 0),)

    def test_custom(self):
        """Copies from one holder to others become a sum at it."""
        problem = custom(4, [[1], [0], [2]], [[0, 3], [1], []])
        rows = [(0, 1, 0), (0, 1, 2), (0, 2, 3), (1, 0, 1), (2, 2, 3)]
        back = right(reverse(right(hops(line(4), problem, rows))))
        assert back.collective.reduces
        assert back.num_hops == 4

    @settings(max_examples=200, deadline=None)
    @given(generator.copying(), st.data())
    def test_any(self, schedule, data):
        """Any right copying schedule has a right reverse, with duplicates too; groups, routes, chunks and all."""
        again = data.draw(st.lists(st.integers(0, max(schedule.num_hops - 1, 0)), max_size=5))
        if schedule.num_hops and schedule.flow is None:
            # What was there can be sent again, at the end of the list.
            schedule = schedule.selected(np.concatenate([np.arange(schedule.num_hops), np.array(again, int)]))
        back = right(reverse(right(schedule)))
        assert back.order == schedule.order
        assert right(reverse(back)).collective == schedule.collective

    def test_weights_follow(self):
        """Chunk weights go where their chunks go."""
        problem = collective("all_to_all", 2).refined(2, np.arange(1, 9))
        back = reverse(trees(line(2), problem, np.random.default_rng(0)))
        assert back.collective.weights.tolist() == [1, 2, 5, 6, 3, 4, 7, 8]

    def test_flows(self):
        """Routes are walked from their ends, interleaved as they were."""
        problem = collective("all_gather", 2)
        rows = [(0, 0, 2), (1, 1, 2), (0, 2, 1), (1, 2, 0)]
        back = right(reverse(hops(switch(2), problem, rows, flow=[0, 1, 0, 1])))
        assert back.flow.tolist() == [1, 0, 1, 0]
        assert back.topology.src[back.link].tolist() == [0, 1, 2, 2]

    def test_steps(self):
        """Steps run backwards from zero: recursive doubling becomes recursive halving."""
        rows = [(npu, npu, npu ^ 1) for npu in range(4)]
        rows += [(c, npu, npu ^ 2) for npu in range(4) for c in (npu, npu ^ 1)]
        schedule = right(hops(hypercube(2), collective("all_gather", 4), rows, step=[3] * 4 + [7] * 8))
        back = right(reverse(schedule))
        assert back.step.tolist() == [0] * 8 + [4] * 4
        assert right(reverse(back)).step.tolist() == [0] * 4 + [4] * 8

    def test_negative_steps(self):
        """Steps may have been numbered from anywhere."""
        problem = collective("all_gather", 2)
        back = right(reverse(hops(line(2), problem, [(0, 0, 1), (1, 1, 0)], step=[-5, -5])))
        assert len(set(back.step.tolist())) == 1

    def test_messages(self):
        """Messages stay one transfer, in both orders of the links."""
        problem = custom(3, [[0], [0]], [[2], [2]])
        rows = [(0, 0, 1), (1, 0, 1), (0, 1, 2), (1, 1, 2)]
        schedule = right(hops(line(3), problem, rows, message=[0, 0, 1, 1]))
        back = right(reverse(schedule))
        assert back.message.tolist() == [1, 1, 0, 0]
        assert simulate_ps(back, 999) == simulate_ps(schedule, 999)
        right(reverse(schedule.replaced(order="fifo")))

    def test_notes(self):
        """Notes go along, except what was planned for the other direction."""
        schedule = trees(ring(3), collective("all_gather", 3), np.random.default_rng(0))
        back = reverse(schedule.replaced(notes={"planned_us": 3.0, "seed": 4}))
        assert back.notes == {"seed": 4}

    @settings(max_examples=100, deadline=None)
    @given(generator.copying(("all_gather", "broadcast")), st.sampled_from([0, 1, 997, 10**6]), st.sampled_from(MODELS))
    def test_takes_the_same_time(self, schedule, size, model):
        """In program order, links alike, each chain of waits is the same chain backwards."""
        schedule = pruned(schedule).replaced(order="program")
        if schedule.flow is not None or schedule.topology.num_switches:
            size -= size % 1000  # cut-through is symmetric where all chunks are alike
        assert simulate_ps(schedule.reverse(), size, model) == simulate_ps(schedule, size, model)


class TestReverseRefused:
    """What has no reverse."""

    def test_all_reduce(self):
        """An AllReduce, whatever its schedule, and a custom sum."""
        with pytest.raises(CollectiveError, match="all_reduce has no reverse; reverse its ReduceScatter and AllGather"):
            reverse(one_shot(2))
        problem = custom(2, [[0, 1]], [[1]], reduces=True)
        with pytest.raises(CollectiveError, match="only custom collectives that copy from one holder"):
            reverse(hops(line(2), problem, [(0, 0, 1)], reduce=[True]))

    def test_partial_sum_sent_twice(self):
        """An NPU that sends its contribution and later somebody else's would get the chunk twice."""
        rows = [(0, 1, 0), (0, 2, 1), (0, 1, 0)]
        schedule = right(hops(line(3), collective("reduce", 3), rows, reduce=[True, False, True]))
        with pytest.raises(ScheduleError, match="cannot reverse: hop 2 sends chunk 0 out of NPU 1 a second time"):
            reverse(schedule)

    def test_final_holder_sends(self):
        """A root that sends its own contribution away and gets the sum back would get what it holds."""
        rows = [(0, 0, 1), (0, 1, 0)]
        schedule = right(hops(line(2), collective("reduce", 2), rows, reduce=[True, False]))
        with pytest.raises(ScheduleError, match="cannot reverse: hop 0 sends chunk 0 away from its final holder"):
            reverse(schedule)

    def test_exchanges_of_a_reduce_scatter(self):
        """Recursive halving, in steps, has a reverse: each rank sends each chunk once."""
        rows = [(c, npu, npu ^ 2) for npu in range(4) for c in (npu ^ 2, npu ^ 3)]
        rows += [(npu ^ 1, npu, npu ^ 1) for npu in range(4)]
        problem = collective("reduce_scatter", 4)
        schedule = right(hops(hypercube(2), problem, rows, reduce=[True] * 12, step=[0] * 8 + [1] * 4))
        assert right(reverse(schedule)).reduce is None
        with pytest.raises(CollectiveError):
            reverse(doubling(4))


class TestPruned:
    """Deliveries that nobody needs."""

    def test_duplicates(self):
        """Of several deliveries of a chunk to an NPU the first is kept."""
        rows = [(0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1)]
        schedule = hops(fully_connected(3), collective("broadcast", 3), rows)
        assert pruned(schedule) == schedule.selected(np.arange(2))

    def test_returns_to_the_holder(self):
        """What the holder gets it has."""
        schedule = hops(line(2), collective("broadcast", 2), [(0, 0, 1), (0, 1, 0)])
        assert pruned(schedule).num_hops == 1

    def test_dead_ends(self):
        """A chain of deliveries that leads to nobody in need goes, from its end to its start."""
        rows = [(0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 1, 0), (1, 0, 3)]
        problem = custom(4, [[0], [1]], [[1], [3]])
        schedule = right(hops(ring(4), problem, rows))
        assert right(pruned(schedule)).chunk.tolist() == [0, 1, 1]

    def test_routes_go_as_a_whole(self):
        """All hops of a route stay or go together."""
        topology = switch(3)
        rows = [(0, 0, 3), (0, 0, 3), (0, 3, 1), (0, 3, 1), (0, 0, 3), (0, 3, 2)]
        schedule = right(hops(topology, custom(3, [[0]], [[1]]), rows, flow=[0, 1, 1, 0, 2, 2]))
        assert pruned(schedule) == schedule.selected(np.array([1, 2]))

    def test_nothing_to_prune(self):
        """A schedule without waste is returned as it is."""
        schedule = trees(ring(4), collective("all_gather", 4), np.random.default_rng(0))
        assert pruned(schedule) is schedule

    def test_sums(self):
        """Where contributions are added up every delivery counts."""
        with pytest.raises(ScheduleError, match="only schedules of copying collectives can be pruned"):
            pruned(one_shot(2))

    @settings(max_examples=150, deadline=None)
    @given(generator.copying(COPYING), st.integers(0, 2**32))
    def test_any(self, schedule, seed):
        """The rest is right, has one delivery a place and none to a holder, and nothing more can go."""
        random = np.random.default_rng(seed)
        if schedule.flow is None and schedule.num_hops:
            extra = np.sort(random.integers(0, schedule.num_hops, 4))
            schedule = schedule.selected(np.sort(np.concatenate([np.arange(schedule.num_hops), extra])))
        rest = right(pruned(right(schedule)))
        ends = np.ones(rest.num_hops, bool) if rest.flow is None else rest.dataflow.delivers
        places = list(zip(rest.chunk[ends].tolist(), rest.topology.dst[rest.link[ends]].tolist(), strict=True))
        assert len(set(places)) == len(places)
        assert not any(npu in rest.collective.set_of(rest.collective.initial[c]) for c, npu in places)
        assert pruned(rest) is rest
