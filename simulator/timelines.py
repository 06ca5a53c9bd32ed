"""What happened when: utilisation, the critical path and buffers of a simulated schedule.

A `Timeline` keeps the start and end of each hop: 16 bytes per hop beside the schedule and its dataflow. Everything else
is computed when asked for, in compiled passes over the hops, and given back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from schedules import Schedule
from schedules.dataflow import by_chunk
from simulator.critical_path import Segment, critical_segments
from simulator.link_model import Durations, LinkModel
from simulator.simulate import hop_times
from simulator.usage import add_at, held_per_bin, running_peaks, transit_spans
from topologies.exceptions import OptionError

__all__ = ["Segment", "Timeline", "timeline"]


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
    def durations(self) -> Durations:
        """Sizes and wire times."""
        return Durations(self.schedule, self.size)

    @property
    def release_ps(self) -> np.ndarray:
        """(H,) int64: when each hop gives its link free."""
        if self.model.latency == "blocking":
            return self.end_ps
        return self.end_ps - self.durations.alpha[self.schedule.link]

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
        add_at(result, self.schedule.link, self.durations.chunk_bytes[self.schedule.chunk])
        return result

    def link_busy_us(self) -> np.ndarray:
        """Return (L,) float: microseconds for which each link was held (the latency counts in ``blocking`` only)."""
        result = np.zeros(self.schedule.topology.num_links, np.int64)
        heads = self._heads
        add_at(result, self.schedule.link[heads], (self.release_ps - self.start_ps)[heads])
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
        held = held_per_bin(self.start_ps[heads] / width, self.release_ps[heads] / width, bins)
        return held / self.schedule.topology.num_links

    def critical_path(self) -> list[Segment]:
        """Return the chain of hops that explains the completion time, first hop first.

        The segments follow each other without a gap from time 0 to completion, so their lengths add up to it. Where
        the data and the link became ready at once, the data is named. Of hops that end last, the first listed is taken.
        """
        if not self.schedule.num_hops:
            return []
        return critical_segments(self)

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
        count, npu, chunk, begin, end = transit_spans(
            order, start, schedule.kernel_columns[1], topology.src, topology.dst, dataflow.before, dataflow.delivers,
            self.end_ps, collective.initial, collective.final, collective.set_start,
            collective.set_member, topology.num_nodes, topology.num_npus,
        )  # fmt: skip
        npu, begin, end = npu[:count], begin[:count], end[:count]
        nbytes = self.durations.chunk_bytes[chunk[:count]]
        if self.model.switching == "store_and_forward" and len(dataflow.before):
            inner = np.flatnonzero(dataflow.before >= 0)
            inner = inner[topology.src[schedule.link[inner]] < topology.num_npus]
            npu = np.concatenate([npu, topology.src[schedule.link[inner]]])
            begin = np.concatenate([begin, self.end_ps[dataflow.before[inner]]])
            end = np.concatenate([end, self.end_ps[inner]])
            nbytes = np.concatenate([nbytes, self.durations.chunk_bytes[schedule.chunk[inner]]])
        change = np.concatenate([nbytes, -nbytes])
        npu, time = np.concatenate([npu, npu]), np.concatenate([begin, end])
        by_time = np.lexsort((change, time, npu))  # releases come first within an instant
        return running_peaks(npu[by_time], change[by_time], topology.num_npus)


def timeline(schedule: Schedule, size: int, model: LinkModel | None = None) -> Timeline:
    """Return the timeline of a schedule of `size` bytes; ``blocking``, ``cut_through`` by default.

    Raises
    ------
    ScheduleError
        Messages that wait for each other, or times past 53 days.
    """
    model = model or LinkModel()
    return Timeline(schedule, size, model, *hop_times(schedule, size, model))
