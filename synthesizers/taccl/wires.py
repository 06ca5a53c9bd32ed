"""Wires: the connections between NPUs that chunks may take, each with the real links behind it.

TACCL (arXiv 2111.04867) knows links between GPUs and switch ports that they share. Here a link between two NPUs is a
wire of one link, and a way through switches is a wire of several; the real links that wires have in common are the
shared ports. Through each first link there is one wire to every NPU that switches lead to: the quickest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthesizers.taccl.budget import in_time
from topologies import Topology


@dataclass(frozen=True)
class Wires:
    """Connections between NPUs of a network.

    Attributes
    ----------
    topology : Topology
    src, dst : tuples of int
        The NPUs of each wire.
    routes : tuple of tuples of int
        The real links of each wire, in order.
    """

    topology: Topology
    src: tuple[int, ...]
    dst: tuple[int, ...]
    routes: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.src)

    @cached_property
    def out_of(self) -> tuple[tuple[int, ...], ...]:
        """The wires out of each NPU, ascending."""
        found: list[list[int]] = [[] for _ in range(self.topology.num_npus)]
        for wire, src in enumerate(self.src):
            found[src].append(wire)
        return tuple(map(tuple, found))

    @cached_property
    def into(self) -> tuple[tuple[int, ...], ...]:
        """The wires into each NPU, ascending."""
        found: list[list[int]] = [[] for _ in range(self.topology.num_npus)]
        for wire, dst in enumerate(self.dst):
            found[dst].append(wire)
        return tuple(map(tuple, found))

    @cached_property
    def bandwidth_gbps(self) -> tuple[float, ...]:
        """Bandwidth of each wire alone: that of its narrowest link."""
        return tuple(min(float(self.topology.bandwidth_gbps[link]) for link in route) for route in self.routes)

    def kept(self, wires: list[int]) -> Wires:
        """Return some of the wires, in the order given."""
        return Wires(self.topology, *(tuple(column[wire] for wire in wires) for column in
                                      (self.src, self.dst, self.routes)))  # type: ignore[arg-type]  # fmt: skip

    def hops(self) -> np.ndarray:
        """Return (npus, npus) int64: the fewest wires from each NPU to each other; npus + 1 where there is no way."""
        from scipy.sparse import csr_array

        npus = self.topology.num_npus
        # Sparse: most networks have few wires, and the threads of dense products are slow on busy cores.
        into = csr_array((np.ones(len(self), np.float32), (self.dst, self.src)), shape=(npus, npus))
        far = np.full((npus, npus), npus + 1)
        reached = np.eye(npus, dtype=bool)
        for hops in range(npus):
            far[reached] = hops
            reached = (into @ reached.T).T.astype(bool) & (far > npus)  # those that are one wire further
            if not reached.any():
                break
        return far


def wires_of(topology: Topology, message_bytes: int, last: float | None = None) -> Wires:
    """Return all wires of a network; `message_bytes` is the size that ways through switches are quick for.

    Raises
    ------
    OutOfTime
        `time.perf_counter` passed `last` before all were found.
    """
    columns: list[tuple[int, int, tuple[int, ...]]] = []
    starts, links = topology.out_links
    weight = topology.latency_us + message_bytes / (topology.bandwidth_gbps * 1e3)
    for link in range(topology.num_links):
        in_time(last)
        src, dst = int(topology.src[link]), int(topology.dst[link])
        if src >= topology.num_npus:
            continue
        if dst < topology.num_npus:
            columns.append((src, dst, (link,)))
            continue
        # Dijkstra from the switch, through switches only; ties go to fewer and lower links.
        done: dict[int, tuple[int, ...]] = {}
        queue: list[tuple[float, tuple[int, ...]]] = [(0.0, (link,))]
        while queue:
            cost, route = heapq.heappop(queue)
            node = int(topology.dst[route[-1]])
            if node in done or node == src:
                continue
            done[node] = route
            if node >= topology.num_npus:
                for onward in links[starts[node] : starts[node + 1]].tolist():
                    heapq.heappush(queue, (cost + float(weight[onward]), (*route, onward)))
        columns += [(src, node, route) for node, route in sorted(done.items()) if node < topology.num_npus]
    columns.sort()
    src_column, dst_column, routes = zip(*columns, strict=True) if columns else ((), (), ())
    return Wires(topology, src_column, dst_column, routes)


def shared_fabric(topology: Topology, box: tuple[int, ...]) -> frozenset[int]:
    """Return the switches that, themselves or through other switches, reach NPUs of several boxes."""
    parent = list(range(topology.num_nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    ends = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    for a, b in ends:
        if a >= topology.num_npus and b >= topology.num_npus:
            parent[root(a)] = root(b)
    boxes: dict[int, set[int]] = {}
    for a, b in ends:
        for npu, switch in ((a, b), (b, a)):
            if npu < topology.num_npus <= switch:
                boxes.setdefault(root(switch), set()).add(box[npu])
    return frozenset(
        switch for switch in range(topology.num_npus, topology.num_nodes) if len(boxes.get(root(switch), ())) > 1
    )
