"""The links that lead back: where cables are as fast both ways, what is found for a network holds for its reverse."""

from __future__ import annotations

import numpy as np

from topologies import Topology


def opposite_links(topology: Topology) -> np.ndarray | None:
    """Return for each link one that is as fast the other way, each once; None where cables differ in their directions.

    Trees and schedules renumbered so are those of the reversed network.
    """
    key = topology.bytes_per_s, topology.latency_ps
    there = np.lexsort((*key, topology.dst, topology.src))
    back = np.lexsort((*key, topology.src, topology.dst))
    alike = (
        np.array_equal(topology.src[there], topology.dst[back])
        and np.array_equal(topology.dst[there], topology.src[back])
        and np.array_equal(topology.bytes_per_s[there], topology.bytes_per_s[back])
    )
    if not alike:
        return None
    opposite = np.empty(topology.num_links, np.int64)
    opposite[there] = back
    return opposite
