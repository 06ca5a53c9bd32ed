"""Dataflow of a schedule: what each hop reads and what each delivery follows, in linear time and memory.

Hops are grouped by chunk with a counting sort; then one walk per chunk needs state for the nodes only, never for
nodes × chunks, so AllToAll over many NPUs stays small. Simulator, reversal, re-listing and exporters share the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from schedules.schedule import Schedule


@dataclass(frozen=True)
class Dataflow:
    """Dependencies of a schedule; all arrays have an entry per hop, −1 where there is none.

    Attributes
    ----------
    reads : int array
        For the first hop of a route: the last delivery whose outcome it carries (the version that it reads).
    follows : int array
        For a delivering hop: the delivery to the same place listed just before it. A version is complete when its
        delivery and all that it follows have arrived.
    before : int array
        The hop of the same flow just before; empty where the schedule has no flows.
    delivers : bool array
        Whether the hop ends its route; empty where the schedule has no flows (all do).
    """

    reads: np.ndarray
    follows: np.ndarray
    before: np.ndarray
    delivers: np.ndarray


def analyse(schedule: Schedule) -> Dataflow:
    """Return the dataflow of a schedule."""
    chunk, link, _, flow, step, _ = schedule.kernel_columns
    index = np.int32 if schedule.num_hops < 2**31 - 1 else np.int64
    topology = schedule.topology
    before, delivers = _routes(flow, np.zeros(0, index))
    order, start = by_chunk(chunk, schedule.collective.num_chunks, np.zeros(0, index))
    reads, follows = _versions(
        order, start, link, topology.src, topology.dst, step, before, delivers, topology.num_nodes
    )
    return Dataflow(reads, follows, before, delivers)


@numba.njit(cache=True, nogil=True)
def _routes(flow, like):
    """Return (before, delivers) of each hop from the flow ids; empty without flows."""
    count = len(flow)
    before = np.full(count, -1, like.dtype)
    delivers = np.ones(count, np.bool_)
    last = np.full(count, -1, like.dtype)  # flow ids are below the number of hops
    for hop in range(count):
        route = flow[hop]
        if route >= 0:
            if last[route] >= 0:
                before[hop] = last[route]
                delivers[last[route]] = False
            last[route] = hop
    return before, delivers


@numba.njit(cache=True, nogil=True)
def by_chunk(chunk, num_chunks, like):
    """Return (order, start): the hops of chunk c are ``order[start[c]:start[c + 1]]``, in list order."""
    start = np.zeros(num_chunks + 1, np.int64)
    for hop in range(len(chunk)):
        start[np.int64(chunk[hop]) + 1] += 1
    for earlier in range(num_chunks):
        start[earlier + 1] += start[earlier]
    order = np.empty(len(chunk), like.dtype)
    fill = start[:-1].copy()
    for hop in range(len(chunk)):
        c = np.int64(chunk[hop])
        order[fill[c]] = hop
        fill[c] += 1
    return order, start


@numba.njit(cache=True, nogil=True)
def _versions(order, start, link, src, dst, step, before, delivers, num_nodes):
    """Return (reads, follows) by one walk per chunk."""
    count = len(order)
    reads = np.full(count, -1, order.dtype)
    follows = np.full(count, -1, order.dtype)
    last = np.zeros(num_nodes, order.dtype)  # latest delivery to each node of the chunk at hand
    stamp = np.full(num_nodes, -1, np.int64)
    stepped, routed = len(step) > 0, len(before) > 0
    for c in range(len(start) - 1):
        unseen = start[c]  # deliveries from here on belong to the step at hand: not to be read yet
        for position in range(start[c], start[c + 1]):
            hop = order[position]
            if not stepped or step[order[unseen]] != step[hop]:
                for earlier in range(unseen, position):
                    done = order[earlier]
                    if not routed or delivers[done]:
                        node = dst[link[done]]
                        if stamp[node] == c:
                            follows[done] = last[node]
                        last[node] = done
                        stamp[node] = c
                unseen = position
            if not routed or before[hop] < 0:
                node = src[link[hop]]
                if stamp[node] == c:
                    reads[hop] = last[node]
        for earlier in range(unseen, start[c + 1]):
            done = order[earlier]
            if not routed or delivers[done]:
                node = dst[link[done]]
                if stamp[node] == c:
                    follows[done] = last[node]
                last[node] = done
                stamp[node] = c
    return reads, follows
