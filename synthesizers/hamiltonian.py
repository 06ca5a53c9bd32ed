"""Rings in a network: arc-disjoint Hamiltonian circuits, and the shortest routed ring where there is none.

A ring's step is a link, or a path over switches only. Links are counted in *units* of bandwidth: with a unit of 25 GB/s
a link of 50 GB/s carries two rings, a port of 300 GB/s twelve, and every ring is worth one unit. So three two-way rings
of 25 GB/s fill a DGX-1V, as in NCCL, and a plain switch carries one ring one way, which uses each port once. No step of
a ring found here shares a unit with another. The search goes from cheap to dear: orders that often fit (rank order,
strides, Walecki's zigzags [1]_, rank order turned box by box as NCCL does), then for cabled networks of more than a few
NPUs 2-factors (CP-SAT) whose cycles are joined by switching alternating 4-cycles, the step by which Hamiltonian
decompositions of tori are proved [2]_, then exact search with CP-SAT's circuit constraint.

References
----------
.. [1] B. Alspach, The wonderful Walecki construction, Bull. ICA 52, 2008.
.. [2] J.-C. Bermond, O. Favaron, M. Maheo, Hamiltonian decomposition of Cayley graphs of degree 4, JCT B 46, 1989.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from topologies import Paths, Topology

#: Up to so many NPUs exact search alone is fast; it is tried up to this many choices (arcs × rings).
_FEW, _MAX_CHOICES = 24, 12_000

#: Effort of one exact search (CP-SAT's deterministic seconds), and of one joining of cycles (trials).
_CP_SAT_EFFORT, _JOIN_EFFORT = 1.0, 20_000

#: Arcs over switches are thinned to near ranks past this many arcs.
_MAX_ARCS = 20_000


@dataclass(frozen=True)
class Circuit:
    """A directed ring: `order` names its NPUs; step i takes ``links[start[i]:start[i + 1]]`` to the next of them."""

    order: np.ndarray
    start: np.ndarray
    links: np.ndarray


@dataclass(frozen=True)
class _Arcs:
    """What a step of a ring can be between members, and what each step takes up, for one unit of bandwidth.

    Arc a leads from place ``tail[a]`` of the group to ``head[a]`` over the node pairs ``pairs[start[a]:start[a + 1]]``;
    node pair q holds ``units[q]`` rings. Parallel links are one pair, and are told apart only at the end.
    """

    topology: Topology
    members: np.ndarray
    unit: float
    tail: np.ndarray
    head: np.ndarray
    start: np.ndarray
    pairs: np.ndarray
    units: np.ndarray
    pair_of_link: np.ndarray  # −1: too narrow, or not between members

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


def disjoint_rings(
    topology: Topology, group: Sequence[int], count: int | None = None, two_way: bool = False
) -> list[Circuit]:
    """Return arc-disjoint Hamiltonian rings of a group, as wide in all as was found.

    Parameters
    ----------
    topology : Topology
        Any network.
    group : sequence of int
        At least two NPUs. Rings pass through these and switches only.
    count : int, optional
        At most so many rings, each on the widest links that carry them; None: the number of the largest total width.
    two_way : bool
        Each ring is followed by its reverse, which is disjoint from all the others too.

    Returns
    -------
    rings : list of Circuit
        Empty where none was found. The same arguments give the same rings: effort is counted, not timed.
    """
    members = np.asarray(group, np.int64)
    wide = np.unique(topology.bandwidth_gbps)[::-1]
    attempts = []
    for unit in wide[:: max(1, len(wide) // 4)].tolist() if len(wide) > 4 else wide.tolist():
        arcs = _arcs(topology, members, unit, two_way)
        most = _most_rings(arcs) // (2 if two_way else 1)
        if count is not None:
            most = min(most, count)
        # Large cabled networks are searched in two-way rings only: an odd number of one-way ones cannot be all of them.
        even = arcs.cabled and len(members) > _FEW and not two_way
        attempts += [(number, unit, arcs) for number in range(1, most + 1) if number == 1 or not (even and number % 2)]
    if count is None:
        attempts.sort(key=lambda attempt: (-attempt[0] * attempt[1], attempt[0]))
    else:
        attempts.sort(key=lambda attempt: (-attempt[0], -attempt[1]))
    failed = 0.0
    for number, unit, arcs in attempts:
        # A search that fails at its limit is dear: the next one aims well below it. One ring is tried in any case.
        if failed and number > 1 and number * unit > 0.8 * failed:
            continue
        failed = number * unit
        orders = _search(arcs, number, two_way)
        if orders:
            return _on_links(arcs, _with_reverses(orders) if two_way else orders)
    return []


def routed_ring(topology: Topology, group: Sequence[int], order: Sequence[int] | None = None) -> list[Circuit]:
    """Return a ring and its reverse on shortest routes, in the order given or in one of short routes in all.

    Rank order, nearest neighbours and a spanning tree's preorder are each improved by 2-opt; the shortest is kept.

    Parameters
    ----------
    topology : Topology
        Any network in which the group's NPUs reach each other.
    group : sequence of int
        At least two NPUs.
    order : sequence of int, optional
        Places of the group, each once.
    """
    members = np.asarray(group, np.int64)
    paths = Paths(topology, sources=members.tolist())
    if order is None:
        cost = paths.cost[:, members]
        np.fill_diagonal(cost, 0)
        starts = [np.arange(len(members)), _nearest(cost), _preorder(cost)]
        chosen = min((_two_opt(cost, each) for each in starts), key=lambda each: _length(cost, each))
        chosen = np.roll(chosen, -int(np.argmin(chosen)))
    else:
        chosen = np.asarray(order, np.int64)
    rings = []
    for places in _with_reverses([chosen]):
        start, links = paths.routes(members[places], members[np.roll(places, -1)])
        rings.append(Circuit(members[places], start, links))
    return rings


def _arcs(topology: Topology, members: np.ndarray, unit: float, two_way: bool) -> _Arcs:
    """Return the arcs of links of `unit` GB/s and more (with a reverse, if two-way), the shortest for each pair."""
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
    return _Arcs(topology, members, unit, tail, head, start, pair[links], units, pair_of_link)


def _most_rings(arcs: _Arcs) -> int:
    """Return a bound on disjoint rings: each leads from the first member to any other and back, so max-flows limit."""
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


def _search(arcs: _Arcs, count: int, two_way: bool) -> list[np.ndarray]:
    """Return `count` disjoint rings of places, or none."""
    orders = _fitting(arcs, count, two_way)
    if len(orders) == count:
        return orders
    if _lopsided(arcs):
        return []
    if arcs.cabled and len(arcs.members) > _FEW and (two_way or count == 1 or count % 2 == 0):
        pairs = count if two_way or count == 1 else count // 2
        orders = _joined_factors(arcs, pairs)
        if orders:
            return orders if pairs == count else _with_reverses(orders)
    return _exact(arcs, count, two_way) if len(arcs.tail) * count <= _MAX_CHOICES else []


def _fitting(arcs: _Arcs, count: int, two_way: bool) -> list[np.ndarray]:
    """Return the first `count` orders of a well-known family that fit beside each other; none where fewer do."""
    for family in _families(arcs):
        left, found = arcs.units, []
        for order in family:
            loads = [arcs.load(each) for each in (_with_reverses([order]) if two_way else [order])]
            load = sum(each for each in loads if each is not None)
            if all(each is not None for each in loads) and (load <= left).all():
                left = left - load
                found.append(order)
                if len(found) == count:
                    return found
    return []


def _families(arcs: _Arcs) -> Iterator[Iterable[np.ndarray]]:
    """Yield families of orders: rank order and that turned within each box, zigzags both ways, strides."""
    places = np.arange(len(arcs.members))
    turned = [
        np.concatenate([np.roll(part[::down], -turn) for part in box])
        for box in _boxes(arcs)
        for down in (1, -1)
        for turn in range(len(box[0]))
    ]
    yield [places, *turned]
    if len(places) > 3 and len(arcs.tail) == len(places) * (len(places) - 1):
        zigzags = list(_zigzags(len(places)))
        yield [*zigzags, *_with_reverses(zigzags)[1::2]]
    yield (places * stride % len(places) for stride in places[1:] if np.gcd(stride, len(places)) == 1)


def _boxes(arcs: _Arcs) -> Iterator[list[np.ndarray]]:
    """Yield the group cut into equal parts that only narrow links join, if it is: the boxes of a machine."""
    topology = arcs.topology
    joined = topology.without(links=np.flatnonzero(topology.bandwidth_gbps <= arcs.unit).tolist())
    place = np.full(topology.num_nodes, -1, np.int64)
    place[arcs.members] = np.arange(len(arcs.members))
    parts = [np.sort(place[part][place[part] >= 0]) for part in joined.components()]
    parts = [part for part in parts if len(part)]
    if len(parts) > 1 and len({len(part) for part in parts}) == 1:
        yield parts


def _zigzags(count: int) -> Iterator[np.ndarray]:
    """Yield ⌊(n−1)/2⌋ rings that share no edge of the complete graph (Walecki); an even n has one more hub."""
    half = (count - 1) // 2
    steps = np.arange(1, 2 * half + 1)
    path = np.where(steps % 2 == 0, steps // 2, -(steps // 2))  # 0, 1, −1, 2, −2, …
    for turn in range(half):
        ring = (path + turn) % (2 * half)
        if count % 2 == 0:  # the middle step is a diameter, another one in each ring, so the second hub fits there
            ring = np.insert(ring, half, count - 2)
        yield np.append(ring, count - 1)


def _lopsided(arcs: _Arcs) -> bool:
    """Return whether the arcs join two sides of unequal size, as in a mesh of odd sides: then there is no ring."""
    side = np.full(len(arcs.members), -1)
    reach = (arcs.table >= 0) | (arcs.table.T >= 0)
    side[0], front = 0, np.zeros(1, np.int64)
    while front.size:
        reached = np.flatnonzero(reach[front].any(axis=0) & (side < 0))
        side[reached] = 1 - side[front[0]]
        front = reached
    return bool((side[arcs.tail] != side[arcs.head]).all()) and 2 * int((side == 0).sum()) != len(side)


def _exact(arcs: _Arcs, count: int, two_way: bool) -> list[np.ndarray]:
    """Return `count` disjoint rings by CP-SAT, or none where there are none or the effort is used up."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    back = arcs.table[arcs.head, arcs.tail]
    usable = np.flatnonzero(back >= 0) if two_way else np.arange(len(arcs.tail))
    users: list[list[cp_model.IntVar]] = [[] for _ in arcs.units]
    chosen: list[list[cp_model.IntVar]] = []
    for _ in range(count):
        chosen.append([model.new_bool_var("") for _ in usable])
        model.add_circuit([(int(arcs.tail[arc]), int(arcs.head[arc]), use)
                           for arc, use in zip(usable, chosen[-1], strict=True)])  # fmt: skip
        for arc, use in zip(usable.tolist(), chosen[-1], strict=True):
            for each in (arc, int(back[arc])) if two_way else (arc,):
                for pair in arcs.pairs[arcs.start[each] : arcs.start[each + 1]].tolist():
                    users[pair].append(use)
    for limit, uses in zip(arcs.units.tolist(), users, strict=True):
        if len(uses) > limit:
            model.add(sum(uses) <= limit)
    solver = _solver(cp_model)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return []
    orders = []
    for uses in chosen:
        taken = usable[[bool(solver.value(use)) for use in uses]]
        following = np.empty(len(arcs.members), np.int64)
        following[arcs.tail[taken]] = arcs.head[taken]
        orders.append(_walk(following.tolist()))
    return orders


