"""What an iteration takes on a network, estimated from link loads: fast enough to be asked thousands of times.

The busiest link gives the time of the bytes, and the longer of the rings' steps and the longest route that of the
latencies. An AllReduce of T bytes over m servers puts 2(m−1)/m · T/R bytes on every link of its R rings; a group that
has no ring goes round in rank order on shortest routes. What a search has chosen is simulated; this only chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from synthesizers.rings import Circuit
from topologies import Demand, Paths, Topology


class Estimator:
    """Estimates on one network; routes are the shortest, one for each pair.

    Parameters
    ----------
    topology : Topology
        All NPUs reach each other.
    rings : mapping
        For some groups, their NPUs in ascending order, the rings over them.
    """

    def __init__(self, topology: Topology, rings: Mapping[tuple[int, ...], Sequence[Circuit]]) -> None:
        self.topology, self.rings = topology, rings
        npus = topology.num_npus
        source, target = np.divmod(np.arange(npus * npus), npus)
        start, links = Paths(topology, sources=np.arange(npus)).routes(source, target)
        self._hops = np.diff(start).reshape(npus, npus)
        self._over = self._incidence(start, links)  # (links, pairs)
        self._rates = topology.bytes_per_s.astype(float)
        latency = np.zeros(npus * npus)
        np.add.at(latency, np.repeat(np.arange(npus * npus), np.diff(start)), topology.latency_us[links])
        self._latency = latency.reshape(npus, npus)

    def _incidence(self, start: np.ndarray, links: np.ndarray) -> Any:
        """Return the matrix of which link carries which pair."""
        from scipy.sparse import csc_array

        return csc_array((np.ones(len(links)), links, start), (self.topology.num_links, len(start) - 1)).tocsr()

    def loads(self, demand: Demand) -> np.ndarray:
        """Return (links,) float64: the bytes that each link carries."""
        routed = demand.traffic.astype(float)
        loads = np.zeros(self.topology.num_links)
        for group, nbytes in zip(demand.groups, demand.group_bytes, strict=True):
            share = 2 * (len(group) - 1) / len(group) * nbytes
            rings = self.rings.get((*sorted(group),))
            if rings:
                for ring in rings:
                    np.add.at(loads, ring.links, share / len(rings))
            else:
                ranks = np.array(group)
                np.add.at(routed, (ranks, np.roll(ranks, -1)), share)
        return loads + self._over @ routed.ravel()

    def time_us(self, demand: Demand) -> float:
        """Return about how long the demand takes, in µs."""
        loads = self.loads(demand)
        latency = float(self._latency[demand.traffic > 0].max(initial=0.0))
        for group in demand.groups:
            ranks = np.array(group)
            rings = self.rings.get((*sorted(group),))
            step = (max(float(self.topology.latency_us[ring.links].max()) for ring in rings) if rings
                    else float(self._latency[ranks, np.roll(ranks, -1)].max()))  # fmt: skip
            latency = max(latency, 2 * (len(group) - 1) * step)
        return float((loads / self._rates).max(initial=0.0)) * 1e6 + latency
