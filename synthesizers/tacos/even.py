"""The matching of TACOS on even networks: all links take equally long, so events are steps and nothing needs a queue.

The choices of `synthesizers.tacos.matching` with the rule ``oldest``, made for networks of tens of thousands of NPUs,
where waiting for memory is what takes time. A link takes the first entry of its source's log that its destination
lacks, and most sources are some steps ahead of what their links have taken. So an NPU can often choose for many steps
in one visit, while its row of holdings is at hand, before its neighbours have made theirs: what a link finds in the
part of the log that is known already is what it would find in all of it. Where a link finds nothing there, and its
source has yet to come to that step, the NPU undoes the step and is visited again.

So the schedule is the one of step after step, in whatever order NPUs are visited, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.extending import intrinsic

from synthesizers.tacos.logs import Logs, room_needed

#: Networks of fewer NPUs are matched by one thread: there a round is over before two have met.
SHARED_FROM = 3000

#: Steps of a round: all NPUs end one before any begins the next, so that hops can be put in order.
ROUND = 16

_LOOKS = 8  # log entries that are looked at together
_FEW = 4  # with fewer known entries left than that it is better to wait than to find that they do not do

PREFETCH_FROM = 2**16  # words of holdings; fewer stay in a core's own cache


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
def _begin(first_start, first_chunks, words, have, log, log_start):
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
    base, steps, seed, waiting, count, ended, num_ended, first, last, log, log_start, log_mask, num_chunks, words, have,
    ends, done, seen, source, pointer, in_start, in_links, ahead, picked, totals,
):  # fmt: skip
    """Let the first `count` NPUs of `waiting` choose for as many steps of a round as they can.

    Those that end the round go from `waiting` to `ended`, which has `num_ended` so far, in the order in which they do.
    Returns how many still wait, and how many have ended.

    `ends[d, j]` is the length of NPU d's log before step j of the round, known up to j = `done[d]`; of NPUs outside
    first…last−1, which other threads visit, up to `seen`. `picked` are the links by which a log's new entries come;
    `totals[j]` counts the hops of step j.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
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
                while at < end:
                    # Eight entries at a time, without a branch: which are lacking is as good as random.
                    lacking = np.uint64(0)
                    for look in range(_LOOKS):
                        c = np.uint64(log[entry + ((at + np.uint64(look)) & mask)])
                        lacking |= ((~have[row + (c >> six)] >> (c & low_bits)) & one) << np.uint64(look)
                    if end - at < np.uint64(_LOOKS):
                        lacking &= (one << (end - at)) - one
                    if lacking:
                        at += _lowest(lacking)  # type: ignore[call-arg]  # the context is numba's
                        c = np.uint64(log[entry + (at & mask)])
                        at += one
                        have[row + (c >> six)] |= one << (c & low_bits)
                        log[own_log + (np.uint64(own) & own_mask)] = c
                        picked[news + own] = in_links[low + turned]
                        own += 1
                        stuck = False
                        break
                    at += np.uint64(_LOOKS)
                at_of[turned] = np.int64(min(at, end))
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
    return left, num_ended


@numba.njit(cache=True, nogil=True)
def _emit(
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


@dataclass
class _Part:
    """The NPUs of one thread in one round."""

    npus: np.ndarray  # that lack something, ascending
    waiting: np.ndarray  # those that have not ended the round, first those to visit first
    totals: np.ndarray  # hops of each step
    count: int = 0
    num_ended: int = 0

    def __post_init__(self) -> None:
        self.count = len(self.waiting)
        self.ended = np.empty_like(self.waiting)
        self.span = (int(self.npus[0]), int(self.npus[-1]) + 1) if len(self.npus) else (0, 0)

    def visit(self, base: int, steps: int, seed: int, state: tuple, picked: np.ndarray) -> None:
        """Visit all that wait, once."""
        self.count, self.num_ended = sweep(  # type: ignore[call-arg]  # of what numba compiles
            base, steps, seed, self.waiting, self.count, self.ended, self.num_ended, *self.span, *state, picked,
            self.totals,
        )  # fmt: skip


def match_even(
    num_npus, num_chunks, src, in_start, in_links, first_start, first_chunks, seed, max_steps, hop_chunk, hop_link,
    threads=1,
):  # fmt: skip
    """Match all chunks to links of equal duration; fill `hop_chunk` and `hop_link` in order of start.

    `max_steps` is where to give up, `threads` how many choose at a time; the other parameters are those of
    `synthesizers.tacos.matching.match`.

    Returns
    -------
    hops : int
        Transfers made: all of them, unless the network is not connected or `max_steps` was passed.
    steps : int
        Steps taken.
    """
    words = (num_chunks + 63) >> 6
    # Made by numpy, which asks the system for large pages: with small ones most looks would wait for the page table.
    have = np.zeros(num_npus * words, np.uint64)  # held or awaited
    ends = np.zeros((num_npus, ROUND + 1), np.uint32)
    ends[:, 0] = held = np.diff(first_start)
    done, seen = np.zeros((2, num_npus), np.uint8)
    source, pointer = src[in_links].astype(np.uint32), np.zeros(len(in_links), np.uint32)
    out_places, out_start = np.argsort(source, kind="stable"), np.zeros(num_npus + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=num_npus), out=out_start[1:])
    # As many entries as come in a round, the most that there are, and what links have yet to look at.
    news = np.minimum(np.diff(in_start) * ROUND, num_chunks)
    logs = Logs(num_npus, hop_chunk.dtype)
    needed = held + news
    logs.make_room(needed, held)
    _begin(first_start, first_chunks, words, have, logs.entries, logs.start)
    picked = np.empty(len(in_links) * ROUND, hop_link.dtype)
    ahead = len(have) > PREFETCH_FROM
    state = (num_chunks, words, have, ends, done, seen, source, pointer, in_start, in_links, ahead)
    npus = order = np.arange(num_npus, dtype=np.uint32)  # that lack something: ascending, and as they ended a round
    hops = taken = base = 0
    with ThreadPoolExecutor(threads) as pool:
        at_once: Callable = pool.map if threads > 1 else map
        while hops < len(hop_chunk) and base < max_steps:
            steps = min(ROUND, max_steps - base)
            parts = []
            for mine in np.array_split(npus, threads):
                here = (order >= mine[0]) & (order <= mine[-1]) if len(mine) else order < 0
                parts.append(_Part(mine, order[here], np.zeros(steps, np.int64)))
            log = (logs.entries, logs.start, logs.mask)
            visit = partial(_Part.visit, base=base, steps=steps, seed=seed, state=(*log, *state), picked=picked)
            while any(part.count for part in parts):
                list(at_once(visit, parts))
                seen[:] = done
            totals = np.array([part.totals for part in parts])
            made = totals.sum(axis=0)
            if not made.any():
                break
            positions = hops + np.cumsum(made) - made + np.cumsum(totals, axis=0) - totals
            emit = partial(_emit, steps, *log, num_chunks, ends, done, in_start, picked, hop_chunk, hop_link)
            left = list(at_once(emit, [part.npus for part in parts], positions))
            npus = np.concatenate([part.npus[:count] for part, count in zip(parts, left, strict=True)])
            order = np.concatenate([part.ended for part in parts])
            order = order[done[order] == 0]
            seen[:] = done
            lengths = ends[:, 0].astype(np.int64)
            room_needed(npus, news, lengths, out_start, out_places, pointer, needed)
            logs.make_room(needed, lengths)
            hops += int(made.sum())
            taken = base + int(np.flatnonzero(made)[-1]) + 1
            base += steps
    return hops, taken
