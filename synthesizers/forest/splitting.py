"""Relays split off: a network whose switches only forward becomes one of NPUs alone, with the same trees.

An arc into a relay and one out of it are replaced by one past it, as much at a time as leaves every NPU able to receive
all trees (Bang-Jensen, Frank and Jackson, SIAM J. Discrete Math. 8, 1995; ForestColl, arXiv 2402.06787). Where a relay
receives at least what it sends, all that it sends can be split so. Each new arc keeps the routes it stands for. First a
relay's arcs are dealt out in even rotations and all checked at once; only where that takes too much are pairs of arcs
split one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from synthesizers.forest.capacities import Arcs, least_flow

Route = tuple[int, ...]


class Logical:
    """Arcs between nodes, each with the routes that it stands for.

    Attributes
    ----------
    routes : dict
        For (source, target) the routes, as nodes, each with how many trees may take it.
    """

    def __init__(self, arcs: Arcs) -> None:
        self.num_nodes = arcs.num_nodes
        self.routes: dict[tuple[int, int], dict[Route, int]] = {}
        for source, target, room in zip(arcs.src.tolist(), arcs.dst.tolist(), arcs.room.tolist(), strict=True):
            if room:
                self.routes[source, target] = {(source, target): room}

    def arcs(self) -> Arcs:
        """Return the arcs, in ascending order."""
        pairs = sorted(self.routes)
        room = [sum(self.routes[pair].values()) for pair in pairs]
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        return Arcs(self.num_nodes, ends[:, 0], ends[:, 1], np.array(room, np.int64))

    def room(self, source: int, target: int) -> int:
        """Return the capacity of an arc."""
        return sum(self.routes.get((source, target), {}).values())

    def take(self, source: int, target: int, count: int) -> list[tuple[Route, int]]:
        """Remove a part of an arc and return the routes that it stood for, shortest first."""
        routes, taken = self.routes[source, target], []
        for route in sorted(routes, key=lambda route: (len(route), route)):
            part = min(count, routes[route])
            taken.append((route, part))
            routes[route] -= part
            count -= part
            if not routes[route]:
                del routes[route]
            if not count:
                break
        if not routes:
            del self.routes[source, target]
        return taken

    def split(self, source: int, relay: int, target: int, count: int) -> None:
        """Replace a part of the arcs source → relay → target by one past the relay; nothing where the ends are one."""
        before, after = self.take(source, relay, count), self.take(relay, target, count)
        if source == target:
            return
        joined = self.routes.setdefault((source, target), {})
        while before:
            (head, first), (tail, second) = before.pop(), after.pop()
            part = min(first, second)
            route = _straight(head + tail[1:])
            joined[route] = joined.get(route, 0) + part
            if first > part:
                before.append((head, first - part))
            if second > part:
                after.append((tail, second - part))

    def copy(self) -> Logical:
        """Return a copy."""
        clone = Logical.__new__(Logical)
        clone.num_nodes = self.num_nodes
        clone.routes = {pair: dict(routes) for pair, routes in self.routes.items()}
        return clone


def split_off(arcs: Arcs, relays: Sequence[int], supply: Mapping[int, int], members: Sequence[int]) -> Logical:
    """Return the arcs between members that carry the same trees, with the routes through the relays.

    Parameters
    ----------
    arcs : Arcs
        In whole trees; every member can receive all that is supplied, and no relay sends more than it receives.
    relays : sequence of int
    supply : mapping
        Trees of each root.
    members : sequence of int
    """
    wanted = sum(supply.values())
    logical = Logical(arcs)
    # The fastest relays first: what they join, the slower ones need not.
    for relay in sorted(relays, key=lambda node: (-arcs.through(node)[0], node)):
        dealt = _dealt(logical, relay)
        if least_flow(dealt.arcs(), supply, members, wanted, wanted - 1) == wanted:
            logical = dealt
        else:
            _split_one_by_one(logical, relay, supply, list(members), wanted)
    return logical


def _straight(route: Route) -> Route:
    """Return a route without the circles in it."""
    nodes: list[int] = []
    for node in route:
        if node in nodes:
            del nodes[nodes.index(node) :]
        nodes.append(node)
    return tuple(nodes)


def _ends(logical: Logical, relay: int) -> tuple[list[int], list[int]]:
    """Return the sources of the arcs into a relay, and the targets of those out of it."""
    return (sorted(source for source, target in logical.routes if target == relay),
            sorted(target for source, target in logical.routes if source == relay))  # fmt: skip


def _dealt(logical: Logical, relay: int) -> Logical:
    """Return the arcs with a relay split off evenly, those sources and targets first that have no arc yet."""
    logical = logical.copy()
    sources, targets = _ends(logical, relay)
    members = sorted({*sources, *targets})
    place, count = {node: index for index, node in enumerate(members)}, len(members)
    known: dict[int, int] = defaultdict(int)  # of each rotation, how many of its pairs have an arc already
    for source in sources:
        for target in targets:
            known[(place[target] - place[source]) % count] += (source, target) in logical.routes
    known.pop(0, None)
    while known:
        most = max((logical.room(source, relay) for source in sources), default=0)
        fewest = min(known.values())
        turns = sorted(turn for turn, pairs in known.items() if pairs == fewest)
        unit = max(1, most // len(turns))
        if most < len(turns):  # spread over the turns that there are
            turns = [turns[round(index * (len(turns) - 1) / max(most - 1, 1))] for index in range(max(most, 1))]
        moved = False
        for turn in turns:
            for source in sources:
                target = members[(place[source] + turn) % count]
                part = min(unit, logical.room(source, relay), logical.room(relay, target))
                if part and source != target:
                    logical.split(source, relay, target, part)
                    moved = True
        if not moved:
            for turn in turns:
                known.pop(turn, None)
    _drop(logical, relay)
    return logical


def _split_one_by_one(logical: Logical, relay: int, supply: Mapping[int, int], members: list[int], wanted: int) -> None:
    """Split off a relay, each time as much of two arcs as leaves every member all trees."""
    sources, targets = _ends(logical, relay)
    for target in targets:
        # An arc that is not there yet brings trees nearer; an arc back to where it came from only wastes.
        for source in sorted(sources, key=lambda node: (node == target, (node, target) in logical.routes, node)):
            part = min(logical.room(source, relay), logical.room(relay, target))
            if not part:
                continue
            tried = logical.copy()
            tried.split(source, relay, target, part)
            left = least_flow(tried.arcs(), supply, members, wanted, wanted - part)
            part -= wanted - left
            if part > 0:
                logical.split(source, relay, target, part)
    _drop(logical, relay)


def _drop(logical: Logical, relay: int) -> None:
    """Remove what is left of the arcs of a relay."""
    for pair in [pair for pair in logical.routes if relay in pair]:
        del logical.routes[pair]
