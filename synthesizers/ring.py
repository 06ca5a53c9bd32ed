"""The ring baseline: data goes round rings of the network, over as many disjoint ones as it has, both ways.

On a ring of p ranks AllGather passes each shard p−1 steps on; ReduceScatter passes partial sums p−1 steps to their
owner; AllReduce does one after the other in 2(p−1) steps (Patarasuk and Yuan [1]_); Broadcast and Reduce are pipelined
chains. Shards are cut evenly over the rings, their directions and `pieces`; the rings come from
`synthesizers.rings`, and are routed rings where the network has no Hamiltonian one.

References
----------
.. [1] P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69, 2009.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np

from schedules import Collective, Schedule, collective
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.rings import Circuit, disjoint_rings, going_round, routed_ring
from synthesizers.sends import on_routes
from synthesizers.tuning import MAX_HOPS, Pieces, fastest, tuned
from topologies import torus
from topologies.exceptions import OptionError

#: Kinds that go round rings, and for each: whether a chunk sets out from its owner (else from the rank after it).
_FROM_OWNER = {"all_gather": True, "broadcast": True, "reduce_scatter": False, "all_reduce": False, "reduce": False}

#: A time limit of fewer seconds leaves the searches for rings that much less effort.
_ALL_EFFORT_S = 20.0

#: The rings of every group of two ranks and more; all groups have the same number of them.
_Rings = list[list[Circuit]]


class RingOptions(OptionsBase, frozen=True):
    """Options of `Ring`.

    Attributes
    ----------
    rings : int or "auto"
        Disjoint rings at most, both ways counted as one; where the network has fewer, those. auto: by simulation.
    direction : {"auto", "one_way", "two_way"}
        Whether each ring is used both ways, with half of its data each. auto: by simulation.
    order : str or list of int
        One ring, as ranks (``0,3,1,2``); each step takes its shortest route. Empty: rings are searched for.
    pieces : int or "auto"
        How often each chunk is cut on each ring and direction. auto: by simulation.
    """

    rings: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"] = "auto"
    direction: Literal["auto", "one_way", "two_way"] = "auto"
    order: str | list[int] = ""
    pieces: Pieces = "auto"

    def __post_init__(self) -> None:
        if self.ranks and self.rings not in ("auto", 1):
            raise OptionError(f"ring: order gives one ring, but rings={self.rings}; leave one of the two out")

    @property
    def ranks(self) -> list[int]:
        """The order as ranks, each once; empty where none is given."""
        parts = self.order.split(",") if isinstance(self.order, str) and self.order.strip() else self.order
        try:
            ranks = [int(part) for part in parts]
        except ValueError:
            raise OptionError(f"ring: order {self.order!r} is no list of ranks; expected such as 0,3,1,2") from None
        if sorted(ranks) != list(range(len(ranks))):
            raise OptionError(f"ring: order {ranks} must name each rank 0…{max(len(ranks) - 1, 0)} once")
        return ranks


class Ring(Synthesizer):
    """Pipelined rings, one or several, one way or both."""

    name = "ring"
    reference = "Patarasuk & Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009"
    Options = RingOptions

    def supports(self, problem: Problem) -> str | None:
        """Return None for AllGather, ReduceScatter, AllReduce, Broadcast and Reduce, else the reason why not."""
        kind = problem.collective.kind
        if kind not in _FROM_OWNER:
            return f"a ring passes data on to all ranks; {kind} is not among {', '.join(_FROM_OWNER)}"
        return None

    def warm_up(self) -> None:
        """Compile what a search among rings runs: the joining of cycles, and the simulator."""
        network = torus((5, 5))
        self.synthesize(Problem(network, collective("all_gather", 25), 2**20), RingOptions())

    def synthesize(self, problem: Problem, options: RingOptions) -> Schedule:
        """Return the ring schedule; with ``auto`` options the fastest of those tried, the plainest of equals.

        Raises
        ------
        OptionError
            An order that does not fit the ranks.
        """
        choices = _choices(problem, options)
        if len(choices) > 1 and _num_hops(problem.collective, choices[-1]) > MAX_HOPS:
            # Too large to simulate every choice: that of the least estimated time, in one piece.
            choices = [min(choices, key=lambda rings: _estimate_ps(problem, rings))]
        schedules = []
        for rings in choices:
            pieces = options.pieces
            if pieces == "auto" and _num_hops(problem.collective, rings) > MAX_HOPS:
                pieces = 1

            def build(number: int, rings: _Rings = rings) -> Schedule:
                return _on_rings(problem, rings, number)

            schedules.append(tuned(problem, build, pieces))
        return schedules[0] if len(schedules) == 1 else fastest(problem, schedules)


def _choices(problem: Problem, options: RingOptions) -> list[_Rings]:
    """Return the sets of rings that the options leave to choose from, the plainest first."""
    topology, ranks = problem.topology, options.ranks
    groups = [group for group in problem.collective.groups if len(group) > 1]
    for group in problem.collective.groups:
        if ranks and len(group) != len(ranks):
            raise OptionError(f"ring: order names {len(ranks)} ranks for a group of {len(group)}")
    if not groups:
        return [[]]
    limit = problem.time_limit_s
    share = 1.0 if limit is None else min(limit / _ALL_EFFORT_S, 1.0)
    choices: list[_Rings] = []
    counts: list[int | None] = [1, None] if options.rings == "auto" else [options.rings]
    for direction in ("one_way", "two_way"):
        if options.direction not in ("auto", direction):
            continue
        two_way = direction == "two_way"
        for count in [1] if ranks else counts:
            found = [[] if ranks else disjoint_rings(topology, group, count, two_way, share) for group in groups]
            # A network without a ring, or without one both ways, still has a routed one: its steps share links.
            for place, group in enumerate(groups):
                if not found[place]:
                    single = [] if ranks or not two_way else disjoint_rings(topology, group, 1, share=share)
                    order = _places(group, single[0]) if single else ranks or None
                    found[place] = routed_ring(topology, group, order)[: 1 + two_way]
            fewest = min(map(len, found))
            rings = [each[:fewest] for each in found]
            if not any(_same(rings, earlier) for earlier in choices):
                choices.append(rings)
    return choices


def _places(group: tuple[int, ...], ring: Circuit) -> list[int]:
    """Return the ranks of a ring in its order."""
    place = {npu: rank for rank, npu in enumerate(group)}
    return [place[npu] for npu in ring.order.tolist()]


def _same(one: _Rings, other: _Rings) -> bool:
    """Return whether two sets of rings take the same links in the same orders, whatever the order of the rings."""
    sets = [[sorted((ring.order.tolist(), ring.links.tolist()) for ring in group) for group in rings]
            for rings in (one, other)]  # fmt: skip
    return sets[0] == sets[1]


def _hops_per_chunk(collective: Collective, ranks: int) -> int:
    """Return the steps that each chunk goes: once round, or twice."""
    return (ranks - 1) * (2 if collective.kind == "all_reduce" else 1)


def _num_hops(collective: Collective, rings: _Rings) -> int:
    """Return the hops of a schedule in one piece."""
    hops = 0
    for group in rings:
        ranks = len(group[0].order)
        shards = 1 if collective.kind in ("broadcast", "reduce") else ranks
        rounds = shards * collective.chunks * _hops_per_chunk(collective, ranks)
        hops += rounds * sum(len(ring.links) for ring in group) // ranks
    return hops


def _estimate_ps(problem: Problem, rings: _Rings) -> float:
    """Return about how long rings take: the steps, each as long as on the ring's most loaded link."""
    topology, longest = problem.topology, 0.0
    load = np.zeros(topology.num_links)
    for group in rings:
        for ring in group:
            np.add.at(load, ring.links, 1)
    for group in rings:
        ranks = len(group[0].order)
        shards = 1 if problem.collective.kind in ("broadcast", "reduce") else ranks
        share = problem.size / shards / len(group)
        for ring in group:
            step = topology.latency_ps[ring.links] + load[ring.links] * share * 1e12 / topology.bytes_per_s[ring.links]
            longest = max(longest, float(step.max()) * _hops_per_chunk(problem.collective, ranks))
    return longest


