"""From an algorithm of MSCCL to a schedule on a network, so that it is verified, simulated and compared like any other.

Only what the judge accepts is taken over. A send becomes hops along a link between the two GPUs, the least loaded of
parallel ones, or along the shortest route where there is none; its chunks are one message. The list order says what
each hop reads: a hop is listed after what it reads has arrived, and before that is overwritten. Where two GPUs
exchange versions, each overwriting what the other still reads, they share a step.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import Annotated, Any

import msgspec
import numpy as np

from schedules.builders import collective
from schedules.collective import Collective
from schedules.msccl.algorithm import COLLECTIVES, Algorithm
from schedules.msccl.conditions import Conditions
from schedules.msccl.deployment import deployment_of
from schedules.msccl.interpreter import judge
from schedules.msccl.step_graph import StepGraph
from schedules.msccl.versions import Unit, Version, units_of, versions_of
from schedules.schedule import Schedule
from schedules.sends import SendRoutes
from topologies import Topology
from topologies.exceptions import ScheduleError


class Calls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For which calls of a runtime a file is meant, as `schedules.msccl.export_msccl` takes it."""

    protocol: str
    in_place: bool
    min_bytes: Annotated[int, msgspec.Meta(ge=0)]
    max_bytes: Annotated[int, msgspec.Meta(ge=0)]


def meant_of(schedule: Schedule) -> dict[str, Any] | None:
    """Return for which calls the file was meant that a schedule came from; None where it came from elsewhere."""
    try:
        return msgspec.structs.asdict(msgspec.convert(schedule.notes.get("calls"), Calls))
    except msgspec.ValidationError:
        return None


def schedule_of(algorithm: Algorithm, topology: Topology, group: tuple[int, ...] | None = None) -> Schedule:
    """Return an algorithm as a schedule on a network.

    Parameters
    ----------
    algorithm : Algorithm
    topology : Topology
        The file says nothing of links and their speed.
    group : tuple of int, optional
        The NPU that each gpu is; by default gpu r is NPU r, and the network has as many NPUs as the file has gpus.

    Raises
    ------
    MscclFault
        The algorithm does not compute its collective; names the place.
    ScheduleError
        A custom collective, another number of GPUs than NPUs, or an algorithm that keeps several versions of a chunk
        at once on one GPU.
    TopologyError
        GPUs that the network does not connect.
    """
    ranks = tuple(range(topology.num_npus)) if group is None else group
    if len(ranks) != len(algorithm.gpus):
        raise ScheduleError(
            f"the algorithm is for {len(algorithm.gpus)} gpus, {topology.name} has {len(ranks)} NPUs to run it on; "
            f"give a network of {len(algorithm.gpus)} NPUs"
        )
    if algorithm.collective == "custom":
        raise ScheduleError(
            "the algorithm's collective is custom: what it has to do is not said, so it cannot be timed"
        )
    verdict = judge(algorithm)
    if verdict.fault is not None:
        raise verdict.fault
    graph = StepGraph(algorithm)
    conditions = Conditions(algorithm, not algorithm.out_of_place, verdict.root)
    problem = _collective_of(algorithm, topology, ranks, verdict.root)
    units, ends = units_of(graph, conditions)
    versions = versions_of(units, ends, problem.reduces)
    sends, step, in_order = _listed(units, versions, graph)
    adds = {unit for chain in versions.values() for version in chain
            for unit in (version.arrivals[1:] if version.fresh else version.arrivals)}  # fmt: skip
    hops, shared = _hops(units, sends, step, adds, topology, ranks, graph)
    order = "program" if in_order and not shared else "fifo"
    calls = Calls(algorithm.protocol, algorithm.in_place and not algorithm.out_of_place, algorithm.min_bytes,
                  algorithm.max_bytes)  # fmt: skip
    notes = {"algorithm": algorithm.name, "calls": msgspec.structs.asdict(calls),
             "deployment": msgspec.structs.asdict(deployment_of(algorithm))}  # fmt: skip
    return Schedule(topology, problem, order=order, notes=notes, **hops)  # type: ignore[arg-type]


def _collective_of(algorithm: Algorithm, topology: Topology, ranks: tuple[int, ...], root: int) -> Collective:
    """Return the collective, cut as the algorithm cuts it; its chunks are numbered as `Conditions` numbers them."""
    kind, count = COLLECTIVES[algorithm.collective], algorithm.chunks
    fits = kind == "all_reduce" and count % len(ranks) == 0
    if fits or kind in ("all_gather", "reduce_scatter", "all_to_all"):
        shards, chunks = 0, count // len(ranks)
    else:
        shards, chunks = 1, count
    root = root if kind in ("broadcast", "reduce") else 0
    return collective(kind, topology.num_npus, groups=[ranks], chunks=chunks, root=root, shards=shards)


