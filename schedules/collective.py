"""Collectives: for each chunk, which NPUs hold it (or a contribution to it) at the start, and which must at the end.

Every kind, the custom ones too, is the same few columns: a chunk names a *set* of NPUs before and a set after, and a
shard of a buffer that its bytes come from. Sets are shared, so an AllGather over 40,000 NPUs is 40,000 singletons and
one group, not 40,000² entries. Names and sizes follow nccl-tests.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from schedules.chunk_columns import Columns, columns_of, split_by_weight, split_evenly
from schedules.kinds import KINDS, PLACES, REDUCING, REVERSED, ROOTED, SHARDED
from topologies.exceptions import CollectiveError


@dataclass(frozen=True, eq=False, repr=False)
class Collective:
    """What a schedule must achieve on a network of `num_npus` NPUs.

    Build it with `collective` (by name) or `custom`; the columns follow from the fields.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    num_npus : int
        NPUs of the network; those outside every group may relay but own nothing.
    groups : tuple of tuples of int
        Disjoint groups in rank order; each does the collective by itself.
    chunks : int
        Chunks per shard.
    root : int
        Rank, in each group, of the root of a rooted collective.
    shards : int
        Shards of each AllReduce, Broadcast or Reduce buffer; of no concern to the other kinds. 0: as many as ranks
        for AllReduce, 1 for Broadcast and Reduce.
    pairs : tuple of (int, int)
        SendRecv only: source and destination NPUs.
    weights : (num_chunks,) int array, optional
        How a shard's bytes are split over its chunks; equal by default.
    """

    kind: str
    num_npus: int
    groups: tuple[tuple[int, ...], ...]
    chunks: int = 1
    root: int = 0
    shards: int = 0
    pairs: tuple[tuple[int, int], ...] = ()
    weights: np.ndarray | None = None
    conditions: tuple = field(default=())  # custom: (initial sets, final sets, reduces), per chunk

    def __post_init__(self) -> None:
        # Lists and numpy numbers are taken too; equal collectives must be equal.
        groups = tuple(tuple(int(npu) for npu in group) for group in self.groups)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "pairs", tuple(tuple(int(npu) for npu in pair) for pair in self.pairs))
        if self.kind not in KINDS:
            raise CollectiveError(f"unknown collective {self.kind!r}; expected one of {', '.join(KINDS)}")
        if not 1 <= self.chunks <= 2**24:
            raise CollectiveError(f"{self.kind}: expected 1 to 2^24 chunks per shard, found {self.chunks}")
        if self.shards < 0:
            raise CollectiveError(f"{self.kind}: expected 0 (as usual) or more shards, found {self.shards}")
        if self.kind in ("send_recv", "custom"):
            if self.groups:
                raise CollectiveError(f"{self.kind}: takes no groups; its {PLACES[self.kind]} say who takes part")
        elif not self.groups:
            raise CollectiveError(
                f"{self.kind}: no group is given; name at least one, or leave groups out for all NPUs"
            )
        if self.pairs and self.kind != "send_recv":
            raise CollectiveError(f"{self.kind}: takes no pairs; those are for send_recv")
        self._forget_what_says_nothing()
        seen: set[int] = set()
        for group in self.groups:
            for npu in group:
                if not 0 <= npu < self.num_npus:
                    raise CollectiveError(
                        f"{self.kind}: group member {npu} is out of range; the network has NPUs 0…{self.num_npus - 1}"
                    )
                if npu in seen:
                    raise CollectiveError(f"{self.kind}: NPU {npu} is in the groups twice; groups must be disjoint")
                seen.add(npu)
            if not group:
                raise CollectiveError(f"{self.kind}: a group is empty; name at least one NPU")
            if self.kind in ROOTED and not 0 <= self.root < len(group):
                raise CollectiveError(f"{self.kind}: root {self.root} is out of range for a group of {len(group)}")
        for pair in self.pairs:
            if len(pair) != 2 or not all(0 <= npu < self.num_npus for npu in pair):
                raise CollectiveError(f"send_recv: pair {tuple(pair)} is not two NPUs of 0…{self.num_npus - 1}")
        if self.num_chunks_expected >= 2**31:
            raise CollectiveError(f"{self.kind}: {self.num_chunks_expected} chunks; at most 2^31-1 can be scheduled")
        if self.weights is not None:
            weights = np.array(self.weights)
            if weights.shape != (self.num_chunks,) or weights.dtype.kind not in "iu" or (weights < 1).any():
                raise CollectiveError(f"{self.kind}: expected {self.num_chunks} positive integer chunk weights")
            if float(weights.astype(float).sum()) >= 2.0**62:
                raise CollectiveError(f"{self.kind}: the chunk weights add up to 2^62 or more; give smaller ones")
            weights = weights.astype(np.int64)
            if (weights == weights[0]).all():
                object.__setattr__(self, "weights", None)
            else:
                weights.setflags(write=False)
                object.__setattr__(self, "weights", weights)

    def _forget_what_says_nothing(self) -> None:
        """Drop a root and shards that mean nothing or the usual: they must not tell equal collectives apart."""
        if self.kind not in ROOTED:
            object.__setattr__(self, "root", 0)
        usual = {len(group) for group in self.groups} if self.kind == "all_reduce" else {1}
        if self.kind not in SHARDED or usual == {self.shards}:
            object.__setattr__(self, "shards", 0)

    def __reduce__(self) -> tuple[type[Collective], tuple]:
        # Pickled by its fields: the columns follow, and arrays come back read-only.
        return Collective, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __repr__(self) -> str:
        return f"Collective({self.describe()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collective) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def describe(self) -> str:
        """Return one phrase for a user: kind, ranks, groups, chunks."""
        if self.kind in ("send_recv", "custom"):
            return f"{self.kind} with {self.num_chunks} chunks on {self.num_npus} NPUs"
        sizes = sorted({len(group) for group in self.groups})
        ranks = "/".join(map(str, sizes))
        many = f"{len(self.groups)} groups of {ranks}" if len(self.groups) > 1 else f"{ranks} ranks"
        return f"{self.kind} over {many}, {self.num_chunks} chunks"

    @property
    def reduces(self) -> bool:
        """Whether contributions are added up."""
        return bool(self.conditions[2]) if self.kind == "custom" else self.kind in REDUCING

    @property
    def members(self) -> tuple[int, ...]:
        """All NPUs that take part, group by group, in rank order."""
        if self.kind == "send_recv":
            return tuple(sorted({npu for pair in self.pairs for npu in pair}))
        if self.kind == "custom":
            return tuple(range(self.num_npus))
        return tuple(npu for group in self.groups for npu in group)

    @property
    def num_chunks_expected(self) -> int:
        """Chunks in all, from the fields alone."""
        return sum(self.shard_count(index) for index in range(self.num_parts)) * self.chunks

    @property
    def num_parts(self) -> int:
        """Groups, SendRecv pairs, or the chunks of a custom collective."""
        if self.kind == "send_recv":
            return len(self.pairs)
        return len(self.conditions[0]) if self.kind == "custom" else len(self.groups)

    def shard_count(self, part: int) -> int:
        """Return the shards of one group (or pair)."""
        if self.kind in ("send_recv", "custom"):
            return 1
        ranks = len(self.groups[part])
        if self.kind == "all_to_all":
            return ranks * ranks
        if self.kind in SHARDED:
            return self.shards or (ranks if self.kind == "all_reduce" else 1)
        return ranks

    @property
    def num_chunks(self) -> int:
        """Chunks in all."""
        return len(self.initial)

    @cached_property
    def _columns(self) -> Columns:
        """Everything per chunk, from one pass over the groups."""
        return columns_of(self)

    @property
    def initial(self) -> np.ndarray:
        """(num_chunks,) int32: the set that holds each chunk, or a contribution to it, at the start."""
        return self._columns.initial

    @property
    def final(self) -> np.ndarray:
        """(num_chunks,) int32: the set that must hold each chunk at the end."""
        return self._columns.final

    @property
    def set_start(self) -> np.ndarray:
        """(sets + 1,) int64: set s is ``set_member[set_start[s]:set_start[s + 1]]``."""
        return self._columns.set_start

    @property
    def set_member(self) -> np.ndarray:
        """(…,) int32: the NPUs of all sets, ascending within a set."""
        return self._columns.set_member

    def set_of(self, index: int) -> np.ndarray:
        """Return the NPUs of a set, ascending."""
        return self.set_member[self.set_start[index] : self.set_start[index + 1]]

    def shard_bytes(self, size: int) -> np.ndarray:
        """Return (shards,) int64: bytes of each shard of a collective of `size` bytes; they differ by one at most."""
        return split_evenly(size, self._columns.shard_buffer)

    def chunk_bytes(self, size: int) -> np.ndarray:
        """Return (num_chunks,) int64: bytes of each chunk.

        A buffer is split over its shards, a shard over its chunks by weight; remainders go to the first. So what a
        rank owns never depends on the chunking, and chunks of equal weight differ by one byte at most.

        Raises
        ------
        CollectiveError
            A negative size.
        """
        if size < 0:
            raise CollectiveError(f"{self.kind}: size {size} is negative; expected 0 bytes or more")
        return split_by_weight(self.part_bytes(size), self.chunks, self.weights)

    def part_bytes(self, size: int) -> np.ndarray:
        """Return (shards,) int64: bytes of each shard; of a custom collective, of each chunk as it was given."""
        shards = self.shard_bytes(size)
        if self.kind != "custom":
            return shards
        weights = None if self.weights is None else self.weights.reshape(-1, self.chunks).sum(axis=1)
        return split_by_weight(shards, max(self.num_parts, 1), weights)[: self.num_parts]

    def refined(self, pieces: int, weights: np.ndarray | None = None) -> Collective:
        """Return the same collective with each chunk cut into `pieces`: chunk c becomes c·pieces … c·pieces+pieces−1.

        Parameters
        ----------
        pieces : int
        weights : (num_chunks · pieces,) int array, optional
            Weights of the new chunks; by default a chunk's pieces are equal shares of it. Those of a custom collective
            must leave the chunks that were given in the proportion in which they were.

        Raises
        ------
        CollectiveError
            No pieces, weights that do not fit.
        """
        if pieces < 1:
            raise CollectiveError(f"{self.kind}: expected at least one piece per chunk, found {pieces}")
        if weights is None and self.weights is not None:
            weights = np.repeat(self.weights, pieces)
        elif weights is not None and self.kind == "custom" and not self._in_proportion(np.asarray(weights)):
            raise CollectiveError("custom: the pieces' weights change the sizes of the chunks that were given")
        return self._replaced(chunks=self.chunks * pieces, weights=weights)

    def _in_proportion(self, weights: np.ndarray) -> bool:
        """Return whether new weights share the size among the parts as it is shared now."""
        parts = max(self.num_parts, 1)
        now = np.ones(parts, object) if self.weights is None else self.weights.reshape(parts, -1).sum(axis=1)
        new = weights.reshape(parts, -1).astype(object).sum(axis=1) if weights.size % parts == 0 else now[:0]
        return len(new) == parts and all(a * int(new[0]) == b * int(now[0]) for a, b in zip(now, new, strict=True))

    def resharded(self, shards: int, chunks: int) -> Collective:
        """Return an AllReduce, Broadcast or Reduce whose buffer is cut into `shards` × `chunks` instead.

        Raises
        ------
        CollectiveError
            A kind whose shards belong to ranks.
        """
        if self.kind not in SHARDED:
            raise CollectiveError(f"{self.kind}: its shards belong to the ranks and cannot be changed")
        return self._replaced(shards=shards, chunks=chunks, weights=None)

    def reversed(self) -> Collective:
        """Return the collective that the reversed schedule computes.

        Raises
        ------
        CollectiveError
            AllReduce, and custom ones that reduce: they have no reverse.
        """
        if self.kind == "custom":
            initial, final, reduces = self.conditions
            many = any(len(before) != 1 for before in initial)
            if reduces or many:
                raise CollectiveError("only custom collectives that copy from one holder can be reversed")
            # What nobody wants, nobody sends: nor back.
            back = tuple(before if after else () for before, after in zip(initial, final, strict=True))
            return self._replaced(conditions=(final, back, any(len(after) > 1 for after in final)))
        if self.kind not in REVERSED:
            raise CollectiveError(f"{self.kind} has no reverse; reverse its ReduceScatter and AllGather halves")
        weights = self.weights
        if weights is not None and self.kind == "all_to_all":
            weights = weights[self.reversed_chunks]
        pairs = tuple((b, a) for a, b in self.pairs)
        return self._replaced(kind=REVERSED[self.kind], weights=weights, pairs=pairs)

    @cached_property
    def reversed_chunks(self) -> np.ndarray:
        """(num_chunks,) int64: the chunk of ``reversed()`` that each chunk becomes (AllToAll swaps source and end)."""
        ids = np.arange(self.num_chunks)
        if self.kind != "all_to_all":
            return ids
        first = 0
        for group in self.groups:
            ranks = len(group)
            count = ranks * ranks * self.chunks
            block = ids[first : first + count].reshape(ranks, ranks, self.chunks)
            ids[first : first + count] = block.transpose(1, 0, 2).ravel()
            first += count
        return ids

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that defines the collective."""
        digest = hashlib.sha256(
            f"{self.kind},{self.num_npus},{self.chunks},{self.root},{self.shards},{self.pairs}".encode()
        )
        digest.update(repr(self.groups).encode())
        if self.weights is not None:
            digest.update(self.weights.tobytes())
        if self.kind == "custom":
            digest.update(repr(self.conditions).encode())
        return digest.hexdigest()[:32]

    def _replaced(self, **changes) -> Collective:
        """Return a copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Collective(**(fields | changes))
