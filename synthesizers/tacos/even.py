"""The matching of TACOS on even networks: all links take equally long, so events are steps and nothing needs a queue.

The choices of `synthesizers.tacos.matching` with the rule ``oldest``, made for networks of tens of thousands of NPUs,
where waiting for memory is what takes time. Logs are cut into pieces of a cache line, and the pieces that all NPUs
fill at about the same time lie together, so a step works in one stretch of memory. The words that an NPU will look at
are asked for while those before it choose.

Within a step every NPU sees the logs as they were before it, so NPUs may choose in any order, on any number of threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.extending import intrinsic

#: Networks of fewer NPUs are matched by one thread: there a step is over before two have met.
SHARED_FROM = 3000

_PIECE = 32  # log entries that lie together; a power of two
_SHIFT = _PIECE.bit_length() - 1
_AHEAD = 6  # entries per link whose words are asked for ahead
_DISTANCE = 8  # NPUs ahead
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


@numba.njit(cache=True, nogil=True)
def turn(seed, npu, event):
    """Return 32 hashed bits of three numbers (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(npu) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(event) * np.uint64(0x94D049BB133111EB) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def _entry(npu, number, stride):
    """Return where entry `number` of an NPU's log is."""
    return np.uint64((number >> _SHIFT) * stride + (npu << _SHIFT) + (number & (_PIECE - 1)))


@numba.njit(cache=True, nogil=True)
def _begin(num_npus, first_start, first_chunks, have, words, log, ends):
    """Enter what NPUs hold at the start."""
    for npu in range(num_npus):
        for entry in range(first_start[npu], first_start[npu + 1]):
            c = np.uint64(first_chunks[entry])
            log[_entry(npu, np.int64(entry - first_start[npu]), num_npus << _SHIFT)] = c
            have[np.uint64(npu * words) + (c >> np.uint64(6))] |= np.uint64(1) << (c & np.uint64(63))
        ends[:, npu] = first_start[npu + 1] - first_start[npu]


@numba.njit(cache=True, nogil=True)
def _prefetch_for(d, words, have, log, source, pointer, in_start, stride):
    """Ask for the words that NPU d will probably look at: of the next entries of each in-link."""
    row = np.uint64(d * words)
    for place in range(in_start[d], in_start[d + 1]):
        index = _entry(np.int64(source[place]), np.int64(pointer[place]), stride)
        for _ in range(_AHEAD):
            # Past the log's end this is any word, which is asked for in vain: there is no harm in it.
            _prefetch(have, row + (np.uint64(log[index]) >> np.uint64(6)))  # type: ignore[call-arg]  # the context is numba's
            index += np.uint64(1)


@numba.njit(cache=True, nogil=True)
def choose(
    step, seed, active, count, num_chunks, words, have, log, ends, source, pointer, in_start, in_links, ahead,
    hop_chunk, hop_link, first_hop,
):  # fmt: skip
    """Let the first `count` NPUs of `active` choose; drop those that hold all; return (left active, end of hops)."""
    now, then = ends[step & 1], ends[(step + 1) & 1]
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    stride = np.int64(now.size) << _SHIFT
    jump = np.uint64(stride - _PIECE)
    left = 0
    hop = np.uint64(first_hop)
    for index in range(count):
        if ahead and index + _DISTANCE < count:
            _prefetch_for(np.int64(active[index + _DISTANCE]), words, have, log, source, pointer, in_start, stride)
        d = np.int64(active[index])
        own = np.int64(now[d])
        if own == num_chunks:
            then[d] = own
            continue
        active[left] = d
        left += 1
        row = np.uint64(d * words)
        low, high = in_start[d], in_start[d + 1]
        # In-links in hashed rotation: none is always first.
        place = low + np.int64((turn(seed, d, step) * np.uint64(high - low)) >> np.uint64(32))
        for _ in range(high - low):
            u = np.int64(source[place])
            at, end = np.uint64(pointer[place]), np.uint64(now[u])
            entry = _entry(u, np.int64(at), stride)
            while at < end:
                c = np.uint64(log[entry])
                at += one
                entry += one
                if not at & np.uint64(_PIECE - 1):
                    entry += jump
                slot = row + (c >> six)
                word, bit = have[slot], one << (c & low_bits)
                if not word & bit:
                    have[slot] = word | bit
                    log[_entry(d, own, stride)] = c
                    own += 1
                    hop_chunk[hop] = c
                    hop_link[hop] = in_links[place]
                    hop += one
                    break
            pointer[place] = at
            place += 1
            if place == high:
                place = low
        then[d] = own
    return left, np.int64(hop)


@numba.njit(cache=True, nogil=True)
def _alone(
    seed, max_steps, active, num_chunks, words, have, log, ends, source, pointer, in_start, in_links, ahead, hop_chunk,
    hop_link,
):  # fmt: skip
    """Make all steps on one thread; return (hops, steps)."""
    hops, step, count = 0, 0, len(active)
    while hops < len(hop_chunk) and step < max_steps:
        before = hops
        count, hops = choose(step, seed, active, count, num_chunks, words, have, log, ends, source, pointer, in_start,
                             in_links, ahead, hop_chunk, hop_link, before)  # fmt: skip
        if hops == before:
            break
        step += 1
    return hops, step


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
    log = np.empty(log_entries(num_npus, num_chunks), hop_chunk.dtype)
    ends = np.zeros((2, num_npus), np.uint32)  # of the logs, before even and before odd steps
    _begin(num_npus, first_start, first_chunks, have, words, log, ends)
    source = src[in_links].astype(np.uint32)
    pointer = np.zeros(len(in_links), np.uint32)
    state = (num_chunks, words, have, log, ends, source, pointer, in_start, in_links, len(have) > PREFETCH_FROM)
    if threads <= 1:
        active = np.arange(num_npus, dtype=np.uint32)
        return _alone(seed, max_steps, active, *state, hop_chunk, hop_link)
    cuts = np.searchsorted(in_start[: num_npus + 1], np.linspace(0, len(in_links), threads + 1)[1:-1])
    parts = [np.arange(low, high, dtype=np.uint32) for low, high in zip([0, *cuts], [*cuts, num_npus], strict=True)]
    found = np.zeros((2, threads), np.int64)  # hops of each part, in even and in odd steps
    barrier = Barrier(threads)

    def choosing(part: int) -> tuple[int, int]:
        """Make the choices of one part of the NPUs, in step with the other threads."""
        active, count = parts[part], len(parts[part])
        low, high = (in_start[active[0]], in_start[active[-1] + 1]) if count else (0, 0)
        chunk, link = np.empty(high - low, hop_chunk.dtype), np.empty(high - low, hop_link.dtype)
        hops = step = 0
        try:
            while hops < len(hop_chunk) and step < max_steps:
                count, made = choose(step, seed, active, count, *state, chunk, link, 0)
                found[step & 1, part] = made
                barrier.wait()
                before, everyone = hops + int(found[step & 1, :part].sum()), int(found[step & 1].sum())
                hop_chunk[before : before + made] = chunk[:made]
                hop_link[before : before + made] = link[:made]
                if not everyone:
                    break
                hops += everyone
                step += 1
        except BaseException:
            barrier.abort()
            raise
        return hops, step

    with ThreadPoolExecutor(threads) as pool:
        outcomes = [pool.submit(choosing, part) for part in range(threads)]
        try:
            return outcomes[0].result()
        except BaseException:
            barrier.abort()  # Ctrl-C, say: the threads must not go on
            raise


def log_entries(num_npus, num_chunks):
    """Return the entries that the logs of all NPUs take, and those into which a link may look ahead."""
    return (num_npus * ((num_chunks >> _SHIFT) + 1) << _SHIFT) + _AHEAD
