"""What a step of a ring can be: links, or paths over switches only, counted in units of bandwidth.

With a unit of 25 GB/s a link of 50 GB/s carries two rings, a port of 300 GB/s twelve, and every ring is worth one unit.
So three two-way rings of 25 GB/s fill a DGX-1V, as in NCCL, and a plain switch carries one ring one way, which uses
each port once. No step of rings that are searched on these arcs shares a unit with another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topologies import Paths, Topology

#: Arcs over switches are thinned to near ranks past this many arcs.
_MAX_ARCS = 20_000


@dataclass(frozen=True)
class Circuit:
    """A directed ring of p NPUs.

    Attributes
    ----------
    order : (p,) int array
        Its NPUs.
    start : (p + 1,) int array
    links : int array
        Step i takes ``links[start[i]:start[i + 1]]`` to the next NPU.
    """

    order: np.ndarray
    start: np.ndarray
    links: np.ndarray


@dataclass(frozen=True)
class Arcs:
    """What a step of a ring can be between members, and what each step takes up, for one unit of bandwidth.

    Attributes
    ----------
    topology : Topology
    members : (p,) int64 array
        The group; a *place* is an index into it.
    unit : float
        GB/s of a ring.
    tail, head : (A,) int64 arrays
        Places that each arc leads from and to.
    start : (A + 1,) int64 array
    pairs : int array
        Arc a passes the node pairs ``pairs[start[a]:start[a + 1]]``. Parallel links are one pair, and are told apart
        only at the end.
    units : (P,) int64 array
        Rings that each node pair carries.
    pair_of_link : (L,) int64 array
        The node pair of each link; −1 if it is too narrow, or not between members and switches.
    """

    topology: Topology
    members: np.ndarray
    unit: float
    tail: np.ndarray
    head: np.ndarray
    start: np.ndarray
    pairs: np.ndarray
    units: np.ndarray
    pair_of_link: np.ndarray

    @cached_property
    def table(self) -> np.ndarray:
        """(p, p) int: the arc between two places, −1 where there is none."""
        table = np.full((len(self.members),) * 2, -1, np.int64)
        table[self.tail, self.head] = np.arange(len(self.tail))
        return table

    @cached_property
    def cabled(self) -> bool:
        """Whether every arc is a link that has its reverse."""
        return len(self.pairs) == len(self.tail) and bool((self.table[self.head, self.tail] >= 0).all())

    def load(self, order: np.ndarray) -> np.ndarray | None:
        """Return the units that a ring of places takes from each pair, or None where an arc is missing."""
        arcs = self.table[order, np.roll(order, -1)]
        if (arcs < 0).any():
            return None
        length = self.start[arcs + 1] - self.start[arcs]
        inside = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        return np.bincount(self.pairs[np.repeat(self.start[arcs], length) + inside], minlength=len(self.units))


def arcs_between(topology: Topology, members: np.ndarray, unit: float, two_way: bool) -> Arcs:
    """Return the arcs of a group, for each two members the shortest.

    Parameters
    ----------
    topology : Topology
    members : (p,) int64 array
        NPUs.
    unit : float
        GB/s; links of less are left out.
    two_way : bool
        Links without a reverse are left out too.
    """
    nodes, npus = topology.num_nodes, topology.num_npus
    allowed = np.arange(nodes) >= npus
    allowed[members] = True
    kept = np.flatnonzero((topology.bandwidth_gbps >= unit) & allowed[topology.src] & allowed[topology.dst])
    if two_way:
        there, back = (a[kept].astype(np.int64) * nodes + b[kept]
                       for a, b in ((topology.src, topology.dst), (topology.dst, topology.src)))  # fmt: skip
        kept = kept[np.isin(there, back)]
    src, dst = topology.src[kept].astype(np.int64), topology.dst[kept].astype(np.int64)
    keys, pair = np.unique(src * nodes + dst, return_inverse=True)
    units = np.bincount(pair, np.floor(topology.bandwidth_gbps[kept] / unit + 1e-9), minlength=len(keys)).astype(
        np.int64
    )
    pair_of_link = np.full(topology.num_links, -1, np.int64)
    pair_of_link[kept] = pair
    # Each NPU is split into one node that only sends and one that only receives, so no path passes through an NPU.
    halves = Topology(npus, src, np.where(dst < npus, dst + nodes, dst), topology.latency_us[kept],
                      topology.bandwidth_gbps[kept], nodes)  # fmt: skip
    paths = Paths(halves, sources=members.tolist())
    reach = np.isfinite(paths.cost[:, nodes + members])
    np.fill_diagonal(reach, False)
    if reach.sum() > _MAX_ARCS:
        place = np.full(nodes, -1, np.int64)
        place[members] = np.arange(len(members))
        direct = np.zeros_like(reach)
        npu_links = (src < npus) & (dst < npus)
        direct[place[src[npu_links]], place[dst[npu_links]]] = True
        apart = np.abs(np.subtract.outer(np.arange(len(members)), np.arange(len(members))))
        near = max(2, _MAX_ARCS // (2 * len(members)))
        reach &= direct | (np.minimum(apart, len(members) - apart) <= near)
    tail, head = np.nonzero(reach)
    start, links = paths.routes(members[tail], nodes + members[head])
    return Arcs(topology, members, unit, tail, head, start, pair[links], units, pair_of_link)


def most_rings(arcs: Arcs) -> int:
    """Return a bound on disjoint one-way rings: each leads from the first member to any other and back.

    So none of these max-flows is smaller than the number of rings.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    topology, flow = arcs.topology, SimpleMaxFlow()
    links = np.flatnonzero(arcs.pair_of_link >= 0)
    pair, first = np.unique(arcs.pair_of_link[links], return_index=True)
    flow.add_arcs_with_capacity(topology.src[links[first]], topology.dst[links[first]], arcs.units[pair])
    if flow.num_nodes() <= arcs.members.max():
        return 0
    most = 2**31
    root, *others = arcs.members.tolist()
    for npu in others:
        for source, sink in ((root, npu), (npu, root)):
            flow.solve(source, sink)
            most = min(most, flow.optimal_flow())
            if not most:
                return 0
    return most


