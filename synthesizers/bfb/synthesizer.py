"""BFB: AllGather by breadth-first trees from every NPU, loads balanced exactly; ReduceScatter its reverse.

In step t every NPU gets, from its neighbours, the shards of the NPUs at distance t, so an AllGather takes as many
steps as the network has diameter; in each step the shares over the links into an NPU are those that make the slowest
link fastest (Zhao, Pal, Tavori, Basu, Krishnamurthy, Arvind: Efficient Direct-Connect Topologies for Collective
Communications, arXiv 2202.03356). AllReduce is ReduceScatter, then AllGather. All that a link carries in a step is one
message, so that the latency is paid once a step however finely shards are cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from schedules import Collective, Schedule
from schedules import collective as collective_named
from simulator.link_model import wire_ps
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.bfb.balance import Need, least_time, needs_of, rates_of, shares
from synthesizers.problem import Problem
from synthesizers.sends import BYTES_PER_HOP, on_routes
from synthesizers.translations import Translations, translations_of
from synthesizers.tuning import Pieces, fastest
from topologies import Topology, require_connected, ring
from topologies.exceptions import TopologyError
from topologies.memory import require_memory

_KINDS = ("all_gather", "reduce_scatter", "all_reduce")

#: Shards are cut no finer than this, and into no more pieces than make this many hops; loads are then a little uneven.
_MOST_PIECES, _MOST_HOPS = 64, 2**24


class BfbOptions(OptionsBase, frozen=True):
    """Options of `Bfb`.

    Attributes
    ----------
    pieces : int or "auto"
        Into how many pieces a shard is cut, at least; auto: as few as balance the loads exactly, 64 at most.
    """

    pieces: Pieces = "auto"


class Bfb(Synthesizer):
    """Breadth-first broadcast with balanced loads."""

    name = "bfb"
    reference = "Zhao et al., Efficient Direct-Connect Topologies for Collective Communications (arXiv 2202.03356)"
    cost = 0.05
    Options = BfbOptions

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for other kinds, networks with switches, and groups that need NPUs outside them."""
        kind, topology = problem.collective.kind, problem.topology
        if kind not in _KINDS:
            return f"breadth-first trees from every NPU make {', '.join(_KINDS)}, not {kind}"
        if topology.num_switches:
            return f"its trees are of links from NPU to NPU; {topology.name} has switches"
        for group in problem.collective.groups:
            if len(group) < topology.num_npus:
                try:
                    require_connected(topology.subset(group))
                except TopologyError:
                    return "a group is not connected without NPUs outside it, and breadth-first trees have no relays"
        return None

    def synthesize(self, problem: Problem, options: BfbOptions) -> Schedule:
        """Return the schedule, step by step."""
        given, topology = problem.collective, problem.topology
        networks = {
            "all_gather": [topology],
            "reduce_scatter": [topology.reversed()],
            "all_reduce": [topology.reversed(), topology],
        }[given.kind]
        plans = [[_Plan.of(network, group) for group in given.groups if len(group) > 1] for network in networks]
        pieces, exact = _pieces([plan for each in plans for plan in each], given, options.pieces)
        gather = Collective("all_gather", given.num_npus, given.groups, pieces)
        listed = [_gathered(problem, *each, gather) for each in zip(networks, plans, strict=True)]
        notes: dict[str, Any] = {
            "steps": sum(max((len(plan.times) for plan in each), default=0) for each in plans),
            "pieces": pieces,
            "balanced": exact,
            "planned_us": sum(planned_ps for _, planned_ps in listed) / 1e6,
        }
        schedules = [schedule for schedule, _ in listed]
        if given.kind == "all_gather":
            return schedules[0].with_notes(**notes)
        if given.kind == "reduce_scatter":
            return schedules[0].reverse().with_notes(**notes)
        joined = schedules[0].reverse().then(schedules[1])
        # As planned, one after the other; or what is ready goes.
        return fastest(problem, [joined.replaced(order="program", notes=notes), joined.with_notes(**notes)])

    def warm_up(self) -> None:
        """Compile what reverses and simulates an AllReduce."""
        self.synthesize(Problem(ring(3), collective_named("all_reduce", 3), 2**20), BfbOptions())


