"""The event loop: fifo arbitration, explicit dependencies, and program order with scattered messages.

A *unit* is what crosses a link as one transfer: a hop, or the hops of a message. A unit is ready once its last need is
met; units take their link by (time, list position), which is first come, first served. In `ordered` mode a unit also
needs its predecessor on the link, so the links keep their order. Schedules and transfer lists share this loop.

Nothing arrives sooner than the shortest of all transfers takes. So units that become ready within such a span of time,
a *window*, do not depend on each other, and only those of one link have to be put in order: windows are plain lists.
Where transfers take no time, where windows would be too many, and in `ordered` mode, in which a unit may have been
ready for long when it may go, units go through a heap.
"""

from __future__ import annotations

import numba
import numpy as np

from simulator.prefetching import prefetch

_AHEAD = 4  # units between one look ahead and the next
_WIDEST = 32  # bits of a window's picoseconds: with a unit's place they fit a word
_MOST_PER_HOP, _MOST_WINDOWS = 4, 2**16  # of windows; more are slower than a heap


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
def _bundles(message):
    """Return (unit of each hop, next hop of its unit or −1); both empty without messages."""
    count = len(message)
    unit_of, next_member = np.arange(count), np.full(count, -1, np.int64)
    head, tail = np.full(count, -1, np.int64), np.empty(count, np.int64)
    for hop in range(count):
        name = message[hop]
        if name >= 0:
            if head[name] < 0:
                head[name] = hop
            else:
                next_member[tail[name]] = hop
            tail[name] = hop
            unit_of[hop] = head[name]
    return unit_of, next_member


@numba.njit(cache=True, nogil=True)
def _window_bits(link, wire, before, alpha, cut_through):
    """Return the bits of a span of time within which nothing that starts can arrive; −1 where windows do not serve."""
    count = len(link)
    shortest = np.int64(2) << _WIDEST
    busy = np.zeros(len(alpha), np.int64)
    for hop in range(count):
        busy[link[hop]] += wire[hop]
        shortest = min(shortest, alpha[link[hop]] + wire[hop])
        if cut_through and len(before) > 0 and before[hop] >= 0:
            shortest = min(shortest, alpha[link[before[hop]]])
    if shortest < 1:
        return -1
    bits = 0
    while bits < _WIDEST and np.int64(2) << bits <= shortest:
        bits += 1
    for l in range(len(alpha)):  # noqa: E741
        if busy[l] >> bits > _MOST_PER_HOP * count + _MOST_WINDOWS:
            return -1
    return bits


@numba.njit(cache=True, nogil=True)
def _in_order(unit, window, bits, link, ready, after, of_link, links, units):
    """Put the units of a window in order, those of each link by (time, list position); return how many they are.

    They are `unit` and those after it. `of_link` is all −1, `links` is work space, both with a place for each link.
    """
    num_links = 0
    while unit >= 0:
        following = np.int64(after[unit])
        l = np.int64(link[unit])  # noqa: E741
        if of_link[l] < 0:
            links[num_links] = l
            num_links += 1
        after[unit] = of_link[l]
        of_link[l] = unit
        unit = following
    count = 0
    for index in range(num_links):
        unit, of_link[links[index]] = np.int64(of_link[links[index]]), -1
        begin = count
        while unit >= 0:
            units[count] = unit
            count += 1
            unit = np.int64(after[unit])
        if count == begin + 1:
            continue
        if count - begin < 32:
            for place in range(begin + 1, count):
                unit = np.int64(units[place])
                time = ready[unit]
                while place > begin:
                    other = units[place - 1]
                    if ready[other] < time or (ready[other] == time and other < unit):
                        break
                    units[place] = other
                    place -= 1
                units[place] = unit
        else:
            keys = np.empty(count - begin, np.int64)
            for place in range(begin, count):
                unit = np.int64(units[place])
                keys[place - begin] = (ready[unit] - (window << bits)) << 31 | unit
            keys.sort()
            for place in range(begin, count):
                units[place] = keys[place - begin] & 0x7FFFFFFF
    return count


