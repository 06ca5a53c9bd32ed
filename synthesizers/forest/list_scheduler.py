"""The list scheduler: the kernel that runs trees ahead of time, and the one that ranks their edges.

Edges lead from place to place and are ready once all edges into their place have arrived; a route's hops follow each
other as `simulator.link_model` says. Each link has a heap of what is ready, and is free again as in the simulator.
"""

from __future__ import annotations

import heapq

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def way_to_go(source, target, cost, num_places, listed_last_first):
    """Return for each edge the cost of the longest way from its source on, itself included."""
    beyond = np.zeros(num_places, np.int64)
    left = np.zeros(len(cost), np.int64)
    for place in range(len(cost)):
        edge = place if listed_last_first else len(cost) - 1 - place
        left[edge] = cost[edge] + beyond[target[edge]]
        beyond[source[edge]] = max(beyond[source[edge]], left[edge])
    return left


@numba.njit(cache=True, nogil=True)
def started(
    pieces, by_rank, source, target, start, links, first, following, chunk, wire, size_class, rate_class, alpha,
    blocking, cut_through,
):  # fmt: skip
    """Return what a list scheduler does: (order of hops as piece · hops + hop, start of piece · edges + edge, time).

    Of what is ready a link takes what comes first in `by_rank`, piece · edges + edge.
    """
    num_edges, num_hops, num_links, num_places = len(source), len(links), len(alpha), len(first) - 1
    edge_of = np.empty(num_hops, np.int64)
    for edge in range(num_edges):
        edge_of[start[edge] : start[edge + 1]] = edge
    rank = np.empty(len(by_rank), np.int64)
    rank[by_rank] = np.arange(len(by_rank))
    begun = np.zeros(len(by_rank), np.int64)
    done = 0
    missing = np.zeros((pieces, num_places), np.int32)
    for edge in range(num_edges):
        missing[:, target[edge]] += 1
    # Of each link a heap of piece · edges + rank, in a part of one array.
    begin = np.zeros(num_links + 1, np.int64)
    for hop in range(num_hops):
        begin[links[hop] + 1] += pieces
    for link in range(num_links):
        begin[link + 1] += begin[link]
    heap = np.empty(begin[num_links], np.int64)
    waiting = np.zeros(num_links, np.int64)
    free = np.zeros(num_links, np.int64)
    called = np.zeros(num_links, np.bool_)
    events = [(0, 0) for _ in range(0)]  # (time, hop that may go on, or past all hops a link)
    total = pieces * num_hops
    order = np.empty(total, np.int64)
    count = 0
    ready = np.empty(num_edges + 1, np.int64)
    for opening in range(-pieces * num_places, 1):
        # First all places that need nothing, then the events until there are none.
        while True:
            piece, num_ready = 0, 0
            now = 0
            if opening < 0:
                place = opening + pieces * num_places
                piece, place = place // num_places, place % num_places
                if missing[piece, place] == 0:
                    for at in range(first[place], first[place + 1]):
                        ready[num_ready] = start[following[at]]
                        num_ready += 1
            else:
                if len(events) == 0:
                    break
                now, code = heapq.heappop(events)
                if code >= total:
                    link = code - total
                    called[link] = False
                    base, left = begin[link], waiting[link] - 1
                    key = heap[base]
                    last = heap[base + left]
                    waiting[link] = left
                    at = 0
                    while 2 * at + 1 < left:
                        child = 2 * at + 1
                        if child + 1 < left and heap[base + child + 1] < heap[base + child]:
                            child += 1
                        if heap[base + child] >= last:
                            break
                        heap[base + at] = heap[base + child]
                        at = child
                    heap[base + at] = last
                    piece, edge = by_rank[key] // num_edges, by_rank[key] % num_edges
                    hop = start[edge]
                    while links[hop] != link:
                        hop += 1
                    if hop == start[edge]:
                        begun[by_rank[key]] = now
                    order[count] = piece * num_hops + hop
                    count += 1
                    size = size_class[chunk[edge] + piece]
                    busy = wire[size, rate_class[link]]
                    end = now + alpha[link] + busy
                    done = max(done, end)
                    free[link] = end if blocking else now + busy
                    if hop + 1 < start[edge + 1] and cut_through:
                        # The next hop may begin early, but ends no earlier than this one does.
                        end = max(now + alpha[link], end - wire[size, rate_class[links[hop + 1]]])
                    heapq.heappush(events, (end, piece * num_hops + hop))
                    if left > 0:
                        called[link] = True
                        heapq.heappush(events, (free[link], total + link))
                    continue
                piece, hop = code // num_hops, code % num_hops
                edge = edge_of[hop]
                if hop + 1 < start[edge + 1]:
                    ready[0], num_ready = hop + 1, 1
                else:
                    place = target[edge]
                    missing[piece, place] -= 1
                    if missing[piece, place] == 0:
                        for at in range(first[place], first[place + 1]):
                            ready[num_ready] = start[following[at]]
                            num_ready += 1
            for index in range(num_ready):
                hop = ready[index]
                link = links[hop]
                key = rank[piece * num_edges + edge_of[hop]]
                base, at = begin[link], waiting[link]
                waiting[link] += 1
                while at > 0 and heap[base + (at - 1) // 2] > key:
                    heap[base + at] = heap[base + (at - 1) // 2]
                    at = (at - 1) // 2
                heap[base + at] = key
                if not called[link]:
                    called[link] = True
                    heapq.heappush(events, (max(now, free[link]), total + link))
            if opening < 0:
                break
    return order, begun, done
