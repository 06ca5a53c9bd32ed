"""What is wrong with an algorithm, and where: the line of the file, the GPU, its threadblock and step."""

from __future__ import annotations

from schedules.msccl.algorithm import Algorithm
from topologies.exceptions import VerificationError


class MscclFault(VerificationError):
    """An algorithm that does not compute its collective, or that a runtime could not carry out.

    Attributes
    ----------
    line : int
        Of the step or element at fault.
    gpu, block, index : int
        The GPU, threadblock and step; −1 where the fault is no single step's.
    """

    def __init__(self, message: str, line: int, gpu: int = -1, block: int = -1, index: int = -1) -> None:
        super().__init__(f"line {line}: {message}")
        self.line, self.gpu, self.block, self.index = line, gpu, block, index


def step_fault(algorithm: Algorithm, gpu: int, block: int, index: int, message: str) -> MscclFault:
    """Return the fault of one step."""
    return MscclFault(
        f"{step_name(algorithm, gpu, block, index)} {message}",
        algorithm.step(gpu, block, index).line, gpu, block, index,
    )  # fmt: skip


def step_name(algorithm: Algorithm, gpu: int, block: int, index: int) -> str:
    """Return what a step is called in messages."""
    return f"gpu {gpu} tb {block} step {index} ({algorithm.step(gpu, block, index).kind})"
