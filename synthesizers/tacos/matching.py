"""The compiled matching of TACOS (arXiv 2304.05301, MICRO'24): chunks onto links, event by event.

Every NPU wants every chunk. At each event time the arrivals are recorded; then each destination with an idle in-link
takes, link by link, a chunk that the link's source holds and the destination neither holds nor awaits. Holdings are
frozen while links choose, and a link into d serves only d, so the choice decomposes by destination.

Each NPU logs its chunks in order of arrival. A link keeps a pointer into its source's log: what lies before it is all
held or awaited at the destination, and always will be. So ``oldest`` looks at each log entry once per out-link; the
other rules scan on from the pointer. Nothing is sent twice, and a chunk is only sent from where it has arrived.
"""

from __future__ import annotations

import numba
import numpy as np

#: Which chunk a link takes among those its source holds and its destination misses.
OLDEST, NEWEST, RAREST, RANDOM = 0, 1, 2, 3


@numba.njit(cache=True, nogil=True)
def mixed(seed, a, b):
    """Return 32 hashed bits of three numbers (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(a) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(b) * np.uint64(0x94D049BB133111EB) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def _within_reach(have, held, words, src, in_links, first, last, num_chunks):
    """Return whether the sources of some in-links together hold every chunk that is neither held nor awaited."""
    for word in range(words):
        reach = have[word]
        for place in range(first, last):
            reach |= held[src[in_links[place]] * words + word]
        full = np.uint64(0xFFFFFFFFFFFFFFFF)
        if word == words - 1 and num_chunks & 63:
            full = (np.uint64(1) << np.uint64(num_chunks & 63)) - np.uint64(1)
        if reach != full:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _lacked(have, row, gate, chunk):
    """Return whether an NPU neither holds nor awaits a chunk, which has not passed the gate either."""
    word = have[row + (chunk >> 6)] | have[gate + (chunk >> 6)]
    return not (word >> np.uint64(chunk & 63)) & np.uint64(1)


@numba.njit(cache=True, nogil=True)
def match(
    num_npus, num_chunks, src, dst, in_start, in_links, out_start, out_links, duration, queue_of, num_queues,
    first_start, first_chunks, gate_of, box_of, num_boxes, rule, skip_slow, seed, cutoff, hop_chunk, hop_link,
):  # fmt: skip
    """Match all chunks to links; fill `hop_chunk` and `hop_link` in order of start.

    Parameters
    ----------
    num_npus, num_chunks : int
    src, dst : (L,) int arrays
    in_start, in_links : (num_npus + 1,), (L,) int arrays
        Links into each NPU, fastest first.
    out_start, out_links : (num_npus + 1,), (L,) int arrays
        Links out of each NPU.
    duration : (L,) int64 array
        Picoseconds that one chunk takes on each link.
    queue_of : (L,) int array
        Links of one duration share a queue number; transfers of one duration end in the order in which they start.
    num_queues : int
    first_start, first_chunks : (num_npus + 1,), (…,) int arrays
        Chunks that each NPU holds at the start.
    gate_of : (L,) int array
        The box that each link leads into from outside, and each chunk enters once; −1: none.
    box_of : (levels, num_npus) int array
        The boxes that each NPU is in.
    num_boxes : int
    rule : int
        `OLDEST`, `NEWEST`, `RAREST` or `RANDOM`.
    skip_slow : bool
        Leave a slow link idle when the faster links into the same NPU can bring all that it misses sooner.
    seed : int
    cutoff : int
        Give up past this time.
    hop_chunk, hop_link : (transfers,) unsigned arrays
        Filled.

    Returns
    -------
    hops : int
        Transfers made: all of them, unless the network is not connected or `cutoff` was passed.
    time : int
        Picoseconds until the last arrival.
    """
    words = (num_chunks + 63) >> 6
    # Flat arrays: a row view per link would cost more than the look itself.
    # Held or awaited, by NPUs and then by boxes.
    have = np.zeros((num_npus + num_boxes) * words, np.uint64)
    log = np.empty(num_npus * num_chunks, hop_chunk.dtype)
    logged = np.zeros(num_npus, np.int64)
    missing = np.full(num_npus, num_chunks, np.int64)
    holders = np.zeros(num_chunks, np.int32)
    one = np.uint64(1)
    for npu in range(num_npus):
        for entry in range(first_start[npu], first_start[npu + 1]):
            c = np.int64(first_chunks[entry])
            log[npu * num_chunks + logged[npu]] = c
            logged[npu] += 1
            have[npu * words + (c >> 6)] |= one << np.uint64(c & 63)
            for level in range(len(box_of)):
                have[(num_npus + box_of[level, npu]) * words + (c >> 6)] |= one << np.uint64(c & 63)
            missing[npu] -= 1
            holders[c] += 1
    held = have.copy() if skip_slow else have

    pointer = np.zeros(len(src), np.int64)
    free_at = np.zeros(len(src), np.int64)

    # Transfers in flight, a ring buffer per duration; a link has at most one, so links bound the entries.
    low_slot = np.zeros(num_queues + 1, np.int64)
    for l in range(len(src)):  # noqa: E741
        low_slot[queue_of[l] + 1] += 1
    for q in range(num_queues):
        low_slot[q + 1] += low_slot[q]
    queue_end = np.zeros(len(src), np.int64)
    queue_hop = np.zeros(len(src), np.int64)
    head = low_slot[:-1].copy()
    tail = low_slot[:-1].copy()
    filled = np.zeros(num_queues, np.int64)

    active = np.arange(num_npus)
    num_active = num_npus
    is_active = np.ones(num_npus, np.bool_)
    arrived = np.zeros(num_npus, np.int64)
    num_arrived = 0
    has_arrived = np.zeros(num_npus, np.bool_)

    now = np.int64(0)
    last_end = np.int64(0)
    hops = 0
    event = 0
    force = False
    gated = num_boxes > 0
    while True:
        before = hops
        for index in range(num_active):
            d = active[index]
            is_active[d] = False
            if missing[d] == 0:
                continue
            row = d * words
            low = in_start[d]
            stop = in_start[d + 1]
            while low < stop:
                # Links of one duration in hashed rotation: no link is always first.
                span = duration[in_links[low]]
                high = low + 1
                while high < stop and duration[in_links[high]] == span:
                    high += 1
                width = high - low
                place = low
                if width > 1:
                    place += np.int64((mixed(seed, d, event) * np.uint64(width)) >> np.uint64(32))
                for _ in range(width):
                    l = in_links[place]  # noqa: E741
                    place = place + 1 if place + 1 < high else low
                    if free_at[l] > now or missing[d] == 0:
                        continue
                    if skip_slow and low > in_start[d] and not force:
                        deadline = now + span
                        room = np.int64(0)
                        for faster in range(in_start[d], low):
                            f = in_links[faster]
                            room += (deadline - max(now, free_at[f])) // max(duration[f], 1)
                        if room >= missing[d] and _within_reach(
                            have[row : row + words], held, words, src, in_links, in_start[d], low, num_chunks
                        ):
                            continue
                    gate = row if gate_of[l] < 0 or not gated else (num_npus + gate_of[l]) * words
                    base = np.int64(src[l]) * num_chunks
                    at = pointer[l]
                    end = base + logged[src[l]]
                    at += base
                    chosen = np.int64(-1)
                    while at < end:
                        c = np.int64(log[at])
                        if _lacked(have, row, gate, c):
                            chosen = c
                            break
                        at += 1
                    pointer[l] = at - base
                    if chosen < 0:
                        continue
                    if rule == NEWEST:
                        back = end - 1
                        while back > at:
                            c = np.int64(log[back])
                            if _lacked(have, row, gate, c):
                                chosen = c
                                break
                            back -= 1
                    elif rule == RAREST:
                        least = holders[chosen]
                        rank = mixed(seed, chosen, d)
                        for entry in range(at + 1, end):
                            c = np.int64(log[entry])
                            if holders[c] <= least and _lacked(have, row, gate, c):
                                other = mixed(seed, c, d)
                                if holders[c] < least or other < rank:
                                    chosen, least, rank = c, holders[c], other
                    elif rule == RANDOM:
                        seen = one
                        for entry in range(at + 1, end):
                            c = np.int64(log[entry])
                            if _lacked(have, row, gate, c):
                                seen += one
                                if mixed(seed + event, c, d) % seen == 0:
                                    chosen = c
                    have[row + (chosen >> 6)] |= one << np.uint64(chosen & 63)
                    for level in range(len(box_of)):
                        have[(num_npus + box_of[level, d]) * words + (chosen >> 6)] |= one << np.uint64(chosen & 63)
                    missing[d] -= 1
                    finish = now + span
                    free_at[l] = finish
                    last_end = max(last_end, finish)
                    q = queue_of[l]
                    slot = tail[q]
                    queue_end[slot] = finish
                    queue_hop[slot] = hops
                    tail[q] = slot + 1 if slot + 1 < low_slot[q + 1] else low_slot[q]
                    filled[q] += 1
                    hop_chunk[hops] = chosen
                    hop_link[hops] = l
                    hops += 1
                low = high
        if rule == RAREST:
            # Counted after the event: within it, destinations must not see each other's choices.
            for hop in range(before, hops):
                holders[hop_chunk[hop]] += 1
        num_active = 0
        upcoming = np.int64(-1)
        for q in range(num_queues):
            if filled[q] and (upcoming < 0 or queue_end[head[q]] < upcoming):
                upcoming = queue_end[head[q]]
        if last_end > cutoff:
            break
        if upcoming < 0:
            if hops == len(hop_chunk) or (not gated and (force or not skip_slow)):
                break
            if force or not skip_slow:
                # Boxes that do not hang together by themselves: what is in one must enter again.
                gated = False
                pointer[:] = 0
            # Nothing moves, and only links left idle for faster ones remain: the faster have nothing to bring.
            force = True
            for d in range(num_npus):
                if missing[d] > 0:
                    active[num_active] = d
                    num_active += 1
                    is_active[d] = True
            continue
        force = False
        now = upcoming
        event += 1
        for q in range(num_queues):
            at = head[q]
            while filled[q] and queue_end[at] == now:
                hop = queue_hop[at]
                at = at + 1 if at + 1 < low_slot[q + 1] else low_slot[q]
                filled[q] -= 1
                d = np.int64(dst[hop_link[hop]])
                log[d * num_chunks + logged[d]] = hop_chunk[hop]
                logged[d] += 1
                if skip_slow:
                    c = np.int64(hop_chunk[hop])
                    held[d * words + (c >> 6)] |= one << np.uint64(c & 63)
                if not has_arrived[d]:
                    has_arrived[d] = True
                    arrived[num_arrived] = d
                    num_arrived += 1
            head[q] = at
        for index in range(num_arrived):
            u = arrived[index]
            has_arrived[u] = False
            if not is_active[u]:
                is_active[u] = True
                active[num_active] = u
                num_active += 1
            for entry in range(out_start[u], out_start[u + 1]):
                l = out_links[entry]  # noqa: E741
                d = np.int64(dst[l])
                if not is_active[d] and free_at[l] <= now:
                    is_active[d] = True
                    active[num_active] = d
                    num_active += 1
        num_arrived = 0
    return hops, last_end
