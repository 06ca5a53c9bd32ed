"""Dispatch: which piece each link takes next, planned by list scheduling.

Whenever a link out of an NPU is free it takes, of the pieces that are there, the one that has the farthest to go, so
that the last pieces have short ways left. Through switches a piece goes only when every link up to the next NPU has
room for it: pieces from many NPUs then do not queue for one while the links to others lie idle, which would leave those
for the end. Times are those of a group's largest piece, in the problem's link model: the plan is never too early.
"""

from __future__ import annotations

import heapq

import numba
import numpy as np

#: Pieces that a link looks at for one whose way is free.
_LOOK = 64


@numba.njit(cache=True, nogil=True)
def dispatched(start, links, last, rank, kind, wire, latency, blocking, cut_through):
    """Return (order, time): the legs of all routes in the order in which they set out, and when the last is done.

    Parameters
    ----------
    start : (K + 1,) int64 array
        A leg leads from one NPU to the next: leg i takes ``links[start[i]:start[i + 1]]``; those of a route follow
        each other.
    links : int32 array
    last : (K,) bool array
        Whether a leg is the last of its route.
    rank : (K,) int64 array
        0, 1, …: of the legs that are ready, a link takes the one of least rank.
    kind : (K,) int64 array
        What size of piece each leg carries.
    wire : (kinds, L) int64 array
        Picoseconds of a piece of each size on each link, without latency.
    latency : (L,) int64 array
    blocking, cut_through : bool
        The link model: whether latency takes the link, and whether switches pass on what has not arrived whole.

    Returns
    -------
    order : (K,) int64 array
    time : int
    """
    legs, num_links = len(last), len(latency)
    by_rank = np.empty(legs, np.int64)
    for leg in range(legs):
        by_rank[rank[leg]] = leg
    # A heap of ranks for each link that a leg begins with, all in one array.
    begin = np.zeros(num_links + 1, np.int64)
    for leg in range(legs):
        begin[links[start[leg]] + 1] += 1
    begin = np.cumsum(begin)
    waiting = np.empty(legs, np.int64)
    size = np.zeros(num_links, np.int64)
    free = np.zeros(num_links, np.int64)
    retry = np.full(num_links, -1, np.int64)  # when a link is next looked at, so that it is not twice
    order = np.empty(legs, np.int64)
    aside = np.empty(_LOOK, np.int64)
    events = [(np.int64(0), np.int64(0))]
    events.pop()
    for leg in range(legs):
        if leg == 0 or last[leg - 1]:
            heapq.heappush(events, (np.int64(0), np.int64(leg)))
    done, finish = 0, np.int64(0)
    while len(events):
        # Legs that get ready come before links that look: those have the numbers from `legs` on.
        now, what = heapq.heappop(events)
        if what < legs:
            link = links[start[what]]
            _push(waiting, begin[link], size[link], rank[what])
            size[link] += 1
            at = max(now, free[link])
            if retry[link] < now or retry[link] > at:
                retry[link] = at
                heapq.heappush(events, (at, np.int64(legs + link)))
            continue
        link = what - legs
        if retry[link] != now:
            continue
        retry[link] = -1
        skipped, soonest = 0, np.int64(-1)
        while size[link] > 0 and skipped < _LOOK:
            least = _pop(waiting, begin[link], size[link])
            size[link] -= 1
            leg = by_rank[least]
            # When could it go, were the links after this one to stay as they are?
            took = wire[kind[leg]]
            possible, sets_out = now, now
            for place in range(start[leg], start[leg + 1]):
                possible = max(possible, now + free[links[place]] - sets_out)
                sets_out += latency[links[place]] if cut_through else latency[links[place]] + took[links[place]]
            if possible > now:
                aside[skipped] = least
                skipped += 1
                soonest = possible if soonest < 0 else min(soonest, possible)
                continue
            sets_out, arrives = now, now
            for place in range(start[leg], start[leg + 1]):
                used = links[place]
                arrives = max(sets_out + took[used], arrives) + latency[used]
                free[used] = arrives if blocking else arrives - latency[used]
                sets_out = sets_out + latency[used] if cut_through else arrives
            order[done] = leg
            done += 1
            finish = max(finish, arrives)
            if not last[leg]:
                heapq.heappush(events, (arrives, np.int64(leg + 1)))
            soonest = free[link]
            break
        for place in range(skipped):
            _push(waiting, begin[link], size[link], aside[place])
            size[link] += 1
        if size[link] > 0:
            retry[link] = max(soonest, free[link])
            heapq.heappush(events, (retry[link], np.int64(legs + link)))
    return order, finish


@numba.njit(cache=True, nogil=True)
def _push(heap, begin, size, value):
    """Put a value into the heap of `size` values from `begin`."""
    place = size
    while place > 0 and heap[begin + (place - 1) // 2] > value:
        heap[begin + place] = heap[begin + (place - 1) // 2]
        place = (place - 1) // 2
    heap[begin + place] = value


@numba.njit(cache=True, nogil=True)
def _pop(heap, begin, size):
    """Take the least value from the heap of `size` values from `begin`."""
    least, value = heap[begin], heap[begin + size - 1]
    size -= 1
    place, child = 0, 1
    while child < size:
        if child + 1 < size and heap[begin + child + 1] < heap[begin + child]:
            child += 1
        if heap[begin + child] >= value:
            break
        heap[begin + place] = heap[begin + child]
        place, child = child, 2 * child + 1
    heap[begin + place] = value
    return least