def _listed(
    units: list[Unit], versions: dict[tuple[int, int], list[Version]], graph: StepGraph
) -> tuple[list[int], dict[int, int] | None, bool]:
    """Return all sends in list order, the step of each (None: its own), and whether connections keep their order."""
    times = {number: time for time, number in enumerate(graph.order)}
    sends = sorted({unit.send for unit in units}, key=lambda send: times[send])
    then: dict[int, set[int]] = defaultdict(set)
    strict: set[tuple[int, int]] = set()  # has to be in an earlier step, not only before
    for chain in versions.values():
        last = -1
        readers: list[int] = []
        for version in chain:
            for number in version.arrivals:
                send = units[number].send
                for earlier in [last, *readers]:
                    if earlier >= 0:
                        then[earlier].add(send)
                last, readers = send, []
            readers = [units[number].send for number in version.readers]
            for reader in readers:
                if last >= 0:
                    then[last].add(reader)
                    strict.add((last, reader))
    for send, after in then.items():
        after.discard(send)  # chunks of one message
    kept = {send: set(after) for send, after in then.items()}
    last_of: dict[int, int] = {}
    for send in sends:  # of one threadblock in its order
        if graph.block[send] in last_of:
            kept.setdefault(last_of[graph.block[send]], set()).add(send)
        last_of[graph.block[send]] = send
    for edges in (kept, then):
        order = _sorted(sends, edges, times)
        if len(order) == len(sends):
            return order, None, edges is kept
    part = _circles(sends, then)
    if any(part[a] == part[b] for a, b in strict):
        raise ScheduleError("no list of hops says what the algorithm's messages carry: they exchange versions of "
                            "chunks in a circle; the algorithm can be verified, not simulated")  # fmt: skip
    members: dict[int, list[int]] = defaultdict(list)
    for send in sends:
        members[part[send]].append(send)
    first = {group: min(times[send] for send in mine) for group, mine in members.items()}
    between: dict[int, set[int]] = defaultdict(set)
    for send, after in then.items():
        between[part[send]] |= {part[later] for later in after} - {part[send]}
    groups = _sorted(sorted(members, key=lambda group: first[group]), between, first)
    steps = {send: position for position, group in enumerate(groups) for send in members[group]}
    return [send for group in groups for send in members[group]], steps, False


def _sorted(nodes: list[int], then: dict[int, set[int]], times: dict[int, int]) -> list[int]:
    """Return nodes in an order that edges allow, the earliest first; without those on or behind a circle."""
    missing = dict.fromkeys(nodes, 0)
    for after in then.values():
        for later in after:
            missing[later] += 1
    ready = [(times[node], node) for node in nodes if not missing[node]]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)[1]
        order.append(node)
        for later in then.get(node, ()):
            missing[later] -= 1
            if not missing[later]:
                heapq.heappush(ready, (times[later], later))
    return order


def _circles(sends: list[int], then: dict[int, set[int]]) -> dict[int, int]:
    """Return the strongly connected part of each send."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = {send: position for position, send in enumerate(sends)}
    pairs = np.array([(index[send], index[later]) for send, after in then.items() for later in after], np.int64)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(sends), len(sends)))
    labels = connected_components(graph.tocsr(), connection="strong")[1].tolist()
    return dict(zip(sends, labels, strict=True))


def _hops(
    units: list[Unit],
    sends: list[int],
    step: dict[int, int] | None,
    adds: set[int],
    topology: Topology,
    ranks: tuple[int, ...],
    graph: StepGraph,
) -> tuple[dict[str, np.ndarray | None], bool]:
    """Return the columns of the schedule, and whether a link has messages of several connections."""
    of_send: dict[int, list[int]] = defaultdict(list)
    for number, unit in enumerate(units):
        of_send[unit.send].append(number)
    routes = SendRoutes(topology, [(ranks[unit.source], ranks[unit.target]) for unit in units])
    rows: list[tuple[int, int, bool, int, int, int]] = []
    flows = messages = 0
    owners: dict[int, int] = {}
    shared = False
    for send in sends:
        mine = of_send[send]
        route = routes.take(ranks[units[mine[0]].source], ranks[units[mine[0]].target], len(mine))
        for link in route:
            shared |= owners.setdefault(link, graph.block[send]) != graph.block[send]
            for position, number in enumerate(mine):
                rows.append((units[number].chunk, link, number in adds, flows + position if len(route) > 1 else -1,
                             messages if len(mine) > 1 else -1, step[send] if step else 0))  # fmt: skip
            messages += 1
        flows += len(mine)
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    return {
        "chunk": columns[0], "link": columns[1], "reduce": columns[2].astype(bool), "flow": columns[3],
        "message": columns[4], "step": columns[5] if step else None,
    }, shared  # fmt: skip
