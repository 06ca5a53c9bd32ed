"""Dataflow: the linear kernels against a brute-force twin that looks back over the whole list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective
from schedules.dataflow import by_chunk
from tests.schedules import generator, oracle
from tests.schedules.generator import hops
from topologies import fully_connected, line, ring


def equal(schedule: Schedule) -> None:
    """Assert that the dataflow is the twin's; without flows the route columns are empty."""
    found, expected = schedule.dataflow, oracle.dataflow(schedule)
    assert found.reads.tolist() == expected[0]
    assert found.follows.tolist() == expected[1]
    assert found.before.tolist() == ([] if schedule.flow is None else expected[2])
    assert found.delivers.tolist() == ([] if schedule.flow is None else expected[3])


@st.composite
def any_schedule(draw) -> Schedule:
    """Draw hops of any kind, right or wrong: duplicates, steps, flows of one chunk or several."""
    topology = draw(st.sampled_from([ring(3), line(3), fully_connected(4)]))
    count, chunks = draw(st.integers(0, 40)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = {}
    if draw(st.booleans()):
        columns["flow"] = random.integers(-1, max(count // 2, 1), count)
    if draw(st.booleans()):
        columns["step"] = np.sort(random.integers(0, max(count // 3, 1), count))
    problem = collective("broadcast", topology.num_npus, chunks=chunks)
    return Schedule(topology, problem, random.integers(0, chunks, count), random.integers(0, topology.num_links, count),
                    **columns)  # fmt: skip


class TestAnalyse:
    """What each hop reads and what each delivery follows."""

    def test_chain(self):
        """A hop reads the last delivery listed before it, and a delivery follows the one before."""
        rows = [(0, 0, 1), (0, 1, 2), (0, 2, 1), (0, 1, 2), (0, 1, 0)]
        flow = hops(line(3), collective("broadcast", 3), rows).dataflow
        assert flow.reads.tolist() == [-1, 0, 1, 2, 2]
        assert flow.follows.tolist() == [-1, -1, 0, 1, -1]
        assert flow.before.size == flow.delivers.size == 0

    def test_step(self):
        """Hops of one step read the state before it, and follow each other in list order."""
        flow = generator.doubling(4).dataflow
        assert flow.reads.tolist() == [-1, -1, -1, -1, 1, 0, 3, 2]
        assert flow.follows.tolist() == [-1, -1, -1, -1, 3, 2, 1, 0]

    def test_flow(self):
        """An inner arrival is nobody's version, and only the first hop of a route reads."""
        rows = [(0, 0, 1), (0, 0, 1), (0, 1, 2), (0, 1, 2)]
        flow = hops(line(3), collective("broadcast", 3), rows, flow=[0, -1, 0, -1]).dataflow
        assert flow.before.tolist() == [-1, -1, 0, -1]
        assert flow.delivers.tolist() == [False, True, True, True]
        assert flow.reads.tolist() == [-1, -1, -1, 1]
        assert flow.follows.tolist() == [-1, -1, -1, 2]

    def test_nothing(self):
        """A schedule without hops has a dataflow without entries."""
        equal(Schedule(ring(3), collective("broadcast", 3), np.zeros(0, int), np.zeros(0, int)))

    def test_narrow(self):
        """Indices take 32 bits while the hops can be counted in them."""
        flow = generator.doubling(4).dataflow
        assert {flow.reads.dtype, flow.follows.dtype} == {np.dtype(np.int32)}

    @settings(max_examples=300, deadline=None)
    @given(any_schedule())
    def test_twin_on_any_hops(self, schedule):
        """The kernels give what the twin gives, whatever the hops."""
        equal(schedule)

    @settings(max_examples=100, deadline=None)
    @given(st.data())
    def test_twin_on_right_and_mutated(self, data):
        """The kernels give what the twin gives on trees, sums, joins and exchanges, and on faulty ones."""
        schedule = data.draw(generator.right())
        equal(schedule)
        equal(data.draw(generator.mutated(schedule)))


class TestByChunk:
    """The counting sort."""

    @pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
    def test_groups(self, dtype):
        """Hops of a chunk stand together in list order; chunks without hops have none."""
        order, start = by_chunk(np.array([2, 0, 2, 2, 0], dtype), 4, np.zeros(0, np.int32))
        assert order.tolist() == [1, 4, 0, 2, 3]
        assert start.tolist() == [0, 2, 2, 5, 5]
        assert order.dtype == np.int32
