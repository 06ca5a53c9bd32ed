"""The Trace Event Format, which Perfetto and chrome://tracing read: a JSON object with a list `traceEvents`.

Complete events (``X``) are the slices, flow events (``s``, ``f``) the arrows, metadata (``M``) names the tracks. Times
are decimal microseconds with all their picoseconds, so the same schedule gives the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from experiments.trace.activity import activity
from experiments.trace.slices import Slices
from topologies.atomic import atomic_path

#: "Processes" of the trace. No track has a number of theirs, or of a system's idle task: viewers treat those apart.
_LINKS, _NPUS, _FIRST_TRACK = 1, 2, 3


def write_trace(slices: Slices, path: str | os.PathLike[str]) -> None:
    """Write a trace; the file appears whole or not at all.

    Parameters
    ----------
    slices : Slices
    path : path
        Its folder must exist.

    Raises
    ------
    CollbenchError
        The folder is missing or not writable.
    """
    with atomic_path(path) as temporary, open(temporary, "w", encoding="ascii", newline="\n") as file:
        file.write('{"displayTimeUnit": "ns",\n')
        file.write(f'"otherData": {json.dumps(slices.about)},\n"traceEvents": [')
        before = "\n"
        for event in _events(slices):
            file.write(before + event)
            before = ",\n"
        file.write("\n]}\n")


def _events(slices: Slices) -> Iterator[str]:
    """Give the events, each as JSON."""
    topology = slices.topology
    yield _metadata(_LINKS, 0, "process_name", name="links")
    yield _metadata(_LINKS, 0, "process_sort_index", sort_index=_LINKS)
    yield _metadata(_NPUS, 0, "process_name", name="NPUs")
    yield _metadata(_NPUS, 0, "process_sort_index", sort_index=_NPUS)
    for link in range(topology.num_links):
        # The number tells parallel links apart.
        yield from _track(_LINKS, _FIRST_TRACK + link, f"link {link}: {topology.link_name(link)}")
    first_npu = _FIRST_TRACK + topology.num_links
    for npu in range(topology.num_npus):
        yield from _track(_NPUS, first_npu + npu, topology.node_name(npu))
    yield from _transfers(slices)
    for span in activity(slices):
        name = f"{span.receiving} in, {span.sending} out"
        args = {"receiving": span.receiving, "sending": span.sending}
        yield _slice(_NPUS, first_npu + span.npu, name, span.start_ps, span.end_ps, args)
    yield from _arrows(slices)


def _transfers(slices: Slices) -> Iterator[str]:
    """Give a complete event for each transfer."""
    topology = slices.topology
    columns = (slices.link, slices.start_ps, slices.release_ps, slices.arrival_ps, slices.nbytes)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for index, (link, start, release, arrival, nbytes) in enumerate(rows):
        name, more = slices.describe(index)
        ends = {"from": topology.node_name(int(topology.src[link])), "to": topology.node_name(int(topology.dst[link]))}
        args = more | {"bytes": nbytes} | ends | {"link": link, "arrival_us": arrival / 1e6}
        yield _slice(_LINKS, _FIRST_TRACK + link, name, start, release, args)


def _arrows(slices: Slices) -> Iterator[str]:
    """Give the two ends of each arrow, anchored inside their slices, where every viewer finds them.

    A cut-through hop starts before the one that it follows has ended, and no arrow may point back in time.
    """
    middle = (slices.start_ps + (slices.release_ps - slices.start_ps) // 2).tolist()
    start, link = slices.start_ps.tolist(), slices.link.tolist()
    for number, (cause, effect) in enumerate(zip(slices.cause.tolist(), slices.effect.tolist(), strict=True)):
        begin = min(middle[cause], start[effect])
        common = f'"name": "forwards", "cat": "data", "id": {number}, "pid": {_LINKS}'
        yield f'{{"ph": "s", {common}, "tid": {_FIRST_TRACK + link[cause]}, "ts": {_us(begin)}}}'
        yield (f'{{"ph": "f", "bp": "e", {common}, "tid": {_FIRST_TRACK + link[effect]}, "ts": {_us(start[effect])}}}')


def _track(process: int, track: int, name: str) -> Iterator[str]:
    """Give what names and orders a track."""
    yield _metadata(process, track, "thread_name", name=name)
    yield _metadata(process, track, "thread_sort_index", sort_index=track)


def _metadata(process: int, track: int, kind: str, **args: Any) -> str:
    """Return an event that describes a process or a track."""
    where = f', "tid": {track}' if track else ""
    return f'{{"ph": "M", "name": "{kind}", "pid": {process}{where}, "args": {json.dumps(args)}}}'


def _slice(process: int, track: int, name: str, start_ps: int, end_ps: int, args: dict[str, Any]) -> str:
    """Return a complete event."""
    times = f'"ts": {_us(start_ps)}, "dur": {_us(end_ps - start_ps)}'
    where = f'"pid": {process}, "tid": {track}'
    return f'{{"ph": "X", "name": {json.dumps(name)}, {where}, {times}, "args": {json.dumps(args)}}}'


def _us(picoseconds: int) -> str:
    """Return picoseconds as decimal microseconds, none lost."""
    whole, rest = divmod(picoseconds, 10**6)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")
