"""What an iteration takes on a network, estimated from link loads: fast enough to be asked thousands of times.

The busiest link gives the time of the bytes, and the longer of the rings' steps and the longest route that of the
latencies. An AllReduce of T bytes over m servers puts 2(m−1)/m · T/R bytes on every link of its R rings; a group that
has no ring goes round in rank order on shortest routes. Where all links are alike, as those of a fabric are, what is
routed is split over all shortest routes by the loads of their links (`even_split`), which is close to what the least
loaded of several routes makes of it; elsewhere each pair has one route. What a search has chosen is simulated; this
only chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from synthesizers.rings import Circuit
from synthesizers.topoopt.ring_circuits import sends_straight, straight_traffic
from topologies import Demand, Paths, Topology


class Estimator:
    """Estimates on one network.

    Parameters
    ----------
    topology : Topology
        All NPUs reach each other.
    rings : mapping
        For some groups, their NPUs in ascending order, the rings over them.
    """

    def __init__(self, topology: Topology, rings: Mapping[tuple[int, ...], Sequence[Circuit]]) -> None:
        self.topology, self.rings = topology, rings
        self._rates = topology.bytes_per_s.astype(float)
        self._out_rates = np.bincount(topology.src, self._rates, minlength=topology.num_nodes)[: topology.num_npus]
        self._alike = len(np.unique(self._rates)) == 1 and len(np.unique(topology.latency_ps)) == 1

    def at_least_us(self, demand: Demand) -> float:
        """Return a time below `time_us`, without any route: what rings carry, and what each server sends in all."""
        loads, routed = self._direct(demand)
        out = np.bincount(self.topology.src, loads, minlength=self.topology.num_nodes)[: self.topology.num_npus]
        sent = (out + routed.sum(axis=1)) / self._out_rates
        return max(float((loads / self._rates).max(initial=0.0)), float(sent.max())) * 1e6

    def loads(self, demand: Demand) -> np.ndarray:
        """Return (links,) float64: the bytes that each link carries."""
        loads, routed = self._direct(demand)
        if not self._alike:
            return loads + self._over @ routed.ravel()
        from synthesizers.topoopt.even_split import even_loads  # needs numba from its first line

        return even_loads(routed, *self._links_out, self._rates, loads)

    def time_us(self, demand: Demand) -> float:
        """Return about how long the demand takes, in µs."""
        latency = float(self._latency[demand.traffic > 0].max(initial=0.0))
        straight = sends_straight(self.topology, demand)
        for group in demand.groups:
            ranks = np.array(group)
            rings = self.rings.get((*sorted(group),))
            if (*sorted(group),) in straight:
                latency = max(latency, 2 * float(self._latency[np.ix_(ranks, ranks)].max()))
                continue
            step = (max(float(self.topology.latency_us[ring.links].max()) for ring in rings) if rings
                    else float(self._latency[ranks, np.roll(ranks, -1)].max()))  # fmt: skip
            latency = max(latency, 2 * (len(group) - 1) * step)
        return float((self.loads(demand) / self._rates).max(initial=0.0)) * 1e6 + latency

    def _direct(self, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
        """Return the loads of links by rings, and the bytes between any two that are to be routed."""
        routed = demand.traffic.astype(float)
        loads = np.zeros(self.topology.num_links)
        straight = sends_straight(self.topology, demand)
        for group, nbytes in zip(demand.groups, demand.group_bytes, strict=True):
            if (*sorted(group),) in straight:
                one, other, each = straight_traffic(group, nbytes)
                routed[one, other] += each
                continue
            share = 2 * (len(group) - 1) / len(group) * nbytes
            rings = self.rings.get((*sorted(group),))
            if rings:
                for ring in rings:
                    np.add.at(loads, ring.links, share / len(rings))
            else:
                ranks = np.array(group)
                np.add.at(routed, (ranks, np.roll(ranks, -1)), share)
        return loads, routed

    @cached_property
    def _links_out(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where links lead, and the links out of each node: what `even_loads` takes."""
        start = np.zeros(self.topology.num_nodes + 1, np.int64)
        np.cumsum(np.bincount(self.topology.src, minlength=self.topology.num_nodes), out=start[1:])
        return self.topology.dst.astype(np.int64), start, np.argsort(self.topology.src, kind="stable")

    @cached_property
    def _over(self) -> object:
        """The matrix of which link carries which pair, (links, pairs)."""
        from scipy.sparse import csc_array

        start, links = self._routes
        return csc_array((np.ones(len(links)), links, start), (self.topology.num_links, len(start) - 1)).tocsr()

    @cached_property
    def _latency(self) -> np.ndarray:
        """(npus, npus) float64: that of the shortest route, in µs."""
        npus = self.topology.num_npus
        if self._alike:
            paths = self._paths
            return paths.cost[:, :npus] * (float(self.topology.latency_us[0]) / float(paths.weight[0]))
        start, links = self._routes
        latency = np.zeros(npus * npus)
        np.add.at(latency, np.repeat(np.arange(npus * npus), np.diff(start)), self.topology.latency_us[links])
        return latency.reshape(npus, npus)

    @cached_property
    def _routes(self) -> tuple[np.ndarray, np.ndarray]:
        """One shortest route for each pair."""
        npus = self.topology.num_npus
        return self._paths.routes(*np.divmod(np.arange(npus * npus), npus))

    @cached_property
    def _paths(self) -> Paths:
        """Shortest routes from all NPUs."""
        return Paths(self.topology, sources=np.arange(self.topology.num_npus))
