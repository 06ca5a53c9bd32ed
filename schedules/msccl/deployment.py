"""What an algorithm asks of a GPU and of MSCCL's runtime: channels, threadblocks, steps, scratch, and what is too much.

The limits are those of the runtime as published: 32 channels, 216 threadblocks a GPU, 32 that send and 32 that receive
on a channel, 256 steps a threadblock, fewer than 72 chunks a step. Real GPUs run fewer threadblocks at once; their
number is reported, not judged.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from schedules.msccl.algorithm import Algorithm

MAX_CHANNELS = 32
MAX_THREADBLOCKS = 216
MAX_PEERS = 32
MAX_STEPS = 256
MAX_STEP_CHUNKS = 71


class Deployment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the GPU that needs most needs.

    Attributes
    ----------
    coll : str
        MSCCL's name of it; ``custom`` for what it has no name for.
    channels, threadblocks, steps : int
        Of the algorithm; of a GPU; of a threadblock.
    scratch : int
        Chunks of scratch, of which `chunks` make up the collective's buffer.
    chunks : int
    over : str
        What is past the limits of the runtime; nothing where all is within.
    """

    coll: str
    channels: int
    threadblocks: int
    steps: int
    scratch: int
    chunks: int
    over: str = ""


def deployment_of(algorithm: Algorithm) -> Deployment:
    """Return what an algorithm needs."""
    blocks = [block for gpu in algorithm.gpus for block in gpu.threadblocks]
    found = {
        "channels": (algorithm.channels, MAX_CHANNELS),
        "threadblocks": (max((len(gpu.threadblocks) for gpu in algorithm.gpus), default=0), MAX_THREADBLOCKS),
        "sends a channel": (_most_on_a_channel(algorithm, "send"), MAX_PEERS),
        "receives a channel": (_most_on_a_channel(algorithm, "recv"), MAX_PEERS),
        "steps": (max((len(block.steps) for block in blocks), default=0), MAX_STEPS),
        "chunks a step": (max((step.cnt for block in blocks for step in block.steps), default=0), MAX_STEP_CHUNKS),
    }
    over = [f"{count} {name}, at most {limit} run" for name, (count, limit) in found.items() if count > limit]
    return Deployment(
        algorithm.collective, found["channels"][0], found["threadblocks"][0], found["steps"][0],
        max((gpu.scratch_chunks for gpu in algorithm.gpus), default=0), algorithm.chunks, "; ".join(over),
    )  # fmt: skip


def _most_on_a_channel(algorithm: Algorithm, side: str) -> int:
    """Return how many threadblocks of a GPU send, or receive, on one channel, where most do."""
    found = Counter((number, block.channel) for number, gpu in enumerate(algorithm.gpus) for block in gpu.threadblocks
                    if getattr(block, side) >= 0)  # fmt: skip
    return max(found.values(), default=0)