def _solver(cp_model):
    """Return a CP-SAT solver whose answers repeat: one worker, a fixed seed, an effort that is no clock."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = _CP_SAT_EFFORT
    return solver


def _walk(following: list[int]) -> np.ndarray:
    """Return the places of a ring from that of the first rank on."""
    order = [0]
    while following[order[-1]]:
        order.append(following[order[-1]])
    return np.array(order)


def _joined_factors(arcs: _Arcs, count: int) -> list[np.ndarray]:
    """Return `count` edge-disjoint rings of a cabled network: 2-factors whose cycles are joined, or none."""
    forward = arcs.tail < arcs.head
    edges = [(a, b) for a, b in zip(arcs.tail[forward].tolist(), arcs.head[forward].tolist(), strict=True)]
    faces = _faces(edges, len(arcs.members))
    if len(faces) > _MAX_ARCS:
        return []
    for label in _alike(edges, faces):
        colour = _coloured(edges, label, len(arcs.members), count)
        orders = _joined(edges, faces, colour, len(arcs.members), count) if colour else []
        if orders:
            return orders
    return []


def _alike(edges: list[tuple[int, int]], faces: list[tuple[int, int, int, int]]) -> Iterator[np.ndarray]:
    """Yield classes of edges that shall share a factor, coarse to fine, so that many 4-cycles alternate.

    First opposite edges of a 4-cycle together, and edges that meet but in no 4-cycle (all rows of a grid); then only
    the opposite ones; at last every edge by itself.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {edge: index for index, edge in enumerate(edges)}
    sides = [[number[min(a, b), max(a, b)] for a, b in ((u, v), (v, w), (w, x), (x, u))] for u, v, w, x in faces]
    opposite = [(face[i], face[i + 2]) for face in sides for i in (0, 1)]
    corners = {(min(a, b), max(a, b)) for face in sides for a, b in zip(face, face[1:] + face[:1], strict=True)}
    at: dict[int, list[int]] = {}
    for index, ends in enumerate(edges):
        for end in ends:
            at.setdefault(end, []).append(index)
    straight = [(a, b) for around in at.values() for a in around for b in around if a < b and (a, b) not in corners]
    for joints in (opposite + straight, opposite, []):
        a, b = np.array(joints, np.int64).reshape(-1, 2).T
        graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(edges),) * 2)
        yield connected_components(graph, directed=False)[1]


