"""Boxes: the parts of a network that hang together by its faster links, and the links by which a chunk enters one."""

from __future__ import annotations

import numpy as np

from synthesizers.bandwidth_steps import parts_by_bandwidth
from topologies import Topology


def boxes_of(topology: Topology) -> np.ndarray:
    """Return (levels, nodes) int32: the boxes of each node, numbered through, those of the fastest links first."""
    levels = list(parts_by_bandwidth(topology.num_nodes, topology.src, topology.dst, topology.bandwidth_gbps))
    first = np.cumsum([0, *(parts.max() + 1 for _, parts in levels)])
    rows = [parts + start for (_, parts), start in zip(levels, first, strict=False)]
    return np.array(rows, np.int32).reshape(len(rows), topology.num_nodes)


def gates(topology: Topology, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (gate_of, boxes, their number) for kernels: which box a link leads into from outside, −1 for none.

    Boxes of switches alone have no gates: chunks pass through them as often as they have to.
    """
    gate_of = np.full(topology.num_links, -1, np.int32)
    for level in boxes:  # the largest boxes that a link leads between are the last to be written
        into = level[topology.dst]
        across = level[topology.src] != into
        gate_of[across] = np.where(np.isin(into, level[: topology.num_npus]), into, -1)[across]
    return gate_of, boxes, int(boxes.max(initial=-1)) + 1
