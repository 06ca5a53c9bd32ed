"""Shortest routes: by the time that a message of a given size takes, with scipy's Dijkstra on integer picoseconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topologies.exceptions import TopologyError
from topologies.memory import require_memory
from topologies.topology import Topology

#: Bytes per link of a route while many are followed at once.
_BYTES_PER_LINK = 32

_UNREACHED = -9999  # what scipy writes where there is no predecessor


class Paths:
    """Shortest routes between all nodes, or from some of them.

    Parameters
    ----------
    topology : Topology
        The network.
    sources : sequence of int, optional
        Nodes from which routes are wanted; all by default.
    message_bytes : int
        The size that a route is short for: a link weighs α + β·message_bytes.

    Attributes
    ----------
    weight : (num_links,) int64 array
        Picoseconds over each link, rounded up, and one more so that of equally fast routes that of fewer links wins.
    cost : (len(sources), num_nodes) float array
        The sum of weights along the shortest route; infinite where there is none.
    """

    def __init__(
        self, topology: Topology, sources: Sequence[int] | np.ndarray | None = None, message_bytes: int = 2**20
    ) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        self.topology = topology
        self.sources = np.arange(topology.num_nodes) if sources is None else np.asarray(sources, dtype=np.int64)
        self._row = np.full(topology.num_nodes, -1, np.int64)
        self._row[self.sources] = np.arange(len(self.sources))
        self.weight = topology.latency_ps + np.ceil(message_bytes * (1e12 / topology.bytes_per_s)).astype(np.int64) + 1
        # Of parallel links the lightest carries the route; ties go to the lower number.
        key = topology.src.astype(np.int64) * topology.num_nodes + topology.dst
        order = np.lexsort((np.arange(topology.num_links), self.weight, key))
        first = np.ones(len(order), bool)
        first[1:] = key[order][1:] != key[order][:-1]
        self._best = order[first]
        shape = (topology.num_nodes, topology.num_nodes)
        graph = coo_array(
            (self.weight[self._best].astype(float), (topology.src[self._best], topology.dst[self._best])), shape=shape
        ).tocsr()
        self.cost, self._before = dijkstra(graph, indices=self.sources, return_predecessors=True)

    def route(self, source: int, target: int) -> list[int]:
        """Return the links from `source` to `target`, in order; none where they are the same.

        Raises
        ------
        TopologyError
            `target` cannot be reached, or `source` is not among the sources.
        """
        links: list[int] = self.routes(np.array([source]), np.array([target]))[1].tolist()
        return links

    def routes(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return many routes at once.

        Parameters
        ----------
        source, target : (R,) int arrays
            Ends of each route.

        Returns
        -------
        start : (R + 1,) int64 array
        links : int32 array
            Route r is ``links[start[r]:start[r + 1]]``, in order.

        Raises
        ------
        TopologyError
            Names a target that cannot be reached, or a source that is not among the sources.
        """
        source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
        topology = self.topology
        unknown = (source < 0) | (source >= len(self._row)) | (self._row[np.clip(source, 0, len(self._row) - 1)] < 0)
        if unknown.any():
            stranger = source[np.argmax(unknown)]
            raise TopologyError(f"topology {topology.name}: no routes were computed from node {stranger}")
        keys = topology.src[self._best].astype(np.int64) * topology.num_nodes + topology.dst[self._best]  # ascending
        node, active = target.copy(), np.flatnonzero(source != target)
        backwards: list[tuple[np.ndarray, np.ndarray]] = []  # the links of all unfinished routes, last link first
        followed = 0
        while active.size:
            previous = self._before[self._row[source[active]], node[active]].astype(np.int64)
            if (previous == _UNREACHED).any():
                lost = active[np.argmax(previous == _UNREACHED)]
                names = topology.node_name(int(source[lost])), topology.node_name(int(target[lost]))
                raise TopologyError(f"topology {topology.name}: {names[0]} cannot reach {names[1]}")
            links = self._best[np.searchsorted(keys, previous * topology.num_nodes + node[active])]
            backwards.append((active, links))
            followed += len(links)
            require_memory(followed * _BYTES_PER_LINK, f"routes of {followed} links or more in all")
            node[active] = previous
            active = active[previous != source[active]]
        start = np.zeros(len(source) + 1, np.int64)
        for routes, _ in backwards:
            start[routes + 1] += 1
        np.cumsum(start, out=start)
        joined = np.empty(start[-1], np.int32)
        for place, (routes, taken) in enumerate(backwards, start=1):
            joined[start[routes + 1] - place] = taken
        return start, joined
