"""What the buffers of a collective hold before and must hold after, in MSCCL's terms, and which of them are the same.

A value is named by the chunk of the collective that it is a version of; its contributions are a set of ranks. So the
postcondition of an AllReduce asks, at place c of every rank, for chunk c with the contributions of all.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedules.msccl.algorithm import Algorithm
from schedules.msccl.faults import MscclFault

Place = tuple[int, str, int]
"""GPU, buffer, offset."""


class Conditions:
    """Pre- and postcondition of an algorithm's collective, for calls in place or out of place.

    Parameters
    ----------
    algorithm : Algorithm
    in_place : bool
        Whether input and output are one buffer (or one a part of the other).
    root : int
        Of a Broadcast or Reduce.

    Raises
    ------
    MscclFault
        Buffer sizes that do not fit the collective.
    """

    def __init__(self, algorithm: Algorithm, in_place: bool, root: int = 0) -> None:
        self.algorithm, self.in_place, self.root = algorithm, in_place, root
        self.kind = algorithm.collective
        self.ranks = len(algorithm.gpus)
        self.everyone = (1 << self.ranks) - 1
        self.share = algorithm.chunks // self.ranks  # of each rank, where the buffer is shared out
        _check_sizes(algorithm)

    @property
    def known(self) -> bool:
        """Whether the collective says what must hold at the end."""
        return self.kind != "custom"

    def address(self, gpu: int, buffer: str, offset: int) -> Place:
        """Return the place that a buffer and offset mean: in place, parts of input and output are the same."""
        if not self.in_place or buffer == "s":
            return gpu, buffer, offset
        if self.kind == "allgather":
            return (gpu, "o", offset + gpu * self.share) if buffer == "i" else (gpu, buffer, offset)
        if self.kind == "reduce_scatter":
            return (gpu, "i", offset + gpu * self.share) if buffer == "o" else (gpu, buffer, offset)
        return gpu, "i", offset

    def initial(self, gpu: int, buffer: str, offset: int) -> tuple[int, int] | None:
        """Return (chunk, contributions) of a place, as `address` gives it, before the first step; None: nothing."""
        chunks, own = self.algorithm.chunks, 1 << gpu
        if self.kind == "allgather":
            if self.in_place:
                mine = buffer == "o" and offset // self.share == gpu
                return (offset, own) if mine else None
            return (gpu * self.share + offset, own) if buffer == "i" and offset < self.share else None
        if buffer != "i" or offset >= chunks:
            return None
        if self.kind in ("allreduce", "reduce_scatter", "reduce"):
            return offset, own
        if self.kind == "alltoall":
            return gpu * chunks + offset, own
        if self.kind == "broadcast":
            return (offset, own) if gpu == self.root else None
        return gpu * chunks + offset, own

    def final(self) -> Iterator[tuple[Place, int, int]]:
        """Yield (place, chunk, contributions) of all that must be there at the end, rank by rank."""
        chunks, share = self.algorithm.chunks, self.share
        for gpu in range(self.ranks):
            if self.kind == "reduce_scatter":
                for offset in range(share):
                    yield self.address(gpu, "o", offset), gpu * share + offset, self.everyone
            elif self.kind == "reduce" and gpu != self.root:
                continue
            elif self.kind != "custom":
                for offset in range(chunks):
                    yield self.address(gpu, "o", offset), *self._wanted(gpu, offset)

    def _wanted(self, gpu: int, offset: int) -> tuple[int, int]:
        """Return (chunk, contributions) that a place of a full output buffer must hold."""
        if self.kind == "allgather":
            return offset, 1 << offset // self.share
        if self.kind == "alltoall":
            source, piece = divmod(offset, self.share)
            return source * self.algorithm.chunks + gpu * self.share + piece, 1 << source
        return offset, 1 << self.root if self.kind == "broadcast" else self.everyone


def _check_sizes(algorithm: Algorithm) -> None:
    """Refuse buffers whose sizes are not those of the collective."""
    kind, chunks, ranks = algorithm.collective, algorithm.chunks, len(algorithm.gpus)
    if kind == "custom":
        return
    if kind in ("allgather", "reduce_scatter", "alltoall") and chunks % ranks:
        raise MscclFault(f"nchunksperloop is {chunks}; expected a multiple of ngpus ({ranks}) for {kind}", 1)
    into = chunks // ranks if kind == "allgather" else chunks
    out = chunks // ranks if kind == "reduce_scatter" else chunks
    for number, gpu in enumerate(algorithm.gpus):
        for name, found, expected in (("i_chunks", gpu.input_chunks, into), ("o_chunks", gpu.output_chunks, out)):
            if found not in (0, expected):
                raise MscclFault(
                    f"gpu {number} has {name}=\"{found}\"; expected {expected} (or 0) for {kind} of {ranks} gpus and "
                    f"nchunksperloop {chunks}", gpu.line, number,
                )  # fmt: skip
