"""Composition: one schedule after another without a barrier. ReduceScatter then AllGather is AllReduce."""

from __future__ import annotations

import math

import numpy as np

from schedules.builders import custom
from schedules.collective import Collective
from schedules.schedule import Schedule
from topologies.exceptions import ScheduleError

#: What two collectives over the same groups make together.
COMPOSED = {
    ("reduce_scatter", "all_gather"): "all_reduce",
    ("reduce_scatter", "gather"): "reduce",
    ("reduce", "broadcast"): "all_reduce",
    ("scatter", "all_gather"): "broadcast",
}


def then(first: Schedule, following: Schedule, chunk_map: np.ndarray | None = None) -> Schedule:
    """Return `first` followed by `following`; the result is ``fifo``: what is ready goes, no barrier between.

    The chunks, and their bytes, are those of `first`. The collective of the result has its own name where one fits;
    else it is a custom one, whose size is the sum of all chunks.

    Parameters
    ----------
    first, following : Schedule
        Schedules on the same network.
    chunk_map : (following's chunks,) int array, optional
        The chunk of `first` that each chunk of `following` is; the identity by default.

    Raises
    ------
    ScheduleError
        Different networks, chunks that do not correspond, or a chunk that `following` needs at an NPU where `first`
        does not leave it.
    """
    if first.topology != following.topology:
        raise ScheduleError(
            f"cannot join a schedule on {first.topology.name} with one on {following.topology.name}: not the same links"
        )
    identity = chunk_map is None
    mapping = np.arange(following.collective.num_chunks) if chunk_map is None else np.asarray(chunk_map, np.int64)
    if mapping.shape != (following.collective.num_chunks,) or (
        mapping.size and not 0 <= mapping.min() <= mapping.max() < first.collective.num_chunks
    ):
        raise ScheduleError(
            f"cannot join: the second schedule has {following.collective.num_chunks} chunks and the map leads to "
            f"chunks of the first outside 0…{first.collective.num_chunks - 1}; give a chunk_map that fits"
        )
    _require_left_behind(first.collective, following.collective, mapping)
    joined = _joined(first.collective, following.collective, mapping, identity)
    counts = (first.num_hops, following.num_hops)
    columns: dict[str, np.ndarray | None] = {
        # In the columns' own types, and given away: wider ones, or copies, are too much for long schedules.
        "chunk": _given(first.chunk, mapping.astype(first.chunk.dtype)[following.chunk]),
        "link": _given(first.link, following.link),
        "reduce": None,
        "step": None,
    }
    if first.reduce is not None or following.reduce is not None:
        adds = np.zeros(counts[0], bool) if first.reduce is None else first.reduce
        columns["reduce"] = np.concatenate([adds, _still_adds(following)])
    if first.step is not None or following.step is not None:
        before, after = (np.arange(part.num_hops) if part.step is None else part.step for part in (first, following))
        shift = int(before[-1]) + 1 - int(after[0]) if len(before) and len(after) else 0
        columns["step"] = np.concatenate([before, after.astype(np.int64) + shift])
    for name in ("flow", "message"):
        before, after = getattr(first, name), getattr(following, name)
        if before is None and after is None:
            columns[name] = None
            continue
        before = np.full(counts[0], -1) if before is None else before.astype(np.int64)
        after = np.full(counts[1], -1) if after is None else after.astype(np.int64)
        columns[name] = np.concatenate([before, np.where(after >= 0, after + before.max(initial=-1) + 1, -1)])
    notes = {key: value for key, value in first.notes.items() if key != "planned_us"}
    return Schedule(first.topology, joined, order="fifo", notes=notes, **columns)  # type: ignore[arg-type]


