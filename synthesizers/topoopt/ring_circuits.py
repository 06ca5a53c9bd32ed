"""The rings of each AllReduce group as circuits: those that were wired for it, else those that the network has."""

from __future__ import annotations

import numpy as np

from synthesizers.rings import Circuit, disjoint_rings, routed_ring
from synthesizers.topoopt.wiring import GroupRings, Wiring
from topologies import Demand, Topology

#: Of a group, by its NPUs in ascending order.
Rings = dict[tuple[int, ...], list[Circuit]]


def circuits(wiring: Wiring) -> Rings:
    """Return the rings that were wired, also those that join all servers."""
    rings: Rings = {}
    for group in [*wiring.groups, *([wiring.connecting] if wiring.connecting else [])]:
        rings.setdefault((*sorted(group.members),), []).extend(_circuits_of(group))
    return {group: found for group, found in rings.items() if found}


def rings_on(topology: Topology, demand: Demand, wired: Rings | None = None) -> Rings:
    """Return the rings of each AllReduce group of a demand.

    A group that nothing was wired for takes disjoint rings of the network where it has all of its NPUs, and goes round
    on shortest routes otherwise.

    Parameters
    ----------
    topology : Topology
    demand : Demand
    wired : mapping, optional
        Rings of some groups.
    """
    chosen: Rings = {}
    for members in demand.groups:
        key = (*sorted(members),)
        found = list((wired or {}).get(key, []))
        if not found and len(members) == topology.num_npus:
            found = disjoint_rings(topology, members, None)
        chosen[key] = found or routed_ring(topology, members)[:1]
    return chosen


def _circuits_of(group: GroupRings) -> list[Circuit]:
    """Return the rings of a group in the order in which they pass its members."""
    ranks = len(group.members)
    members, every = np.array(group.members), np.arange(ranks)
    orders = [every * jump % ranks for jump in group.jumps]
    return [Circuit(members[order], np.arange(ranks + 1), links[order])
            for order, links in zip(orders, group.links, strict=True)]  # fmt: skip
