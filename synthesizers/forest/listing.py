"""Trees turned into a schedule: pieces go down, or up, all trees at once, and each link carries what matters most.

A list scheduler runs the schedule ahead of time: as soon as a link is free it takes, of what is ready, the hop of the
oldest piece, and of these the one from which the way to go is longest. Then it runs backwards, what ended last first,
and so on, which moves both ends together (forward-backward improvement, Li and Willis, EJOR 56, 1992); and all that once
more, backwards first. The order in which hops start in the shortest run is the program.
"""

from __future__ import annotations

import copy
import heapq
from dataclasses import dataclass

import numba
import numpy as np

from schedules import Collective, Schedule
from simulator.link_model import LinkModel, wire_ps
from synthesizers.forest.distances import MESSAGE
from synthesizers.forest.trees import Trees
from topologies import Topology


#: Times that a schedule is run, forwards and backwards in turn.
_RUNS = 5

#: Runs without gain after which there are no more.
_PATIENCE = 2

#: Hops beyond which it is run once.
_MAX_REPEATED = 2**17


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
    columns = {"chunk": edges.chunk, "link": edges.links, "reduce": None, "flow": None}
    if len(edges.chunk):
        length = np.diff(edges.start)
        order = _order(topology, collective, edges, pieces, size, model)
        piece, hop = np.divmod(order, len(edges.links))
        edge = np.repeat(np.arange(len(length)), length)[hop]
        columns = {
            "chunk": edges.chunk[edge] + piece, "link": edges.links[hop],
            "reduce": edges.adds[edge] if edges.adds.any() else None,
            "flow": np.where(length[edge] > 1, piece * len(length) + edge, -1) if (length > 1).any() else None,
        }  # fmt: skip
    return Schedule(topology, collective, **columns, notes={"trees": edges.num_trees, "pieces": pieces})


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
    for first in (0, 1) if repeated else (0,):
        source, target = both[first][:2]
        left = _way_to_go(source, target, cost, len(both[0][4]) - 1, first == 1)
        # Of equally urgent ones NPU r sends to r + 1 first, then to r + 2 …: not all to the same.
        rank = np.lexsort((edges.shift, -left))
        by_rank = (rank + np.arange(pieces)[:, None] * len(rank)).ravel()
        misses = 0
        for run in range(first, first + _RUNS if repeated else 1):
            if misses == _PATIENCE:
                break
            misses += 1
            order, begun, time = _started(pieces, by_rank, *both[run % 2], *modelled)
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
    left = _way_to_go(edges.source, edges.target, np.add.reduceat(cost, edges.start[:-1]), edges.num_places, False)
    by_rank = np.lexsort((edges.shift, -left))
    one_size = np.zeros(len(trees.root), np.int32)
    every_rate = np.arange(topology.num_links, dtype=np.int32)
    time = _started(1, by_rank, *edges.places(), edges.chunk, wire, one_size, every_rate, topology.latency_ps, False, True)
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
                parts.append((flood.chunk[trees.tree], *ends, np.full(len(base), adds), np.diff(trees.start), trees.links,
                              (trees.target - trees.source) % num_nodes))
            self.num_trees += len(flood.chunk)
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, np.int64)] * 7
        self.chunk, source, target, self.adds, length, self.links, self.shift = columns
        places, place = np.unique(np.concatenate([source, target]), return_inverse=True)
        self.source, self.target = place[: len(source)], place[len(source) :]
        self.num_places = len(places)
        self.start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)

    def places(self) -> tuple[np.ndarray, ...]:
        """Return (source, target, start, links, first, following): ``following[first[p]:first[p + 1]]`` leave place p."""
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


@numba.njit(cache=True, nogil=True)
def _way_to_go(source, target, cost, num_places, listed_last_first):
    """Return for each edge the cost of the longest way from its source on, itself included."""
    beyond = np.zeros(num_places, np.int64)
    left = np.zeros(len(cost), np.int64)
    for place in range(len(cost)):
        edge = place if listed_last_first else len(cost) - 1 - place
        left[edge] = cost[edge] + beyond[target[edge]]
        beyond[source[edge]] = max(beyond[source[edge]], left[edge])
    return left