def _given(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return a joined column, read-only, so that a schedule takes it over."""
    column = np.concatenate([before, after])
    column.setflags(write=False)
    return column


def _still_adds(following: Schedule) -> np.ndarray:
    """Return which hops add, not counting those into empty places: after `first` something may lie there."""
    if following.reduce is None:
        return np.zeros(following.num_hops, bool)
    collective, target = following.collective, following.topology.dst[following.link]
    begins = np.flatnonzero(following.reduce & (following.dataflow.follows < 0))
    sets, which = np.unique(collective.initial[following.chunk[begins]], return_inverse=True)
    held = np.zeros(len(begins), bool)
    for index, holders in enumerate(sets):
        mine = which == index
        held[mine] = np.isin(target[begins[mine]], collective.set_of(holders))
    adds = following.reduce.copy()
    adds[begins[~held]] = False
    return adds


def _require_left_behind(first: Collective, following: Collective, mapping: np.ndarray) -> None:
    """Refuse if a chunk that the second schedule starts from is not where the first one ends."""
    sets = np.unique(np.stack([first.final[mapping], following.initial]), axis=1)
    starts, ends = first.set_start[sets[0]], first.set_start[sets[0] + 1]
    whole = (ends - starts == 1) & (np.diff(following.set_start)[sets[1]] == 1)
    whole[whole] = first.set_member[starts[whole]] == following.set_member[following.set_start[sets[1][whole]]]
    for left, needed in sets.T[~whole]:  # one by one only where more than one NPU holds a chunk
        missing = np.setdiff1d(following.set_of(needed), first.set_of(left))
        if missing.size:
            chunk = int(np.argmax((first.final[mapping] == left) & (following.initial == needed)))
            raise ScheduleError(
                f"cannot join: the second schedule starts with chunk {chunk} at NPU {missing[0]}, "
                "where the first does not leave it"
            )
    if following.reduces and any(len(following.set_of(needed)) > 1 for needed in np.unique(following.initial)):
        raise ScheduleError("cannot join: the second schedule would add up copies of what the first completed")


def _joined(first: Collective, following: Collective, mapping: np.ndarray, identity: bool) -> Collective:
    """Return the collective of both, under its own name where it has one."""
    kind = COMPOSED.get((first.kind, following.kind))
    alike = first.groups == following.groups and np.array_equal(_weights(first), _weights(following))
    if identity and kind and alike and first.num_chunks == following.num_chunks:
        shards = {first.shard_count(part) for part in range(first.num_parts)}
        # Groups of different sizes have different numbers of shards: one per rank, which only AllReduce can say.
        if len(shards) == 1 or (first.kind, kind) == ("reduce_scatter", "all_reduce"):
            return Collective(kind, first.num_npus, first.groups, first.chunks, max(first.root, following.root),
                              shards.pop() if len(shards) == 1 else 0, weights=first.weights)  # fmt: skip
    after: dict[int, set[int]] = {}
    for index, chunk in enumerate(mapping.tolist()):
        after.setdefault(chunk, set()).update(following.set_of(following.final[index]).tolist())
    initial = [first.set_of(index) for index in first.initial]
    final = [after.get(chunk, first.set_of(index)) for chunk, index in enumerate(first.final)]
    return custom(first.num_npus, initial, final, reduces=first.reduces or following.reduces,
                  weights=_proportions(first).tolist())  # fmt: skip


def _proportions(collective: Collective) -> np.ndarray:
    """Return the sizes of the chunks as whole numbers, exact unless these are huge."""
    if collective.kind == "custom":
        return np.ones(collective.num_chunks, np.int64) if collective.weights is None else collective.weights
    shards = {collective.shard_count(part) for part in range(collective.num_parts)}
    totals = np.full(1, collective.chunks)
    if collective.weights is not None:
        totals = np.unique(collective.weights.reshape(-1, collective.chunks).sum(axis=1))
    # All buffers, shards and chunks of this size divide without a remainder.
    size = math.lcm(*shards) * math.lcm(*totals.tolist())
    return np.maximum(collective.chunk_bytes(min(size, 2**40)), 1)


def _weights(collective: Collective) -> np.ndarray:
    """Return the chunk weights, none where all weigh the same."""
    return np.zeros(0, np.int64) if collective.weights is None else collective.weights