@dataclass(frozen=True)
class _Plan:
    """The breadth-first trees of one group, before shards are cut.

    Attributes
    ----------
    network : Topology
        The NPUs of the group, in rank order, and the links between them.
    links : (network links,) array
        Their numbers in the whole topology.
    rates : (network links,) int64 array
    moves : Translations or None
        Where there are any, the needs of NPU 0 stand for those of all.
    needs : list of list of Need
        For each step, of each NPU that gets something.
    times : list of Fraction
        The least time of each step, in any parts.
    """

    network: Topology
    links: np.ndarray
    rates: np.ndarray
    moves: Translations | None
    needs: list[list[Need]]
    times: list[Fraction]

    @classmethod
    def of(cls, topology: Topology, group: tuple[int, ...]) -> _Plan:
        """Return the plan of a group."""
        network = topology.subset(group)
        require_memory(len(group) ** 2 * BYTES_PER_HOP, f"an AllGather over {len(group)} NPUs")
        rates, moves = rates_of(network), translations_of(network)
        distance = _distances(network)
        needs: list[list[Need]] = [[] for _ in range(int(distance.max()))]
        for npu in range(1 if moves else len(group)):
            for step, need in enumerate(needs_of(network, distance, npu)):
                needs[step].append(need)
        return cls(network, topology.subset_links(group).astype(np.int64), rates, moves, needs,
                   [least_time(each, rates) for each in needs])  # fmt: skip

    @cached_property
    def balanced(self) -> int:
        """The fewest pieces in which links of every rate carry a whole number in the least time of each step."""
        rates = np.unique(self.rates).tolist()
        return math.lcm(*((time * rate).denominator for time in self.times for rate in rates))

    def sends(self, step: int, pieces: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (source rank, piece, link of the network) of all that goes in a step."""
        needs, time = self.needs[step], self.times[step]
        if pieces % self.balanced:
            time = least_time(needs, self.rates, pieces)
        parts = [shares(need, self.rates, time, pieces) for need in needs]
        source, piece, link = (np.concatenate(column) for column in zip(*parts, strict=True))
        if self.moves is None:
            return source, piece, link
        everywhere = np.arange(self.network.num_npus)[:, None]
        column = self.moves.column_of(self.network.num_links)[link]
        begins = self.moves.add(self.network.src[link], everywhere)
        return (
            self.moves.add(source, everywhere).ravel(),
            np.tile(piece, len(everywhere)),
            self.moves.links[begins, column].ravel(),
        )


def _pieces(plans: list[_Plan], given: Collective, asked: Pieces) -> tuple[int, bool]:
    """Return into how many pieces a shard is cut, a multiple of the chunks asked for, and whether loads are exact."""
    balanced = math.lcm(*(plan.balanced for plan in plans))
    if asked == "auto":
        hops = sum(plan.network.num_npus**2 for plan in plans)
        most = max(1, min(_MOST_PIECES, _MOST_HOPS // max(hops, 1)))
        pieces = math.lcm(given.chunks, balanced)
        if pieces > most:
            pieces = max(1, most // given.chunks) * given.chunks
    else:
        pieces = math.lcm(given.chunks, asked)
    return pieces, pieces % balanced == 0


def _distances(network: Topology) -> np.ndarray:
    """Return (NPUs, NPUs) int64: links on a shortest way."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    npus = network.num_npus
    joined = csr_array((np.ones(network.num_links), (network.src, network.dst)), (npus, npus))
    return np.asarray(shortest_path(joined, unweighted=True)).astype(np.int64)


def _gathered(problem: Problem, topology: Topology, plans: list[_Plan], gather: Collective) -> tuple[Schedule, int]:
    """Return the AllGather schedule on a network, and how long it takes where each step waits for the one before."""
    columns: list[tuple[np.ndarray, ...]] = [(np.zeros(0, np.int64),) * 3]
    first, of_plan = 0, iter(plans)
    for group in gather.groups:
        plan = next(of_plan) if len(group) > 1 else None
        for turn in range(len(plan.times) if plan else 0):
            assert plan is not None
            source, piece, link = plan.sends(turn, gather.chunks)
            columns.append((np.full(len(link), turn), (first + source) * gather.chunks + piece, plan.links[link]))
        first += len(group)
    step, chunk, link = (np.concatenate(column) for column in zip(*columns, strict=True))
    listed = np.lexsort((chunk, link, step))
    step, chunk, link = step[listed], chunk[listed], link[listed]
    bundle = step * topology.num_links + link
    start = np.arange(topology.num_links + 1)
    schedule = on_routes(topology, gather, chunk, link, start, start[:-1], bundle=bundle, order="program")
    sent, at = np.unique(bundle, return_inverse=True)
    nbytes = np.zeros(len(sent), np.int64)
    np.add.at(nbytes, at, gather.chunk_bytes(problem.size)[chunk])
    sent_step, sent_link = np.divmod(sent, max(topology.num_links, 1))
    time = topology.latency_ps[sent_link] + wire_ps(nbytes, topology.bytes_per_s[sent_link])
    longest = np.zeros(int(step.max(initial=-1)) + 1, np.int64)
    np.maximum.at(longest, sent_step, time)
    return schedule, int(longest.sum())
