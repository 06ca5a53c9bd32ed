"""The latency bound: the longest shortest path, by Σα, along which the collective makes some chunk or sum travel.

Every crossing of a link takes its α in every link model, and data that NPU v needs has to come all the way from a
holder: from the nearest one where copies are equal, from every contributor where they are added up. For AllReduce that
is the diameter between members (not twice the radius: one-shot exchange and recursive doubling do better). For zero
bytes it is the whole bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from simulator.bounds.demands import Demands
from topologies import Topology
from topologies.exceptions import TopologyError

#: Sources × links up to which every source is searched; past it evenly spaced ones are, which is still a bound.
MAX_WORK = 2**24

_BLOCK = 256


def latency_bound_ps(topology: Topology, needed: Demands) -> tuple[int, int, int, bool]:
    """Return (picoseconds, from NPU, to NPU, whether all sources were searched); NPUs are −1 where nothing travels.

    Raises
    ------
    TopologyError
        Something must travel where there is no path; names the ends.
    """
    graph = _alpha_graph(topology)
    most = max(MAX_WORK // max(topology.num_links, 1), 2)
    best, ends, complete = -1.0, (-1, -1), True
    alone, shared = _jobs(needed)
    sources = sorted(alone)
    if len(sources) > most:
        sources = [sources[int(at)] for at in np.unique(np.linspace(0, len(sources) - 1, most).astype(int))]
        complete = False
    for source, distance in _distances(graph, sources):
        for targets in alone[source]:
            far = int(np.argmax(distance[targets]))
            if distance[targets[far]] > best and targets[far] != source:
                best, ends = float(distance[targets[far]]), (source, int(targets[far]))
    if len(shared) > most:
        shared, complete = shared[:most], False
    for holders, targets in shared:
        distance, nearest = _from_nearest(graph, holders)
        far = int(np.argmax(distance[targets]))
        if distance[targets[far]] > best and targets[far] not in holders:
            best, ends = float(distance[targets[far]]), (int(nearest[targets[far]]), int(targets[far]))
    if np.isinf(best):
        names = " cannot reach ".join("a holder" if node < 0 else topology.node_name(node) for node in ends)
        raise TopologyError(f"topology {topology.name}: {names}, which the collective requires; add links")
    return int(max(best, 0)), *ends, complete


def _alpha_graph(topology: Topology):
    """Return the csgraph of latencies; of parallel links the quickest counts."""
    from scipy.sparse import csr_array

    key = topology.src.astype(np.int64) * topology.num_nodes + topology.dst
    order = np.lexsort((topology.latency_ps, key))
    order = order[np.diff(key[order], prepend=-1) != 0]
    # Explicit zeros stay edges in a csr matrix that is built from its parts.
    start = np.zeros(topology.num_nodes + 1, np.int64)
    np.cumsum(np.bincount(topology.src[order], minlength=topology.num_nodes), out=start[1:])
    weights = topology.latency_ps[order].astype(float)
    return csr_array((weights, topology.dst[order], start), shape=(topology.num_nodes,) * 2)


def _jobs(needed: Demands) -> tuple[dict[int, list[np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]:
    """Return the targets of each NPU that must reach them itself, and (holders, targets) where any holder will do."""
    alone: dict[int, list[np.ndarray]] = {}
    shared: list[tuple[np.ndarray, np.ndarray]] = []
    starts = np.flatnonzero(np.diff(needed.initial, prepend=-1))  # rows are sorted by their initial set
    for first, stop in pairwise([*starts.tolist(), len(needed.initial)]):
        holders = needed.set_of(needed.initial[first])
        finals = np.unique(needed.final[first:stop])
        targets = needed.set_of(finals[0]) if len(finals) == 1 else np.unique(
            np.concatenate([needed.set_of(index) for index in finals])
        )  # fmt: skip
        if not len(targets) or not len(holders):
            continue
        if len(holders) == 1 or needed.reduces:
            for holder in holders.tolist():
                alone.setdefault(holder, []).append(targets)
        else:
            shared.append((holders, targets))
    return alone, shared


def _distances(graph, sources: list[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (source, its distance to every node), a block of searches at a time to bound the memory."""
    from scipy.sparse.csgraph import dijkstra

    for first in range(0, len(sources), _BLOCK):
        block = sources[first : first + _BLOCK]
        yield from zip(block, dijkstra(graph, indices=block), strict=True)


def _from_nearest(graph, holders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each node's distance from the nearest holder, and that holder."""
    from scipy.sparse.csgraph import dijkstra

    distance, _, nearest = dijkstra(graph, indices=holders, min_only=True, return_predecessors=True)
    return distance, nearest
