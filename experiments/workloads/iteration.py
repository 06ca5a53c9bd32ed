"""From communication times to the time of one iteration of training, with and without overlap."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from experiments.workloads.model import WorkloadError

#: The part of computing that is the backward pass, as layers' backward passes do twice the arithmetic of the forward.
BACKWARD = 2 / 3


@dataclass(frozen=True)
class IterationTime:
    """The time of one iteration, in seconds.

    Parameters
    ----------
    compute_s : float
        Forward and backward pass of the busiest server.
    mp_s : float
        Model-parallel traffic alone. It is on the critical path: what it carries is computed with.
    joint_s : float
        AllReduce and model-parallel traffic in one schedule. As that does the model-parallel traffic too, `mp_s` counts
        for no more.

    Raises
    ------
    WorkloadError
        A time that is negative or not finite.
    """

    compute_s: float
    mp_s: float
    joint_s: float

    def __post_init__(self) -> None:
        for name in ("compute_s", "mp_s", "joint_s"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise WorkloadError(f"iteration: {name} is {value}; expected seconds, 0 or more")

    @property
    def hidden_s(self) -> float:
        """Time behind which AllReduce can hide: the backward pass, 2/3 of computing."""
        return BACKWARD * self.compute_s

    @property
    def no_overlap_s(self) -> float:
        """Computing, then all communication: compute + joint."""
        return self.compute_s + self.joint_s

    @property
    def exposed_s(self) -> float:
        """Communication that nothing hides: mp + max(0, (joint − mp) − hidden)."""
        mp_s = min(self.mp_s, self.joint_s)
        return mp_s + max(0.0, (self.joint_s - mp_s) - self.hidden_s)

    @property
    def overlap_s(self) -> float:
        """Computing, and the communication that it does not hide: compute + exposed."""
        return self.compute_s + self.exposed_s