@numba.njit(cache=True, nogil=True)
def _run(
    bits, link, wire, message, needs, edge_start, edges, follows, before, alpha, blocking, cut_through, ordered
):  # fmt: skip
    """Do what `run` does, in windows of so many bits or, for −1, by a heap; `served` −1: windows are too many."""
    count = len(link)
    start = np.full(count, -1, np.int64)
    end = np.zeros(count, np.int64)
    bundled, routed, windowed = len(message) > 0, len(before) > 0, bits >= 0
    chained = False
    for hop in range(count):
        if follows[hop] >= 0:
            chained = True
            break

    # What a schedule does not need stays empty: state per hop is what the loop's speed depends on.
    unit_of, next_member = _bundles(message)
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

    # Units that need nothing are ready at time zero: the first window; or taken from the list itself, and not the heap.
    units = np.empty(count, np.int32)
    fresh = 0
    for unit in range(count):
        if waits[unit] == 0 and (not bundled or unit_of[unit] == unit):
            units[fresh] = unit
            fresh += 1
    heap_times, heap_units = np.empty((2, 0 if windowed else count - fresh), np.int64)
    of_window = np.full(1024 if windowed else 0, -1, np.int32)  # a unit of each; the others are after it
    of_link, links = np.full(len(alpha), -1, np.int32), np.empty(len(alpha), np.int32)
    after = np.empty(count, np.int32)
    most = _MOST_PER_HOP * count + _MOST_WINDOWS
    window = last = np.int64(0)

    ready = np.zeros(count, np.int64)
    free = np.zeros(len(alpha), np.int64)
    at = size = served = 0
    while True:
        if windowed:
            if at == fresh:
                window += 1
                while window <= last and of_window[window] < 0:
                    window += 1
                if window > last:
                    break
                fresh = _in_order(np.int64(of_window[window]), window, bits, link, ready, after, of_link, links, units)
                at = 0
            # Memory is asked for some units ahead: what is kept of a unit, then its edges, then the ends of these.
            if at + 3 * _AHEAD < fresh:
                later = np.int64(units[at + 3 * _AHEAD])
                prefetch(link, later)
                prefetch(wire, later)
                prefetch(ready, later)
                prefetch(start, later)
                prefetch(end, later)
                prefetch(edge_start, later)
                if chained:
                    prefetch(chain, later)
                    prefetch(version, later)
                    prefetch(version_waits, later)
            if at + 2 * _AHEAD < fresh:
                prefetch(edges, edge_start[units[at + 2 * _AHEAD]])
            if at + _AHEAD < fresh:
                later = np.int64(units[at + _AHEAD])
                for edge in range(edge_start[later], edge_start[later + 1]):
                    prefetch(ready, np.int64(edges[edge]))
                    prefetch(waits, np.int64(edges[edge]))
                    prefetch(after, np.int64(edges[edge]))
            unit = np.int64(units[at])
            at += 1
        elif at < fresh and (size == 0 or heap_times[0] > 0 or heap_units[0] > units[at]):
            unit = np.int64(units[at])
            at += 1
        elif size > 0:
            unit = heap_units[0]
            size = _pop(heap_times, heap_units, size)
        else:
            break
        l = np.int64(link[unit])  # noqa: E741
        begin = max(ready[unit], free[l])
        finish = begin + alpha[l] + wire[unit]
        free[l] = finish if blocking else begin + wire[unit]
        woken = np.int64(-1)  # a unit of which this was the last need; the others are after it
        if ordered and successor[unit] >= 0:
            other = successor[unit]
            waits[other] -= 1
            if waits[other] == 0:
                after[other] = woken
                woken = other
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
                    after[other] = woken
                    woken = other
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
                            after[other] = woken
                            woken = other
                    if not chained or chain[done] < 0:
                        break
                    done = chain[done]
            if not bundled:
                break
            member = next_member[member]
        while woken >= 0:
            other, woken = woken, np.int64(after[woken])
            if windowed:
                when = ready[other] >> bits
                if when > last:
                    if when > most:
                        return start, end, -1
                    while when >= len(of_window):
                        of_window = np.append(of_window, np.full(len(of_window), -1, np.int32))
                    last = when
                after[other] = of_window[when]
                of_window[when] = other
            else:
                size = _push(heap_times, heap_units, size, ready[other], other)
    return start, end, served


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
    bits = -1 if ordered else _window_bits(link, wire, before, alpha, cut_through)
    start, end, served = _run(
        bits, link, wire, message, needs, edge_start, edges, follows, before, alpha, blocking, cut_through, ordered
    )  # fmt: skip
    if served >= 0:
        return start, end, served
    return _run(
        -1, link, wire, message, needs, edge_start, edges, follows, before, alpha, blocking, cut_through, ordered
    )  # fmt: skip
