"""From flows of TE-CCL to a schedule on a network: epochs are steps, switches are seen through.

A flow into a switch and the flow out of it are one send between GPUs (several flows out of it: several sends, for a
switch here does not copy). A send takes the link between its two GPUs, the least loaded of parallel ones, or the
shortest route. The demand says which collective it is; where it is none that has a name, it is a custom one.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from schedules.builders import collective, custom
from schedules.collective import Collective
from schedules.schedule import Schedule
from schedules.sends import SendRoutes
from schedules.teccl.parsing import Flow, Flows
from topologies import Topology
from topologies.exceptions import ScheduleError, VerificationError

Key = tuple[int, int]


def schedule_of(flows: Flows, topology: Topology, group: tuple[int, ...] | None = None) -> Schedule:
    """Return flows as a schedule on a network.

    Parameters
    ----------
    flows : Flows
    topology : Topology
        The file says nothing of links and their speed.
    group : tuple of int, optional
        The NPU that each GPU is, by ascending node number; by default GPU r is NPU r.

    Raises
    ------
    ScheduleError
        No demand, or another number of GPUs than NPUs.
    VerificationError
        A flow takes what its source does not have yet, or a demand is not met; names it.
    TopologyError
        GPUs that the network does not connect.
    """
    ranks = tuple(range(topology.num_npus)) if group is None else group
    if not flows.demand:
        raise ScheduleError("the file has no Demand_Met: what its flows have to do is not said")
    if len(ranks) != len(flows.gpus):
        raise ScheduleError(
            f"the flows are for {len(flows.gpus)} GPUs, {topology.name} has {len(ranks)} NPUs to run them on; "
            f"give a network of {len(flows.gpus)} NPUs"
        )
    npu = dict(zip(flows.gpus, ranks, strict=True))
    problem, chunk_of = collective_of(flows, topology.num_npus, ranks)
    sends = _sends(flows)
    routes = SendRoutes(topology, [(npu[flow.source], npu[flow.target]) for flow in sends])
    steps = {epoch: step for step, epoch in enumerate(sorted({flow.epoch for flow in sends}))}
    rows = [
        (chunk_of[flow.origin, flow.chunk], link, number, steps[flow.epoch])
        for number, flow in enumerate(sends)
        for link in routes.take(npu[flow.source], npu[flow.target], 1)
    ]
    chunk, link, route, step = np.array(rows, np.int64).reshape(-1, 4).T
    return Schedule(topology, problem, chunk, link, flow=route, step=step, notes={"algorithm": "TE-CCL"})


def connections_of(flows: Flows) -> Topology:
    """Return a network with a link for each pair of GPUs that the flows use; its speeds mean nothing."""
    npu = {node: rank for rank, node in enumerate(flows.gpus)}
    pairs = sorted({(npu[flow.source], npu[flow.target]) for flow in _sends(flows)})
    src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
    return Topology(len(npu), src, dst, np.zeros(len(pairs)), np.ones(len(pairs)), name="connections")


def _sends(flows: Flows) -> list[Flow]:
    """Return the flows between GPUs, by epoch, switches seen through; all hold what they send, all demand is met."""
    gpus = set(flows.gpus)
    known: dict[tuple[Key, int], int] = {}  # the first epoch in which a node may use a chunk
    behind: dict[tuple[Key, int], int] = {}  # the GPU whose chunk a switch has
    sends = []
    for flow in flows.flows:
        key = (flow.origin, flow.chunk)
        if flow.origin not in gpus or (flows.demand and key not in flows.demand):
            raise VerificationError(f"{flow}: that chunk is not in the demand")
        if flow.source != flow.origin and known.get((key, flow.source), flow.epoch + 1) > flow.epoch:
            raise VerificationError(f"{flow}: node {flow.source} does not have it yet")
        sender = flow.source if flow.source in gpus else behind[key, flow.source]
        if flow.target in gpus:
            if sender != flow.target:
                sends.append(flow._replace(source=sender))
        else:
            behind[key, flow.target] = sender
        known.setdefault((key, flow.target), flow.epoch + 1)
    for key, wanted in flows.demand.items():
        for node in wanted:
            if node != key[0] and (key, node) not in known:
                raise VerificationError(f"chunk {key[1]} from {key[0]} never comes to node {node}, which wants it")
    return sends


def collective_of(flows: Flows, num_npus: int, ranks: tuple[int, ...]) -> tuple[Collective, dict[Key, int]]:
    """Return the collective that the demand is, and the number of each of its chunks, by (origin, chunk).

    Parameters
    ----------
    flows : Flows
        With a demand.
    num_npus : int
        NPUs of the network.
    ranks : tuple of int
        The NPU that each GPU is, by ascending node number.
    """
    demand = flows.demand
    rank = {node: position for position, node in enumerate(flows.gpus)}
    count, per_origin = len(rank), Counter(origin for origin, _ in demand)
    to_all = all(len({key[0], *wanted}) == count for key, wanted in demand.items())
    if to_all and len(per_origin) == count and len(set(per_origin.values())) == 1:
        problem = collective("all_gather", num_npus, groups=[ranks], chunks=len(demand) // count)
        return problem, {key: number for number, key in enumerate(sorted(demand))}
    if to_all and len(per_origin) == 1:
        (origin,) = per_origin
        problem = collective("broadcast", num_npus, groups=[ranks], chunks=len(demand), root=rank[origin])
        return problem, {key: number for number, key in enumerate(sorted(demand))}
    pairs: dict[Key, list[Key]] = defaultdict(list)
    for key, wanted in sorted(demand.items()):
        for node in wanted:
            pairs[key[0], node].append(key)
    one_to_one = all(len(wanted) == 1 and key[0] not in wanted for key, wanted in demand.items())
    if one_to_one and len(pairs) == count * (count - 1) and len(set(map(len, pairs.values()))) == 1:
        chunks = len(demand) // len(pairs)
        numbers = {
            key: (rank[source] * count + rank[target]) * chunks + position
            for (source, target), keys in pairs.items()
            for position, key in enumerate(keys)
        }
        return collective("all_to_all", num_npus, groups=[ranks], chunks=chunks), numbers
    before = [(ranks[rank[origin]],) for origin, _ in demand]
    after = [tuple(ranks[rank[node]] for node in wanted) for wanted in demand.values()]
    return custom(num_npus, before, after), {key: number for number, key in enumerate(demand)}
