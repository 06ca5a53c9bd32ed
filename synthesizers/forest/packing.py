"""Trees packed into capacities: from each root as many spanning trees as it has to have, grown link by link.

Edmonds' theorem says that the trees exist where every NPU can receive all of them; Tarjan's and Schrijver's proofs grow
them: an arc from x to y, with x in the tree and y not, may be added to μ like trees at once if that leaves enough room
for the rest, and one max-flow from x to y says how large μ may be (A. Schrijver, Combinatorial Optimization, 2003,
chapter 53; ForestColl, arXiv 2402.06787). Trees grow breadth first, over the arcs with the most room, so they stay low.
"""

from __future__ import annotations

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
    nodes : list of int
        In the order in which they were reached.
    edges : list of (int, int)
        In that order too.
    count : int
        How many trees.
    closed : set of int
        Arcs that can no longer be added.
    """

    nodes: list[int]
    edges: list[tuple[int, int]]
    count: int
    closed: set[int] = field(default_factory=set)

    def parted(self, count: int) -> Growth:
        """Return so many of the trees on their own."""
        self.count -= count
        return Growth(list(self.nodes), list(self.edges), count, set(self.closed))


def pack_trees(arcs: Arcs, supply: Mapping[int, int], members: list[int]) -> list[Growth]:
    """Return trees from all roots, each over all members, that together stay within the capacities.

    Parameters
    ----------
    arcs : Arcs
        Between members, in whole trees; every member can receive all that is supplied.
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
    packing = _Packing(arcs, supply, members)
    done = []
    for root, count in supply.items():
        packing.waiting[root] = 0
        growing = [Growth([root], [], count)] if count else []
        while growing:
            trees = growing.pop()
            while len(trees.nodes) < len(members):
                rest = packing.extend(trees, growing)
                if rest is not None:
                    growing.append(rest)
            done.append(trees)
    return done


class _Packing:
    """The room that is left, and the max-flows that guard it."""

    def __init__(self, arcs: Arcs, supply: Mapping[int, int], members: list[int]) -> None:
        self.num_nodes, self.members = arcs.num_nodes, members
        self.src, self.dst, self.room = arcs.src.tolist(), arcs.dst.tolist(), arcs.room.tolist()
        self.all_room = list(self.room)
        self.columns = arcs.src.astype(np.int64), arcs.dst.astype(np.int64)
        self.waiting = dict.fromkeys(members, 0) | dict(supply)  # trees of roots that have not begun
        self.out: dict[int, list[int]] = {node: [] for node in members}
        for arc, node in enumerate(self.src):
            self.out[node].append(arc)

    def extend(self, trees: Growth, others: list[Growth]) -> Growth | None:
        """Add an arc to as many of the trees as may have it; return the rest of them, if any."""
        reached = set(trees.nodes)
        for node in trees.nodes:
            open_arcs = [arc for arc in self.out[node]
                         if self.room[arc] and self.dst[arc] not in reached and arc not in trees.closed]  # fmt: skip
            for arc in sorted(open_arcs, key=lambda arc: (-self.room[arc] / self.all_room[arc], arc)):
                count = min(trees.count, self.room[arc])
                count = min(count, self._spare(arc, trees, others, count))
                if count <= 0:
                    trees.closed.add(arc)
                    continue
                rest = trees.parted(trees.count - count) if count < trees.count else None
                self.room[arc] -= count
                trees.nodes.append(self.dst[arc])
                trees.edges.append((node, self.dst[arc]))
                return rest
        raise SynthesisError("forest: the trees do not fit the links; please report it")

    def _spare(self, arc: int, trees: Growth, others: list[Growth], most: int) -> int:
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
            heads += [np.array([self.num_nodes]), np.full(len(each.nodes), number)]
            tails += [np.array([number]), np.array(each.nodes)]
            rooms += [np.array([each.count]), np.full(len(each.nodes), _UNBOUNDED)]
        flow.add_arcs_with_capacity(
            np.concatenate([self.columns[0], *heads]), np.concatenate([self.columns[1], *tails]),
            np.concatenate([np.array(self.room, np.int64), *rooms]),
        )  # fmt: skip
        flow.solve(self.num_nodes, target)
        return flow.optimal_flow() - needed
