"""The rings of each AllReduce group as circuits: those that were wired for it, else those that the network has.

A group of so few bytes that a step of its AllReduce is latency alone does without, beside a demand of more: each of its
2(m−1) steps would wait behind messages of the others, so that 16 kB on a ring of 128 servers can hold up an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    on shortest routes otherwise. Groups that `sends_straight` names have none.

    Parameters
    ----------
    topology : Topology
    demand : Demand
    wired : mapping, optional
        Rings of some groups.
    """
    chosen: Rings = {}
    straight = sends_straight(topology, demand)
    for members in demand.groups:
        key = (*sorted(members),)
        if key in straight:
            chosen[key] = []
            continue
        found = list((wired or {}).get(key, []))
        if not found and len(members) == topology.num_npus:
            found = disjoint_rings(topology, members, None)
        chosen[key] = found or routed_ring(topology, members)[:1]
    return chosen


def sends_straight(topology: Topology, demand: Demand) -> set[tuple[int, ...]]:
    """Return the groups, their NPUs in ascending order, that send straight instead of round rings.

    Those whose shards take any link less time than its latency, if they are less than half of the demand's bytes.

    Parameters
    ----------
    topology : Topology
    demand : Demand
    """
    fits = float((topology.latency_us * topology.bytes_per_s).min(initial=np.inf)) / 1e6
    return {
        (*sorted(group),) for group, nbytes in zip(demand.groups, demand.group_bytes, strict=True)
        if nbytes < fits * len(group) and 2 * nbytes < demand.size
    }  # fmt: skip


def straight_traffic(group: Sequence[int], nbytes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return who sends to whom, and how many bytes, where a group sends straight: a shard there, a sum back.

    Parameters
    ----------
    group : sequence of int
    nbytes : int
        Its buffer.
    """
    members = np.array(group)
    one, other = np.meshgrid(members, members, indexing="ij")
    apart = one != other
    return one[apart], other[apart], -(-2 * nbytes // len(members))


def _circuits_of(group: GroupRings) -> list[Circuit]:
    """Return the rings of a group in the order in which they pass its members."""
    ranks = len(group.members)
    members, every = np.array(group.members), np.arange(ranks)
    orders = [every * jump % ranks for jump in group.jumps]
    return [Circuit(members[order], np.arange(ranks + 1), links[order])
            for order, links in zip(orders, group.links, strict=True)]  # fmt: skip