def lopsided(arcs: Arcs) -> bool:
    """Return whether the arcs join two sides of unequal size, as in a mesh of odd sides: then there is no ring."""
    side = np.full(len(arcs.members), -1)
    reach = (arcs.table >= 0) | (arcs.table.T >= 0)
    side[0], front = 0, np.zeros(1, np.int64)
    while front.size:
        reached = np.flatnonzero(reach[front].any(axis=0) & (side < 0))
        side[reached] = 1 - side[front[0]]
        front = reached
    return bool((side[arcs.tail] != side[arcs.head]).all()) and 2 * int((side == 0).sum()) != len(side)


def with_reverses(orders: list[np.ndarray]) -> list[np.ndarray]:
    """Return each ring followed by its reverse, which starts at the same place."""
    return [each for order in orders for each in (order, np.roll(order[::-1], 1))]


def on_links(arcs: Arcs, orders: list[np.ndarray]) -> list[Circuit]:
    """Return the circuits of disjoint rings of places: of parallel links each takes that with the most units left."""
    left = np.floor(arcs.topology.bandwidth_gbps / arcs.unit + 1e-9)
    links_of: dict[int, list[int]] = {}
    for link in np.flatnonzero(arcs.pair_of_link >= 0).tolist():
        links_of.setdefault(int(arcs.pair_of_link[link]), []).append(link)
    rings = []
    for order in orders:
        start, links = [0], []
        for arc in arcs.table[order, np.roll(order, -1)].tolist():
            for pair in arcs.pairs[arcs.start[arc] : arcs.start[arc + 1]].tolist():
                link = max(links_of[pair], key=lambda each: left[each])
                left[link] -= 1
                links.append(link)
            start.append(len(links))
        rings.append(Circuit(arcs.members[order], np.array(start), np.array(links)))
    return rings
