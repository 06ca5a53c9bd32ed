"""Balanced shortest routes: of the equally short routes of each send, the one least loaded by the sends before it.

`ShortestLinks` lists, from the distances of `topologies.Paths`, every link over which a shortest route may go;
`balanced_routes` walks them send by send. So the sends of a direct exchange spread over parallel links and over the
many shortest routes of tori and hypercubes, where Dijkstra's ties would put them all on one.
"""

from __future__ import annotations

import numba
import numpy as np

from simulator.link_model import wire_ps
from synthesizers.sends import BYTES_PER_HOP
from topologies import Paths, ScheduleError, Topology
from topologies.memory import require_memory

#: The distance of what cannot be reached.
_FAR = 2.0**62

#: Distances are sums of whole floats, so exact up to this.
_EXACT = 2**53


class ShortestLinks:
    """All links on shortest routes from some sources: what `balanced_routes` chooses from.

    Parameters
    ----------
    topology : Topology
        Any network.
    sources : (S,) int array
        Where routes start, ascending.
    message_bytes : int
        The size that the routes are short for.

    Attributes
    ----------
    paths : Paths
        One shortest route for each pair.
    distance : (S, num_nodes) int64 array
        Costs of `paths`; 2^62 where there is no route.
    start : (S · num_nodes + 1,) int64 array
    links : int32 array
        The links over which a shortest route from source s may enter node v are ``links[start[i]:start[i + 1]]``,
        i = s · num_nodes + v.

    Raises
    ------
    ScheduleError
        A route would take over 2^53 ps (two and a half hours), past which distances are not exact.
    """

    def __init__(self, topology: Topology, sources: np.ndarray, message_bytes: int) -> None:
        wire_ps(np.array(message_bytes), topology.bytes_per_s)  # refuses what would overflow the weights
        self.topology, self.sources = topology, sources
        self.paths = Paths(topology, sources, message_bytes)
        reached = np.isfinite(self.paths.cost)
        longest = self.paths.cost.max(initial=0, where=reached)
        if longest > _EXACT:
            raise ScheduleError(
                f"topology {topology.name}: a route for {message_bytes} bytes takes {longest / 1e12:g} s, too long to "
                "compare routes to the picosecond; give a smaller size"
            )
        self.distance = np.where(reached, self.paths.cost, _FAR).astype(np.int64)
        first, into = topology.in_links
        self.start, self.links = _on_shortest(self.distance, first, into, topology.src[into], self.paths.weight[into])

    def between(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the distances from sources to other nodes."""
        distance: np.ndarray = self.distance[np.searchsorted(self.sources, source), target]
        return distance

    @property
    def unique(self) -> bool:
        """Whether there is only one shortest route between any two nodes."""
        return bool(np.diff(self.start).max(initial=0) <= 1)


def balanced_routes(allowed: ShortestLinks, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each send the shortest route that is least loaded by the sends before it.

    Parameters
    ----------
    allowed : ShortestLinks
        From all the sources.
    source, target : (K,) int arrays
        NPUs of each send; different ones.

    Returns
    -------
    start : (K + 1,) int64 array
    links : int32 array
        Route k is ``links[start[k]:start[k + 1]]``. Of equally short routes it has the least sum of loads, the load of
        a link being the time that its sends so far take; ties go to the lower link.
    """
    topology = allowed.topology
    row = np.searchsorted(allowed.sources, source)
    # Refused before the routes are looked for: no route has fewer links than its time over the slowest link's.
    hops = int((allowed.distance[row, target] // max(int(allowed.paths.weight.max(initial=1)), 1)).sum())
    require_memory(hops * BYTES_PER_HOP, f"routes of {hops} hops or more")
    # Loads need no size: all sends count alike, those on a slow link more.
    unit = np.rint(2**20 * (topology.bandwidth_gbps.max(initial=1.0) / topology.bandwidth_gbps)).astype(np.int64)
    return _least_loaded(row, source, target, allowed.distance, allowed.start, allowed.links, topology.src, unit)


@numba.njit(cache=True, nogil=True)
def _on_shortest(distance, first, into, before, weight):
    """Return (start, links) of `ShortestLinks`; `before` and `weight` are those of the links `into` each node."""
    rows, nodes = distance.shape
    start = np.zeros(rows * nodes + 1, np.int64)
    links = np.empty(2 * rows * nodes + len(into), np.int32)
    count = 0
    for row in range(rows):
        here = distance[row]
        if len(links) < count + len(into):
            links = np.concatenate((links, np.empty(len(links) + len(into), np.int32)))
        for node in range(nodes):
            for place in range(first[node], first[node + 1]):
                if here[before[place]] + weight[place] == here[node]:
                    links[count] = into[place]
                    count += 1
            start[row * nodes + node + 1] = count
    return start, links[:count].copy()


@numba.njit(cache=True, nogil=True)
def _least_loaded(row, sources, targets, distance, allowed_start, allowed, src, unit):
    """Return (start, links) of the routes: of the shortest, the one with the least sum of loads."""
    nodes = distance.shape[1]
    load = np.zeros(len(src), np.int64)
    found = np.zeros(nodes, np.int64)
    stamp = np.full(nodes, -1, np.int64)
    cost = np.zeros(nodes, np.int64)
    via = np.zeros(nodes, np.int64)
    start = np.zeros(len(targets) + 1, np.int64)
    links = np.empty(4 * len(targets) + nodes, np.int32)
    for send in range(len(targets)):
        source, target, here = sources[send], targets[send], distance[row[send]]
        shift = row[send] * nodes
        # All nodes on a shortest route, from the target back ...
        found[0], count, at = target, 1, 0
        stamp[target] = send
        while at < count:
            node = found[at]
            at += 1
            for place in range(allowed_start[shift + node], allowed_start[shift + node + 1]):
                before = src[allowed[place]]
                if stamp[before] != send:
                    stamp[before] = send
                    found[count] = before
                    count += 1
        # ... farthest first (they nearly are), so that each comes after those that follow it on a route ...
        for at in range(1, count):
            node, place = found[at], at
            while place > 0 and here[found[place - 1]] < here[node]:
                found[place] = found[place - 1]
                place -= 1
            found[place] = node
        # ... and the cheapest way to each, outwards from the source.
        cost[source] = 0
        for at in range(count - 2, -1, -1):
            node = found[at]
            cost[node] = np.iinfo(np.int64).max
            for place in range(allowed_start[shift + node], allowed_start[shift + node + 1]):
                link = allowed[place]
                total = cost[src[link]] + load[link]
                if total < cost[node]:
                    cost[node], via[node] = total, link
        length, node = 0, target
        while node != source:
            node = src[via[node]]
            length += 1
        last = start[send] + length
        start[send + 1] = last
        if last > len(links):
            links = np.concatenate((links, np.empty(len(links) + length, np.int32)))
        node = target
        while node != source:
            link = via[node]
            last -= 1
            links[last] = link
            load[link] += unit[link]
            node = src[link]
    return start, links[: start[-1]].copy()
