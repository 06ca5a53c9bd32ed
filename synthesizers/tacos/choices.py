"""The compiled choices of TACOS on even networks: which entry of its source's log each link takes, step after step.

`sweep` lets an NPU choose for many steps in one visit; `lead` visits all in every step, with threads that `follow`.
What they do is the same, and what they are for is in `synthesizers.tacos.even`. Kernels and what they call are in one
file: numba's cache does not see edits in others.
"""

from __future__ import annotations

import numba
import numpy as np

from simulator.prefetching import prefetch
from synthesizers.tacos.machine import CLOCK, clock_gettime, give_way, lowest, tell, told

LOOKS = 4  # log entries that are looked at together
_FEW = 4  # with fewer known entries left than that it is better to wait than to find that they do not do

# What the thread that leads and one that follows tell each other, in words that no cache line shares. Steps are told as
# numbers from FIRST on; what a follower is told last is to leave.
NEXT, PLACE, DONE, HOPS = 0, 1, 8, 9  # step to do, where the hops of the one before go; step done, its hops
SIGNAL_WORDS = 16
LEAVE, READY, FIRST = -1, 1, 2

EAGER = 500  # looks for what another thread tells, a microsecond in all, before this one gives way


@numba.njit(cache=True, nogil=True)
def turn(seed, npu, event):
    """Return 32 hashed bits of three numbers (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(npu) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(event) * np.uint64(0x94D049BB133111EB) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def _lacking(have, row, log, entry, mask, at):
    """Return which of the next entries of a log the NPU of a row lacks, a bit for each.

    They are looked at together, without a branch: which of them are lacking is as good as random.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    lacking = np.uint64(0)
    for look in range(LOOKS):
        c = np.uint64(log[entry + ((at + np.uint64(look)) & mask)])
        lacking |= ((~have[row + (c >> six)] >> (c & low_bits)) & one) << np.uint64(look)
    return lacking


@numba.njit(cache=True, nogil=True)
def _first_lacking(have, row, log, entry, mask, at, end):
    """Return the first entry of a log, from `at` on, that the NPU of a row lacks; `end` if it lacks none before that.

    Entry i is ``log[entry + (i & mask)]``.
    """
    one = np.uint64(1)
    while at < end:
        lacking = _lacking(have, row, log, entry, mask, at)
        if end - at < np.uint64(LOOKS):
            lacking &= (one << (end - at)) - one
        if lacking:
            return at + lowest(lacking)
        at += np.uint64(LOOKS)
    return end


@numba.njit(cache=True, nogil=True)
def _ask_for(
    d, steps, words, have, log, log_start, log_mask, ends, done, source, pointer, in_start, picked
):  # fmt: skip
    """Ask for what a visit of NPU d will look at: its row, its log's end, and its sources' logs."""
    row = np.uint64(d * words)
    for line in range((words + 7) >> 3):
        prefetch(have, row + np.uint64(line << 3))
    own = np.int64(ends[d, done[d]])
    low, high = np.int64(in_start[d]), np.int64(in_start[d + 1])
    flat = ends.reshape(-1)
    for place in range(low, high):
        u = np.int64(source[place])
        at = np.int64(pointer[place])
        for line in range(0, 64, 32):
            prefetch(log, np.uint64(log_start[u] + ((at + line) & log_mask[u])))
        news = own + ((place - low) << 5)
        prefetch(log, np.uint64(log_start[d] + (news & log_mask[d])))
        prefetch(flat, np.uint64(u * ends.shape[1]))
        prefetch(picked, np.uint64(place * steps))


