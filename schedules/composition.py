"""Composition: one schedule after another without a barrier. ReduceScatter then AllGather is AllReduce."""

from __future__ import annotations

import numpy as np

from schedules.collective import Collective, custom
from schedules.schedule import Schedule
from topologies.exceptions import ScheduleError

#: What two collectives over the same groups make together.
COMPOSED = {
    ("reduce_scatter", "all_gather"): "all_reduce",
    ("reduce_scatter", "gather"): "reduce",
    ("reduce", "broadcast"): "all_reduce",
    ("scatter", "all_gather"): "broadcast",
    ("gather", "scatter"): "",  # nothing regular: the root's buffer comes back
}


def then(first: Schedule, following: Schedule, chunk_map: np.ndarray | None = None) -> Schedule:
    """Return `first` followed by `following`; the result is ``fifo``: what is ready goes, no barrier between.

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
        "chunk": np.concatenate([first.chunk.astype(np.int64), mapping[following.chunk]]),
        "link": np.concatenate([first.link.astype(np.int64), following.link]),
        "reduce": None,
        "step": None,
    }
    if first.reduce is not None or following.reduce is not None:
        columns["reduce"] = np.concatenate(
            [np.zeros(count, bool) if part.reduce is None else part.reduce
             for part, count in zip((first, following), counts, strict=True)]
        )  # fmt: skip
    if first.step is not None or following.step is not None:
        before, after = (np.arange(part.num_hops) if part.step is None else part.step for part in (first, following))
        shift = int(before.max(initial=-1)) + 1 - int(after.min(initial=0))
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


def _require_left_behind(first: Collective, following: Collective, mapping: np.ndarray) -> None:
    """Refuse if a chunk that the second schedule starts from is not where the first one ends."""
    sets = np.unique(np.stack([first.final[mapping], following.initial]), axis=1)
    for left, needed in sets.T:
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
    kind = COMPOSED.get((first.kind, following.kind), "")
    same_weights = first.weights is None and following.weights is None
    if identity and kind and first.groups == following.groups and first.num_chunks == following.num_chunks:
        shards = 0
        if kind in ("all_reduce", "reduce", "broadcast"):
            shards = first.num_chunks // len(first.groups) // first.chunks
            if kind == "all_reduce" and all(len(group) == shards for group in first.groups):
                shards = 0  # the usual number: one per rank
        ranks = {len(group) for group in first.groups}
        if same_weights and len(ranks) == 1 and first.root == following.root:
            return Collective(kind, first.num_npus, first.groups, first.chunks, first.root, shards)
    after = {int(c): following.set_of(following.final[index]) for index, c in enumerate(mapping)}
    initial = [first.set_of(index) for index in first.initial]
    final = [after.get(chunk, first.set_of(index)) for chunk, index in enumerate(first.final)]
    return custom(first.num_npus, initial, final, reduces=first.reduces or following.reduces,
                  weights=first.chunk_bytes(2**40).tolist())  # fmt: skip
