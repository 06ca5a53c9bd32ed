"""Trees turned into a schedule: pieces go down, or up, all trees at once, and each link carries what matters most.

A list scheduler runs the schedule ahead of time: as soon as a link is free it takes, of what is ready, the hop of the
oldest piece, and of these the one from which the way to go is longest. Then it runs backwards, what began last first,
and so on, which moves both ends together (forward-backward improvement, Li and Willis, EJOR 56, 1992); and all that
once more, backwards first. The order in which hops start in the shortest run is the program.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from schedules import Collective, Schedule
from simulator.link_model import LinkModel, wire_ps
from synthesizers.forest.distances import MESSAGE
from synthesizers.forest.list_scheduler import started, way_to_go
from synthesizers.forest.trees import Trees
from topologies import Topology
from topologies.memory import require_memory

#: Times that a schedule is run, forwards and backwards in turn.
_RUNS = 5

#: Runs without gain after which there are no more.
_PATIENCE = 2

#: Bytes that a hop takes at the peak.
_BYTES_PER_HOP = 200

#: Hops beyond which it is run once.
_MAX_REPEATED = 2**15


@dataclass(frozen=True)
class Flood:
    """Trees over which data goes, each with its own chunks: `up` to the roots, then `down` from them.

    Attributes
    ----------
    chunk : (T,) int64 array
        The first chunk of each tree; its pieces are the next ones.
    down, up : Trees or None
        Where both are given they have the same roots in the same order. The links are those of one network: `up` is
        `Trees.turned`.
    """

    chunk: np.ndarray
    down: Trees | None = None
    up: Trees | None = None


def listed(
    topology: Topology, collective: Collective, floods: list[Flood], pieces: int, size: int, model: LinkModel
) -> Schedule:
    """Return the schedule of all floods at once, each tree's share in so many pieces.

    Parameters
    ----------
    topology : Topology
    collective : Collective
        In the chunks that the floods name.
    floods : list of Flood
    pieces : int
        Chunks of each tree.
    size : int
        Bytes that the order is planned for.
    model : LinkModel
        Planned for too.
    """
    edges = _Edges(topology.num_nodes, floods)
    notes = {"trees": edges.num_trees, "pieces": pieces}
    if not len(edges.chunk):
        return Schedule(topology, collective, chunk=edges.chunk, link=edges.links, notes=notes)
    length = np.diff(edges.start)
    require_memory(pieces * len(edges.links) * _BYTES_PER_HOP, f"{collective.kind} as {pieces * len(edges.links)} hops")
    order = _order(topology, collective, edges, pieces, size, model)
    piece, hop = np.divmod(order, len(edges.links))
    edge = np.repeat(np.arange(len(length)), length)[hop]
    return Schedule(
        topology, collective, chunk=edges.chunk[edge] + piece, link=edges.links[hop], notes=notes,
        reduce=edges.adds[edge] if edges.adds.any() else None,
        flow=np.where(length[edge] > 1, piece * len(length) + edge, -1) if (length > 1).any() else None,
    )  # fmt: skip


def _order(
    topology: Topology, collective: Collective, edges: _Edges, pieces: int, size: int, model: LinkModel
) -> np.ndarray:
    """Return piece · hops + hop of all hops, as a list scheduler starts them."""
    sizes, size_class = np.unique(collective.chunk_bytes(size), return_inverse=True)
    size_class = size_class.astype(np.int32)
    rates, rate_class = np.unique(topology.bytes_per_s, return_inverse=True)
    rate_class = rate_class.astype(np.int32)
    wire = wire_ps(sizes[:, None], rates[None, :])
    modelled = (edges.chunk, wire, size_class, rate_class, topology.latency_ps,
                model.latency == "blocking", model.switching == "cut_through")  # fmt: skip
    edge_of = np.repeat(np.arange(len(edges.chunk)), np.diff(edges.start))
    cost = topology.latency_ps[edges.links] + wire[size_class[edges.chunk[edge_of]], rate_class[edges.links]]
    cost = np.add.reduceat(cost, edges.start[:-1])
    both = edges.places(), edges.turned().places()
    shortest, best = -1, np.zeros(0, np.int64)
    repeated = pieces * len(edges.links) <= _MAX_REPEATED
    # What only goes up is best begun from its end.
    for first in (0, 1) if repeated else (int(edges.adds.all()),):
        source, target = both[first][:2]
        left = way_to_go(source, target, cost, len(both[0][4]) - 1, first == 1)
        # Of equally urgent ones NPU r sends to r + 1 first, then to r + 2 …: not all to the same.
        rank = np.lexsort((edges.shift, -left))
        by_rank = (rank + np.arange(pieces)[:, None] * len(rank)).ravel()
        misses = 0
        for run in range(first, first + (_RUNS if repeated else 1)):
            if misses == _PATIENCE:
                break
            misses += 1
            order, begun, time = started(pieces, by_rank, *both[run % 2], *modelled)  # type: ignore[call-arg]  # numba
            if shortest < 0 or time < shortest:
                shortest, best = time, edges.mirrored(order) if run % 2 else order
                misses = 0
            # What begins last goes first when time runs the other way.
            by_rank = np.argsort(-begun, kind="stable")
    return best


def flooding_times(topology: Topology, trees: Trees) -> tuple[int, int]:
    """Return how long it takes to flood all trees with one message each, and what the fullest link takes of that.

    In picoseconds, links taken for as long as a message of `MESSAGE` bytes is on them.
    """
    edges = _Edges(topology.num_nodes, [Flood(np.arange(len(trees.root)), trees)])
    wire = wire_ps(np.array([MESSAGE]), topology.bytes_per_s)[None]
    cost = topology.latency_ps[edges.links] + wire[0, edges.links]
    left = way_to_go(edges.source, edges.target, np.add.reduceat(cost, edges.start[:-1]), edges.num_places, False)
    by_rank = np.lexsort((edges.shift, -left))
    one_size = np.zeros(len(trees.root), np.int32)
    every_rate = np.arange(topology.num_links, dtype=np.int32)
    time = started(  # type: ignore[call-arg]  # numba
        1, by_rank, *edges.places(), edges.chunk, wire, one_size, every_rate, topology.latency_ps, False, True
    )
    return int(time[2]), int((trees.load(topology.num_links) * wire[0]).max())


class _Edges:
    """The edges of all trees for one piece, between places: a place is what a node has of a tree's chunk, up or down.

    Attributes
    ----------
    chunk, source, target : (E,) int64 arrays
        First chunk, and places; an edge stands after those into its source.
    adds : (E,) bool array
    start, links : int64 arrays
        Routes, as in `Trees`.
    num_places, num_trees : int
    """

    def __init__(self, num_nodes: int, floods: list[Flood]) -> None:
        parts: list[tuple[np.ndarray, ...]] = []
        self.num_trees = 0
        for flood in floods:
            for trees, adds in ((flood.up, True), (flood.down, False)):
                if trees is None:
                    continue
                # What a root has got from below is what it sends down.
                base = (self.num_trees + trees.tree) * 2 * num_nodes
                ends = [base + npus + np.where(npus == trees.root[trees.tree], 0, num_nodes * (not adds))
                        for npus in (trees.source, trees.target)]  # fmt: skip
                parts.append(
                    (
                        flood.chunk[trees.tree],
                        *ends,
                        np.full(len(base), adds),
                        np.diff(trees.start),
                        trees.links,
                        (trees.target - trees.source) % num_nodes,
                    )
                )
            self.num_trees += len(flood.chunk)
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, np.int64)] * 7
        self.chunk, source, target, self.adds, length, self.links, self.shift = columns
        places, place = np.unique(np.concatenate([source, target]), return_inverse=True)
        self.source, self.target = place[: len(source)], place[len(source) :]
        self.num_places = len(places)
        self.start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)

    def places(self) -> tuple[np.ndarray, ...]:
        """Return (source, target, start, links, first, following): following[first[p]:first[p + 1]] leave place p."""
        first = np.zeros(self.num_places + 1, np.int64)
        np.cumsum(np.bincount(self.source, minlength=self.num_places), out=first[1:])
        return self.source, self.target, self.start, self.links, first, np.argsort(self.source, kind="stable")

    def turned(self) -> _Edges:
        """Return the same edges, in the same order, taken the other way when time runs backwards."""
        clone = copy.copy(self)
        clone.source, clone.target = self.target, self.source
        length = np.diff(self.start)
        self.other_end = np.repeat(self.start[:-1] + self.start[1:] - 1, length) - np.arange(len(self.links))
        clone.links = self.links[self.other_end]
        return clone

    def mirrored(self, order: np.ndarray) -> np.ndarray:
        """Return an order of piece · hops + hop of the turned edges as one of these, last first."""
        piece, hop = np.divmod(order[::-1], len(self.links))
        mirrored: np.ndarray = piece * len(self.links) + self.other_end[hop]
        return mirrored
