"""An algorithm in MSCCL's form: GPUs, each with threadblocks, each with steps that its runtime carries out in order.

This is what a file of MSCCL XML says, as it says it: attributes as numbers, and for each step the line that it stands
on. What the names mean is in `schedules.msccl.interpreter`; `SENDS` and the like say what each type of step does.
"""

from __future__ import annotations

from typing import NamedTuple

#: Types of steps by what they do; `src` and `dst` are places of the GPU that the step runs on.
SENDS = frozenset(("s", "rcs", "rrs", "rrcs"))
RECEIVES = frozenset(("r", "rcs", "rrc", "rrs", "rrcs"))
READS = frozenset(("s", "rrc", "rrs", "rrcs", "cpy", "re"))  # what is at src
WRITES = frozenset(("r", "rcs", "rrc", "rrcs", "cpy", "re"))  # to dst
TYPES = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")

#: Names of collectives in the files, and collbench's.
COLLECTIVES = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all", "broadcast": "broadcast", "reduce": "reduce", "custom": "custom",
}  # fmt: skip

#: What RCCL calls differently.
SPELLINGS = {"reducescatter": "reduce_scatter"}

#: Most chunks of a buffer, and of a loop with all instances, that are read and written: more are of no use to anybody.
MAX_CHUNKS = 2**17

#: The largest size written where there is no limit: 0 would be none to some runtimes, and nothing to others.
ANY_BYTES = 2**40


class Step(NamedTuple):
    """One step: `cnt` chunks from `src_buffer[src_offset…]` to `dst_buffer[dst_offset…]`, where its type has them.

    `dep_block` and `dep_step` are the threadblock and step of this GPU that must have finished before; −1: none.
    """

    kind: str
    src_buffer: str
    src_offset: int
    dst_buffer: str
    dst_offset: int
    cnt: int
    dep_block: int
    dep_step: int
    has_dependents: bool
    line: int = 0


class Threadblock(NamedTuple):
    """Steps in order; all sends go to one GPU and all receives come from one, on one channel. −1: no such GPU."""

    send: int
    recv: int
    channel: int
    steps: tuple[Step, ...]
    line: int = 0


class Gpu(NamedTuple):
    """A GPU: chunks of its input, output and scratch buffers, and its threadblocks."""

    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    threadblocks: tuple[Threadblock, ...]
    line: int = 0


class Algorithm(NamedTuple):
    """A whole algorithm.

    Attributes
    ----------
    name, protocol : str
    collective : str
        As in the file: one of `COLLECTIVES`.
    channels, chunks : int
        ``nchannels`` and ``nchunksperloop``.
    in_place, out_of_place : bool
        For which calls the runtime may choose it.
    gpus : tuple of Gpu
    root : int or None
        Of a Broadcast or Reduce, where the file says so.
    min_bytes, max_bytes : int
        Sizes for which it is meant; 0 as the largest: no limit.
    """

    name: str
    protocol: str
    collective: str
    channels: int
    chunks: int
    in_place: bool
    out_of_place: bool
    gpus: tuple[Gpu, ...]
    root: int | None = None
    min_bytes: int = 0
    max_bytes: int = 0

    def step(self, gpu: int, block: int, index: int) -> Step:
        """Return a step by where it stands."""
        return self.gpus[gpu].threadblocks[block].steps[index]

    @property
    def moved(self) -> int:
        """Chunks that all steps move, added up."""
        return sum(step.cnt for gpu in self.gpus for block in gpu.threadblocks for step in block.steps)
