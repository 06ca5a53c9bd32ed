"""Switches out of the way: what TACOS matches on, for groups and for boxes of NPUs.

TACOS (MICRO'24) wires each port of a switch to the next ones. Where the switch joins boxes that have faster links
inside, most of those wires stay inside a box and the network between the boxes is wasted on them; so the ports may also
be taken place by place instead of box by box, which wires each NPU to its like in the next box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from synthesizers.bandwidth_steps import parts_by_bandwidth
from topologies import Topology
from topologies.unwinding import unwind

#: Degrees that are tried.
_DEGREES = (1, 2, 4, 8)


def unwound(
    topology: Topology, groups: Sequence[tuple[int, ...]], degree: int, order: Sequence[int] | None = None
) -> tuple[Topology, list[tuple[int, ...]]]:
    """Return what `unwind` does, with the wires of each group led through the switches past NPUs outside it."""
    if topology.num_switches == 0 or all(len(group) == topology.num_npus for group in groups):
        return unwind(topology, degree, order)
    rows: list[tuple[int, int, float, float]] = []
    routes: list[tuple[int, ...]] = []
    for group in groups:
        npus = sorted(group)
        nodes = np.array([*npus, *range(topology.num_npus, topology.num_nodes)])
        links = np.flatnonzero(np.isin(topology.src, nodes) & np.isin(topology.dst, nodes)).tolist()
        own_order = None if order is None else [order[node] for node in nodes]
        failed = set(range(topology.num_npus)) - set(npus)
        wires, parts = unwind(topology.without(nodes=failed), degree, own_order)
        for wire, part in enumerate(parts):
            rows.append((npus[wires.src[wire]], npus[wires.dst[wire]],
                         float(wires.latency_us[wire]), float(wires.bandwidth_gbps[wire])))  # fmt: skip
            routes.append(tuple(links[link] for link in part))
    name = f"{topology.name} unwound by {degree} for {len(groups)} groups"
    return Topology.from_links(topology.num_npus, rows, name=name), routes


@dataclass(frozen=True)
class Wiring:
    """A way of unwinding the switches of a network.

    Attributes
    ----------
    degree : int
        Wires out of each port of a switch.
    kind : str
        ``next`` or ``apart``.
    wires : Topology
        The network without switches.
    start, links : (W + 1,), (…,) int64 arrays
        Wire w stands for ``links[start[w]:start[w + 1]]``.
    """

    degree: int
    kind: str
    wires: Topology
    start: np.ndarray
    links: np.ndarray


def wirings(
    topology: Topology, groups: Sequence[tuple[int, ...]], degree: int | None = None, kind: str | None = None
) -> list[Wiring]:
    """Return the ways of unwinding a network with switches that are asked for; None: all that may be of use."""
    ports = int(np.bincount(topology.src, minlength=topology.num_nodes)[topology.num_npus :].max())
    degrees = [d for d in _DEGREES if d < max(ports, 2)] if degree is None else [degree]
    orders = {"next": None, "apart": apart(topology)}
    kinds = [each for each in orders if each == "next" or orders[each]] if kind is None else [kind]
    found = []
    for each, wired in product(degrees, kinds):
        wires, routes = unwound(topology, groups, each, orders[wired])
        start = np.zeros(len(routes) + 1, np.int64)
        np.cumsum([len(route) for route in routes], out=start[1:])
        found.append(
            Wiring(each, wired, wires, start, np.array([link for route in routes for link in route], np.int64))
        )
    return found


def apart(topology: Topology) -> list[int] | None:
    """Return the place of each node when boxes take turns; None where no switch has several ports into several boxes.

    Boxes are what hangs together above the largest step in bandwidth, the lower of equal ones.
    """
    steps = list(parts_by_bandwidth(topology.num_nodes, topology.src, topology.dst, topology.bandwidth_gbps))
    if not steps:
        return None
    box = max(reversed(steps), key=lambda step: step[0])[1]
    for switch in range(topology.num_npus, topology.num_nodes):
        ports = np.bincount(box[np.unique(topology.src[topology.dst == switch])])
        if ports.max(initial=0) > 1 and np.count_nonzero(ports) > 1:
            break
    else:
        return None
    by_box = np.argsort(box, kind="stable")
    size = np.bincount(box)
    rank = np.empty(len(box), np.int64)
    rank[by_box] = np.arange(len(box)) - np.repeat(np.cumsum(size) - size, size)
    place = np.empty(len(box), np.int64)
    place[np.lexsort((box, rank))] = np.arange(len(box))
    return place.tolist()
