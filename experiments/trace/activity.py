"""Activity of NPUs: the spans of time in which the number of transfers into and out of an NPU stays the same.

Several links serve an NPU at once, and slices of one track must not overlap; so its track shows how many transfers
come in and go out, not which. Those are on the tracks of the links.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from experiments.trace.slices import Slices


class Span(NamedTuple):
    """A time in which an NPU receives and sends the same number of transfers, at least one in all."""

    npu: int
    start_ps: int
    end_ps: int
    receiving: int
    sending: int


def activity(slices: Slices) -> Iterator[Span]:
    """Give the spans of each NPU, NPU by NPU in order of time.

    An NPU sends while its link is held, and receives from the start of a transfer to its arrival.
    """
    npus, link = slices.topology.num_npus, slices.link
    source, target = slices.topology.src[link].astype(np.int64), slices.topology.dst[link].astype(np.int64)
    sends, receives = source < npus, target < npus
    npu = np.concatenate([source[sends], source[sends], target[receives], target[receives]])
    time = np.concatenate(
        [slices.start_ps[sends], slices.release_ps[sends], slices.start_ps[receives], slices.arrival_ps[receives]]
    )
    count = (int(sends.sum()), int(receives.sum()))
    out = np.repeat([1, -1, 0, 0], (count[0], count[0], count[1], count[1]))
    into = np.repeat([0, 0, 1, -1], (count[0], count[0], count[1], count[1]))
    order = np.lexsort((time, npu))
    npu, time, out, into = npu[order], time[order], np.cumsum(out[order]), np.cumsum(into[order])
    # Of changes at one instant only the last counts; an NPU's last change leaves nothing under way.
    last = np.flatnonzero((np.diff(npu, append=-1) != 0) | (np.diff(time, append=-1) != 0))
    changed = np.ones(len(last), bool)
    changed[1:] = (np.diff(out[last]) != 0) | (np.diff(into[last]) != 0) | (np.diff(npu[last]) != 0)
    at = last[changed]
    rows = zip(npu[at].tolist(), time[at].tolist(), into[at].tolist(), out[at].tolist(), strict=True)
    begun = next(rows, None)
    for row in rows:
        if begun is not None and (begun[2] or begun[3]):
            yield Span(begun[0], begun[1], row[1], begun[2], begun[3])
        begun = row
