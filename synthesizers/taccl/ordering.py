"""Stage 2 of TACCL (arXiv 2111.04867, section 5.2), ordering: in which order each link and port carries its chunks.

List scheduling of the routed sends: of those that are ready, the one of the least key goes next, as soon as its ports
are free. With est(s) the earliest start of send s, rest(s) the longest way from its start to a last arrival below it
in its chunk's tree, and own(s) = 0 where a sender sends its own chunk to another box, the keys are

- with switches (−rest, est), across boxes (est, own, −rest), as published, both among the sends that can start first;
- est − w · rest for some weights w;
- (est, latest start in the best order so far): what is late goes first.

All are tried; the order of the shortest makespan wins.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from synthesizers.taccl.budget import OutOfTime, in_time
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.network import Network
from synthesizers.taccl.plan import Plan, Unit, timed
from synthesizers.taccl.wire_queue import Key, Send, WireQueue

#: Rounds in which latest starts give the priorities.
_ROUNDS = 3

#: More sends than this are ordered by the published keys only.
_MANY = 5_000


def best_order(
    network: Network,
    demand: Demand,
    costs: Costs,
    routes: Sequence[Sequence[int]],
    until: float | None = None,
    last: float | None = None,
) -> Plan:
    """Return the plan of the best order of the routed sends, each alone.

    Parameters
    ----------
    network : Network
    demand : Demand
    costs : Costs
    routes : sequence of sequences of int
        The wires that each chunk takes: a tree from its holders to those who want it.
    until : float, optional
        When `time.perf_counter` says so, no more keys are tried.
    last : float, optional
        When it says so and no key is done, it gives up.

    Raises
    ------
    OutOfTime
    """
    rest = _rest(network, demand, costs, routes)
    own = {
        (chunk, wire): int(network.wires.src[wire] not in demand.sources[chunk]) if wire in network.cross else 0
        for chunk, wires in enumerate(routes) for wire in wires
    }  # fmt: skip
    keys: list[Key] = [
        lambda est, send: (est, -rest[send], own[send]) if network.switched else (est, own[send], -rest[send]),
        lambda est, send: (est, -rest[send]) if not network.switched else (est, own[send], -rest[send]),
    ]
    if len(rest) <= _MANY:
        keys += [lambda est, send, weight=weight: (4 * est - weight * rest[send],) for weight in (1, 2, 4)]  # type: ignore[misc]
    best: Plan | None = None
    for key in keys:
        try:
            plan = _listed(network, demand, costs, routes, key, last if best is None else until)
        except OutOfTime:
            if best is None:
                raise
            return best
        if best is None or plan.time_ps < best.time_ps:
            best = plan
    assert best is not None
    return best if len(rest) > _MANY else _by_lateness(best, network, demand, costs, routes, until)


def _by_lateness(
    best: Plan,
    network: Network,
    demand: Demand,
    costs: Costs,
    routes: Sequence[Sequence[int]],
    until: float | None,
) -> Plan:
    """Return the plan, or a better one by the key of latest starts, as far as there is time."""
    for _ in range(_ROUNDS):
        late = _latest_starts(best, network, demand, costs)
        keys: tuple[Key, ...] = (
            lambda est, send, late=late: (est, late[send]),  # type: ignore[misc]
            lambda est, send, late=late: (late[send], est),  # type: ignore[misc]
        )
        try:
            plan = min(
                (_listed(network, demand, costs, routes, key, until) for key in keys), key=lambda plan: plan.time_ps
            )
        except OutOfTime:
            break
        if plan.time_ps >= best.time_ps:
            break
        best = plan
    return best


def _rest(network: Network, demand: Demand, costs: Costs, routes: Sequence[Sequence[int]]) -> dict[Send, int]:
    """Return the time from the start of each send to the last arrival below it."""
    wires = network.wires
    rest: dict[Send, int] = {}
    for chunk, taken in enumerate(routes):
        onward: dict[int, list[int]] = {}
        for wire in taken:
            onward.setdefault(wires.src[wire], []).append(wire)
        stack = [wire for source in demand.sources[chunk] for wire in onward.get(source, ())]
        order = []
        while stack:
            wire = stack.pop()
            order.append(wire)
            stack += onward.get(wires.dst[wire], ())
        for wire in reversed(order):
            below = max((rest[chunk, after] for after in onward.get(wires.dst[wire], ())), default=0)
            rest[chunk, wire] = costs.of(wire, demand.nbytes[chunk]).time + below
    return rest


def _listed(
    network: Network, demand: Demand, costs: Costs, routes: Sequence[Sequence[int]], key: Key, until: float | None
) -> Plan:
    """Return the plan of list scheduling by a key, which never falls as est grows; `OutOfTime` past `until`."""
    in_time(until)
    wires = network.wires
    onward: dict[tuple[int, int], list[int]] = {}
    own_left: dict[int, int] = {}  # wire → own chunks still to be sent over it
    for chunk, taken in enumerate(routes):
        for wire in taken:
            onward.setdefault((chunk, wires.src[wire]), []).append(wire)
            if network.own_first and wire in network.cross and wires.src[wire] in demand.sources[chunk]:
                own_left[wire] = own_left.get(wire, 0) + 1
    free: dict[int, int] = {}
    held_back: dict[int, list[tuple[Send, int]]] = {}
    queues: dict[tuple[int, int], WireQueue] = {}
    heap: list[tuple[tuple, Send, tuple[int, int]]] = []  # the first of each queue, or what was first

    def offer(chunk: int, npu: int, ready: int) -> None:
        for wire in onward.get((chunk, npu), ()):
            if own_left.get(wire) and npu not in demand.sources[chunk]:
                held_back.setdefault(wire, []).append(((chunk, wire), ready))
            else:
                enter((chunk, wire), ready)

    def enter(send: Send, ready: int) -> None:
        name = send[1], demand.nbytes[send[0]]
        if name not in queues:
            queues[name] = WireQueue(costs.of(*name), key, free)
        if queues[name].add(send, ready):
            heapq.heappush(heap, (*queues[name].entry, name))

    for chunk, sources in enumerate(demand.sources):
        for source in sources:
            offer(chunk, source, 0)
    units: list[Unit] = []
    starts: list[int] = []
    last = 0
    looks = 0
    while heap:
        looks += 1
        if looks % 1000 == 0:
            in_time(until)
        *old, name = heapq.heappop(heap)
        queue = queues[name]
        if tuple(old) != queue.entry:
            continue  # another has come before it
        if not queue.look():
            heapq.heappush(heap, (*queue.entry, name))
            continue
        send, start = queue.take()
        chunk, wire = send
        cost = queue.cost
        for port, offset, held in cost.holds:
            free[port] = start + offset + held
        units.append((wire, (chunk,)))
        starts.append(start)
        last = max(last, start + cost.time)
        queue.look()
        if queue.entry:
            heapq.heappush(heap, (*queue.entry, name))
        offer(chunk, wires.dst[wire], start + cost.time)
        if own_left.get(wire) and wires.src[wire] in demand.sources[chunk]:
            own_left[wire] -= 1
            if not own_left[wire]:
                for waiting, since in held_back.pop(wire, []):
                    enter(waiting, since)
    order = sorted(range(len(units)), key=lambda unit: (starts[unit], unit))
    return timed([units[unit] for unit in order], wires, demand, costs)


def _latest_starts(plan: Plan, network: Network, demand: Demand, costs: Costs) -> dict[Send, int]:
    """Return the latest start of each send that does not make the plan longer, its order kept."""
    wires = network.wires
    due: dict[tuple[int, int], int] = {}
    port_due: dict[int, int] = {}
    late: dict[Send, int] = {}
    for wire, (chunk,) in reversed(plan.units):
        cost = costs.of(wire, demand.nbytes[chunk])
        start = due.get((chunk, wires.dst[wire]), plan.time_ps) - cost.time
        for port, offset, held in cost.holds:
            start = min(start, port_due.get(port, plan.time_ps + offset + held) - offset - held)
        for port, offset, _ in cost.holds:
            port_due[port] = start + offset
        source = chunk, wires.src[wire]
        due[source] = min(due.get(source, plan.time_ps), start)
        late[chunk, wire] = start
    return late
