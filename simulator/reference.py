"""Pure-Python twins of the compiled simulator kernels, same signatures: the rules of the link model, as plain loops.

Slow, and kept only so that tests can hold the kernels equal to something that can be checked by eye.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np


def completion(chunk, link, src, dst, size_class, link_class, arrives, busy, ready):  # noqa: ARG001
    """Twin of `simulator.in_order.completion`: each link in list order, each hop once its chunk has come in."""
    free: dict[int, int] = defaultdict(int)
    arrived: dict[tuple[int, int], int] = defaultdict(int)  # (node, chunk) → when all deliveries so far are in
    done = 0
    for c, l in zip(chunk.tolist(), link.tolist(), strict=True):  # noqa: E741
        start = max(free[l], arrived[src[l], c])
        end = start + int(arrives[size_class[c], link_class[l]])
        free[l] = start + int(busy[size_class[c], link_class[l]])
        arrived[dst[l], c] = max(arrived[dst[l], c], end)
        done = max(done, end)
    return done


def in_order(
    chunk, link, message, reads, follows, before, alpha, size_class, rate_class, table, per_hop, per_message,
    blocking, cut_through,
):  # fmt: skip
    """Twin of `simulator.in_order.in_order`: transfers in list order; each is a hop or the hops of a message."""
    links, alphas, hops = link.tolist(), alpha.tolist(), range(len(chunk))
    start, end = [0] * len(links), [0] * len(links)
    transfers: dict[tuple[str, int], list[int]] = {}
    for hop in hops:
        own = len(message) == 0 or message[hop] < 0
        transfers.setdefault(("hop", hop) if own else ("message", int(message[hop])), []).append(hop)
    free: dict[int, int] = defaultdict(int)
    for (what, name), members in transfers.items():
        if what == "message":
            wire = int(per_message[name])
        elif len(per_hop):
            wire = int(per_hop[name])
        else:
            wire = int(table[size_class[chunk[name]], rate_class[link[name]]])
        l = links[members[0]]  # noqa: E741
        begin = free[l]
        for hop in members:
            inner = len(before) > 0 and before[hop] >= 0
            source = int(before[hop]) if inner else int(reads[hop])
            if inner:
                begin = max(begin, _onward(start[source], end[source], alphas[links[source]], wire, cut_through))
            else:
                begin = max([begin, *(end[delivery] for delivery in _delivered(source, follows))])
        for hop in members:
            start[hop], end[hop] = begin, begin + alphas[l] + wire
        free[l] = begin + wire + (alphas[l] if blocking else 0)
    return np.array(start, np.int64), np.array(end, np.int64)


def run(link, wire, message, needs, edge_start, edges, follows, before, alpha, blocking, cut_through, ordered):
    """Twin of `simulator.events.run`: of all transfers that may go, the one ready first goes; ties in list order."""
    links, wires, alphas, count = link.tolist(), wire.tolist(), alpha.tolist(), len(link)
    transfers: dict[int, list[int]] = {}  # first hop → hops
    first_of: dict[int, int] = {}  # message → first hop
    for hop in range(count):
        own = len(message) == 0 or message[hop] < 0
        transfers.setdefault(hop if own else first_of.setdefault(int(message[hop]), hop), []).append(hop)
    reads: list[list[int]] = [[] for _ in range(count)]
    for source in range(count):
        for hop in edges[edge_start[source] : edge_start[source + 1]]:
            reads[hop].append(source)
    assert [len(sources) for sources in reads] == [int(need) for need in needs], "needs count the edges"

    queue: dict[int, list[int]] = defaultdict(list)  # transfers of each link that have not gone, in list order
    for name, members in transfers.items():
        queue[links[members[0]]].append(name)
    start, end = [-1] * count, [0] * count
    free: dict[int, int] = defaultdict(int)

    def ready(name: int) -> int | None:
        """Return when a transfer may go, None while something that it waits for has not gone."""
        moment = 0
        for hop in transfers[name]:
            inner = len(before) > 0 and before[hop] >= 0
            sources = [int(before[hop])] if inner else [d for source in reads[hop] for d in _delivered(source, follows)]
            if any(start[source] < 0 for source in sources):
                return None
            for source in sources:
                arrival = end[source]
                if inner:
                    arrival = _onward(start[source], arrival, alphas[links[source]], wires[hop], cut_through)
                moment = max(moment, arrival)
        return moment

    while True:
        candidates = [
            (moment, name)
            for names in queue.values()
            for name in (names[:1] if ordered else names)
            if (moment := ready(name)) is not None
        ]
        if not candidates:
            served = sum(moment >= 0 for moment in start)
            return np.array(start, np.int64), np.array(end, np.int64), served
        moment, name = min(candidates)
        l = links[name]  # noqa: E741
        queue[l].remove(name)
        begin = max(moment, free[l])
        free[l] = begin + wires[name] + (alphas[l] if blocking else 0)
        for hop in transfers[name]:
            start[hop], end[hop] = begin, begin + alphas[l] + wires[name]


def _delivered(delivery, follows) -> list[int]:
    """Return a delivery and all that it follows: what a hop that reads it waits for; −1 is none."""
    chain = []
    while delivery >= 0:
        chain.append(int(delivery))
        delivery = follows[delivery]
    return chain


def _onward(start, end, latency, wire, cut_through) -> int:
    """Return when the next hop of a route may start.

    Cutting through, no earlier than the first byte is there, and so that it ends no earlier than the last byte has
    come in and crossed; else when all is there.
    """
    return max(start + latency, end - wire) if cut_through else end
