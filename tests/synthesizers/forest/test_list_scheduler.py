"""The kernel of the list scheduler does what a short twin in plain Python does."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from schedules import collective
from simulator import LinkModel
from synthesizers.forest import listing
from synthesizers.forest.list_scheduler import started
from synthesizers.forest.listing import Flood, listed
from synthesizers.forest.spanning import spanning_trees
from topologies import parse_topology


def twin(pieces, by_rank, source, target, start, links, first, following, chunk, wire, size_class, rate_class, alpha,
         blocking, cut_through):  # fmt: skip
    """Return what `started` does; hops are (piece, edge, place in the route)."""
    edges, hops = len(source), len(links)
    rank = {divmod(int(item), edges): place for place, item in enumerate(by_rank)}
    missing = {(piece, place): int((target == place).sum()) for piece in range(pieces) for place in source}
    ready, free, called = [[] for _ in alpha], [0] * len(alpha), [False] * len(alpha)
    events, order, begun, done = [], [], np.zeros(pieces * edges, np.int64), 0

    def time_on(piece, edge, link):
        return int(wire[size_class[chunk[edge] + piece], rate_class[link]])

    def call(link, now):
        if ready[link] and not called[link]:
            called[link] = True
            heapq.heappush(events, (max(now, free[link]), pieces * hops + link, None))

    def offer(piece, edge, place, now):
        link = int(links[start[edge] + place])
        heapq.heappush(ready[link], (rank[piece, edge], piece, edge, place))
        call(link, now)

    def arrive(piece, place, now):
        if not missing.get((piece, place), 0):
            for edge in following[first[place] : first[place + 1]]:
                offer(piece, int(edge), 0, now)

    for piece in range(pieces):
        for place in range(len(first) - 1):
            arrive(piece, place, 0)
    while events:
        now, code, hop = heapq.heappop(events)
        if hop is None:
            link = code - pieces * hops
            called[link] = False
            _, piece, edge, place = heapq.heappop(ready[link])
            order.append(piece * hops + int(start[edge]) + place)
            if place == 0:
                begun[piece * edges + edge] = now
            busy = time_on(piece, edge, link)
            end = now + int(alpha[link]) + busy
            done, free[link] = max(done, end), end if blocking else now + busy
            if place + 1 < start[edge + 1] - start[edge] and cut_through:
                end = max(now + int(alpha[link]), end - time_on(piece, edge, links[start[edge] + place + 1]))
            heapq.heappush(events, (end, order[-1], (piece, edge, place)))
            call(link, now)
            continue
        piece, edge, place = hop
        if place + 1 < start[edge + 1] - start[edge]:
            offer(piece, edge, place + 1, now)
        else:
            missing[piece, int(target[edge])] = missing.get((piece, int(target[edge])), 1) - 1
            arrive(piece, int(target[edge]), now)
    return np.array(order), begun, done


@pytest.mark.parametrize("name", ["mesh:2x3", "dgx_a100:2", "ndv2:2"])
@pytest.mark.parametrize("model", [LinkModel("pipelined"), LinkModel("blocking", "store_and_forward")])
def test_twin(name, model, monkeypatch):
    """Order, starts and time are the same, forwards and backwards, over switches and without."""
    runs = []

    def both(*arguments):
        runs.append((started(*arguments), twin(*arguments)))
        return runs[-1][0]

    topology = parse_topology(name)
    npus = topology.num_npus
    trees, _ = spanning_trees(topology, range(npus), trees=1)
    monkeypatch.setattr(listing, "started", both)
    listed(topology, collective("all_gather", npus, chunks=3), [Flood(np.arange(npus) * 3, trees)], 3, 10**7, model)
    assert len(runs) >= 4
    for fast, plain in runs:
        assert all(np.array_equal(one, other) for one, other in zip(fast, plain, strict=True))
