"""A table of links: a line for each, NPUs by number and switches as ``switch 0``, units in the header."""

from __future__ import annotations

import numpy as np

from topologies.exceptions import TopologyError
from topologies.topology import Topology
from topologies.units import format_number


def text_of(topology: Topology) -> str:
    """Return the table of a topology.

    Raises
    ------
    TopologyError
        A node without links, which a table of links cannot say.
    """
    linked = np.zeros(topology.num_nodes, bool)
    linked[topology.src] = linked[topology.dst] = True
    if not linked.all():
        name = topology.node_name(int(np.argmin(linked)))
        raise TopologyError(
            f"cannot write {topology.name} as a table of links: {name} has none; write .json or .graphml"
        )
    npus = topology.num_npus
    names = [str(node) if node < npus else f"switch {node - npus}" for node in range(topology.num_nodes)]
    columns = (topology.src, topology.dst, topology.bandwidth_gbps, topology.latency_us)
    lines = ["src,dst,bandwidth (GB/s),latency (us)"]
    for src, dst, bandwidth, latency in zip(*(column.tolist() for column in columns), strict=True):
        lines.append(f"{names[src]},{names[dst]},{format_number(bandwidth)},{format_number(latency)}")
    return "\n".join(lines) + "\n"
