"""Direct exchange: every rank sends straight to every other that needs the chunk, on shortest routes.

The one-step algorithms of Chan, Heimlich, Purkayastha and van de Geijn (2007) and the "direct" baseline of TACOS
(MICRO'24). On a fully connected network it is optimal; elsewhere its sends share links, so it is tuned as every
baseline is: the order of the sends and the choice among equally short routes are picked by simulation.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Literal

import numba
import numpy as np

from schedules import Collective, Schedule
from simulator.link_model import wire_ps
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import on_routes, routed
from synthesizers.tuning import Pieces, fastest, tuned
from topologies import Paths, Topology, ring

Order = Literal["shift", "farthest", "nearest"]
Routes = Literal["shortest", "balanced"]

#: ``auto`` compares orders and routes below this many hops per schedule; above, it takes the first of each.
_MAX_COMPARED_HOPS = 2**19


class Direct(Synthesizer):
    """Every rank sends straight to every other; AllReduce is ReduceScatter then AllGather."""

    name = "direct"
    reference = (
        "Chan, Heimlich, Purkayastha, van de Geijn, Collective communication: theory, practice, and experience, 2007"
    )

    class Options(OptionsBase, frozen=True):
        """Options of `Direct`.

        Parameters
        ----------
        order : {"auto", "shift", "farthest", "nearest"}
            Which sends are listed, and so start, first: rank r to r+1, then to r+2, … (``shift``: no receiver is hit
            by all at once), those of the longest routes, or those of the shortest. ``auto``: the fastest by simulation.
        routes : {"auto", "shortest", "balanced"}
            One shortest route for each pair, or for each send the least loaded so far of the equally short ones.
            ``auto``: the fastest by simulation.
        pieces : int or "auto"
            How often each chunk is cut; ``auto``: the fastest by simulation. Chunks of a custom collective stay whole.
        """

        order: Order | Literal["auto"] = "auto"
        routes: Routes | Literal["auto"] = "auto"
        pieces: Pieces = "auto"

    def synthesize(self, problem: Problem, options: Options) -> Schedule:
        """Return the direct schedule of any collective."""
        exchange = _Exchange(problem)
        orders: list[Order] = ["farthest", "shift", "nearest"] if options.order == "auto" else [options.order]
        routes: list[Routes] = ["balanced", "shortest"] if options.routes == "auto" else [options.routes]
        if options.routes == "auto" and exchange.allowed.unique:
            routes = ["balanced"]  # there is nothing to choose
        whole = 1 if options.pieces == "auto" else options.pieces
        choice = orders[0], routes[0]
        first = {choice: exchange.schedule(whole, *choice)}
        if len(orders) * len(routes) > 1 and first[choice].num_hops <= _MAX_COMPARED_HOPS:
            for other in product(orders, routes):
                if other not in first:
                    first[other] = exchange.schedule(whole, *other)
            best = fastest(problem, list(first.values()))
            choice = next(other for other, schedule in first.items() if schedule is best)

        def build(pieces: int) -> Schedule:
            """Return the schedule of the chosen order and routes, built already where it was compared."""
            return first[choice] if pieces == whole else exchange.schedule(pieces, *choice)

        can_cut = problem.collective.kind != "custom"
        return tuned(problem, build, options.pieces if can_cut or options.pieces != "auto" else 1)

    def warm_up(self) -> None:
        """Compile the kernels of the balanced routes."""
        balanced_routes(ShortestLinks(ring(2), np.array([0]), 1), np.array([0]), np.array([1]))


class _Exchange:
    """The sends of a problem with whole chunks, from which schedules of any order, routes and pieces are listed."""

    def __init__(self, problem: Problem) -> None:
        given = problem.collective
        self.topology = problem.topology
        self.collective = given.resharded(0, given.chunks) if given.kind == "all_reduce" and given.shards else given
        phases = [self.collective]
        if given.kind == "all_reduce":
            # Built of its halves' sends, not by `then`, which has no name for groups of different sizes.
            phases = [Collective(kind, given.num_npus, given.groups, given.chunks)
                      for kind in ("reduce_scatter", "all_gather")]  # fmt: skip
        holders = [phase.set_member[_expanded(phase.set_start, np.unique(phase.initial))[1]] for phase in phases]
        self.message_bytes = int(self.collective.chunk_bytes(problem.size).max(initial=0))
        self.allowed = ShortestLinks(self.topology, np.unique(np.concatenate(holders)), self.message_bytes)
        parts = [_sends(phase, self.allowed) for phase in phases]
        self.chunk, self.source, self.target = (np.concatenate(column) for column in zip(*parts, strict=True))
        counts = [len(part[0]) for part in parts]
        self.phase = np.repeat(np.arange(len(parts)), counts)
        self.reduce = np.repeat([phase.reduces for phase in phases], counts)
        # Only there may a receiver be a sender of the same chunk: it must send its own contribution, not a sum.
        final_sizes = np.diff(given.set_start)[given.final]
        self.at_once = given.kind == "custom" and given.reduces and bool((final_sizes > 1).any())

    @cached_property
    def paths(self) -> Paths:
        """The one route of each pair; not needed where all schedules are balanced."""
        return Paths(self.topology, self.allowed.sources.tolist(), self.message_bytes)

    def schedule(self, pieces: int, order: Order, routes: Routes) -> Schedule:
        """Return the schedule, piece by piece."""
        collective, listed = self.collective, self._listed(order)
        if pieces > 1:
            weights = None if collective.weights is None else np.repeat(collective.weights, pieces)
            collective = collective.refined(pieces, weights)
        chunk = (self.chunk[listed] * pieces + np.arange(pieces)[:, None]).ravel()
        source, target, reduce = (np.tile(column[listed], pieces) for column in (self.source, self.target, self.reduce))
        step = np.zeros(len(chunk), np.int32) if self.at_once else None
        notes = {"order": order, "routes": routes, "pieces": pieces}
        if routes == "shortest":
            return routed(self.topology, collective, chunk, source, target, reduce=reduce, step=step, paths=self.paths,
                          notes=notes)  # fmt: skip
        start, links = balanced_routes(self.allowed, source, target)
        return on_routes(self.topology, collective, chunk, np.arange(len(chunk)), start, links, reduce=reduce,
                         step=step, notes=notes)  # fmt: skip

    def _listed(self, order: Order) -> np.ndarray:
        """Return the sends in the order in which they are listed."""
        npus = self.collective.num_npus
        rank, ranks = np.arange(npus), np.full(npus, npus)
        for group in self.collective.groups:
            rank[list(group)], ranks[list(group)] = np.arange(len(group)), len(group)
        shift = (rank[self.target] - rank[self.source]) % ranks[self.source]
        keys = [self.chunk, self.source, shift]
        if order != "shift":
            distance = self.allowed.between(self.source, self.target)
            keys.append(distance if order == "nearest" else -distance)
        return np.lexsort((*keys, self.phase))


class ShortestLinks:
    """All links on shortest routes from some sources: what `balanced_routes` chooses from.

    Parameters
    ----------
    topology : Topology
        Any network.
    sources : (S,) int array
        Where routes start, ascending.
    message_bytes : int
        The size that the routes are short for.

    Attributes
    ----------
    distance : (S, num_nodes) int64 array
        Picoseconds along the shortest route, and one more per link.
    start : (S · num_nodes + 1,) int64 array
    links : int32 array
        The links over which a shortest route from source s may enter node v are ``links[start[i]:start[i + 1]]``,
        i = s · num_nodes + v.
    """

    def __init__(self, topology: Topology, sources: np.ndarray, message_bytes: int) -> None:
        # One more per link, so that equally fast routes of more links do not count as equally short.
        weight = topology.latency_ps + wire_ps(np.array(message_bytes), topology.bytes_per_s) + 1
        self.topology, self.sources = topology, sources
        self.distance = _distances(topology, weight, sources)
        first, into = topology.in_links
        self.start, self.links = _on_shortest(self.distance, first, into, topology.src[into], weight[into])

    def between(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the distances from sources to other nodes."""
        distance: np.ndarray = self.distance[np.searchsorted(self.sources, source), target]
        return distance

    @property
    def unique(self) -> bool:
        """Whether there is only one shortest route between any two nodes."""
        return bool(np.diff(self.start).max(initial=0) <= 1)


