"""One bound for a problem: the greatest of latency, single NPUs, cuts and AllReduce's volume, with what binds it.

Each part holds for any schedule, chunking and link model. A kind gets the searches that are exact for it: cuts, or
flows for what one NPU sends to one other (AllToAll, SendRecv, custom collectives). Where there are several groups, each
group's cut is searched on the whole network, and then counts what all groups together must bring across it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from schedules import Collective, collective
from simulator.bounds.cuts import densest_cut
from simulator.bounds.demands import Demands, demands
from simulator.bounds.flows import flow_bound
from simulator.bounds.ingress import Candidate, delivery_volume, microseconds, npu_bounds
from simulator.bounds.latency import latency_bound_ps
from simulator.bounds.quantised import quantised_bound_ps
from simulator.link_model import LinkModel
from topologies import Fabric, Topology, format_bytes
from topologies.exceptions import CollectiveError

#: Members named in a phrase before it ends in an ellipsis.
_NAMED = 4

#: Kinds in which one NPU sends to one other; cuts are exact for all that have a root.
_FLOWS = {"all_to_all", "send_recv", "custom"}


@dataclass(frozen=True)
class Bound:
    """What no schedule can beat.

    Attributes
    ----------
    time_us : float
        The bound: the greater of the two below.
    latency_us : float
        From the paths that data must travel.
    bandwidth_us : float
        From the bytes that must enter or leave NPUs and cross cuts.
    binding : str
        Which NPU, cut or path sets it, in words.
    """

    time_us: float
    latency_us: float
    bandwidth_us: float
    binding: str


def bound(topology: Topology, problem: Collective, size: int, model: LinkModel | None = None) -> Bound:  # noqa: ARG001
    """Return the lower bound of a collective on a network, for any chunking and any schedule.

    Parameters
    ----------
    topology : Topology
        Or a `Fabric`: then what no wiring can beat.
    problem : Collective
    size : int
        Bytes, by the rule of nccl-tests.
    model : LinkModel, optional
        Taken so that all bounds are called alike; this one holds for every link model.

    Raises
    ------
    CollectiveError
        A negative size, or a collective for another number of NPUs.
    TopologyError
        The collective needs a path that the network lacks.
    """
    if isinstance(topology, Fabric):
        topology = topology.relaxed()
    needed = _demands(topology, problem, size)
    latency_ps, source, target, all_searched = latency_bound_ps(topology, needed)
    best: Candidate = (Fraction(0), "nothing has to move")
    remark = ""
    if size:
        candidates = npu_bounds(topology, needed) + delivery_volume(topology, needed)
        cuts, complete = _cut_candidates(topology, problem, needed)
        flows, all_flows = flow_bound(topology, needed) if problem.kind in _FLOWS else ([], True)
        remark = "" if complete and all_flows else " (a large network: not all cuts and flows were searched)"
        for candidate in candidates + cuts + flows:
            if candidate[0] > best[0]:
                best = candidate
    latency_us, bandwidth_us = latency_ps / 1e6, float(best[0])
    binding = best[1] + remark
    if source >= 0 and latency_us >= bandwidth_us:
        binding = f"latency from {topology.node_name(source)} to {topology.node_name(target)}"
        binding += "" if all_searched else " (a large network: not all paths were searched)"
    return Bound(max(latency_us, bandwidth_us), latency_us, bandwidth_us, binding)


def quantised_bound_us(
    topology: Topology, problem: Collective, size: int, model: LinkModel | None = None
) -> float | None:
    """Return the quantised bound in microseconds, None where it is not defined; see `simulator.bounds.quantised`.

    It holds for schedules that keep the problem's chunks and send each by itself: not for refined chunks or messages.
    """
    time = quantised_bound_ps(topology, problem, _demands(topology, problem, size), size, model or LinkModel())
    return None if time is None else time / 1e6


def rsag_bound_us(topology: Topology, problem: Collective, size: int, model: LinkModel | None = None) -> float | None:
    """Return, for AllReduce, the bound of ReduceScatter plus that of AllGather over the same groups; else None.

    It holds for a ReduceScatter that ends before its AllGather begins. Schedules that overlap the two, or do neither,
    can beat it: their bound is `bound`.
    """
    if problem.kind != "all_reduce":
        return None
    parts = (collective(kind, problem.num_npus, groups=problem.groups) for kind in ("reduce_scatter", "all_gather"))
    return sum(bound(topology, part, size, model).time_us for part in parts)


def allgather_bound_gbps(topology: Topology) -> float:
    """Return the best algbw of an AllGather over all NPUs, in GB/s: 0 where some cannot reach another, inf for one NPU.

    Past the search budget of `simulator.bounds.cuts` it may be above the best.
    """
    npus = tuple(range(topology.num_npus))
    if len(npus) == 1:
        return float("inf")
    if sum(bool((part < topology.num_npus).any()) for part in topology.components()) > 1:
        return 0.0
    cut = densest_cut(topology, npus, npus)
    return float(len(npus) / cut.ratio / 10**9) if cut else float("inf")


def _demands(topology: Topology, problem: Collective, size: int) -> Demands:
    """Return what the collective makes necessary; refuse one for another network."""
    if problem.num_npus != topology.num_npus:
        raise CollectiveError(
            f"the collective is for {problem.num_npus} NPUs, topology {topology.name} has {topology.num_npus}"
        )
    return demands(problem, size)


def _cut_candidates(topology: Topology, problem: Collective, needed: Demands) -> tuple[list[Candidate], bool]:
    """Return the bounds of the cuts that bind each group, and whether all cuts were searched."""
    candidates, complete = [], True
    for suppliers, sinks, backwards in _searches(problem):
        cut = densest_cut(topology.reversed() if backwards else topology, suppliers, sinks)
        if cut is None:
            continue
        complete &= cut.complete
        nodes = np.zeros(topology.num_nodes, bool)
        nodes[list(cut.nodes)] = True
        if backwards:  # what leaves a set of the reversed network leaves the others of this one
            nodes = ~nodes
        links = nodes[topology.src] & ~nodes[topology.dst]
        nbytes = needed.crossing(nodes[: topology.num_npus])
        time = microseconds(nbytes, sum(topology.bytes_per_s[links].tolist()))
        candidates.append((time, f"{format_bytes(nbytes)} from {_named(topology, nodes)} to the others"))
    return candidates, complete


def _searches(problem: Collective) -> list[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """Return (suppliers, sinks, on the reversed network) of the cut searches that fit a kind, per group."""
    result: list[tuple[tuple[int, ...], tuple[int, ...], bool]] = []
    for group in problem.groups:
        if len(group) == 1:
            continue
        root = (group[problem.root % len(group)],)
        searches: dict[str, list[tuple[tuple[int, ...], tuple[int, ...], bool]]] = {
            "all_gather": [(group, group, False)],
            "reduce_scatter": [(group, group, True)],
            # A cut that separates two members separates one of them from the root, one way or the other.
            "all_reduce": [(root, group, False), (root, group, True)],
            "broadcast": [(root, group, False)],
            "reduce": [(root, group, True)],
            "gather": [(group, root, False)],
            "scatter": [(group, root, True)],
        }
        result += searches.get(problem.kind, [])
    return result


def _named(topology: Topology, nodes: np.ndarray) -> str:
    """Return a phrase for a set of nodes, by the side with fewer NPUs."""
    npus = np.flatnonzero(nodes[: topology.num_npus])
    others = np.flatnonzero(~nodes[: topology.num_npus])
    side, prefix = (npus, "") if len(npus) <= len(others) else (others, "all but ")
    names = ", ".join(topology.node_name(int(npu)) for npu in side[:_NAMED])
    more = f", … ({len(side)} of {topology.num_npus} NPUs)" if len(side) > _NAMED else ""
    return f"{prefix}{{{names}{more}}}"
