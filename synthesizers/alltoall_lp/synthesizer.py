"""AllToAll by linear programming: every piece on a route of the flow that loads the links least, passed on by NPUs.

The bandwidth optimum of an AllToAll is a multi-commodity flow (Shahrokhi and Matula, J. ACM 37(2), 1990; Basu, Zhao,
Fantl, Pal, Krishnamurthy, Khoury: Efficient all-to-all Collective Communication Schedules for Direct-connect
Topologies, HPDC 2024, arXiv 2309.13541). Here the LP's flows are rounded to whole pieces, each with a route of its own.
NPUs on the way store a piece and pass it on, so that more pieces hide the hops behind each other, and what has the
farthest to go goes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from schedules import Collective, Schedule
from schedules import collective as collective_named
from simulator.link_model import wire_ps
from synthesizers.alltoall_lp.flows import MOST_VARIABLES, Flows, best_flows, variables_of
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import BYTES_PER_HOP
from synthesizers.tuning import Pieces, tuned
from topologies import ring
from topologies.exceptions import SynthesisError
from topologies.memory import require_memory


class AllToAllLpOptions(OptionsBase, frozen=True):
    """Options of `AllToAllLp`.

    Attributes
    ----------
    pieces : int or "auto"
        How often each chunk is cut; each piece goes its own way. auto: by simulation.
    """

    pieces: Pieces = "auto"


class AllToAllLp(Synthesizer):
    """Multi-commodity flows, rounded and routed."""

    name = "alltoall_lp"
    reference = (
        "Basu et al., Efficient all-to-all Collective Communication Schedules for Direct-connect Topologies, HPDC 2024"
    )
    cost = 0.05
    Options = AllToAllLpOptions

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for other kinds, and for networks whose LP is too large."""
        if problem.collective.kind != "all_to_all":
            return f"its flows are from one NPU to one other, an all_to_all, not {problem.collective.kind}"
        variables = variables_of(problem.topology, problem.collective)
        if variables > MOST_VARIABLES:
            return (
                f"its LP would have {variables} variables, sources × links, and {MOST_VARIABLES} is the most that it "
                "is solved for; networks that are the same from every NPU need one source only"
            )
        return None

    def synthesize(self, problem: Problem, options: AllToAllLpOptions) -> Schedule:
        """Return the schedule; with ``pieces=auto`` the fastest on the ladder.

        Raises
        ------
        SynthesisError
            Flows that cannot be rounded.
        """
        flows = best_flows(problem.topology, problem.collective)
        return tuned(problem, lambda pieces: _schedule(problem, flows, pieces), options.pieces)

    def warm_up(self) -> None:
        """Compile the kernel that finds the routes, and the simulator's."""
        self.synthesize(Problem(ring(3), collective_named("all_to_all", 3), 2**20), AllToAllLpOptions())


def _schedule(problem: Problem, flows: Flows, pieces: int) -> Schedule:
    """Return the schedule of chunks in so many pieces."""
    from synthesizers.alltoall_lp.rounding import routes_of, whole_flows  # needs numba from its first line

    topology, given = problem.topology, problem.collective
    cut = given.refined(pieces)
    hops = int(flows.amount.sum() * cut.chunks)
    require_memory(hops * BYTES_PER_HOP, f"an AllToAll as {hops} hops")
    targets, shards, first = [], [], 0
    for group in given.groups:
        npus = np.array(group, np.int64)
        for rank in range(len(group) if len(group) > 1 else 0):
            # Everybody's next, then everybody's second next: else all would send to one at once.
            others = (rank + np.arange(1, len(group))) % len(group)
            targets.append(npus[others])
            shards.append(first + rank * len(group) + others)
        first += len(group) ** 2
    whole = whole_flows(topology, flows, targets, cut.chunks)
    start, into = topology.in_links
    chunks, lengths, links = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for place, source in enumerate(flows.sources.tolist()):
        begin, found = routes_of(whole[place], source, targets[place], cut.chunks, topology.src, start, into)
        if not len(begin):
            raise SynthesisError("alltoall_lp: rounded flows that do not reach all targets; try other pieces")
        chunks.append((shards[place][:, None] * cut.chunks + np.arange(cut.chunks)).ravel())
        lengths.append(np.diff(begin))
        links.append(found)
    notes = {"pieces": pieces, "optimal_flow": flows.optimal}
    chunk, length, link = (np.concatenate(each) for each in (chunks, lengths, links))
    return _planned(problem, cut, chunk, length, link, notes)


def _planned(
    problem: Problem, cut: Collective, chunk: np.ndarray, length: np.ndarray, link: np.ndarray, notes: dict[str, Any]
) -> Schedule:
    """Return the schedule of chunks on routes of some lengths, stored by every NPU on the way."""
    from synthesizers.alltoall_lp.dispatch import dispatched  # needs numba from its first line

    topology, model = problem.topology, problem.model
    route = np.repeat(np.arange(len(chunk)), length)
    ends = np.cumsum(length)
    left = np.repeat(ends, length) - np.arange(len(link))  # links still to go, this one included
    # From one NPU through switches to the next is one leg, and one flow of the schedule.
    begins = np.flatnonzero(topology.src[link] < topology.num_npus)
    start = np.append(begins, len(link))
    last = np.isin(start[1:], ends)
    rank = np.empty(len(begins), np.int64)
    rank[np.lexsort((chunk[route[begins]] % cut.chunks, -left[begins]))] = np.arange(len(begins))
    # Shards of groups of different sizes differ.
    group = np.repeat(np.arange(len(cut.groups)), [len(each) ** 2 * cut.chunks for each in cut.groups])
    largest = np.zeros(len(cut.groups), np.int64)
    np.maximum.at(largest, group, cut.chunk_bytes(problem.size))
    wire = wire_ps(largest[:, None], topology.bytes_per_s)
    order, time_ps = dispatched(
        start, link, last, rank, group[chunk[route[begins]]], wire, topology.latency_ps, model.latency == "blocking",
        model.switching == "cut_through",
    )  # fmt: skip
    hops = np.diff(start)[order]
    leg = np.repeat(order, hops)
    listed = np.arange(len(link)) - np.repeat(np.cumsum(hops) - hops, hops) + start[leg]
    return Schedule(
        topology, cut, chunk=chunk[route[listed]], link=link[listed], flow=leg if topology.num_switches else None,
        notes={**notes, "planned_us": time_ps / 1e6},
    )  # fmt: skip
