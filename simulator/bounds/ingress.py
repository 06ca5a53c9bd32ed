"""Bandwidth bounds of single NPUs: what must enter (or leave) one over its bandwidth in (or out); AllReduce's volume.

AllReduce without in-network reduction: take a byte of a group of N. Its first complete sum contains the others'
contributions, each of which left its NPU in a delivery of its own: N−1 deliveries, none of which completes another
member. The other N−1 members are completed by one delivery each after that. So 2(N−1) deliveries are made, all of them
into NPUs and out of NPUs; the first N−1 leave a member and the last N−1 enter one, so that every one also crosses a
link that touches a member. NPUs outside the group may relay and add, which is why no tighter set of links is counted.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from simulator.bounds.demands import Demands
from topologies import Topology, format_bytes

#: A bound: microseconds, and what binds.
Candidate = tuple[Fraction, str]


def microseconds(nbytes: int, bytes_per_s: int) -> Fraction:
    """Return the time of `nbytes` at a rate, exactly; zero bytes take none even without a link."""
    return Fraction(nbytes * 10**6, bytes_per_s) if nbytes else Fraction(0)


def node_bandwidth(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Return (into, out of) every NPU in bytes per second, (npus,) object arrays of exact integers."""
    result = []
    for ends in (topology.dst, topology.src):
        total = np.zeros(topology.num_nodes, object)
        np.add.at(total, ends, topology.bytes_per_s.astype(object))
        result.append(total[: topology.num_npus])
    return result[0], result[1]


def npu_bounds(topology: Topology, needed: Demands) -> list[Candidate]:
    """Return the bound of the slowest NPU to fill, and of the slowest to empty."""
    result = []
    into, out_of = node_bandwidth(topology)
    for what, nbytes, rate in (
        ("into", needed.into(needed.nbytes), into),
        ("out of", needed.out_of(needed.nbytes), out_of),
    ):
        times = [microseconds(int(b), int(r)) if r or not b else Fraction(0) for b, r in zip(nbytes, rate, strict=True)]
        if any(times):
            npu = max(range(len(times)), key=lambda index: (times[index], -index))
            result.append((times[npu], f"{format_bytes(int(nbytes[npu]))} {what} {topology.node_name(npu)}"))
    return result


def all_reduce_links(topology: Topology, members: np.ndarray) -> list[tuple[np.ndarray, str]]:
    """Return sets of links ((L,) bool) that every one of an AllReduce's 2(N−1) deliveries must cross, each named."""
    is_member = np.zeros(topology.num_nodes, bool)
    is_member[members] = True
    return [
        (topology.dst < topology.num_npus, "all links into NPUs"),
        (topology.src < topology.num_npus, "all links out of NPUs"),
        (is_member[topology.src] | is_member[topology.dst], "all links of members"),
    ]


def delivery_volume(topology: Topology, needed: Demands) -> list[Candidate]:
    """Return the bounds of all links together, where something is added up: the bytes of all deliveries, over ΣB.

    A buffer that m hold contributions to and all m want takes 2(m−1) deliveries, as above; one that others want m−1 at
    least; and what one NPU alone holds a delivery to each other that wants it.
    """
    if not needed.reduces:
        return []
    holders, wanted = needed.set_size[needed.initial], needed.set_size[needed.final]
    held = np.bincount(needed.held_and_wanted[0], minlength=len(holders))
    sums = np.where(needed.initial == needed.final, 2, 1) * (holders - 1)
    deliveries = np.where(holders > 1, sums, wanted - held) * ((holders > 0) & (wanted > 0))
    total = int(np.dot(deliveries.astype(object), needed.nbytes.astype(object)))
    ends = np.unique(np.concatenate([needed.initial[deliveries > 0], needed.final[deliveries > 0]]))
    members = np.unique(np.concatenate([needed.set_of(index) for index in ends])) if total else ends
    return [
        (microseconds(total, sum(topology.bytes_per_s[links].tolist())), f"{format_bytes(total)} over {name}")
        for links, name in all_reduce_links(topology, members)
        if total and links.any()
    ]
