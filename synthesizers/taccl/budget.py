"""What the stages may use: effort, which does not depend on the clock, and the wall clock of a time limit.

Solvers stop in time by themselves; what runs in Python before there is any plan asks the clock and gives up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from synthesizers.taccl.model import Limits

#: Shares of the effort.
_SHARE = {"routing": 0.4, "exact": 0.4, "scheduling": 0.2}


class OutOfTime(Exception):
    """The time limit came before the first plan."""


def in_time(until: float | None) -> None:
    """Raise `OutOfTime` when `time.perf_counter` has passed `until`; None: never."""
    if until is not None and time.perf_counter() > until:
        raise OutOfTime


@dataclass
class Budget:
    """What the stages may use.

    Attributes
    ----------
    effort : float
        For all stages, in the units of `Limits`.
    until : float or None
        When `time.perf_counter` says that solvers' time is up.
    last : float or None
        When it says that there has to be a first plan.
    seed : int
    clock : bool
        Whether the clock has ended something.
    """

    effort: float
    until: float | None
    last: float | None
    seed: int
    clock: bool = False

    def limits(self, stage: str) -> Limits:
        """Return the limits of a stage."""
        return Limits(self.effort * _SHARE[stage], self.left, self.seed)

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a time limit."""
        return None if self.until is None else max(self.until - time.perf_counter(), 0.0)

    def allows(self, seconds: float) -> bool:
        """Return whether there is time for something that takes so long; if not, the clock has ended something."""
        if self.left is not None and self.left < seconds:
            self.clock = True
            return False
        return True

    def half(self) -> Budget:
        """Return a budget of half the effort that ends halfway through the time that is left."""
        now = time.perf_counter()
        halfway = None if self.until is None else (now + self.until) / 2
        last = None if self.last is None else (now + self.last) / 2
        return Budget(self.effort / 2, halfway, last, self.seed)
