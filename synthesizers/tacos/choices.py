"""The compiled choices of TACOS on even networks: which entry of its source's log each link takes, step after step.

`sweep` lets an NPU choose for many steps in one visit, `step_by_step` visits all in every step; what they do is the
same, and what they are for is in `synthesizers.tacos.even`. Kernels and what they call are in one file: numba's cache
does not see edits in others.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.extending import intrinsic

LOOKS = 8  # log entries that are looked at together
_FEW = 4  # with fewer known entries left than that it is better to wait than to find that they do not do


@intrinsic
def _prefetch(context, array, index):  # noqa: ARG001
    """Ask for the cache line of an array's element, without waiting for it; the element need not exist."""

    def emit(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [address.type], form)
        # For reading and writing, to be kept in all caches, of data.
        builder.call(ask, [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), emit


@intrinsic
def _lowest(context, word):  # noqa: ARG001
    """Return the place of the lowest bit set in a word that is not zero."""

    def emit(context, builder, signature, arguments):  # noqa: ARG001
        return builder.cttz(arguments[0], ir.IntType(1)(True))

    return types.uint64(word), emit


@numba.njit(cache=True, nogil=True)
def turn(seed, npu, event):
    """Return 32 hashed bits of three numbers (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(npu) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(event) * np.uint64(0x94D049BB133111EB) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def _first_lacking(have, row, log, entry, mask, at, end):
    """Return the first entry of a log, from `at` on, that the NPU of a row lacks; `end` if it lacks none before that.

    Entry i is ``log[entry + (i & mask)]``. Entries are looked at together, without a branch: which of them are lacking
    is as good as random.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    while at < end:
        lacking = np.uint64(0)
        for look in range(LOOKS):
            c = np.uint64(log[entry + ((at + np.uint64(look)) & mask)])
            lacking |= ((~have[row + (c >> six)] >> (c & low_bits)) & one) << np.uint64(look)
        if end - at < np.uint64(LOOKS):
            lacking &= (one << (end - at)) - one
        if lacking:
            return at + _lowest(lacking)  # type: ignore[call-arg]  # the context is numba's
        at += np.uint64(LOOKS)
    return end


@numba.njit(cache=True, nogil=True)
def begin(first_start, first_chunks, words, have, log, log_start):
    """Enter what NPUs hold at the start."""
    for npu in range(len(log_start)):
        for entry in range(first_start[npu], first_start[npu + 1]):
            c = np.uint64(first_chunks[entry])
            log[log_start[npu] + entry - first_start[npu]] = c
            have[np.uint64(npu * words) + (c >> np.uint64(6))] |= np.uint64(1) << (c & np.uint64(63))


@numba.njit(cache=True, nogil=True)
def _ask_for(
    d, steps, words, have, log, log_start, log_mask, ends, done, source, pointer, in_start, picked
):  # fmt: skip
    """Ask for what a visit of NPU d will look at: its row, its log's end, and its sources' logs."""
    row = np.uint64(d * words)
    for line in range((words + 7) >> 3):
        _prefetch(have, row + np.uint64(line << 3))  # type: ignore[call-arg]  # the context is numba's
    own = np.int64(ends[d, done[d]])
    low, high = np.int64(in_start[d]), np.int64(in_start[d + 1])
    flat = ends.reshape(-1)
    for place in range(low, high):
        u = np.int64(source[place])
        at = np.int64(pointer[place])
        for line in range(0, 64, 32):
            _prefetch(log, np.uint64(log_start[u] + ((at + line) & log_mask[u])))  # type: ignore[call-arg]
        news = own + ((place - low) << 5)
        _prefetch(log, np.uint64(log_start[d] + (news & log_mask[d])))  # type: ignore[call-arg]
        _prefetch(flat, np.uint64(u * ends.shape[1]))
        _prefetch(picked, np.uint64(place * steps))


@numba.njit(cache=True, nogil=True)
def sweep(
    base, steps, seed, waiting, count, ended, first, last, log, log_start, log_mask, num_chunks, words, have, ends,
    done, seen, source, pointer, in_start, in_links, ahead, picked, totals,
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
        if ahead and index + 2 < count:
            later = np.int64(waiting[index + 2])
            _prefetch(pointer, np.uint64(in_start[later]))  # type: ignore[call-arg]  # the context is numba's
            _prefetch(source, np.uint64(in_start[later]))
            _prefetch(in_links, np.uint64(in_start[later]))
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
def step_by_step(
    seed, max_steps, num_chunks, words, have, log, lengths, source, pointer, in_start, in_links, hop_chunk, hop_link
):  # fmt: skip
    """Make all steps one after the other, each NPU once in each; return (hops, steps).

    `log` has a row for each NPU, of which `lengths` entries are filled, and a few entries more to look at.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    whole = ~np.uint64(0)  # rows are no rings
    now, then = lengths.copy(), lengths.copy()
    active, count = np.arange(len(lengths)), len(lengths)
    hop = step = 0
    while hop < len(hop_chunk) and step < max_steps:
        before = hop
        left = 0
        for index in range(count):
            d = active[index]
            own = now[d]
            if own == num_chunks:
                then[d] = own
                continue
            active[left] = d
            left += 1
            row, low, high = np.uint64(d * words), np.int64(in_start[d]), np.int64(in_start[d + 1])
            place = low + np.int64((turn(seed, d, step) * np.uint64(high - low)) >> np.uint64(32))
            for _ in range(high - low):
                u = np.int64(source[place])
                at, end, entry = np.uint64(pointer[place]), np.uint64(now[u]), np.uint64(u * num_chunks)
                at = _first_lacking(have, row, log, entry, whole, at, end)
                if at < end:
                    c = np.uint64(log[entry + at])
                    at += one
                    have[row + (c >> six)] |= one << (c & low_bits)
                    log[d * num_chunks + own] = c
                    own += 1
                    hop_chunk[hop] = c
                    hop_link[hop] = in_links[place]
                    hop += 1
                pointer[place] = at
                place += 1
                if place == high:
                    place = low
            then[d] = own
        if hop == before:
            break
        now, then = then, now
        count = left
        step += 1
    return hop, step
