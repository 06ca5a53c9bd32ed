"""All routes that a transfer may take: what the simulator lets a chunk do between being read and being stored.

Through switches a transfer must pass. Through NPUs that only forward it may, which gains something where they cut
through; where they store and forward, storing the chunk on the way is as good, so that routes from NPU to NPU are
enough. No route passes a node twice: leaving out the round is never slower.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator import LinkModel
from topologies import Topology

#: A route, as its links in order.
Route = tuple[int, ...]


def routes_of(topology: Topology, model: LinkModel, most: int) -> list[Route] | None:
    """Return all routes from NPU to NPU, by length, then by links; None where they have more than `most` hops in all.

    Parameters
    ----------
    topology : Topology
    model : LinkModel
        Its switching says whether NPUs are worth passing.
    most : int
        Hops of all routes together.
    """
    found, hops = [], 0
    for route in _extended(topology, model.switching == "cut_through"):
        hops += len(route)
        if hops > most:
            return None
        found.append(route)
    return sorted(found, key=lambda route: (len(route), route))


def _extended(topology: Topology, through_npus: bool) -> Iterator[Route]:
    """Give every route, found by extending shorter ones."""
    src, dst = topology.src.tolist(), topology.dst.tolist()
    leaving: list[list[int]] = [[] for _ in range(topology.num_nodes)]
    for link, node in enumerate(src):
        leaving[node].append(link)
    stack: list[tuple[Route, tuple[int, ...]]] = [((), (npu,)) for npu in range(topology.num_npus)]
    while stack:
        route, nodes = stack.pop()
        for link in leaving[nodes[-1]]:
            node = dst[link]
            if node in nodes:
                continue
            longer = (*route, link)
            if node < topology.num_npus:
                yield longer
            if through_npus or node >= topology.num_npus:
                stack.append((longer, (*nodes, node)))
