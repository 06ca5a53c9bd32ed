"""What a schedule would ask of MSCCL's runtime, for the columns of records: worked out once for each schedule."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from schedules import Schedule
from schedules.msccl import Deployment, deployment_of, program_of
from topologies.exceptions import ScheduleError

#: Above this many hops, or hops × links, it is not worked out: that would take longer, and more memory, than the rest.
MOST_HOPS = 4096
_MOST_WORK = 2**21


def deployability(schedule: Schedule) -> Deployment | None:
    """Return what a schedule needs, out of place and in one instance; None where it is large or cannot be expressed.

    Of a schedule that was read from MSCCL XML, it is what that file needs.
    """
    try:
        return msgspec.convert(schedule.notes.get("deployment"), Deployment)
    except msgspec.ValidationError:
        small = schedule.num_hops <= MOST_HOPS and schedule.num_hops * len(np.unique(schedule.link)) <= _MOST_WORK
        return _needed(schedule) if small else None


@lru_cache(maxsize=256)
def _needed(schedule: Schedule) -> Deployment | None:
    """Return what a schedule needs; the same for every size of a problem."""
    try:
        return deployment_of(program_of(schedule, "schedule"))
    except ScheduleError:
        return None
