"""Who gets a server's ports: AllReduce against model-parallel traffic, then group against group.

TopoOpt (W. Wang et al., NSDI 2023, arXiv 2202.00433, section 4 and its algorithm TopologyFinder) splits the d ports of
each server by bytes. All arithmetic is on whole numbers, so that no rounding moves a port.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

import numpy as np


def split_degree(ports: int, reduced_bytes: int, mp_bytes: int) -> tuple[int, int]:
    """Return (d_A, d_MP): the ports of each server for AllReduce rings, and those for model-parallel traffic.

    d_A = max(1, ⌈ports · reduced / (reduced + mp)⌉). The paper's 1 stands for the ring that keeps the network
    connected; without any AllReduce there is nothing to build that ring from, so that here d_A is then 0 (also where
    there is no traffic at all), and `find_topology` adds a ring over all servers where one is needed.

    Parameters
    ----------
    ports : int
        d, the ports of each server; 0 gives (0, 0).
    reduced_bytes, mp_bytes : int
        Bytes of all AllReduce buffers, and of all model-parallel traffic.
    """
    if not reduced_bytes or not ports:
        return 0, ports
    reduced = max(1, _ceil(ports * reduced_bytes, reduced_bytes + mp_bytes))
    return reduced, ports - reduced


def shares_of_groups(
    d_a: int, groups: Sequence[Sequence[int]], group_bytes: Sequence[int], num_servers: int
) -> tuple[int, ...]:
    """Return for each group how many rings it gets; a ring takes one port of each member.

    Heaviest group first (of equal ones the earlier), d_k = ⌈d_A · T_k / ΣT⌉, at most what is left. A port belongs to a
    server, so what is left is counted at each server: d_k is capped by the least left among the group's members, and
    groups without a common member do not take ports from each other. Then `further_shares` spends what that leaves,
    as groups of one size that are disjoint would otherwise get only their share of ΣT each.

    Parameters
    ----------
    d_a : int
        Ports of each server for rings.
    groups : sequence of sequences of int
        Servers of each group.
    group_bytes : sequence of int
        T_k; a group of 0 bytes gets no ring.
    num_servers : int
        Servers, numbered from 0.
    """
    left = np.full(num_servers, d_a)
    total, rings = sum(group_bytes), [0] * len(groups)
    for index in sorted(range(len(groups)), key=lambda each: -group_bytes[each]):
        if group_bytes[index]:
            members = list(groups[index])
            rings[index] = min(_ceil(d_a * group_bytes[index], total), int(left[members].min()))
            left[members] -= rings[index]
    return further_shares(left, groups, group_bytes, rings)


def further_shares(
    left: np.ndarray,
    groups: Sequence[Sequence[int]],
    group_bytes: Sequence[int],
    rings: Sequence[int],
    hops: int | None = None,
) -> tuple[int, ...]:
    """Return the rings of each group after the ports that are left went to further ones.

    One ring at a time to the group with the most bytes per ring so far, as its AllReduce ends last (of equal ones the
    earlier), as long as one has a port left at every member. A single group is always the heaviest.

    Parameters
    ----------
    left : (servers,) int array
        Ports left at each server.
    groups, group_bytes
        As in `shares_of_groups`.
    rings : sequence of int
        What each group has.
    hops : int, optional
        What a group that has no ring counts as: its bytes so many times, as each step of its AllReduce then takes a
        route of about so many links. By default it comes before all that have one, the earliest
        first.
    """
    left, counts = left.copy(), list(rings)

    def place(index: int) -> tuple[int, Fraction, int]:
        """Return what comes first where it is least."""
        if counts[index] or hops is not None:
            return 1, -Fraction(group_bytes[index] * (1 if counts[index] else hops or 1), counts[index] or 1), index
        return 0, Fraction(0), index

    members = [np.array(group) for group in groups]
    queue = [place(index) for index in range(len(groups)) if group_bytes[index]]
    heapify(queue)
    while queue:
        index = heappop(queue)[-1]
        if left[members[index]].min() > 0:  # else it never will: ports only go
            counts[index] += 1
            left[members[index]] -= 1
            heappush(queue, place(index))
    return tuple(counts)


def _ceil(numerator: int, denominator: int) -> int:
    """Return ⌈numerator / denominator⌉."""
    return -(-numerator // denominator)
