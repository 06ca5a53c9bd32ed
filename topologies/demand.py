"""What one iteration of training must move: AllReduce groups with their bytes, and model-parallel traffic.

AllReduce traffic is mutable (any order of a ring serves), model-parallel (MP) traffic goes from one server to one other
(TopoOpt, NSDI 2023, section 3). `schedules.demanded` makes a collective of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topologies.exceptions import CollectiveError

#: Bytes of a group or of a pair stay below this, so that no sum of them overflows.
_MOST_BYTES, _MOST_IN_ALL = 2**50, 2**62


@dataclass(frozen=True, eq=False)
class Demand:
    """Traffic of one iteration between `num_npus` servers.

    Parameters
    ----------
    num_npus : int
        Servers.
    groups : sequence of sequences of int
        AllReduce groups of two servers or more, each in rank order; they may overlap.
    group_bytes : sequence of int
        The buffer that each group adds up.
    traffic : (num_npus, num_npus) int array, optional
        Bytes from each server (row) to each other one (column); none by default.

    Raises
    ------
    CollectiveError
        Servers out of range or named twice in a group, negative bytes, traffic of a server to itself.
    """

    num_npus: int
    groups: Sequence[Sequence[int]] = ()
    group_bytes: Sequence[int] = ()
    traffic: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        groups = tuple(tuple(int(npu) for npu in group) for group in self.groups)
        sizes = tuple(_whole(nbytes) for nbytes in self.group_bytes)
        shape = (self.num_npus, self.num_npus)
        traffic = np.zeros(shape, np.int64) if self.traffic is None else np.array(self.traffic)
        if len(groups) != len(sizes):
            raise CollectiveError(f"demand: {len(groups)} groups but {len(sizes)} sizes; expected one for each")
        for group, _nbytes in zip(groups, sizes, strict=True):
            if len(set(group)) != len(group) or len(group) < 2:
                raise CollectiveError(f"demand: group {group}; expected two or more different servers")
            if not all(0 <= npu < self.num_npus for npu in group):
                raise CollectiveError(f"demand: group {group} names a server outside 0…{self.num_npus - 1}")
        if traffic.shape != shape or traffic.dtype.kind not in "iu" or (traffic < 0).any() or traffic.diagonal().any():
            raise CollectiveError(f"demand: traffic must be whole bytes ≥ 0 of shape {shape}, and zero on the diagonal")
        pairs = traffic.ravel().tolist()  # Python's integers do not overflow
        most, total = max(pairs, default=0), sum(pairs) + sum(sizes)
        if most >= _MOST_BYTES or total >= _MOST_IN_ALL:
            raise CollectiveError(
                f"demand: {most} bytes from one server to one other, {total} in all; expected under 2^50 and 2^62"
            )
        traffic = traffic.astype(np.int64)
        traffic.setflags(write=False)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "group_bytes", sizes)
        object.__setattr__(self, "traffic", traffic)

    @property
    def reduced_bytes(self) -> int:
        """Bytes of all AllReduce buffers."""
        return sum(self.group_bytes)

    @property
    def mp_bytes(self) -> int:
        """Bytes of all model-parallel traffic."""
        return int(self.traffic.sum())

    @property
    def size(self) -> int:
        """Bytes of the collective that `schedules.demanded` makes: each group's buffer once, and all MP traffic."""
        return self.reduced_bytes + self.mp_bytes


def _whole(nbytes: object) -> int:
    """Return the bytes of a group; refuse what is no number of bytes."""
    if isinstance(nbytes, bool) or not isinstance(nbytes, int | np.integer) or not 0 <= nbytes < _MOST_BYTES:
        raise CollectiveError(f"demand: {nbytes!r} bytes of a group; expected a whole number from 0 to under 2^50")
    return int(nbytes)
