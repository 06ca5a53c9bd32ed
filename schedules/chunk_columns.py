"""What a collective says of each chunk, as columns: who holds it, who must, and how many bytes it is.

A chunk names a set of NPUs before and a set after. Sets are shared and numbered, so the columns of an AllGather over n
ranks take O(n), not O(n²).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topologies.memory import require_memory

if TYPE_CHECKING:
    from schedules.collective import Collective


@dataclass(frozen=True)
class Columns:
    """The columns of a collective.

    Attributes
    ----------
    initial, final : (chunks,) int32 arrays
        The set that holds each chunk at the start, and the one that must at the end.
    shard_buffer : (shards,) int64 array
        The buffer that each shard is a part of; every buffer has the collective's size.
    set_start, set_member : (sets + 1,) int64, (…,) int32 arrays
        Set s is ``set_member[set_start[s]:set_start[s + 1]]``, ascending.
    """

    initial: np.ndarray
    final: np.ndarray
    shard_buffer: np.ndarray
    set_start: np.ndarray
    set_member: np.ndarray


#: Bytes per chunk that columns, sizes and what is worked out from them take at their peak.
_BYTES_PER_CHUNK = 64


def columns_of(problem: Collective) -> Columns:
    """Return the columns of a collective; refuse one whose columns would not fit in memory."""
    require_memory(
        problem.num_chunks_expected * _BYTES_PER_CHUNK, f"{problem.kind} in {problem.num_chunks_expected} chunks"
    )
    sets: dict[bytes, int] = {}
    known: dict[tuple[int, ...], int] = {}  # a custom collective may name the same set for thousands of chunks
    members: list[np.ndarray] = []

    def set_of(npus: Iterable[int]) -> int:
        """Return the number of a set of NPUs, a new one if need be."""
        array = np.fromiter(npus, np.int32)
        if len(array) > 1:  # sorting takes longer than all else, and most sets are of one
            array = np.unique(array)
        key = array.tobytes()
        if key not in sets:
            sets[key] = len(members)
            members.append(array)
        return sets[key]

    def named(npus: tuple[int, ...]) -> int:
        """Return the number of a set that a condition gives."""
        if npus not in known:
            known[npus] = set_of(npus)
        return known[npus]

    initial, final, buffer = [], [], []  # a block per part: one entry per shard
    buffers = 0
    for part in range(problem.num_parts):
        count = problem.shard_count(part)
        before: int | np.ndarray
        after: int | np.ndarray
        if problem.kind == "custom":
            before, after = named(problem.conditions[0][part]), named(problem.conditions[1][part])
            per_buffer = 0
        elif problem.kind == "send_recv":
            before, after = set_of([problem.pairs[part][0]]), set_of([problem.pairs[part][1]])
            per_buffer = 1
        else:
            group = problem.groups[part]
            ranks = len(group)
            # Singletons of one group are consecutive sets: rank r is set `single[r]`.
            single = np.array([set_of([npu]) for npu in group])
            whole, root = set_of(group), single[problem.root % ranks]
            per_buffer = ranks if problem.kind == "all_to_all" else count
            if problem.kind == "all_to_all":
                before, after = np.repeat(single, ranks), np.tile(single, ranks)
            else:
                before, after = {
                    "all_gather": (single, whole), "reduce_scatter": (whole, single), "all_reduce": (whole, whole),
                    "broadcast": (root, whole), "reduce": (whole, root), "gather": (single, root),
                    "scatter": (root, single),
                }[problem.kind]  # fmt: skip
        initial.append(np.broadcast_to(before, count))
        final.append(np.broadcast_to(after, count))
        buffer.append(np.arange(count) // per_buffer + buffers if per_buffer else np.zeros(count, np.int64))
        buffers += count // per_buffer if per_buffer else 1
    starts = np.zeros(len(members) + 1, np.int64)
    np.cumsum([len(array) for array in members], out=starts[1:])
    joined = {name: np.concatenate(blocks) if blocks else np.zeros(0, np.int64)
              for name, blocks in (("initial", initial), ("final", final), ("buffer", buffer))}  # fmt: skip
    # A custom collective is one shard of one buffer, and every chunk a part of it.
    shard_buffer = np.zeros(min(buffers, 1)) if problem.kind == "custom" else joined["buffer"]
    return Columns(
        initial=np.repeat(joined["initial"], problem.chunks).astype(np.int32),
        final=np.repeat(joined["final"], problem.chunks).astype(np.int32),
        shard_buffer=shard_buffer.astype(np.int64),
        set_start=starts,
        set_member=np.concatenate(members) if members else np.zeros(0, np.int32),
    )


def split_evenly(size: int, buffer: np.ndarray) -> np.ndarray:
    """Return (shards,) int64: bytes of each shard, given the buffer that each belongs to; remainders to the first."""
    if not len(buffer):
        return np.zeros(0, np.int64)
    count = np.bincount(buffer)
    first = np.zeros(len(count), np.int64)
    np.cumsum(count[:-1], out=first[1:])
    position = np.arange(len(buffer)) - first[buffer]
    return size // count[buffer] + (position < size % count[buffer])


def split_by_weight(shard_bytes: np.ndarray, chunks: int, weights: np.ndarray | None) -> np.ndarray:
    """Return (shards · chunks,) int64: bytes of each chunk of each shard; remainders to the first of the shard."""
    shard = np.repeat(shard_bytes, chunks)
    position = np.tile(np.arange(chunks), len(shard_bytes))
    if weights is None:
        return shard // chunks + (position < shard % chunks)
    total = np.repeat(weights.reshape(-1, chunks).sum(axis=1), chunks)
    if float(shard.max(initial=0)) * float(weights.max()) < 2.0**62:
        base = shard * weights // total
    else:  # exact in Python integers where the product would overflow
        base = np.array([int(s) * int(w) // int(t) for s, w, t in zip(shard, weights, total, strict=True)])
    remainder = np.repeat(shard_bytes - base.reshape(-1, chunks).sum(axis=1), chunks)
    return base + (position < remainder)
