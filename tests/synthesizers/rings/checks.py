"""What the tests of rings require of them."""

from __future__ import annotations

import numpy as np

from synthesizers.rings import Circuit
from topologies import Topology


def require_rings(topology: Topology, group: list[int], rings: list[Circuit]) -> None:
    """Check that each ring visits the group once, on links that connect and pass other NPUs nowhere."""
    for ring in rings:
        assert sorted(ring.order.tolist()) == sorted(group)
        for step, npu in enumerate(ring.order.tolist()):
            links = ring.links[ring.start[step] : ring.start[step + 1]]
            nodes = [npu, *topology.dst[links].tolist()]
            assert topology.src[links].tolist() == nodes[:-1]
            assert nodes[-1] == ring.order[(step + 1) % len(ring.order)]


def loads(topology: Topology, rings: list[Circuit]) -> np.ndarray:
    """Return the number of rings on each link."""
    return np.bincount(np.concatenate([ring.links for ring in rings]), minlength=topology.num_links)


def total_gbps(topology: Topology, rings: list[Circuit]) -> float:
    """Return what all rings carry at the speed of the slowest step."""
    load = loads(topology, rings)
    return float((topology.bandwidth_gbps[load > 0] / load[load > 0]).min()) * len(rings)
