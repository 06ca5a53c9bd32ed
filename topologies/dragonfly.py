"""Dragonfly networks after Kim, Dally, Scott and Abts (ISCA'08), with the NPUs as routers, as TACOS evaluates them.

The NPUs of a group are fully connected, and one global cable joins every two groups. ``dragonfly:4x5`` is 4 NPUs in a
group and 5 groups: the dimension that varies fastest comes first, as in every shape here.
"""

from __future__ import annotations

import numpy as np

from topologies.cables import Cables, wired
from topologies.shape import (
    DEFAULT_BANDWIDTH_GBPS,
    DEFAULT_LATENCY_US,
    PerDimension,
    checked_sizes,
    per_dimension,
    refuse_oversize,
    short_name,
)
from topologies.topology import Topology


def dragonfly(
    npus_per_group: int,
    groups: int,
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
) -> Topology:
    """Return a dragonfly; NPU = place in the group + `npus_per_group` · group.

    Parameters
    ----------
    npus_per_group, groups : int
        The shape, fastest dimension first.
    bandwidth_gbps, latency_us : float or sequence of float
        Of each link, for all, or [local, global].

    Returns
    -------
    topology : Topology
        Local cables first, group by group, then the global ones. A group meets the groups that follow it, in cyclic
        order, at its NPUs in turn, so that the global cables of two NPUs of a group differ by at most one.

    Raises
    ------
    TopologyError
        A size below 1, or a wrong number of values.
    """
    size, count = checked_sizes("dragonfly", (npus_per_group, groups))
    title = f"dragonfly:{size}x{count}"
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, 2)
    latencies = per_dimension(title, "latency", latency_us, 2)
    refuse_oversize(title, count * size * (size - 1) + count * (count - 1))
    first = size * np.arange(count, dtype=np.int64)[:, None]
    low, high = np.triu_indices(size, 1)
    local = Cables((first + low).ravel(), (first + high).ravel(), bandwidths[0], latencies[0])
    here, there = np.triu_indices(count, 1)
    cables_between = Cables(
        here * size + _gateway(here, there, size, count),
        there * size + _gateway(there, here, size, count),
        bandwidths[1],
        latencies[1],
    )
    return wired(short_name("dragonfly", (size, count), bandwidths, latencies), size * count, [local, cables_between])


def _gateway(group: np.ndarray, other: np.ndarray, size: int, count: int) -> np.ndarray:
    """Return the place, within `group`, of the NPU whose global cable leads to `other`."""
    place: np.ndarray = (other - group - 1) % count % size
    return place