@numba.njit(cache=True, nogil=True)
def sweep(
    base, steps, seed, waiting, count, ended, first, last, log, log_start, log_mask, num_chunks, words, have, ends,
    done, seen, source, pointer, in_start, in_links, picked, totals,
):  # fmt: skip
    """Let the first `count` NPUs of `waiting` choose for as many steps of a round as they can.

    Those that end the round go from `waiting` to `ended`, in the order in which they do. Returns how many still wait.

    `ends[d, j]` is the length of NPU d's log before step j of the round, known up to j = `done[d]`; of NPUs outside
    first…last−1, which other threads visit, up to `seen`. `picked` are the links by which a log's new entries come;
    `totals[j]` counts the hops of step j.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    num_ended = len(waiting) - count
    widest = np.int64(0)
    for index in range(count):
        widest = max(widest, np.int64(in_start[waiting[index] + 1] - in_start[waiting[index]]))
    # Of the in-links of the visited NPU: where each is in its source's log, and was before the step; up to which step
    # the source's log is known, and how long it is then.
    at_of, before, known_of, end_of = np.empty((4, widest), np.int64)
    log_of, mask_of = np.empty((2, widest), np.uint64)
    left = 0
    for index in range(count):
        d = np.int64(waiting[index])
        step = np.int64(done[d])
        if index + 2 < count:
            later = np.int64(waiting[index + 2])
            prefetch(pointer, np.uint64(in_start[later]))
            prefetch(source, np.uint64(in_start[later]))
            prefetch(in_links, np.uint64(in_start[later]))
            _ask_for(np.int64(waiting[index + 1]), steps, words, have, log, log_start, log_mask, ends, done, source,
                     pointer, in_start, picked)  # fmt: skip
        row, own_log, own_mask = np.uint64(d * words), np.uint64(log_start[d]), np.uint64(log_mask[d])
        low = np.int64(in_start[d])
        degree = np.int64(in_start[d + 1]) - low
        for port in range(degree):
            u = np.int64(source[low + port])
            at_of[port] = pointer[low + port]
            known_of[port] = done[u] if first <= u < last else seen[u]
            end_of[port] = ends[u, known_of[port]]
            log_of[port], mask_of[port] = log_start[u], log_mask[u]
        own = np.int64(ends[d, step])
        news = np.int64(low * steps) - np.int64(ends[d, 0])
        while step < steps and own < num_chunks:
            stuck = False
            for port in range(degree):
                before[port] = at_of[port]
                stuck |= (known_of[port] < step) & (at_of[port] + _FEW > end_of[port])
            if stuck:
                break
            # In-links in hashed rotation: none is always first.
            turned = np.int64((turn(seed, d, base + step) * np.uint64(degree)) >> np.uint64(32))
            for _ in range(degree):
                at = np.uint64(at_of[turned])
                end = np.uint64(end_of[turned])
                if known_of[turned] > step:
                    end = np.uint64(ends[source[low + turned], step])
                entry, mask = log_of[turned], mask_of[turned]
                stuck = known_of[turned] < step
                at = _first_lacking(have, row, log, entry, mask, at, end)
                if at < end:
                    c = np.uint64(log[entry + (at & mask)])
                    at += one
                    have[row + (c >> six)] |= one << (c & low_bits)
                    log[own_log + (np.uint64(own) & own_mask)] = c
                    picked[news + own] = in_links[low + turned]
                    own += 1
                    stuck = False
                at_of[turned] = np.int64(at)
                if stuck:
                    break
                turned += 1
                if turned == degree:
                    turned = np.int64(0)
            if stuck:
                at_of[:degree] = before[:degree]
                while own > ends[d, step]:
                    own -= 1
                    c = np.uint64(log[own_log + (np.uint64(own) & own_mask)])
                    have[row + (c >> six)] &= ~(one << (c & low_bits))
                break
            totals[step] += own - np.int64(ends[d, step])
            step += 1
            ends[d, step] = own
        for port in range(degree):
            pointer[low + port] = at_of[port] if own < num_chunks else num_chunks
        if own == num_chunks:
            ends[d, step:] = own
            step = steps
        done[d] = step
        if step < steps:
            waiting[left] = d
            left += 1
        else:
            ended[num_ended] = d
            num_ended += 1
    return left


@numba.njit(cache=True, nogil=True)
def emit_hops(
    steps, log, log_start, log_mask, num_chunks, ends, done, in_start, picked, hop_chunk, hop_link, npus, positions
):  # fmt: skip
    """Write the hops of a round, step after step; begin the next; drop NPUs that hold all, return how many are left."""
    left = 0
    for index in range(len(npus)):
        d = np.int64(npus[index])
        start = np.int64(ends[d, 0])
        news = np.int64(in_start[d]) * steps - start
        for step in range(steps):
            hop = positions[step]
            for entry in range(np.int64(ends[d, step]), np.int64(ends[d, step + 1])):
                hop_chunk[hop] = log[log_start[d] + (entry & log_mask[d])]
                hop_link[hop] = picked[news + entry]
                hop += 1
            positions[step] = hop
        ends[d, 0] = ends[d, steps]
        if ends[d, 0] < num_chunks:
            npus[left] = d
            left += 1
            done[d] = 0
        else:
            ends[d, :] = num_chunks  # and `done` stays: all is known of it, forever
            done[d] = ends.shape[1] - 1
    return left


@numba.njit(cache=True, nogil=True)
def _clock_ns():
    """Return nanoseconds since some moment."""
    seconds_and_rest = np.zeros(2, np.int64)
    clock_gettime(CLOCK, seconds_and_rest.ctypes.data)
    return seconds_and_rest[0] * 1_000_000_000 + seconds_and_rest[1]


@numba.njit(cache=True, nogil=True)
def _awaited(word, index, least):
    """Wait until a number of at least `least`, or below zero, is told; return it and the nanoseconds lost."""
    for _ in range(EAGER):
        number = told(word, index)
        if number >= least or number < 0:
            return number, 0
    since = _clock_ns()
    while True:
        give_way()
        number = told(word, index)
        if number >= least or number < 0:
            return number, _clock_ns() - since


@numba.njit(cache=True, nogil=True)
def _one_step(
    seed, step, num_chunks, words, have, log, lengths, source, pointer, in_start, in_links, npus, count, hop_chunk,
    hop_link,
):  # fmt: skip
    """Let the first `count` of some NPUs choose for one step; return (hops, NPUs that still lacked something).

    Hops are written from the start of `hop_chunk` and `hop_link`, which have room for one more than there can be.
    """
    one, six, low_bits, looks = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(LOOKS)
    whole = ~np.uint64(0)  # logs are no rings
    room = np.uint64(num_chunks + 1)
    now, then = lengths[step & 1], lengths[(step + 1) & 1]
    hop, left = np.int64(0), 0
    for index in range(count):
        d = np.int64(npus[index])
        own = now[d]
        if own == num_chunks:
            then[d] = own
            continue
        npus[left] = d
        left += 1
        if index + 1 < count:
            following = np.int64(npus[index + 1])
            prefetch(log, np.uint64(following) * room + np.uint64(now[following]))
            for ahead in range(in_start[following], in_start[following + 1]):
                prefetch(log, np.uint64(source[ahead]) * room + np.uint64(pointer[ahead]))
            for line in range((words + 7) >> 3):
                prefetch(have, np.uint64(following * words + (line << 3)))
        row, low, high = np.uint64(d * words), np.int64(in_start[d]), np.int64(in_start[d + 1])
        own_log = np.uint64(d) * room
        # In-links in hashed rotation: none is always first.
        place = low + np.int64((turn(seed, d, step) * np.uint64(high - low)) >> np.uint64(32))
        for _ in range(high - low):
            u = np.int64(source[place])
            at, end, entry = np.uint64(pointer[place]), np.uint64(now[u]), np.uint64(u) * room
            # Whether a link finds something is as good as random, so nothing depends on it that could be a branch: what
            # it has not found is written too, where the next hop will be.
            lacking = _lacking(have, row, log, entry, whole, at)
            known = min(end - at, looks)
            lacking &= (one << known) - one
            if lacking == 0 and end - at > looks:
                at = _first_lacking(have, row, log, entry, whole, at + looks, end)
            else:
                at += lowest(lacking | (one << known))
            found = np.uint64(at < end)
            c = np.uint64(log[entry + at])
            have[row + (c >> six)] |= found << (c & low_bits)
            log[own_log + np.uint64(own)] = c
            hop_chunk[hop] = c
            hop_link[hop] = in_links[place]
            own += np.int64(found)
            hop += np.int64(found)
            pointer[place] = at + found
            place += 1
            if place == high:
                place = low
        then[d] = own
    return hop, left


@numba.njit(cache=True, nogil=True)
def lead(
    hop, step, last_step, follows, most_lost_ns, seed, num_chunks, words, have, log, lengths, source, pointer, in_start,
    in_links, npus, starts, counts, signals, hop_chunk, hop_link,
):  # fmt: skip
    """Make steps one after the other, each NPU once in each, up to `last_step`; return (hops, steps) made in all.

    It ends before where all hops are made, or a step makes none.

    `lengths[step & 1]` are those of the logs before a step. A log has room for all chunks and one more, the last for
    some entries more to look at.

    The NPUs of part p are ``npus[starts[p]:starts[p + 1]]``, of which `counts[p]` may lack something. Part 0 is this
    thread's; the others are its own too until a thread follows, and again once the time lost by waiting is more than
    `most_lost_ns` and a quarter of all: then cores have other work. `follows[p]` is 1 where a thread does, −1 where it
    does no more; `signals` is how they meet.
    """
    parts = len(starts) - 1
    chunk, link = np.empty(len(in_links) + 1, hop_chunk.dtype), np.empty(len(in_links) + 1, hop_link.dtype)
    begun, lost = _clock_ns(), 0
    while hop < len(hop_chunk) and step < last_step:
        before = hop
        for part in range(1, parts):
            if follows[part] == 0 and told(signals[part], DONE) >= READY:
                follows[part] = 1
            if follows[part] == 1:
                tell(signals[part], NEXT, step + FIRST)
        for part in range(parts):
            if follows[part] == 1:
                waited = _awaited(signals[part], DONE, step + FIRST)[1]
                lost += waited
                signals[part, PLACE] = hop
                hop += signals[part, HOPS]
                if waited and lost > most_lost_ns + (_clock_ns() - begun) // 4:
                    follows[part] = -1
                    tell(signals[part], NEXT, LEAVE)
            else:
                hops, counts[part] = _one_step(
                    seed, step, num_chunks, words, have, log, lengths, source, pointer, in_start, in_links,
                    npus[starts[part] : starts[part + 1]], counts[part], chunk, link,
                )  # fmt: skip
                hop_chunk[hop : hop + hops] = chunk[:hops]
                hop_link[hop : hop + hops] = link[:hops]
                hop += hops
        if hop == before:
            break
        step += 1
    return hop, step


@numba.njit(cache=True, nogil=True)
def dismiss(signals):
    """Tell all threads that follow to leave."""
    for part in range(len(signals)):
        tell(signals[part], NEXT, LEAVE)


@numba.njit(cache=True, nogil=True)
def follow(
    part, seed, num_chunks, words, have, log, lengths, source, pointer, in_start, in_links, npus, starts, counts,
    signals, hop_chunk, hop_link,
):  # fmt: skip
    """Make the choices of one part, step after step, until the leading thread says to leave; return the steps made."""
    mine, signal = npus[starts[part] : starts[part + 1]], signals[part]
    chunk, link = np.empty(len(in_links) + 1, hop_chunk.dtype), np.empty(len(in_links) + 1, hop_link.dtype)
    hops = steps = 0
    told_last = np.int64(0)
    tell(signal, DONE, READY)
    while True:
        told_last = _awaited(signal, NEXT, told_last + 1)[0]
        # Where the hops of the step before go is known once all parts before have made theirs.
        place = signal[PLACE]
        hop_chunk[place : place + hops] = chunk[:hops]
        hop_link[place : place + hops] = link[:hops]
        if told_last < 0:
            return steps
        hops, counts[part] = _one_step(
            seed, told_last - FIRST, num_chunks, words, have, log, lengths, source, pointer, in_start, in_links, mine,
            counts[part], chunk, link,
        )  # fmt: skip
        signal[HOPS] = hops
        steps += 1
        tell(signal, DONE, told_last)
