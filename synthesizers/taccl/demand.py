"""What has to go where: the chunks of a collective that copies, with who holds and who wants them."""

from __future__ import annotations

from dataclasses import dataclass

from schedules import Collective


@dataclass(frozen=True)
class Demand:
    """Chunks to be delivered.

    Attributes
    ----------
    collective : Collective
        Whose chunk numbers these are.
    sources, targets : tuples of tuples of int
        NPUs that hold each chunk, and those that want it and do not hold it; ascending.
    nbytes : tuple of int
        Bytes of each chunk.
    """

    collective: Collective
    sources: tuple[tuple[int, ...], ...]
    targets: tuple[tuple[int, ...], ...]
    nbytes: tuple[int, ...]

    @property
    def wanted(self) -> list[int]:
        """The chunks that somebody wants."""
        return [chunk for chunk, targets in enumerate(self.targets) if targets]


def demand_of(collective: Collective, size: int) -> Demand:
    """Return the demand of a collective that copies, for `size` bytes."""
    sets = {index: tuple(collective.set_of(index).tolist()) for index in range(len(collective.set_start) - 1)}
    sources = tuple(sets[index] for index in collective.initial.tolist())
    finals = (sets[index] for index in collective.final.tolist())
    targets = tuple(
        tuple(npu for npu in final if npu not in set(holders)) for final, holders in zip(finals, sources, strict=True)
    )
    return Demand(collective, sources, targets, tuple(collective.chunk_bytes(size).tolist()))
