"""Trees as columns: the edges of many trees, each edge with its route over the links of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from synthesizers.forest.splitting import Route
from topologies import Topology


@dataclass(frozen=True)
class Trees:
    """Trees over the members of one group.

    Attributes
    ----------
    root : (T,) int64 array
        Of each tree; ascending by place of the root in the group.
    tree : (E,) int64 array
        The tree of each edge.
    source, target : (E,) int64 arrays
        The ends of each edge, away from the root. An edge stands after the one that leads to its source.
    start : (E + 1,) int64 array
    links : int64 array
        The route of edge e is ``links[start[e]:start[e + 1]]``, in the order in which data takes it.
    """

    root: np.ndarray
    tree: np.ndarray
    source: np.ndarray
    target: np.ndarray
    start: np.ndarray
    links: np.ndarray

    def load(self, num_links: int) -> np.ndarray:
        """Return (num_links,) int64: how many trees take each link."""
        return np.bincount(self.links, minlength=num_links)

    def depth(self) -> np.ndarray:
        """Return (E,) int64: edges from the root to the target of each edge."""
        found: dict[tuple[int, int], int] = {}
        for tree, source, target in zip(self.tree.tolist(), self.source.tolist(), self.target.tolist(), strict=True):
            found[tree, target] = found.get((tree, source), 0) + 1
        return np.array(list(found.values()), np.int64)

    def renumbered(self, links: np.ndarray) -> Trees:
        """Return the same trees where link l of the routes is ``links[l]`` of another network."""
        return replace(self, links=links[self.links])

    def turned(self) -> Trees:
        """Return the same trees with data going to the roots: edges from the leaves first, routes turned round.

        The links are those of the reversed network, which have the same numbers.
        """
        start = np.zeros(len(self.start), np.int64)
        np.cumsum(np.diff(self.start)[::-1], out=start[1:])
        return Trees(self.root, self.tree[::-1], self.target[::-1], self.source[::-1], start, self.links[::-1])


def on_links(topology: Topology, roots: Sequence[int], edges: Sequence[Sequence[Route]]) -> Trees:
    """Return trees given by the routes of their edges, each spread over parallel links as these are fast.

    Parameters
    ----------
    topology : Topology
    roots : (T,) sequence of int
    edges : (T,) sequence of sequences of routes
        Of each tree the edges as nodes, source first; an edge after the one that leads to its source.
    """
    between: dict[tuple[int, int], list[int]] = {}
    for link, ends in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        between.setdefault(ends, []).append(link)
    rates, load = topology.bytes_per_s.tolist(), [0] * topology.num_links
    links: list[int] = []
    start = [0]
    columns: list[tuple[int, int, int]] = []
    for tree, routes in enumerate(edges):
        for route in routes:
            for ends in pairwise(route):
                link = min(between[ends], key=lambda link: (load[link] + 1) / rates[link])
                load[link] += 1
                links.append(link)
            start.append(len(links))
            columns.append((tree, route[0], route[-1]))
    of_tree, source, target = np.array(columns, np.int64).reshape(-1, 3).T
    return Trees(np.array(roots, np.int64), of_tree, source, target, np.array(start), np.array(links, np.int64))
