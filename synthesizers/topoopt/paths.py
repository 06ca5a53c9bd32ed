"""Routes for model-parallel traffic on the whole network: of the k shortest paths, the one that loads links least.

TopoOpt (arXiv 2202.00433, section 4.3) routes this traffic over k shortest paths. A path counts its hops, as the ports
of a fabric are alike. Which of many equally long paths are among the k is free: in one order for all, that of link
numbers, they crowd on the first rings; *turned*, the order begins elsewhere for each pair and node. On 128 servers with
8 ports that takes the most loaded link of a uniform all-to-all from 75 transfers to 50, where the mean is 48.5 (k = 4).
"""

from __future__ import annotations

import numpy as np

from synthesizers.topoopt.routing import Routing
from topologies import SynthesisError, Topology
from topologies.memory import require_memory

#: Bytes of a path that is kept, without its hops: there are k of them for each pair.
_BYTES_PER_PATH = 64


def k_shortest_paths(topology: Topology, source: int, target: int, k: int, turned: bool = True) -> list[list[int]]:
    """Return the k shortest loopless paths from one NPU to another as lists of links, the shortest first.

    Paths that differ only in parallel links count as one; they take the lowest of them. There may be fewer than k.

    Parameters
    ----------
    topology : Topology
        Any network.
    source, target : int
        Different NPUs.
    k : int
        How many at most.
    turned : bool
        Whether the order of equally long paths is the pair's own, as in `route_traffic`, or that of the links' numbers.
    """
    from synthesizers.topoopt.k_shortest import k_shortest  # needs numba from its first line

    arcs, parallel_start, parallel = _arcs(topology)
    _, start, found = k_shortest(np.array([source]), np.array([target]), k, turned, arcs)
    lowest = parallel[parallel_start[found]]
    return [lowest[start[path] : start[path + 1]].tolist() for path in range(len(start) - 1)]


def route_traffic(
    topology: Topology, traffic: np.ndarray, k: int = 4, turned: bool = True, load: np.ndarray | None = None
) -> Routing:
    """Return a route for each pair with traffic: of its k shortest paths the one that loads links least.

    Pairs are placed one after the other, the heaviest first (of equal ones in the order of source and target). A pair
    takes the path that leaves the most loaded link of the network with the least load; of equals the shortest, then
    that whose own most loaded link has the least, then the first. Of parallel links each hop takes the least loaded.
    Then each pair is taken off and placed anew among all the others, until nothing changes, or eight rounds in all.

    With k = 1 and not turned, each pair has the one path that a breadth-first search finds, as in the released code.

    Parameters
    ----------
    topology : Topology
        Links are compared by bytes, so all should be equally wide, as a fabric's are.
    traffic : (num_npus, num_npus) int array
        Bytes from each NPU (row) to each other one.
    k : int
        Paths to choose from, 1 or more.
    turned : bool
        Whether the order of equally long paths differs from pair to pair.
    load : (num_links,) int array, optional
        Bytes that links carry already, such as those of the AllReduce rings.

    Returns
    -------
    Routing
        Of all pairs with bytes, in the order of source and target.

    Raises
    ------
    SynthesisError
        A pair with traffic that no path joins, or k below 1.
    """
    from synthesizers.topoopt.k_shortest import k_shortest  # needs numba from its first line
    from synthesizers.topoopt.least_loaded import choices

    if k < 1:
        raise SynthesisError(f"topology {topology.name}: {k} shortest paths; expected 1 or more")
    source, target = np.nonzero(traffic)
    nbytes = np.asarray(traffic)[source, target].astype(np.int64)
    require_memory(len(source) * k * _BYTES_PER_PATH, f"{k} shortest paths of {len(source)} pairs")
    arcs, parallel_start, parallel = _arcs(topology)
    by_target = np.lexsort((source, target))
    first, start, found = k_shortest(source[by_target], target[by_target], k, turned, arcs)
    lost = np.flatnonzero(np.diff(first) == 0)
    if len(lost):
        pair = by_target[lost[0]]
        names = topology.node_name(int(source[pair])), topology.node_name(int(target[pair]))
        raise SynthesisError(
            f"topology {topology.name}: no path from {names[0]} to {names[1]}, but {nbytes[pair]} bytes to carry; "
            "wire a network in which every server can reach every other"
        )
    heaviest = np.argsort(-nbytes, kind="stable")
    place = np.empty(len(by_target), np.int64)
    place[by_target] = np.arange(len(by_target))
    before = np.zeros(topology.num_links, np.int64) if load is None else np.array(load, np.int64)
    ends, links = choices(place[heaviest], first, start, found, parallel_start, parallel, nbytes[heaviest], before)
    placed = Routing(topology.num_links, source[heaviest], target[heaviest], nbytes[heaviest], ends, links)
    return placed.of(np.argsort(heaviest))


def _arcs(topology: Topology) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Return what `k_shortest` takes, with parallel links as one arc, and (start, links) of the links of each arc.

    Arcs of one node are in the order of their lowest links.
    """
    nodes = topology.num_nodes
    ends = topology.src.astype(np.int64) * nodes + topology.dst
    _, lowest, pair = np.unique(ends, return_index=True, return_inverse=True)
    by_tail = np.lexsort((lowest, topology.src[lowest]))
    arc_of_pair = np.empty(len(lowest), np.int64)
    arc_of_pair[by_tail] = np.arange(len(lowest))
    tail = topology.src[lowest[by_tail]].astype(np.int64)
    head = topology.dst[lowest[by_tail]].astype(np.int64)
    arc = arc_of_pair[pair]
    starts = []
    for key, count in ((tail, nodes), (head, nodes), (arc, len(lowest))):
        start = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(key, minlength=count), out=start[1:])
        starts.append(start)
    into = np.argsort(head, kind="stable")
    return (tail, head, starts[0], starts[1], into), starts[2], np.argsort(arc, kind="stable")
