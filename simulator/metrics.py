"""Bandwidths as nccl-tests reports them: algbw = size / time, busbw = algbw × a factor of the collective.

Source: nccl-tests, doc/PERFORMANCE.md. The factor depends on the collective and the number of ranks only, never on the
algorithm, so busbw can be compared with the bandwidth of the hardware.
"""

from __future__ import annotations

import math

from schedules import KINDS, Collective
from topologies.exceptions import CollectiveError

_SHARED = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")


def busbw_factor(kind: str, ranks: int) -> float:
    """Return what algbw is multiplied with to give busbw.

    Parameters
    ----------
    kind : str
        A collective's name; ``custom`` has no rule in nccl-tests and counts as 1.
    ranks : int
        NPUs in the group.

    Raises
    ------
    CollectiveError
        An unknown kind, or fewer than one rank.
    """
    if kind not in KINDS:
        raise CollectiveError(f"unknown collective {kind!r}; expected one of {', '.join(KINDS)}")
    if ranks < 1:
        raise CollectiveError(f"{kind}: expected at least one rank, found {ranks}")
    if ranks == 1:
        return 0.0
    if kind == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if kind in _SHARED else 1.0


def group_size(collective: Collective) -> int:
    """Return the ranks that the factor is for: of the largest group; of SendRecv and custom, all that take part."""
    if collective.groups:
        return max(len(group) for group in collective.groups)
    return max(len(collective.members), 1)


def algbw_gbps(size: int, time_us: float) -> float:
    """Return the algorithm bandwidth in GB/s; NaN where the time is zero, because there is no bandwidth to speak of."""
    return size / time_us / 1e3 if time_us > 0 else math.nan


def busbw_gbps(collective: Collective, size: int, time_us: float) -> float:
    """Return the bus bandwidth in GB/s; NaN where the time is zero, 0 for a group of one."""
    return algbw_gbps(size, time_us) * busbw_factor(collective.kind, group_size(collective))
