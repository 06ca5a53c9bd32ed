"""The wiring of a fabric for a demand: rings for the AllReduce groups, cables for the heaviest pairs.

TopologyFinder of TopoOpt (W. Wang et al., NSDI 2023, arXiv 2202.00433, section 4), with three things settled that the
paper leaves open. Ports are counted at each server, so that disjoint groups do not compete (`degrees`). Ports that the
matching has no use for go to further rings. And the network always joins all servers, as model-parallel traffic may go
anywhere: where groups and cables do not, a ring over all servers is added, on ports that are left if all servers have
one, else on one port of each that is set aside before anything else. Its jump is the one that leads most often from one
part of the network to another, the smallest of equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from synthesizers.topoopt.degrees import further_shares, shares_of_groups, split_degree
from synthesizers.topoopt.matching import match_rounds
from synthesizers.topoopt.permutations import Variant, select_permutations, totient_perms
from topologies import Demand, Fabric, SynthesisError, Topology

#: What of AllReduce counts where ports are split between it and model-parallel traffic.
Split = Literal["buffers", "sent"]

#: Both, the paper's first.
SPLITS: tuple[Split, ...] = ("buffers", "sent")

#: How the ports for rings are shared out to groups.
Shares = Literal["ceiling", "level"]

#: Links that a step of an AllReduce without a ring of its own is taken to go over.
_HOPS = 4


@dataclass(frozen=True, eq=False)
class GroupRings:
    """The rings of a group.

    Attributes
    ----------
    members : tuple of int
        Its k servers in rank order.
    jumps : tuple of int
        Ring r leads from rank i to rank i + jumps[r] (mod k). A jump that stands here twice has parallel links.
    links : (len(jumps), k) int64 array
        ``links[r, i]`` is the link of ring r out of rank i; no link belongs to two rings.
    """

    members: tuple[int, ...]
    jumps: tuple[int, ...]
    links: np.ndarray


@dataclass(frozen=True, eq=False)
class Wiring:
    """A fabric wired for a demand.

    Attributes
    ----------
    fabric : Fabric
    topology : Topology
    variant : str
    degrees : (int, int)
        (d_A, d_MP): ports of each server for rings and for cables, after those set aside for `connecting`.
    groups : tuple of GroupRings
        Those of the demand's groups, in its order. A group may have no ring: without bytes, or where heavier groups
        left some member without a port; then its AllReduce needs routes.
    connecting : GroupRings or None
        The rings over all servers that join what the groups do not; none where they do, or where a group of all servers
        was given that ring.
    matched : tuple of tuples of (int, int)
        Pairs that got a cable, round by round.
    cables : (cables, 2) int64 array
        Links there and back of each pair, in the order of `matched`.
    """

    fabric: Fabric
    topology: Topology
    variant: Variant
    degrees: tuple[int, int]
    groups: tuple[GroupRings, ...]
    connecting: GroupRings | None
    matched: tuple[tuple[tuple[int, int], ...], ...]
    cables: np.ndarray

    @property
    def all_rings(self) -> tuple[GroupRings, ...]:
        """Those of the groups, then the connecting ones."""
        return self.groups if self.connecting is None else (*self.groups, self.connecting)


@dataclass(frozen=True)
class _Plan:
    """How ports are used, before jumps are chosen; a ring of the released variant is two, one each way."""

    degrees: tuple[int, int]
    rings: tuple[int, ...]
    connecting: tuple[int, ...]
    matched: tuple[tuple[tuple[int, int], ...], ...]


def find_topology(
    fabric: Fabric,
    demand: Demand,
    variant: Variant = "paper",
    split: Split | int = "buffers",
    shares: Shares = "ceiling",
) -> Wiring:
    """Return a wiring of the fabric for a demand; every server can reach every other.

    Parameters
    ----------
    fabric : Fabric
        Servers and ports.
    demand : Demand
        AllReduce groups and model-parallel traffic of as many servers.
    variant : {"paper", "released", "exhaustive"}
        ``paper`` splits ports by bytes, chooses jumps by the geometric ladder and matches the rest. ``released`` is
        what the authors' code does: all ports go to rings, in pairs of jumps p and k − p, and none is matched.
        ``exhaustive`` is ``paper`` with the best jumps of all (see `select_permutations`).
    split : {"buffers", "sent"} or int
        What of AllReduce is set against model-parallel traffic where ports are split: the bytes of its buffers, as in
        the paper, or those that rings send, 2(k − 1) times as many for a group of k; or d_A itself. Not for
        ``released``.
    shares : {"ceiling", "level"}
        How the d_A ports for rings are shared out. ``ceiling`` is the paper's: ⌈d_A · T_k / ΣT⌉ to each group, so that
        one of a few bytes takes a whole port too. ``level``: a ring at a time to the group with the most bytes for each
        ring that it has; what gets none is routed. Not for ``released``.

    Raises
    ------
    SynthesisError
        A demand of another number of servers, a fabric of one server, an odd degree for ``released``, or more jumps to
        compare than ``exhaustive`` can.
    """
    if demand.num_npus != fabric.num_npus:
        raise SynthesisError(
            f"{fabric.name}: a demand of {demand.num_npus} servers; expected one of {fabric.num_npus}, the fabric's"
        )
    if variant not in get_args(Variant):
        raise SynthesisError(f"unknown variant {variant!r}; expected one of {', '.join(get_args(Variant))}")
    if fabric.num_npus < 2:
        raise SynthesisError(f"{fabric.name}: one server has nobody to be wired to; expected two servers or more")
    if variant == "released" and fabric.ports % 2:
        raise SynthesisError(
            f"{fabric.name}: the released variant lays rings both ways, on two ports each, and found {fabric.ports}; "
            "use an even number of ports, or variant paper"
        )
    how = (variant, split, shares)
    plan = _plan(fabric, demand, 0, *how) or _plan(fabric, demand, 1, *how)
    assert plan is not None  # a ring over all servers joins them
    return _wired(fabric, demand, variant, plan)


def _plan(
    fabric: Fabric, demand: Demand, reserved: int, variant: Variant, split: Split | int, shares: Shares
) -> _Plan | None:
    """Return how ports are used if each server first gives up `reserved` for rings over all; None if not joined."""
    groups, sizes = demand.groups, demand.group_bytes
    ports_of_ring = 2 if variant == "released" else 1
    ports = fabric.ports // ports_of_ring - reserved
    if variant == "released":
        degrees = (ports, 0)
    else:
        degrees = _degrees(ports, demand, split)
    hops = _HOPS if shares == "level" and variant != "released" else None
    if hops:
        rings = further_shares(np.full(fabric.num_npus, degrees[0]), groups, sizes, [0] * len(groups), hops)
    else:
        rings = shares_of_groups(degrees[0], groups, sizes, fabric.num_npus)
    left = np.full(fabric.num_npus, ports)
    _take(left, groups, rings)
    # All ports that no group took, not d_MP alone: they differ at servers that are in no group, or in few.
    matched = () if variant == "released" else match_rounds(demand.traffic, left)
    for pairs in matched:
        _take(left, pairs, [1] * len(pairs))
    connecting, further = reserved, further_shares(left, groups, sizes, rings, hops)
    parts = _parts(demand, further, matched)
    if parts.any() and not reserved:
        if not left.min():
            return None
        connecting, left = 1, left - 1
        further = further_shares(left, groups, sizes, rings, hops)
        parts = _parts(demand, further, matched)
    _take(left, groups, np.subtract(further, rings))
    everyone = [index for index, group in enumerate(groups) if sizes[index] and len(group) == fabric.num_npus]
    jumps: tuple[int, ...] = ()
    if everyone:  # its rings are rings over all servers
        further = tuple(count + connecting * (index == everyone[0]) for index, count in enumerate(further))
    elif not any(sizes):  # no group can use the ports that are left
        connecting += int(left.min())
        jumps = select_permutations(fabric.num_npus, connecting, variant=variant) if connecting > 1 else ()
        jumps = jumps or ((_crossing_jump(parts),) if connecting else ())
    elif connecting:
        jumps = (_crossing_jump(parts),)
    return _Plan((degrees[0] * ports_of_ring, degrees[1] * ports_of_ring), further, jumps, matched)


def _degrees(ports: int, demand: Demand, split: Split | int) -> tuple[int, int]:
    """Return (d_A, d_MP)."""
    if isinstance(split, int):
        return min(split, ports), max(ports - split, 0)
    weights = [2 * (len(group) - 1) if split == "sent" else 1 for group in demand.groups]
    reduced = sum(weight * nbytes for weight, nbytes in zip(weights, demand.group_bytes, strict=True))
    return split_degree(ports, reduced, demand.mp_bytes)


def _take(left: np.ndarray, groups: Sequence[Sequence[int]], counts: Sequence[int] | np.ndarray) -> None:
    """Take ports from every member of each group."""
    for group, count in zip(groups, counts, strict=True):
        left[list(group)] -= count


def _parts(demand: Demand, rings: Sequence[int], matched: Sequence[Sequence[tuple[int, int]]]) -> np.ndarray:
    """Return the part that each server is in, named after its lowest; all 0 if rings and cables join all servers.

    Rings and cables lead there and back, so that what they join is strongly connected.
    """
    part = np.arange(demand.num_npus)
    sets = [list(group) for group, count in zip(demand.groups, rings, strict=True) if count]
    sets += [list(pair) for pairs in matched for pair in pairs]
    for members in sets:
        touched = np.isin(part, part[members])
        part[touched] = part[touched].min()
    return part


def _crossing_jump(parts: np.ndarray) -> int:
    """Return the jump whose ring over all servers leads from one part to another most often; of equals the smallest."""
    jumps = totient_perms(len(parts))
    return max(jumps, key=lambda p: int((parts != np.roll(parts, -p)).sum()))


def _wired(fabric: Fabric, demand: Demand, variant: Variant, plan: _Plan) -> Wiring:
    """Return the wiring of a plan: first all rings, group by group, then the cables."""
    src: list[int] = []
    dst: list[int] = []

    def laid(members: tuple[int, ...], jumps: tuple[int, ...]) -> GroupRings:
        """Lay the links of a group's rings."""
        if variant == "released":
            jumps = tuple(each for p in jumps for each in (p, len(members) - p))
        first = len(src)
        for p in jumps:
            src.extend(members)
            dst.extend(members[p:] + members[:p])
        links = np.arange(first, len(src)).reshape(len(jumps), len(members))
        links.setflags(write=False)
        return GroupRings(members, jumps, links)

    groups = tuple(laid(tuple(group), select_permutations(len(group), count, variant=variant))
                   for group, count in zip(demand.groups, plan.rings, strict=True))  # fmt: skip
    connecting = laid(tuple(range(fabric.num_npus)), plan.connecting) if plan.connecting else None
    cables = np.arange(len(src), len(src) + 2 * sum(map(len, plan.matched))).reshape(-1, 2)
    cables.setflags(write=False)
    for pairs in plan.matched:
        for a, b in pairs:
            src.extend((a, b))
            dst.extend((b, a))
    name = f"{fabric.name}, topoopt" + (f" ({variant})" if variant != "paper" else "")
    topology = fabric.wired(np.array(src), np.array(dst), name)
    return Wiring(fabric, topology, variant, plan.degrees, groups, connecting, plan.matched, cables)