def balanced_routes(allowed: ShortestLinks, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each send the shortest route that is least loaded by the sends before it.

    Parameters
    ----------
    allowed : ShortestLinks
        From all the sources.
    source, target : (K,) int arrays
        NPUs of each send; different ones.

    Returns
    -------
    start : (K + 1,) int64 array
    links : int32 array
        Route k is ``links[start[k]:start[k + 1]]``. Of equally short routes it has the least sum of loads, the load of
        a link being the time that its sends so far take; ties go to the lower link.
    """
    topology = allowed.topology
    row = np.searchsorted(allowed.sources, source)
    # Loads need no size: all sends count alike, those on a slow link more.
    unit = np.rint(2**20 * (topology.bandwidth_gbps.max(initial=1.0) / topology.bandwidth_gbps)).astype(np.int64)
    return _least_loaded(row, source, target, allowed.distance, allowed.start, allowed.links, topology.src, unit)


def _distances(topology: Topology, weight: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return (sources, nodes) int64: the least sum of integer weights; where there is no route, 2^62."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    order = np.lexsort((weight, topology.dst, topology.src))
    src, dst = topology.src[order], topology.dst[order]
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(src) != 0) | (np.diff(dst) != 0)  # a sparse matrix would add parallel links up
    shape = (topology.num_nodes, topology.num_nodes)
    graph = coo_array((weight[order][first].astype(float), (src[first], dst[first])), shape=shape).tocsr()
    distance = dijkstra(graph, indices=sources)
    return np.where(np.isfinite(distance), distance, 2.0**62).astype(np.int64)


@numba.njit(cache=True, nogil=True)
def _on_shortest(distance, first, into, before, weight):
    """Return (start, links) of `ShortestLinks`; `before` and `weight` are those of the links `into` each node."""
    rows, nodes = distance.shape
    start = np.zeros(rows * nodes + 1, np.int64)
    links = np.empty(2 * rows * nodes + len(into), np.int32)
    count = 0
    for row in range(rows):
        here = distance[row]
        if len(links) < count + len(into):
            links = np.concatenate((links, np.empty(len(links) + len(into), np.int32)))
        for node in range(nodes):
            for place in range(first[node], first[node + 1]):
                if here[before[place]] + weight[place] == here[node]:
                    links[count] = into[place]
                    count += 1
            start[row * nodes + node + 1] = count
    return start, links[:count].copy()


@numba.njit(cache=True, nogil=True)
def _least_loaded(row, sources, targets, distance, allowed_start, allowed, src, unit):
    """Return (start, links) of the routes: of the shortest, the one with the least sum of loads."""
    nodes = distance.shape[1]
    load = np.zeros(len(src), np.int64)
    found = np.zeros(nodes, np.int64)
    stamp = np.full(nodes, -1, np.int64)
    cost = np.zeros(nodes, np.int64)
    via = np.zeros(nodes, np.int64)
    start = np.zeros(len(targets) + 1, np.int64)
    links = np.empty(4 * len(targets) + nodes, np.int32)
    for send in range(len(targets)):
        source, target, here = sources[send], targets[send], distance[row[send]]
        shift = row[send] * nodes
        # All nodes on a shortest route, from the target back ...
        found[0], count, at = target, 1, 0
        stamp[target] = send
        while at < count:
            node = found[at]
            at += 1
            for place in range(allowed_start[shift + node], allowed_start[shift + node + 1]):
                before = src[allowed[place]]
                if stamp[before] != send:
                    stamp[before] = send
                    found[count] = before
                    count += 1
        # ... farthest first (they nearly are), so that each comes after those that follow it on a route ...
        for at in range(1, count):
            node, place = found[at], at
            while place > 0 and here[found[place - 1]] < here[node]:
                found[place] = found[place - 1]
                place -= 1
            found[place] = node
        # ... and the cheapest way to each, outwards from the source.
        cost[source] = 0
        for at in range(count - 2, -1, -1):
            node = found[at]
            cost[node] = np.iinfo(np.int64).max
            for place in range(allowed_start[shift + node], allowed_start[shift + node + 1]):
                link = allowed[place]
                total = cost[src[link]] + load[link]
                if total < cost[node]:
                    cost[node], via[node] = total, link
        length, node = 0, target
        while node != source:
            node = src[via[node]]
            length += 1
        last = start[send] + length
        start[send + 1] = last
        if last > len(links):
            links = np.concatenate((links, np.empty(len(links) + length, np.int32)))
        node = target
        while node != source:
            link = via[node]
            last -= 1
            links[last] = link
            load[link] += unit[link]
            node = src[link]
    return start, links[: start[-1]].copy()


def _sends(collective: Collective, allowed: ShortestLinks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (chunk, source, target): who must send what to whom.

    A final holder gets a copy from the nearest initial holder, or each contribution from whom it is.
    """
    chunk, target = _expanded(collective.set_start, collective.final)
    entry, source = _expanded(collective.set_start, collective.initial[chunk])
    chunk, target, source = chunk[entry], collective.set_member[target[entry]], collective.set_member[source]
    if not collective.reduces and len(entry):
        distance = allowed.between(source, target)
        first = np.flatnonzero(np.diff(entry, prepend=-1))
        nearest = np.flatnonzero(
            distance == np.minimum.reduceat(distance, first)[np.cumsum(np.diff(entry, prepend=-1) > 0) - 1]
        )
        keep = nearest[np.diff(entry[nearest], prepend=-1) > 0]  # of equals the lowest NPU
        chunk, source, target = chunk[keep], source[keep], target[keep]
    away = source != target
    return chunk[away], source[away].astype(np.int64), target[away].astype(np.int64)


def _expanded(set_start: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each member of each of the listed sets (place in the list, place among all members)."""
    size = np.diff(set_start)[sets]
    entry = np.repeat(np.arange(len(sets)), size)
    return entry, np.arange(len(entry)) - np.repeat(np.cumsum(size) - size, size) + set_start[sets][entry]
