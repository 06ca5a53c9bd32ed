"""How long a way is, for trees that are to be low: the time of one message over it, cut through."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from topologies import Topology

#: Bytes of the message.
MESSAGE = 2**20


class Distances:
    """Latencies and times on the wire between neighbours, by the fastest of parallel links."""

    def __init__(self, topology: Topology) -> None:
        self._between: dict[tuple[int, int], tuple[float, float]] = {}
        columns = (topology.src, topology.dst, topology.latency_us, topology.bandwidth_gbps)
        for source, target, latency, rate in zip(*(column.tolist() for column in columns), strict=True):
            costs = latency, MESSAGE / rate / 1000
            known = self._between.setdefault((source, target), costs)
            if sum(costs) < sum(known):
                self._between[source, target] = costs

    def along(self, route: tuple[int, ...]) -> float:
        """Return the time over a route, given by its nodes, in microseconds."""
        parts = [self._between[pair] for pair in pairwise(route)]
        return sum(latency for latency, _ in parts) + max(wire for _, wire in parts)

    def shortest(self, routes: Iterable[tuple[int, ...]]) -> float:
        """Return the time over the fastest of some routes."""
        return min(map(self.along, routes))
