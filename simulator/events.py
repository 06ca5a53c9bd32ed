"""The event loop: fifo arbitration, explicit dependencies, and program order with scattered messages.

A *unit* is what crosses a link as one transfer: a hop, or the hops of a message. A unit whose last need is met enters a
heap with the time at which it became ready; units leave it by (time, list position) and take their link at once, which
is first come, first served. In `ordered` mode a unit also needs its predecessor on the link, so the links keep their
order. Each unit passes the heap once. Schedules and transfer lists share this loop.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def dependents(reads):
    """Return (start, hops): the hops that read version h are ``hops[start[h]:start[h + 1]]``, in list order."""
    count = len(reads)
    start = np.zeros(count + 1, np.int64)
    for hop in range(count):
        if reads[hop] >= 0:
            start[reads[hop] + 1] += 1
    for hop in range(count):
        start[hop + 1] += start[hop]
    hops = np.empty(start[count], reads.dtype)
    fill = start[:-1].copy()
    for hop in range(count):
        if reads[hop] >= 0:
            hops[fill[reads[hop]]] = hop
            fill[reads[hop]] += 1
    return start, hops


# The heap is four-ary: half as deep as a binary one, and a node's children share a cache line.


@numba.njit(cache=True, nogil=True)
def _push(times, units, size, time, unit):
    """Add to the heap; return its new size."""
    at = size
    while at > 0:
        parent = (at - 1) >> 2
        if times[parent] < time or (times[parent] == time and units[parent] < unit):
            break
        times[at], units[at] = times[parent], units[parent]
        at = parent
    times[at], units[at] = time, unit
    return size + 1


@numba.njit(cache=True, nogil=True)
def _pop(times, units, size):
    """Remove the first entry of the heap (the caller has read it); return the new size."""
    size -= 1
    time, unit = times[size], units[size]
    at = 0
    while True:
        child = 4 * at + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if times[other] < times[least] or (times[other] == times[least] and units[other] < units[least]):
                least = other
        if time < times[least] or (time == times[least] and unit < units[least]):
            break
        times[at], units[at] = times[least], units[least]
        at = least
    times[at], units[at] = time, unit
    return size


@numba.njit(cache=True, nogil=True)
def run(
    link, wire, message, needs, edge_start, edges, follows, before, alpha, blocking, cut_through, ordered
):  # fmt: skip
    """Return (start, end, served) of every hop.

    Parameters
    ----------
    link : (H,) int array
    wire : (H,) int64 array
        Time on the wire; members of a message all hold the message's.
    message : (H,) int32 array
        Message of each hop, −1 alone; empty without messages.
    needs : (H,) int32 array
        Completed versions that the first hop of each route waits for.
    edge_start, edges : (H + 1,), (E,) int arrays
        Who waits for the version of each delivering hop.
    follows, before : (H,) int arrays
        As in `schedules.dataflow.Dataflow`; `before` empty without flows.
    alpha : (L,) int64 array
    blocking, cut_through, ordered : bool

    Returns
    -------
    start, end : (H,) int64 arrays
    served : int
        Hops that were carried; fewer than H where messages wait for each other in a circle.
    """
    count = len(link)
    start = np.full(count, -1, np.int64)
    end = np.zeros(count, np.int64)
    bundled, routed = len(message) > 0, len(before) > 0
    chained = False
    for hop in range(count):
        if follows[hop] >= 0:
            chained = True
            break

    # What a schedule does not need stays empty: state per hop is what the loop's speed depends on.
    unit_of = np.empty(count if bundled else 0, np.int64)
    next_member = np.full(count if bundled else 0, -1, np.int64)
    if bundled:
        head = np.full(count, -1, np.int64)
        tail = np.full(count, -1, np.int64)
        for hop in range(count):
            unit_of[hop] = hop
            name = message[hop]
            if name >= 0:
                if head[name] < 0:
                    head[name] = hop
                else:
                    next_member[tail[name]] = hop
                tail[name] = hop
                unit_of[hop] = head[name]

    waits = np.zeros(count, np.int32)
    next_hop = np.full(count if routed else 0, -1, np.int64)
    chain = np.full(count if chained else 0, -1, np.int64)
    version_waits = np.ones(count if chained else 0, np.int8)
    version = np.zeros(count if chained else 0, np.int64)
    for hop in range(count):
        unit = unit_of[hop] if bundled else hop
        if routed and before[hop] >= 0:
            next_hop[before[hop]] = hop
            waits[unit] += 1
        else:
            waits[unit] += needs[hop]
        if chained and follows[hop] >= 0:
            chain[follows[hop]] = hop
            version_waits[hop] = 2

    successor = np.full(count if ordered else 0, -1, np.int64)
    if ordered:
        latest = np.full(len(alpha), -1, np.int64)
        for unit in range(count):
            if not bundled or unit_of[unit] == unit:
                l = np.int64(link[unit])  # noqa: E741
                if latest[l] >= 0:
                    successor[latest[l]] = unit
                    waits[unit] += 1
                latest[l] = unit

    # Units that need nothing are taken from the list itself: they are all ready at time zero.
    fresh_units = np.empty(count, np.int32)
    num_fresh = 0
    for unit in range(count):
        if waits[unit] == 0 and (not bundled or unit_of[unit] == unit):
            fresh_units[num_fresh] = unit
            num_fresh += 1

    times = np.empty(count - num_fresh, np.int64)
    units = np.empty(count - num_fresh, np.int32)
    size = 0
    ready = np.zeros(count, np.int64)
    free = np.zeros(len(alpha), np.int64)
    served = 0
    fresh = 0
    while True:
        if fresh < num_fresh and (size == 0 or times[0] > 0 or units[0] > fresh_units[fresh]):
            now, unit = np.int64(0), np.int64(fresh_units[fresh])
            fresh += 1
        elif size > 0:
            now, unit = times[0], np.int64(units[0])
            size = _pop(times, units, size)
        else:
            break
        l = np.int64(link[unit])  # noqa: E741
        begin = max(now, free[l])
        finish = begin + alpha[l] + wire[unit]
        free[l] = finish if blocking else begin + wire[unit]
        if ordered and successor[unit] >= 0:
            other = successor[unit]
            waits[other] -= 1
            if waits[other] == 0:
                size = _push(times, units, size, ready[other], other)
        member = unit
        while member >= 0:
            start[member], end[member] = begin, finish
            served += 1
            if routed and next_hop[member] >= 0:
                other = unit_of[next_hop[member]] if bundled else next_hop[member]
                arrival = max(begin + alpha[l], finish - wire[other]) if cut_through else finish
                ready[other] = max(ready[other], arrival)
                waits[other] -= 1
                if waits[other] == 0:
                    size = _push(times, units, size, ready[other], other)
            else:
                done, complete = member, finish
                while True:
                    if chained:
                        version[done] = max(version[done], complete)
                        version_waits[done] -= 1
                        if version_waits[done] > 0:
                            break
                        complete = version[done]
                    for edge in range(edge_start[done], edge_start[done + 1]):
                        other = unit_of[edges[edge]] if bundled else np.int64(edges[edge])
                        ready[other] = max(ready[other], complete)
                        waits[other] -= 1
                        if waits[other] == 0:
                            size = _push(times, units, size, ready[other], other)
                    if not chained or chain[done] < 0:
                        break
                    done = chain[done]
            if not bundled:
                break
            member = next_member[member]
    return start, end, served
