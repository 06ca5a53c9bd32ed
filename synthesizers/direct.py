"""Direct exchange: every rank sends straight to every other that needs the chunk, on shortest routes.

The one-step algorithms of Chan, Heimlich, Purkayastha and van de Geijn (2007) and the "direct" baseline of TACOS
(MICRO'24). On a fully connected network it is optimal; elsewhere its sends share links, so it is tuned as every
baseline is: the order of the sends and the choice among equally short routes are picked by simulation.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from schedules import Collective, Schedule
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import on_routes, routed
from synthesizers.tuning import Pieces, fastest, tuned
from topologies import ring

if TYPE_CHECKING:
    from synthesizers.balanced_routes import ShortestLinks  # needs numba from its first line

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
        from synthesizers.balanced_routes import ShortestLinks, balanced_routes

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
        from synthesizers.balanced_routes import ShortestLinks

        self.allowed = ShortestLinks(self.topology, np.unique(np.concatenate(holders)), self.message_bytes)
        parts = [_sends(phase, self.allowed) for phase in phases]
        self.chunk, self.source, self.target = (np.concatenate(column) for column in zip(*parts, strict=True))
        counts = [len(part[0]) for part in parts]
        self.phase = np.repeat(np.arange(len(parts)), counts)
        self.reduce = np.repeat([phase.reduces for phase in phases], counts)
        # Only there may a receiver be a sender of the same chunk: it must send its own contribution, not a sum.
        final_sizes = np.diff(given.set_start)[given.final]
        self.at_once = given.kind == "custom" and given.reduces and bool((final_sizes > 1).any())

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
            return routed(self.topology, collective, chunk, source, target, reduce=reduce, step=step,
                          paths=self.allowed.paths, notes=notes)  # fmt: skip
        from synthesizers.balanced_routes import balanced_routes

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
