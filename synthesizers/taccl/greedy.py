"""Routes without a solver: what stage 1 starts from, and falls back on.

Chunks that all NPUs on their way want spread as the next arrival is earliest (as TACOS does, with ports that wires
share). Others are routed one after another over the cheapest path, where a wire costs the more the more it carries
already; then each is taken out and routed anew, a few times.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence

from synthesizers.taccl.budget import in_time
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.network import Network
from synthesizers.taccl.routing import trimmed
from synthesizers.taccl.wire_queue import Send, WireQueue

#: How often each chunk is routed anew.
_ROUNDS = 2

#: How often an offer is looked at again, on average, before the first is taken.
_LOOKS = 20


def greedy_routes(
    network: Network,
    demand: Demand,
    costs: Costs,
    allowed: Sequence[Sequence[int]],
    until: float | None = None,
    last: float | None = None,
) -> list[list[int]]:
    """Return a tree of wires for each chunk.

    Parameters
    ----------
    network : Network
    demand : Demand
    costs : Costs
    allowed : sequence of sequences of int
        The wires that each chunk may take.
    until : float, optional
        When `time.perf_counter` says so, the rest is done without looking twice.
    last : float, optional
        When it says so, it gives up.

    Raises
    ------
    OutOfTime
    """
    dst, targets = network.wires.dst, [set(wanting) for wanting in demand.targets]
    everybody = all(dst[wire] in targets[chunk] for chunk in demand.wanted for wire in allowed[chunk])
    return (_spread if everybody else _paths)(network, demand, costs, allowed, until, last)


def _spread(
    network: Network,
    demand: Demand,
    costs: Costs,
    allowed: Sequence[Sequence[int]],
    until: float | None,
    last: float | None,
) -> list[list[int]]:
    """Return trees grown delivery by delivery, the earliest next."""
    wires = network.wires
    free: dict[int, int] = {}
    have = {(chunk, npu) for chunk, sources in enumerate(demand.sources) for npu in sources}
    onward: dict[tuple[int, int], list[int]] = {}
    for chunk in demand.wanted:
        for wire in allowed[chunk]:
            onward.setdefault((chunk, wires.src[wire]), []).append(wire)
    copies = [len(sources) for sources in demand.sources]
    queues: dict[tuple[int, int], WireQueue] = {}
    heap: list[tuple[tuple, Send, tuple[int, int]]] = []  # the first of each queue, or what was first

    def key(start: int, send: Send) -> tuple[int, int]:
        return start + costs.of(send[1], demand.nbytes[send[0]]).time, copies[send[0]]

    def gone(send: Send) -> bool:
        return (send[0], wires.dst[send[1]]) in have

    def offer(chunk: int, npu: int, ready: int) -> None:
        for wire in onward.get((chunk, npu), ()):
            if (chunk, wires.dst[wire]) not in have:
                name = wire, demand.nbytes[chunk]
                if name not in queues:
                    queues[name] = WireQueue(costs.of(*name), key, free, gone)
                if queues[name].add((chunk, wire), ready):
                    heapq.heappush(heap, (*queues[name].entry, name))

    for chunk in demand.wanted:
        in_time(last)
        for source in demand.sources[chunk]:
            offer(chunk, source, 0)
    routes: list[list[int]] = [[] for _ in demand.sources]
    looks, most = 0, _LOOKS * len(queues) + 10 * _LOOKS * sum(map(len, demand.targets))
    while heap:
        looks += 1
        if looks % 1000 == 0:
            in_time(last)
            if until is not None and time.perf_counter() > until:
                most = 0
        *old, name = heapq.heappop(heap)
        queue = queues[name]
        if tuple(old) != queue.entry:
            continue  # another has come before it
        same = queue.look()
        if not queue.entry:
            continue
        # Where many wires share few ports, the times of most offers are out of date: then the first is taken.
        if not same and looks < most:
            heapq.heappush(heap, (*queue.entry, name))
            continue
        (chunk, wire), start = queue.take()
        for port, offset, held in queue.cost.holds:
            free[port] = start + offset + held
        have.add((chunk, wires.dst[wire]))
        copies[chunk] += 1
        routes[chunk].append(wire)
        queue.look()
        if queue.entry:
            heapq.heappush(heap, (*queue.entry, name))
        offer(chunk, wires.dst[wire], start + queue.cost.time)
    return routes


def _paths(
    network: Network,
    demand: Demand,
    costs: Costs,
    allowed: Sequence[Sequence[int]],
    until: float | None,
    last: float | None,
) -> list[list[int]]:
    """Return trees grown path by path over little-loaded wires."""
    load: dict[int, int] = {}
    routes: list[list[int]] = [[] for _ in demand.sources]
    order = sorted(demand.wanted, key=lambda chunk: (len(allowed[chunk]), chunk))
    for turn in range(1 + _ROUNDS):
        for chunk in order:
            if not turn:
                in_time(last)
            elif until is not None and time.perf_counter() > until:
                return routes  # the others stay as they are
            else:
                _carry(load, costs, demand, chunk, routes[chunk], -1)
            routes[chunk] = _tree(network, demand, costs, allowed[chunk], chunk, load)
            _carry(load, costs, demand, chunk, routes[chunk], 1)
    return routes


def _carry(load: dict[int, int], costs: Costs, demand: Demand, chunk: int, taken: list[int], sign: int) -> None:
    """Add a chunk's wires to the load of their ports, or take them off."""
    for wire in taken:
        for port, _, held in costs.of(wire, demand.nbytes[chunk]).holds:
            load[port] = load.get(port, 0) + sign * held


def _tree(
    network: Network, demand: Demand, costs: Costs, wires: Sequence[int], chunk: int, load: dict[int, int]
) -> list[int]:
    """Return the tree of a chunk: whoever wants it is joined by the cheapest path from what is there."""
    drawn = network.wires
    onward: dict[int, list[int]] = {}
    for wire in wires:
        onward.setdefault(drawn.src[wire], []).append(wire)
    own: dict[int, int] = {}

    def price(wire: int) -> int:
        # The dearest port counts: the time at which the send would leave it if all went at once.
        cost = costs.of(wire, demand.nbytes[chunk])
        return cost.time + max(load.get(port, 0) + own.get(port, 0) + held for port, _, held in cost.holds)

    depth = dict.fromkeys(demand.sources[chunk], 0)
    left = set(demand.targets[chunk])
    taken: list[int] = []
    while left:
        best = dict(depth)
        via: dict[int, int] = {}
        heap = [(cost, npu) for npu, cost in sorted(best.items())]
        heapq.heapify(heap)
        found = -1
        while heap:
            so_far, npu = heapq.heappop(heap)
            if so_far > best[npu]:
                continue
            if npu in left:
                found = npu
                break
            for wire in onward.get(npu, ()):
                target, total = drawn.dst[wire], so_far + price(wire)
                if target not in depth and total < best.get(target, 2**62):
                    best[target], via[target] = total, wire
                    heapq.heappush(heap, (total, target))
        npu = found
        while npu not in depth:
            taken.append(via[npu])
            _carry(own, costs, demand, chunk, [via[npu]], 1)
            depth[npu] = costs.of(via[npu], demand.nbytes[chunk]).time  # near what is there, whatever it cost
            npu = drawn.src[via[npu]]
        left.discard(found)
    return trimmed(network, demand, chunk, taken)
