"""What happened when: utilisation, the critical path and buffers of a simulated schedule.

A `Timeline` keeps the start and end of each hop: 16 bytes per hop beside the schedule and its dataflow. Everything else
is computed when asked for, in compiled passes over the hops, and given back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from schedules import Schedule
from schedules.dataflow import by_chunk
from simulator.link_model import Durations, LinkModel
from simulator.simulate import hop_times, hop_wires
from topologies.exceptions import OptionError


@dataclass(frozen=True)
class Segment:
    """A stretch of the critical path: from `start_ps` to `until_ps` everything waits for this hop.

    Attributes
    ----------
    hop, link, chunk : int
        The hop, and what it carries over what.
    start_ps, until_ps : int
        From the hop's start to the start of the next segment's hop (of the last: to completion).
    reason : str
        Why it did not start sooner. ``start``: it began at time 0; ``data``: `cause` delivered what it carries;
        ``link``: `cause` held its link; ``route``: `cause` is the hop before it on its route.
    cause : int
        The hop of the segment before, −1 for ``start``. Hops of one message start together: the cause may be that of
        another member.
    waited_ps : int
        For ``link``: how long the data had been ready.
    """

    hop: int
    link: int
    chunk: int
    start_ps: int
    until_ps: int
    reason: str
    cause: int
    waited_ps: int


@dataclass(frozen=True, eq=False, repr=False)
class Timeline:
    """Start and end of every hop of a schedule, for one size and link model.

    Attributes
    ----------
    schedule : Schedule
    size : int
        Bytes.
    model : LinkModel
    start_ps, end_ps : (H,) int64 arrays
        Picoseconds. A link may be free before its hop's end; see `LinkModel`.
    """

    schedule: Schedule
    size: int
    model: LinkModel
    start_ps: np.ndarray
    end_ps: np.ndarray

    def __repr__(self) -> str:
        return f"Timeline({self.schedule!r}, {self.size} bytes, {self.time_us:g} us)"

    @cached_property
    def total_ps(self) -> int:
        """Completion time in picoseconds."""
        return int(self.end_ps.max(initial=0))

    @property
    def time_us(self) -> float:
        """Completion time in microseconds."""
        return self.total_ps / 1e6

    @cached_property
    def _durations(self) -> Durations:
        """Sizes and wire times."""
        return Durations(self.schedule, self.size)

    @property
    def _release_ps(self) -> np.ndarray:
        """(H,) int64: when each hop gives its link free."""
        if self.model.latency == "blocking":
            return self.end_ps
        return self.end_ps - self._durations.alpha[self.schedule.link]

    @property
    def _heads(self) -> np.ndarray:
        """(H,) bool: one hop of each transfer; the other members of a message occupy the link with it."""
        message = self.schedule.message
        if message is None:
            return np.ones(self.schedule.num_hops, bool)
        heads = message < 0
        heads[np.unique(message, return_index=True)[1]] = True
        return heads

    def link_bytes(self) -> np.ndarray:
        """Return (L,) int64: bytes that crossed each link."""
        result = np.zeros(self.schedule.topology.num_links, np.int64)
        _add(result, self.schedule.link, self._durations.chunk_bytes[self.schedule.chunk])
        return result

    def link_busy_us(self) -> np.ndarray:
        """Return (L,) float: microseconds for which each link was held (the latency counts in ``blocking`` only)."""
        result = np.zeros(self.schedule.topology.num_links, np.int64)
        heads = self._heads
        _add(result, self.schedule.link[heads], (self._release_ps - self.start_ps)[heads])
        return result / 1e6

    def utilisation(self) -> np.ndarray:
        """Return (L,) float: the part of the completion time for which each link was held; 0 where that is zero."""
        busy = self.link_busy_us()
        return busy / self.time_us if self.total_ps else np.zeros_like(busy)

    def utilisation_over_time(self, bins: int) -> np.ndarray:
        """Return (bins,) float: the mean part of all links that was held in each of `bins` equal spans of time.

        Their mean is the mean of `utilisation`.

        Raises
        ------
        OptionError
            Fewer than one bin.
        """
        if bins < 1:
            raise OptionError(f"utilisation over time: expected at least one bin, found {bins}")
        if not self.total_ps:
            return np.zeros(bins)
        heads = self._heads
        width = self.total_ps / bins
        held = _held(self.start_ps[heads] / width, self._release_ps[heads] / width, bins)
        return held / self.schedule.topology.num_links

    def critical_path(self) -> list[Segment]:
        """Return the chain of hops that explains the completion time, first hop first.

        The segments follow each other without a gap from time 0 to completion, so their lengths add up to it. Where
        the data and the link became ready at once, the data is named. Of hops that end last, the first listed is taken.
        """
        if not self.schedule.num_hops:
            return []
        return _walk_back(self)

    def peak_buffer_bytes(self) -> np.ndarray:
        """Return (NPUs,) int64: the most bytes that each NPU held at once beyond its own chunks.

        Its own are those that it holds at the start or must hold at the end. Others occupy it from the end of their
        first delivery to the end of their last send; one that is never sent on is dropped at once. In
        ``store_and_forward`` routes that pass through an NPU occupy it from each inner arrival to the end of the next
        hop; in ``cut_through`` they stream by. Space that becomes free at an instant serves arrivals of that instant.
        """
        schedule, topology, dataflow = self.schedule, self.schedule.topology, self.schedule.dataflow
        collective = schedule.collective
        order, start = by_chunk(schedule.kernel_columns[0], collective.num_chunks, dataflow.reads[:0])
        count, npu, chunk, begin, end = _foreign(
            order, start, schedule.kernel_columns[1], topology.src, topology.dst, dataflow.before, dataflow.delivers,
            self.end_ps, collective.initial, collective.final, collective.set_start,
            collective.set_member, topology.num_nodes, topology.num_npus,
        )  # fmt: skip
        npu, begin, end = npu[:count], begin[:count], end[:count]
        nbytes = self._durations.chunk_bytes[chunk[:count]]
        if self.model.switching == "store_and_forward" and len(dataflow.before):
            inner = np.flatnonzero(dataflow.before >= 0)
            inner = inner[topology.src[schedule.link[inner]] < topology.num_npus]
            npu = np.concatenate([npu, topology.src[schedule.link[inner]]])
            begin = np.concatenate([begin, self.end_ps[dataflow.before[inner]]])
            end = np.concatenate([end, self.end_ps[inner]])
            nbytes = np.concatenate([nbytes, self._durations.chunk_bytes[schedule.chunk[inner]]])
        change = np.concatenate([nbytes, -nbytes])
        npu, time = np.concatenate([npu, npu]), np.concatenate([begin, end])
        by_time = np.lexsort((change, time, npu))  # releases come first within an instant
        return _peaks(npu[by_time], change[by_time], topology.num_npus)


def timeline(schedule: Schedule, size: int, model: LinkModel | None = None) -> Timeline:
    """Return the timeline of a schedule of `size` bytes; ``blocking``, ``cut_through`` by default.

    Raises
    ------
    ScheduleError
        Messages that wait for each other, or times past 53 days.
    """
    model = model or LinkModel()
    return Timeline(schedule, size, model, *hop_times(schedule, size, model))


def _walk_back(times: Timeline) -> list[Segment]:
    """Return the critical path, from the hop that ends last back to time 0.

    Ends because every step goes to a real dependency. In `fifo`, a link is the reason only for a hop that had been
    ready before, so its link was held by one that started strictly earlier.
    """
    schedule, dataflow = times.schedule, times.schedule.dataflow
    start, end, release, message = times.start_ps, times.end_ps, times._release_ps, schedule.message
    wires = hop_wires(times._durations)
    if message is not None:
        members = np.argsort(message, kind="stable")
        sorted_message = message[members]

    def unit(hop: int) -> np.ndarray:
        """Return the hops that start with this one."""
        if message is None or message[hop] < 0:
            return np.array([hop])
        low, high = np.searchsorted(sorted_message, [message[hop], message[hop] + 1])
        return members[low:high]

    def need(hop: int) -> tuple[int, int, str]:
        """Return (time, hop, reason) of what a hop carries becoming ready."""
        if len(dataflow.before) and dataflow.before[hop] >= 0:
            previous = int(dataflow.before[hop])
            ready = int(end[previous])
            if times.model.switching == "cut_through":
                alpha = int(times._durations.alpha[schedule.link[previous]])
                ready = max(int(start[previous]) + alpha, ready - int(wires[hop]))
            return ready, previous, "route"
        last, source = int(dataflow.reads[hop]), -1
        while last >= 0:  # the version is complete when the slowest delivery of its chain is in
            if source < 0 or end[last] > end[source]:
                source = last
            last = int(dataflow.follows[last])
        return (int(end[source]), source, "data") if source >= 0 else (0, -1, "start")

    by_release = np.lexsort((release, schedule.link))
    sorted_link, sorted_release = schedule.link[by_release], release[by_release]

    def holder(hop: int, head: int) -> int:
        """Return the hop that held the link of `hop` (whose transfer is listed at `head`) until its start."""
        low, high = np.searchsorted(sorted_link, [int(schedule.link[hop]), int(schedule.link[hop]) + 1])
        first, last = (low + np.searchsorted(sorted_release[low:high], start[hop], side) for side in ("left", "right"))
        held = by_release[first:last]
        return int(held[held < head if schedule.order == "program" else start[held] < start[hop]].max())

    path: list[Segment] = []
    hop, until = int(np.argmax(end)), times.total_ps
    while True:
        begin = int(start[hop])
        ready, cause, reason = max(need(int(member)) for member in unit(hop))
        if begin == 0:
            reason, cause = "start", -1
        elif ready < begin:
            reason, cause = "link", holder(hop, int(unit(hop)[0]))
        waited = begin - ready if reason == "link" else 0
        path.append(
            Segment(hop, int(schedule.link[hop]), int(schedule.chunk[hop]), begin, until, reason, cause, waited)
        )
        if cause < 0:
            return path[::-1]
        hop, until = cause, begin


@numba.njit(cache=True, nogil=True)
def _add(total, index, amount):
    """Add amounts to the cells that they belong to."""
    for at in range(len(index)):
        total[index[at]] += amount[at]


@numba.njit(cache=True, nogil=True)
def _held(start, stop, bins):
    """Return, for each bin of width one, how much of it the spans cover together: whole bins by differences."""
    total = np.zeros(bins)
    whole = np.zeros(bins + 1)
    for at in range(len(start)):
        first, last = min(int(start[at]), bins - 1), min(int(stop[at]), bins - 1)
        if first == last:
            total[first] += stop[at] - start[at]
        else:
            total[first] += first + 1 - start[at]
            total[last] += stop[at] - last
            whole[first + 1] += 1
            whole[last] -= 1
    covering = 0.0
    for place in range(bins):
        covering += whole[place]
        total[place] += covering
    return total


@numba.njit(cache=True, nogil=True)
def _foreign(
    order, start, link, src, dst, before, delivers, end, initial, final, set_start, set_member, num_nodes,
    num_npus,
):  # fmt: skip
    """Return (count, npu, chunk, from, until) of chunks held by NPUs that neither start nor end with them."""
    limit = len(order)  # each such chunk at an NPU has a delivery of its own
    npus, chunks = np.empty(limit, np.int64), np.empty(limit, np.int64)
    since, until = np.empty(limit, np.int64), np.empty(limit, np.int64)
    count = 0
    routed = len(before) > 0
    own = np.zeros(num_nodes, np.int64)  # in how many of the two sets an NPU is
    arrived, sent = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
    stamp = np.full(num_nodes, -1, np.int64)
    sets = np.full(2, -1, np.int64)
    for c in range(len(start) - 1):
        for side, now in enumerate((initial[c], final[c])):
            if sets[side] != now:  # neighbouring chunks mostly share one
                if sets[side] >= 0:
                    for at in range(set_start[sets[side]], set_start[sets[side] + 1]):
                        own[set_member[at]] -= 1
                for at in range(set_start[now], set_start[now + 1]):
                    own[set_member[at]] += 1
                sets[side] = now
        for position in range(start[c], start[c + 1]):
            hop = order[position]
            node = dst[link[hop]]
            if (not routed or delivers[hop]) and node < num_npus and own[node] == 0:
                if stamp[node] != c:
                    stamp[node], arrived[node], sent[node] = c, end[hop], 0
                arrived[node] = min(arrived[node], end[hop])
        for position in range(start[c], start[c + 1]):
            hop = order[position]
            node = src[link[hop]]
            if (not routed or before[hop] < 0) and stamp[node] == c:
                sent[node] = max(sent[node], end[hop])
        for position in range(start[c], start[c + 1]):
            node = dst[link[order[position]]]
            if stamp[node] == c and sent[node] > arrived[node]:
                npus[count], chunks[count], since[count], until[count] = node, c, arrived[node], sent[node]
                count += 1
                sent[node] = 0  # once per chunk and NPU
    return count, npus, chunks, since, until


@numba.njit(cache=True, nogil=True)
def _peaks(npu, change, num_npus):
    """Return the greatest running sum of changes of each NPU; the events of one stand together, in order of time."""
    peak = np.zeros(num_npus, np.int64)
    held = np.int64(0)
    for at in range(len(npu)):
        if at and npu[at] != npu[at - 1]:
            held = np.int64(0)
        held += change[at]
        peak[npu[at]] = max(peak[npu[at]], held)
    return peak