def _coloured(edges: list[tuple[int, int]], label: np.ndarray, count: int, factors: int) -> dict[tuple[int, int], int]:
    """Return the 2-factor of each edge (−1: in none), the same for a class of edges, by CP-SAT; empty where none is."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    classes = int(label.max()) + 1
    uses = [[model.new_bool_var("") for _ in range(factors)] for _ in range(classes)]
    for use in uses:
        model.add_at_most_one(use)
    around: list[dict[int, int]] = [{} for _ in range(count)]
    for ends, of in zip(edges, label.tolist(), strict=True):
        for end in ends:
            around[end][of] = around[end].get(of, 0) + 1
    for counts in {tuple(sorted(each.items())) for each in around}:
        for factor in range(factors):
            model.add(sum(number * uses[of][factor] for of, number in counts) == 2)
    solver = _solver(cp_model)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return {}
    chosen = [next((factor for factor in range(factors) if solver.value(use[factor])), -1) for use in uses]
    return {edge: chosen[of] for edge, of in zip(edges, label.tolist(), strict=True)}


def _joined(
    edges: list[tuple[int, int]],
    faces: list[tuple[int, int, int, int]],
    colour: dict[tuple[int, int], int],
    count: int,
    factors: int,
) -> list[np.ndarray]:
    """Return rings from 2-factors by switching alternating 4-cycles until each factor is one cycle, or none."""
    sides = np.full((factors, count, 2), -1)  # the two neighbours of each place in each factor
    filled = np.zeros((factors, count), np.int64)
    for ends in edges:
        if (factor := colour[ends]) >= 0:
            for here, there in (ends, ends[::-1]):
                sides[factor, here, filled[factor, here]] = there
                filled[factor, here] += 1
    count_cycles = _cycle_counter()
    cycles = [count_cycles(each) for each in sides]
    faces, rng, effort, calm = list(faces), random.Random(0), _JOIN_EFFORT, 0.5 / (len(faces) + 1)
    while sum(cycles) > factors and effort > 0 and faces:
        rng.shuffle(faces)
        effort -= 1
        for u, v, w, x in faces:
            one, other = colour[min(u, v), max(u, v)], colour[min(v, w), max(v, w)]
            if one == other or colour[min(w, x), max(w, x)] != one or colour[min(x, u), max(x, u)] != other:
                continue
            touched = [factor for factor in (one, other) if factor >= 0]
            _switch(sides, colour, (u, v, w, x), one, other)
            now = [count_cycles(sides[factor]) for factor in touched]
            effort -= len(touched)
            # Equal ones are accepted, and now and then a worse one, so that the search does not stand still.
            if sum(now) <= sum(cycles[factor] for factor in touched) or rng.random() < calm:
                for factor, number in zip(touched, now, strict=True):
                    cycles[factor] = number
            else:
                _switch(sides, colour, (u, v, w, x), other, one)
            if sum(cycles) == factors or effort <= 0:
                break
    return [] if sum(cycles) > factors else [_around(each) for each in sides]


def _faces(edges: list[tuple[int, int]], count: int) -> list[tuple[int, int, int, int]]:
    """Return the 4-cycles (u, v, w, x), each once with u least and v < x."""
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    return [(u, v, w, x) for u in range(count) for v in sorted(near[u]) if v > u for x in sorted(near[u]) if x > v
            for w in sorted(near[v] & near[x]) if w > u]  # fmt: skip


def _switch(
    sides: np.ndarray, colour: dict[tuple[int, int], int], face: tuple[int, int, int, int], one: int, other: int
) -> None:
    """Give edges uv, wx of factor `one` to `other`, and vw, xu of `other` to `one`."""
    u, v, w, x = face
    for a, b in ((u, v), (w, x)):
        colour[min(a, b), max(a, b)] = other
    for a, b in ((v, w), (x, u)):
        colour[min(a, b), max(a, b)] = one
    for here, in_one, in_other in ((u, v, x), (v, u, w), (w, x, v), (x, w, u)):
        if one >= 0:
            sides[one, here, 0 if sides[one, here, 0] == in_one else 1] = in_other
        if other >= 0:
            sides[other, here, 0 if sides[other, here, 0] == in_other else 1] = in_one


@cache
def _cycle_counter():
    """Return the compiled function that counts the cycles of a 2-factor, given as two neighbours for each place."""
    import numba

    @numba.njit(cache=True, nogil=True)
    def cycles(sides):
        seen = np.zeros(len(sides), np.bool_)
        number = 0
        for first in range(len(sides)):
            if not seen[first]:
                number += 1
                here = first
                while not seen[here]:
                    seen[here] = True
                    here = sides[here, 1] if seen[sides[here, 0]] else sides[here, 0]
        return number

    return cycles


def _around(sides: np.ndarray) -> np.ndarray:
    """Return the places of a 2-factor of one cycle in its order."""
    order, previous = [0], -1
    while len(order) < len(sides):
        a, b = sides[order[-1]].tolist()
        following = b if a == previous else a
        previous = order[-1]
        order.append(following)
    return np.array(order)


def _with_reverses(orders: list[np.ndarray]) -> list[np.ndarray]:
    """Return each ring followed by its reverse, which starts at the same place."""
    return [each for order in orders for each in (order, np.roll(order[::-1], 1))]


def _on_links(arcs: _Arcs, orders: list[np.ndarray]) -> list[Circuit]:
    """Return the rings with the links that they take: of parallel ones, that with the most units left."""
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


def _nearest(cost: np.ndarray) -> np.ndarray:
    """Return the order that goes from the first place to the nearest new one each time."""
    left = np.ones(len(cost), bool)
    order = [0]
    left[0] = False
    while left.any():
        order.append(int(np.argmin(np.where(left, cost[order[-1]], np.inf))))
        left[order[-1]] = False
    return np.array(order)


def _preorder(cost: np.ndarray) -> np.ndarray:
    """Return the preorder of a minimum spanning tree: at most twice the shortest ring where cost is symmetric."""
    from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

    tree = minimum_spanning_tree(cost + cost.T)
    order: np.ndarray = depth_first_order(tree + tree.T, 0, directed=False, return_predecessors=False).astype(np.int64)
    return order


def _length(cost: np.ndarray, order: np.ndarray) -> float:
    """Return the cost of a ring."""
    return float(cost[order, np.roll(order, -1)].sum())


def _two_opt(cost: np.ndarray, order: np.ndarray, passes: int = 20) -> np.ndarray:
    """Return the order after reversals of parts that shorten it; exact for networks that differ by direction too."""
    order, count = order.copy(), len(order)
    for _ in range(passes):
        before = _length(cost, order)
        for i in range(count - 2):
            # Part i+1…j is reversed: two joints change, and every step inside goes the other way.
            a, inner = order[i], order[i + 1 :]
            after = np.roll(order, -1)[i + 1 :]
            turned = np.concatenate([[0], np.cumsum(cost[inner[1:], inner[:-1]] - cost[inner[:-1], inner[1:]])])
            gain = cost[a, inner[0]] + cost[inner, after] - cost[a, inner] - cost[inner[0], after] - turned
            best = int(np.argmax(gain))
            if gain[best] > 0.5:
                order[i + 1 : i + best + 2] = order[i + 1 : i + best + 2][::-1].copy()
        if _length(cost, order) >= before:
            break
    return order