def _refined(collective: Collective, parts: int) -> Collective:
    """Return the collective in chunks of `parts` parts; an AllReduce in one shard for each rank."""
    if collective.kind == "all_reduce" and collective.shards:
        return collective.resharded(0, collective.chunks * parts)
    return collective.refined(parts)


def _on_rings(problem: Problem, rings: _Rings, pieces: int) -> Schedule:
    """Return the schedule: part j of each chunk goes round ring j mod rings, listed step by step."""
    parts = (len(rings[0]) if rings else 1) * pieces
    collective = _refined(problem.collective, parts)
    rooted = collective.kind in ("broadcast", "reduce")
    columns: list[tuple[np.ndarray, ...]] = []  # of each group: step, chunk, route
    starts, links = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    first_chunk = first_route = num_links = 0
    circuits = iter(rings)
    for group in collective.groups:
        shards = (collective.shards or 1) if rooted else len(group)
        if len(group) > 1:
            for number, ring in enumerate(next(circuits)):
                position = np.argsort(ring.order)  # of each NPU of the ring, by ascending NPU
                owner = np.full(shards, group[collective.root]) if rooted else np.asarray(group)
                begin = position[np.searchsorted(np.sort(ring.order), owner)]
                columns.append(_round(collective, len(group), begin, number, parts // pieces, first_chunk, first_route))
                starts.append(ring.start[1:] + num_links)
                links.append(ring.links)
                first_route += len(group)
                num_links += len(ring.links)
        first_chunk += shards * collective.chunks
    if not columns:
        none = np.zeros(0, np.int64)
        return on_routes(problem.topology, collective, none, none, starts[0], links[0], order="fifo")
    step, chunk, route, reduces = (np.concatenate(column) for column in zip(*columns, strict=True))
    listed = np.argsort(step, kind="stable")
    return on_routes(
        problem.topology, collective, chunk[listed], route[listed], np.concatenate(starts), np.concatenate(links),
        reduce=reduces[listed] if collective.reduces else None,
        notes={"rings": [[ring.order.tolist() for ring in group] for group in rings], "pieces": pieces},
    )  # fmt: skip


def _round(
    collective: Collective, ranks: int, begin: np.ndarray, number: int, rings: int, first_chunk: int, first_route: int
) -> tuple[np.ndarray, ...]:
    """Return (step, chunk, route, reduce) of all hops on one ring; `begin` is the place of each shard's owner."""
    shard = np.arange(len(begin))[:, None] * collective.chunks
    chunks = (first_chunk + shard + np.arange(number, collective.chunks, rings)).T  # (parts, shards)
    begin = begin + (0 if _FROM_OWNER[collective.kind] else 1)
    step, chunk, place = going_round(chunks, begin, ranks, _hops_per_chunk(collective, ranks))
    return step, chunk, first_route + place, step < (ranks - 1 if collective.reduces else 0)
