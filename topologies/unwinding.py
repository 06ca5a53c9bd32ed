"""Switches turned into point-to-point wires, as TACOS (MICRO'24, section on switches) does.

Port i of a switch is wired to the next `degree` ports with the port's bandwidth divided by the wires that share it.
Every wire keeps the route of real links behind it, so a schedule made on the unwound network can be carried back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

import numpy as np

from topologies.exceptions import TopologyError
from topologies.topology import Topology

_Wire = tuple[int, int, float, float, tuple[int, ...]]  # src, dst, latency, bandwidth, real links


def unwind(
    topology: Topology, degree: int = 1, order: Sequence[int] | None = None
) -> tuple[Topology, list[tuple[int, ...]]]:
    """Return the network without its switches, and the real links behind each of its wires.

    Parameters
    ----------
    topology : Topology
        Any network; without switches it is returned as it is.
    degree : int
        Wires out of each port, at least 1; at most the other ports. Switches with one-way ports can need more to keep
        the NPUs connected: then the least degree that does is taken.
    order : sequence of int, optional
        The place of each node among the ports of a switch; by default that of its number.

    Returns
    -------
    unwound : Topology
        The same NPUs, no switches.
    routes : list of tuples of int
        For each link of `unwound`, the links of `topology` that it stands for, in order.

    Raises
    ------
    TopologyError
        `degree` below 1.
    """
    if degree < 1:
        raise TopologyError(f"cannot unwind switches with degree {degree}: expected 1 or more")
    routes: list[tuple[int, ...]] = [(link,) for link in range(topology.num_links)]
    if topology.num_switches == 0:
        return topology, routes
    places = range(topology.num_nodes) if order is None else order
    wires: list[_Wire] = [
        (int(topology.src[link]), int(topology.dst[link]), float(topology.latency_us[link]),
         float(topology.bandwidth_gbps[link]), routes[link])
        for link in range(topology.num_links)
    ]  # fmt: skip
    for switch in range(topology.num_npus, topology.num_nodes):
        into = [wire for wire in wires if wire[1] == switch]
        out = [wire for wire in wires if wire[0] == switch]
        wires = [wire for wire in wires if switch not in wire[:2]]
        pairs = _wired_ports([places[wire[0]] for wire in into], [places[wire[1]] for wire in out], degree)
        sharing_in = np.bincount([a for a, _ in pairs], minlength=len(into))
        sharing_out = np.bincount([b for _, b in pairs], minlength=len(out))
        for a, b in pairs:
            # The narrower share: neither port can be asked for more than it has.
            bandwidth = min(into[a][3] / sharing_in[a], out[b][3] / sharing_out[b])
            wires.append((into[a][0], out[b][1], into[a][2] + out[b][2], bandwidth, into[a][4] + out[b][4]))
    unwound = Topology.from_links(
        topology.num_npus,
        [wire[:4] for wire in wires],
        name=f"{topology.name} unwound by {degree}",
        node_names=topology.node_names[: topology.num_npus],
    )
    if degree < topology.num_links and len(unwound.components()) > _num_npu_parts(topology):
        return unwind(topology, degree + 1, order)
    return unwound, [wire[4] for wire in wires]


def _num_npu_parts(topology: Topology) -> int:
    """Return the number of strongly connected components that hold an NPU."""
    return sum(bool((part < topology.num_npus).any()) for part in topology.components())


def _wired_ports(into: list[int], out: list[int], degree: int) -> list[tuple[int, int]]:
    """Return (port in, port out) pairs: each port in goes to the `degree` next ports out, in cyclic order of places."""
    into_order = sorted(range(len(into)), key=into.__getitem__)
    out_order = sorted(range(len(out)), key=out.__getitem__)
    out_places = [out[port] for port in out_order]
    twins: Counter[int] = Counter()
    pairs = []
    for a in into_order:
        place = into[a]
        own, next_ = bisect_left(out_places, place), bisect_right(out_places, place)
        others = len(out) - (next_ - own)
        # Parallel cables between the same two nodes: each port in starts at another of them.
        pairs += [
            (a, out_order[(next_ + wire % others) % len(out)])
            for wire in range(twins[place], twins[place] + min(degree, others))
        ]
        twins[place] += 1
    return pairs
