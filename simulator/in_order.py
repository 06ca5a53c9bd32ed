"""Program order: each link carries its hops in list order, so one linear pass over the list gives every time.

`completion` is the bare pass of plain schedules: no flows, steps or messages, one word of state per (NPU, chunk).
`in_order` is the pass for all others and for timelines; it takes the dataflow and keeps state per hop.
"""

from __future__ import annotations

import numba
import numpy as np

from simulator.prefetching import prefetch

_AHEAD = 24  # hops, of which the places are asked for: about as many as pass while memory answers


@numba.njit(cache=True, nogil=True)
def completion(chunk, link, src, dst, size_class, link_class, arrives, busy, ready):
    """Return the completion time of a plain schedule, in the unit of its tables; −1 where a time does not fit `ready`.

    Parameters
    ----------
    chunk, link : (H,) int arrays
    src, dst : (L,) int arrays
    size_class, link_class : (C,), (L,) int arrays
        Which row and column of the tables a chunk and a link have.
    arrives, busy : (sizes, links) int64 arrays
        How long after its start a hop arrives, and until when it keeps its link.
    ready : (C · nodes,) int array
        Zeros, of any width: when all deliveries so far of each chunk to each node are in.
    """
    num_nodes = len(ready) // max(len(size_class), 1)
    most = np.int64(np.iinfo(ready.dtype).max)
    free = np.zeros(len(src), np.int64)
    done = np.int64(0)
    for hop in range(len(chunk)):
        if hop + _AHEAD < len(chunk):
            row, later = np.int64(chunk[hop + _AHEAD]) * num_nodes, np.int64(link[hop + _AHEAD])
            prefetch(ready, row + src[later])
            prefetch(ready, row + dst[later])
        c, l = np.int64(chunk[hop]), np.int64(link[hop])  # noqa: E741
        # By chunk, for the ends of a link are mostly near each other.
        row = c * num_nodes
        start = max(free[l], np.int64(ready[row + src[l]]))
        end = start + arrives[size_class[c], link_class[l]]
        free[l] = start + busy[size_class[c], link_class[l]]
        if end > most:
            return np.int64(-1)
        place = row + dst[l]
        ready[place] = max(np.int64(ready[place]), end)
        done = max(done, end)
    return done


@numba.njit(cache=True, nogil=True)
def in_order(
    chunk, link, message, reads, follows, before, alpha, size_class, rate_class, table, per_hop, per_message,
    blocking, cut_through,
):  # fmt: skip
    """Return (start, end) of every hop; messages must be contiguous in the list."""
    count = len(chunk)
    start = np.zeros(count, np.int64)
    end = np.zeros(count, np.int64)
    version = np.zeros(count, np.int64)  # when a delivery and all that it follows have arrived
    free = np.zeros(len(alpha), np.int64)
    bundled, routed, listed = len(message) > 0, len(before) > 0, len(per_hop) > 0
    first = 0
    while first < count:
        stop = first + 1
        l = np.int64(link[first])  # noqa: E741
        if bundled and message[first] >= 0:
            while stop < count and message[stop] == message[first]:
                stop += 1
            wire = per_message[message[first]]
        elif listed:
            wire = per_hop[first]
        else:
            wire = table[size_class[chunk[first]], rate_class[l]]
        begin = free[l]
        for hop in range(first, stop):
            previous = before[hop] if routed else reads[hop]
            if routed and previous >= 0:
                ready = end[previous]
                if cut_through:
                    ready = max(start[previous] + alpha[link[previous]], ready - wire)
                begin = max(begin, ready)
            elif reads[hop] >= 0:
                begin = max(begin, version[reads[hop]])
        finish = begin + alpha[l] + wire
        free[l] = finish if blocking else begin + wire
        for hop in range(first, stop):
            start[hop], end[hop], version[hop] = begin, finish, finish
            if follows[hop] >= 0:
                version[hop] = max(finish, version[follows[hop]])
        first = stop
    return start, end
