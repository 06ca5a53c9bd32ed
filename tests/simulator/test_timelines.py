"""Timelines: by hand on small schedules, and by the definitions on random ones."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective, custom
from simulator.link_model import LinkModel
from simulator.simulate import simulate_ps
from simulator.timelines import timeline
from topologies import OptionError, ScheduleError, Topology, mesh, ring

KB = 1000  # over 1 GB/s: one microsecond


def line_of(*latencies):
    """Return a one-way line of NPUs at 1 GB/s with these latencies, and 10 µs back."""
    rows = [(npu, npu + 1, alpha, 1.0) for npu, alpha in enumerate(latencies)]
    return Topology.from_links(len(latencies) + 1, [*rows, (len(latencies), 0, 10.0, 1.0)])


def told(path):
    """Return (hop, start µs, until µs, reason, cause) of each segment."""
    return [(seg.hop, seg.start_ps / 1e6, seg.until_ps / 1e6, seg.reason, seg.cause) for seg in path]


class TestByHand:
    """Two chunks from NPU 0 over NPU 1 to NPU 2."""

    topology = line_of(0.5, 0.5)
    schedule = Schedule(topology, custom(3, [[0], [0]], [[2], [2]]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))

    def test_times(self):
        """Blocking: 0–1.5 and 1.5–3 on the first link, 1.5–3 and 3–4.5 on the second."""
        times = timeline(self.schedule, 2 * KB)
        assert times.start_ps.tolist() == [0, 1_500_000, 1_500_000, 3_000_000]
        assert times.time_us == 4.5

    def test_links(self):
        """Bytes, busy time and utilisation of each link."""
        times = timeline(self.schedule, 2 * KB)
        assert times.link_bytes().tolist() == [2000, 2000, 0]
        assert times.link_busy_us().tolist() == [3.0, 3.0, 0.0]
        assert times.utilisation().tolist() == pytest.approx([2 / 3, 2 / 3, 0])
        assert times.utilisation_over_time(3).tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 3])

    def test_pipelined_holds_links_for_the_wire_time(self):
        """Pipelined links are busy for a microsecond per chunk."""
        times = timeline(self.schedule, 2 * KB, LinkModel("pipelined"))
        assert times.time_us == 4.0
        assert times.link_busy_us().tolist() == [2.0, 2.0, 0.0]

    def test_critical_path(self):
        """Chunk 1 waits for the link that chunk 0 holds, then for its data."""
        path = timeline(self.schedule, 2 * KB).critical_path()
        assert told(path) == [(0, 0, 1.5, "start", -1), (1, 1.5, 3, "link", 0), (3, 3, 4.5, "data", 1)]
        assert [segment.waited_ps for segment in path] == [0, 1_500_000, 0]

    def test_buffers(self):
        """NPU 1 holds chunk 0 for 1.5–3 and chunk 1 for 3–4.5: one of them at a time."""
        assert timeline(self.schedule, 2 * KB).peak_buffer_bytes().tolist() == [0, 1000, 0]
        assert timeline(self.schedule, 2 * KB, LinkModel("pipelined")).peak_buffer_bytes().tolist() == [0, 2000, 0]


def test_route_in_the_critical_path():
    """On a route the next hop starts α after the one before; stored, it waits for the end, and occupies the NPU."""
    topology = line_of(0.5, 0.25)
    schedule = Schedule(topology, custom(3, [[0]], [[2]]), np.array([0, 0]), np.array([0, 1]), flow=np.array([0, 0]))
    times = timeline(schedule, KB)
    assert told(times.critical_path()) == [(0, 0, 0.5, "start", -1), (1, 0.5, 1.75, "route", 0)]
    assert times.peak_buffer_bytes().tolist() == [0, 0, 0]
    times = timeline(schedule, KB, LinkModel(switching="store_and_forward"))
    assert told(times.critical_path()) == [(0, 0, 1.5, "start", -1), (1, 1.5, 2.75, "route", 0)]
    assert times.peak_buffer_bytes().tolist() == [0, 1000, 0]


def test_message_is_one_transfer():
    """A message holds its link once for all its members."""
    schedule = Schedule(line_of(0.5), custom(2, [[0], [0]], [[1], [1]]), np.array([0, 1]), np.array([0, 0]),
                        message=np.array([0, 0]))  # fmt: skip
    times = timeline(schedule, 2 * KB)
    assert times.time_us == 2.5
    assert times.link_busy_us().tolist() == [2.5, 0.0]
    assert times.link_bytes().tolist() == [2000, 0]
    assert told(times.critical_path()) == [(0, 0, 2.5, "start", -1)]


def test_slowest_delivery_of_a_version_is_the_cause():
    """A sum waits for the contribution that comes last, not for the one listed last."""
    topology = Topology.from_links(
        4, [(0, 2, 5.0, 1.0), (1, 2, 0.0, 1.0), (2, 3, 0.0, 1.0), (3, 0, 0.0, 1.0), (3, 1, 0, 1.0)]
    )
    schedule = Schedule(topology, custom(4, [[0, 1, 2]], [[3]], reduces=True), np.array([0, 0, 0]), np.array([0, 1, 2]),
                        reduce=np.array([True, True, False]))  # fmt: skip
    assert told(timeline(schedule, KB).critical_path()) == [(0, 0, 6, "start", -1), (2, 6, 7, "data", 0)]


def test_nothing_happens():
    """An empty schedule has a timeline too."""
    times = timeline(
        Schedule(ring(2), collective("all_gather", 2, groups=[[0]]), np.zeros(0, int), np.zeros(0, int)), 5
    )
    assert times.time_us == 0
    assert times.critical_path() == []
    assert times.utilisation().tolist() == [0.0, 0.0]
    assert times.utilisation_over_time(2).tolist() == [0.0, 0.0]
    assert times.peak_buffer_bytes().tolist() == [0, 0]
    with pytest.raises(OptionError, match="bin"):
        times.utilisation_over_time(0)


@st.composite
def schedules(draw):
    """Draw a few chunks flooded in random order over an uneven network, some to NPUs that only relay them."""
    topology = draw(
        st.sampled_from([mesh([3, 2], [1.0, 0.3], [0.5, 0.0]), ring(4, 0.7, 0.0), mesh([2, 2, 2], 0.5, 1.0)])
    )
    npus, chunks = topology.num_npus, draw(st.integers(1, 4))
    needed = draw(
        st.lists(st.lists(st.integers(1, npus - 1), max_size=2, unique=True), min_size=chunks, max_size=chunks)
    )
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    holds = [{0} for _ in range(chunks)]
    hops = []
    while any(len(holding) < npus for holding in holds):
        c, link = int(random.integers(chunks)), int(random.integers(topology.num_links))
        if int(topology.src[link]) in holds[c]:
            holds[c].add(int(topology.dst[link]))  # now and then once more: a waste, but allowed
            hops.append((c, link))
    chunk, link = np.array(hops).T
    message = None
    if draw(st.booleans()):  # couples on link 0
        message = np.full(len(chunk), -1)
        on_first = np.flatnonzero(link == 0)[: 2 * (np.sum(link == 0) // 2)]
        message[on_first] = np.arange(len(on_first)) // 2
    return Schedule(topology, custom(npus, [[0]] * chunks, needed), chunk, link, message=message,
                    order=draw(st.sampled_from(["program", "fifo"])))  # fmt: skip


MODELS = [LinkModel(a, b) for a in ("blocking", "pipelined") for b in ("cut_through", "store_and_forward")]


@settings(max_examples=200, deadline=None)
@given(schedules(), st.sampled_from(MODELS), st.sampled_from([0, 3, 1000, 4001]))
def test_definitions_on_random_schedules(schedule, model, size):
    """The critical path explains completion without a gap; busy times, bins and buffers are as defined."""
    try:
        times = timeline(schedule, size, model)
    except ScheduleError:  # two hops of a message that depend on each other
        return
    assert times.total_ps == simulate_ps(schedule, size, model)
    path = times.critical_path()
    assert path[0].start_ps == 0
    assert path[0].reason == "start"
    assert path[-1].until_ps == times.total_ps
    for before, after in pairwise(path):
        assert before.until_ps == after.start_ps
        assert after.cause == before.hop
        assert times.start_ps[after.hop] == after.start_ps
        assert (after.reason == "link") == (after.waited_ps > 0)
        if after.reason == "link":
            assert before.link == after.link
    assert times.utilisation().max(initial=0) <= 1 + 1e-12
    for bins in (1, 3, 50):
        over_time = times.utilisation_over_time(bins)
        assert over_time.mean() == pytest.approx(times.utilisation().mean())
        assert over_time.max() <= 1 + 1e-9
    assert times.peak_buffer_bytes().tolist() == buffers(times)


def buffers(times):
    """Return the peak of each NPU from the definition, by sampling every instant at which something begins."""
    schedule, topology = times.schedule, times.schedule.topology
    nbytes = schedule.collective.chunk_bytes(times.size)
    held = [[] for _ in range(topology.num_npus)]
    for npu in range(topology.num_npus):
        for c in range(schedule.collective.num_chunks):
            own = {*schedule.collective.set_of(schedule.collective.initial[c]).tolist(),
                   *schedule.collective.set_of(schedule.collective.final[c]).tolist()}  # fmt: skip
            mine = schedule.chunk == c
            arrivals = times.end_ps[mine & (topology.dst[schedule.link] == npu)]
            sends = times.end_ps[mine & (topology.src[schedule.link] == npu)]
            if npu not in own and len(arrivals) and len(sends):
                held[npu].append((arrivals.min(), sends.max(), nbytes[c]))
    return [max((sum(b for first, last, b in spans if first <= at < last) for at, _, _ in spans), default=0)
            for spans in held]  # fmt: skip


def test_a_million_hops_in_seconds():
    """Everything about a million hops takes a few seconds at most (0.5 s on two cores)."""
    topology = ring(1000, 50.0)
    rounds = 1000
    links = np.flatnonzero((topology.dst - topology.src) % 1000 == 1)
    links = links[np.argsort(topology.src[links])]
    chunk = (np.arange(1000)[None, :] - np.arange(rounds)[:, None]) % 1000
    schedule = Schedule(topology, collective("all_gather", 1000), chunk.ravel(), np.tile(links, rounds))
    timeline(schedule.selected(np.arange(5)), 10).peak_buffer_bytes()  # compiles
    before = time.process_time()
    times = timeline(schedule, 10**9)
    path = times.critical_path()
    times.peak_buffer_bytes()
    times.utilisation_over_time(100)
    assert len(path) == rounds
    assert time.process_time() - before < 10