@numba.njit(cache=True, nogil=True)
def _started(
    pieces, by_rank, source, target, start, links, first, following, chunk, wire, size_class, rate_class, alpha,
    blocking, cut_through,
):  # fmt: skip
    """Return what a list scheduler does: (order of hops as piece · hops + hop, start of piece · edges + edge, time).

    Of what is ready a link takes what comes first in `by_rank`, piece · edges + edge.
    """
    num_edges, num_hops, num_links, num_places = len(source), len(links), len(alpha), len(first) - 1
    edge_of = np.empty(num_hops, np.int64)
    for edge in range(num_edges):
        edge_of[start[edge] : start[edge + 1]] = edge
    rank = np.empty(len(by_rank), np.int64)
    rank[by_rank] = np.arange(len(by_rank))
    begun = np.zeros(len(by_rank), np.int64)
    done = np.int64(0)
    missing = np.zeros((pieces, num_places), np.int32)
    for edge in range(num_edges):
        missing[:, target[edge]] += 1
    # Of each link a heap of piece · edges + rank, in a part of one array.
    begin = np.zeros(num_links + 1, np.int64)
    for hop in range(num_hops):
        begin[links[hop] + 1] += pieces
    for link in range(num_links):
        begin[link + 1] += begin[link]
    heap = np.empty(begin[num_links], np.int64)
    waiting = np.zeros(num_links, np.int64)
    free = np.zeros(num_links, np.int64)
    called = np.zeros(num_links, np.bool_)
    events = [(np.int64(0), np.int64(0)) for _ in range(0)]  # (time, hop that may go on, or past all hops a link)
    total = pieces * num_hops
    order = np.empty(total, np.int64)
    count = 0
    ready = np.empty(num_edges + 1, np.int64)
    for opening in range(-pieces * num_places, 1):
        # First all places that need nothing, then the events until there are none.
        while True:
            now, num_ready, piece = np.int64(0), 0, 0
            if opening < 0:
                place = opening + pieces * num_places
                piece, place = place // num_places, place % num_places
                if missing[piece, place] == 0:
                    for at in range(first[place], first[place + 1]):
                        ready[num_ready] = start[following[at]]
                        num_ready += 1
            else:
                if len(events) == 0:
                    break
                now, code = heapq.heappop(events)
                if code >= total:
                    link = code - total
                    called[link] = False
                    base, left = begin[link], waiting[link] - 1
                    key = heap[base]
                    last = heap[base + left]
                    waiting[link] = left
                    at = 0
                    while 2 * at + 1 < left:
                        child = 2 * at + 1
                        if child + 1 < left and heap[base + child + 1] < heap[base + child]:
                            child += 1
                        if heap[base + child] >= last:
                            break
                        heap[base + at] = heap[base + child]
                        at = child
                    heap[base + at] = last
                    piece, edge = by_rank[key] // num_edges, by_rank[key] % num_edges
                    hop = start[edge]
                    while links[hop] != link:
                        hop += 1
                    if hop == start[edge]:
                        begun[by_rank[key]] = now
                    order[count] = piece * num_hops + hop
                    count += 1
                    size = size_class[chunk[edge] + piece]
                    busy = wire[size, rate_class[link]]
                    end = now + alpha[link] + busy
                    done = max(done, end)
                    free[link] = end if blocking else now + busy
                    if hop + 1 < start[edge + 1] and cut_through:
                        # The next hop may begin early, but ends no earlier than this one does.
                        end = max(now + alpha[link], end - wire[size, rate_class[links[hop + 1]]])
                    heapq.heappush(events, (end, piece * num_hops + hop))
                    if left > 0:
                        called[link] = True
                        heapq.heappush(events, (free[link], total + link))
                    continue
                piece, hop = code // num_hops, code % num_hops
                edge = edge_of[hop]
                if hop + 1 < start[edge + 1]:
                    ready[0], num_ready = hop + 1, 1
                else:
                    place = target[edge]
                    missing[piece, place] -= 1
                    if missing[piece, place] == 0:
                        for at in range(first[place], first[place + 1]):
                            ready[num_ready] = start[following[at]]
                            num_ready += 1
            for index in range(num_ready):
                hop = ready[index]
                link = links[hop]
                key = rank[piece * num_edges + edge_of[hop]]
                base, at = begin[link], waiting[link]
                waiting[link] += 1
                while at > 0 and heap[base + (at - 1) // 2] > key:
                    heap[base + at] = heap[base + (at - 1) // 2]
                    at = (at - 1) // 2
                heap[base + at] = key
                if not called[link]:
                    called[link] = True
                    heapq.heappush(events, (max(now, free[link]), total + link))
            if opening < 0:
                break
    return order, begun, done
