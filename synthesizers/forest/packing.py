"""Trees packed into capacities: from each root as many spanning trees as it has to have, grown link by link.

Edmonds' theorem says that the trees exist where every NPU can receive all of them; Tarjan's and Schrijver's proofs grow
them: an arc from x to y, with x in the tree and y not, may be added to μ like trees at once if that leaves enough room
for the rest, and one max-flow from x to y says how large μ may be (A. Schrijver, Combinatorial Optimization, 2003,
chapter 53; ForestColl, arXiv 2402.06787). Trees grow to the nearest node first, over the arcs with the most room, so
they stay low.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from synthesizers.forest.capacities import Arcs
from topologies.exceptions import SynthesisError

_UNBOUNDED = 2**60


@dataclass
class Growth:
    """Some like trees of one root, grown so far.

    Attributes
    ----------
    distance : dict
        Of each node that is reached, in that order.
    edges : list of (int, int)
        In that order too.
    count : int
        How many trees.
    ahead : list
        A heap of arcs that may be added, nearest target first.
    """

    distance: dict[int, float]
    edges: list[tuple[int, int]]
    count: int
    ahead: list[tuple[float, float, float, int]] = field(default_factory=list)

    @property
    def root(self) -> int:
        """Where the trees begin."""
        return next(iter(self.distance))

    def parted(self, count: int) -> Growth:
        """Return so many of the trees on their own."""
        self.count -= count
        return Growth(dict(self.distance), list(self.edges), count, list(self.ahead))


def pack_trees(arcs: Arcs, cost: list[float], supply: Mapping[int, int], members: list[int]) -> list[Growth]:
    """Return trees from all roots, each over all members, that together stay within the capacities.

    Parameters
    ----------
    arcs : Arcs
        Between members, in whole trees; every member can receive all that is supplied.
    cost : list of float
        How long each arc is.
    supply : mapping
        Trees of each root.
    members : list of int

    Returns
    -------
    list of Growth
        By root in the order of `supply`; like trees together.

    Raises
    ------
    SynthesisError
        The trees do not fit: the capacities do not keep what is said above.
    """
    packing = _Packing(arcs, cost, supply, members)
    done = []
    for root, count in supply.items():
        packing.waiting[root] = 0
        growing = [packing.begun(root, count)] if count else []
        while growing:
            trees = growing.pop()
            while len(trees.distance) < len(members):
                rest = packing.extend(trees, growing)
                if rest is not None:
                    growing.append(rest)
            done.append(trees)
    return done


class _Packing:
    """The room that is left, and the max-flows that guard it."""

    def __init__(self, arcs: Arcs, cost: list[float], supply: Mapping[int, int], members: list[int]) -> None:
        self.cost, self.num_nodes, self.members = cost, arcs.num_nodes, members
        self.src, self.dst, self.room = arcs.src.tolist(), arcs.dst.tolist(), arcs.room.tolist()
        self.all_room = list(self.room)
        self.columns = arcs.src.astype(np.int64), arcs.dst.astype(np.int64)
        self.waiting = dict.fromkeys(members, 0) | dict(supply)  # trees of roots that have not begun
        self.out: dict[int, list[int]] = {node: [] for node in members}
        for arc, node in enumerate(self.src):
            self.out[node].append(arc)

    def begun(self, root: int, count: int) -> Growth:
        """Return trees of a root alone."""
        trees = Growth({}, [], count)
        self._reach(trees, root, 0.0)
        return trees

    def _reach(self, trees: Growth, node: int, distance: float) -> None:
        """Add a node to trees, and what can be reached from it."""
        trees.distance[node] = distance
        for arc in self.out[node]:
            if self.room[arc] and self.dst[arc] not in trees.distance:
                used = 1 - self.room[arc] / self.all_room[arc]
                heapq.heappush(trees.ahead, (distance + self.cost[arc], self.cost[arc], used, arc))

    def extend(self, trees: Growth, others: list[Growth]) -> Growth | None:
        """Add an arc to as many of the trees as may have it; return the rest of them, if any."""
        while trees.ahead:
            distance, _, _, arc = trees.ahead[0]
            count = min(trees.count, self.room[arc])
            if count and self.dst[arc] not in trees.distance:
                count = min(count, self._spare(arc, others))
            else:
                count = 0
            if count <= 0:  # nor will there ever be room for these trees
                heapq.heappop(trees.ahead)
                continue
            rest = trees.parted(trees.count - count) if count < trees.count else None
            heapq.heappop(trees.ahead)
            self.room[arc] -= count
            trees.edges.append((self.src[arc], self.dst[arc]))
            self._reach(trees, self.dst[arc], distance)
            return rest
        raise SynthesisError("forest: the trees do not fit the links; please report it")

    def _spare(self, arc: int, others: list[Growth]) -> int:
        """Return how many trees may take an arc so that all that are not complete can still be completed."""
        from ortools.graph.python.max_flow import SimpleMaxFlow

        source, target = self.src[arc], self.dst[arc]
        flow = SimpleMaxFlow()
        needed = sum(self.waiting.values()) + sum(each.count for each in others)
        inflow = [_UNBOUNDED if node == source else self.waiting[node] for node in self.members]
        heads = [np.full(len(self.members), self.num_nodes)]
        tails = [np.array(self.members)]
        rooms = [np.array(inflow)]
        for number, each in enumerate(others, self.num_nodes + 1):
            heads += [np.array([self.num_nodes]), np.full(len(each.distance), number)]
            tails += [np.array([number]), np.array(list(each.distance))]
            rooms += [np.array([each.count]), np.full(len(each.distance), _UNBOUNDED)]
        flow.add_arcs_with_capacity(
            np.concatenate([self.columns[0], *heads]), np.concatenate([self.columns[1], *tails]),
            np.concatenate([np.array(self.room, np.int64), *rooms]),
        )  # fmt: skip
        flow.solve(self.num_nodes, target)
        return flow.optimal_flow() - needed
