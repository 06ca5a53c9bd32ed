"""The critical path: the chain of hops, back from the one that ends last, that explains the completion time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simulator.simulate import hop_wires

if TYPE_CHECKING:
    from simulator.timelines import Timeline


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


def critical_segments(times: Timeline) -> list[Segment]:
    """Return the critical path of a timeline of at least one hop, first hop first.

    It is walked from the hop that ends last back to time 0, which ends because every step goes to a real dependency. In
    `fifo`, a link is the reason only for a hop that had been ready before, so its link was held by one that started
    strictly earlier.
    """
    schedule, dataflow = times.schedule, times.schedule.dataflow
    start, end, release, message = times.start_ps, times.end_ps, times.release_ps, schedule.message
    wires = hop_wires(times.durations)
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
                alpha = int(times.durations.alpha[schedule.link[previous]])
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
