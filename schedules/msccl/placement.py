"""Where each chunk of a schedule lies in the buffers of each GPU, in MSCCL's terms.

A chunk has a *home* on each GPU: the output buffer where it belongs there at the end, else scratch. What a GPU starts
with lies in its input buffer and is copied to its home only if something is to be added to it, or if it has to be
there at the end. So the input is never written, unless input and output are one (in place), and then only where the
result goes. Chunks of unequal weight take as many of MSCCL's equal chunks as they weigh; with several instances each
instance has its own share of every buffer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from schedules.collective import Collective
from schedules.msccl.algorithm import MAX_CHUNKS
from topologies.exceptions import ScheduleError

#: MSCCL's names of collectives; what is not here is written as ``custom``.
NAMES = {
    "all_reduce": "allreduce", "all_gather": "allgather", "reduce_scatter": "reduce_scatter",
    "all_to_all": "alltoall", "broadcast": "broadcast", "reduce": "reduce",
}  # fmt: skip


class Spot(NamedTuple):
    """A place in a buffer of a GPU."""

    buffer: str
    offset: int


class Placement:
    """The buffers of all GPUs for a collective.

    Parameters
    ----------
    problem : Collective
    in_place : bool
        Whether the output is the input, or a part of it.
    instances : int
        How often the algorithm is there, each time for its share of the bytes.

    Attributes
    ----------
    name : str
        MSCCL's name of the collective; ``custom`` for what it does not know: groups, lists of pairs, …
    gpu_of : dict of int to int
        The GPU that each NPU is: its rank.
    width : list of int
        How many of MSCCL's chunks each chunk takes, in one instance.
    total : int
        ``nchunksperloop``.

    Raises
    ------
    ScheduleError
        Chunk weights that equal chunks cannot express, or an exchange in place whose input and output are not the same.
    """

    def __init__(self, problem: Collective, in_place: bool, instances: int) -> None:
        whole = len(problem.groups) == 1 and len(problem.groups[0]) == problem.num_npus
        self.name = NAMES.get(problem.kind, "custom") if whole else "custom"
        if in_place and self.name in ("alltoall", "custom"):
            raise ScheduleError(
                f"{problem.kind} is written out of place only: in place its messages would arrive where others still "
                "have to leave; leave in place out"
            )
        self.problem, self.in_place, self.instances = problem, in_place, instances
        ranks = problem.groups[0] if self.name != "custom" else range(problem.num_npus)
        self.gpu_of = {npu: rank for rank, npu in enumerate(ranks)}
        self.width = _widths(problem)
        shards = np.array(self.width, np.int64).reshape(-1, problem.chunks)
        totals = set(shards.sum(axis=1).tolist())
        if len(totals) > 1 and self.name != "custom":
            raise ScheduleError(f"{problem.kind}: its shards weigh {sorted(totals)[:4]}; MSCCL needs equal ones")
        self._before = (np.cumsum(shards, axis=1) - shards).ravel().tolist()  # within its shard
        self._shard = totals.pop() if len(totals) == 1 else 0
        # Of each NPU, the chunks that it starts and ends with.
        self._held = _by_npu(problem, problem.initial), _by_npu(problem, problem.final)
        self._lists: dict[tuple[int, bool], dict[int, int]] = {}
        if self.name == "custom":
            held = [self._listed(npu, end) for npu in self.gpu_of for end in (False, True)]
            self.total = instances * max((self._length(each) for each in held), default=1) or 1
        else:
            count = problem.num_npus if self.name in ("allgather", "reduce_scatter", "alltoall") else len(shards)
            self.total = count * self._shard * instances
        if self.total > MAX_CHUNKS:
            raise ScheduleError(
                f"the schedule would need {self.total} chunks in MSCCL's form; at most {MAX_CHUNKS} are written: give "
                "fewer chunks, or weights that are closer to equal"
            )

    def chunks(self, npu: int, end: bool) -> dict[int, None]:
        """Return the chunks that an NPU holds (or a contribution to them) at the start, or must hold at the end."""
        return self._held[end].get(npu, {})

    def input_spot(self, npu: int, chunk: int) -> Spot:
        """Return where an NPU finds what it starts with, in the first instance."""
        if self.in_place and self.name == "allgather":
            return Spot("o", self._logical(chunk))
        if self.name == "allgather":
            return Spot("i", self._before[chunk])
        return Spot("i", self._position(npu, chunk, end=False))

    def output_spot(self, npu: int, chunk: int) -> Spot:
        """Return where an NPU must have a chunk at the end, in the first instance."""
        if self.in_place and self.name != "allgather":
            return Spot("i", self._logical(chunk))
        if self.name == "reduce_scatter":
            return Spot("o", self._before[chunk])
        return Spot("o", self._position(npu, chunk, end=True))

    def shift(self, npu: int, buffer: str, scratch: int) -> int:
        """Return how far an instance's part of a buffer is from that of the instance before."""
        if buffer == "s":
            return scratch
        if self.name in ("allgather", "reduce_scatter", "alltoall"):
            return self._shard
        if self.name == "custom":
            return self._length(self._listed(npu, buffer == "o"))
        return self.total // self.instances

    def sizes(self, npu: int) -> tuple[int, int]:
        """Return (i_chunks, o_chunks) of an NPU."""
        share = self._shard * self.instances
        if self.name == "custom":
            return tuple(self.instances * self._length(self._listed(npu, end)) for end in (False, True))  # type: ignore[return-value]
        if self.in_place:
            return (0, self.total) if self.name == "allgather" else (self.total, 0)
        root = self.gpu_of[npu] == self.problem.root
        into = share if self.name == "allgather" else self.total
        out = share if self.name == "reduce_scatter" else self.total if self.name != "reduce" or root else 0
        return into, out

    def _position(self, npu: int, chunk: int, end: bool) -> int:
        """Return the offset of a chunk in a full buffer."""
        if self.name == "custom":
            return self._listed(npu, end)[chunk]
        if self.name == "alltoall":
            source, target = divmod(chunk // self.problem.chunks, self.problem.num_npus)
            return (source if end else target) * self._shard * self.instances + self._before[chunk]
        return self._logical(chunk)

    def _logical(self, chunk: int) -> int:
        """Return the offset of a chunk in the buffer of all shards."""
        shared_out = self.name in ("allgather", "reduce_scatter")
        return chunk // self.problem.chunks * self._shard * (self.instances if shared_out else 1) + self._before[chunk]

    def _listed(self, npu: int, end: bool) -> dict[int, int]:
        """Return the offsets of the chunks that an NPU of a custom collective starts (or ends) with, in their order."""
        if (npu, end) not in self._lists:
            offset, found = 0, {}
            for chunk in self.chunks(npu, end):
                found[chunk] = offset
                offset += self.width[chunk]
            self._lists[npu, end] = found
        return self._lists[npu, end]

    def _length(self, listed: dict[int, int]) -> int:
        """Return the chunks of MSCCL that a list of chunks takes."""
        return sum(self.width[chunk] for chunk in listed)


def _by_npu(problem: Collective, sets: np.ndarray) -> dict[int, dict[int, None]]:
    """Return, for each NPU, the chunks whose set it is in, ascending."""
    members = [problem.set_of(index).tolist() for index in range(len(problem.set_start) - 1)]
    found: dict[int, dict[int, None]] = {}
    for chunk, index in enumerate(sets.tolist()):
        for npu in members[index]:
            found.setdefault(npu, {})[chunk] = None
    return found


def _widths(problem: Collective) -> list[int]:
    """Return the chunks of MSCCL that each chunk takes."""
    if problem.weights is None:
        return [1] * problem.num_chunks
    common = math.gcd(*problem.weights.tolist())
    return (problem.weights // common).tolist()
