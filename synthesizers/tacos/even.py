"""The matching of TACOS on even networks: all links take equally long, so events are steps and nothing needs a queue.

The choices of `synthesizers.tacos.matching` with the rule ``oldest``, made for networks of tens of thousands of NPUs,
where waiting for memory is what takes time. A link takes the first entry of its source's log that its destination
lacks, and most sources are some steps ahead of what their links have taken. So an NPU can often choose for many steps
in one visit, while its row of holdings is at hand, before its neighbours have made theirs: what a link finds in the
part of the log that is known already is what it would find in all of it. Where a link finds nothing there, and its
source has yet to come to that step, the NPU undoes the step and is visited again.

So the schedule is the one of step after step, in whatever order NPUs are visited, on any number of threads.

Networks whose holdings fit in the cores' own caches do go step after step: a visit has little to wait for there, and
threads that meet after each step are faster than visits in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Thread

import numpy as np

from synthesizers.tacos.choices import LOOKS, SIGNAL_WORDS, dismiss, emit_hops, follow, lead, sweep
from synthesizers.tacos.logs import Logs, begin, room_needed
from synthesizers.tacos.machine import MEETS

#: What a thread may lose by waiting for others, beside a quarter of its time, before it goes on alone.
MOST_LOST_NS = 3_000_000

#: Looks at links, some hundredths of a second, after which an interrupt is heard.
_VISITS = 2**22

#: Steps of a round: all NPUs end one before any begins the next, so that hops can be put in order.
ROUND = 16


@dataclass
class _Part:
    """The NPUs of one thread in one round."""

    npus: np.ndarray  # that lack something, ascending
    waiting: np.ndarray  # those that have not ended the round, first those to visit first
    totals: np.ndarray  # hops of each step

    def __post_init__(self) -> None:
        self.count = len(self.waiting)  # of those that wait
        self.ended = np.empty_like(self.waiting)
        self.span = (int(self.npus[0]), int(self.npus[-1]) + 1) if len(self.npus) else (0, 0)

    def visit(self, base: int, steps: int, seed: int, state: tuple, picked: np.ndarray) -> None:
        """Visit all that wait, once."""
        self.count = sweep(  # type: ignore[call-arg]  # of what numba compiles
            base, steps, seed, self.waiting, self.count, self.ended, *self.span, *state, picked, self.totals
        )


def match_near(
    num_npus, num_chunks, src, in_start, in_links, first_start, first_chunks, seed, max_steps, hop_chunk, hop_link,
    threads=1,
):  # fmt: skip
    """Match all chunks to links of equal duration, step by step; parameters and results are those of `match_even`."""
    words, held = (num_chunks + 63) >> 6, np.diff(first_start)
    have = np.zeros(num_npus * words, np.uint64)
    # Of each NPU, with an entry more to write in vain, and some to look at in vain.
    room = num_chunks + 1
    log = np.zeros(num_npus * room + LOOKS, hop_chunk.dtype)
    begin(first_start, first_chunks, words, have, log, np.arange(num_npus) * room)
    source, pointer = src[in_links].astype(np.uint32), np.zeros(len(in_links), np.uint32)
    parts = max(min(threads, num_npus), 1) if MEETS else 1
    starts = np.linspace(0, num_npus, parts + 1).astype(np.int64)
    signals = np.zeros((parts, SIGNAL_WORDS), np.int64)
    state = (num_chunks, words, have, log, np.stack([held, held]), source, pointer, in_start, in_links,
             np.arange(num_npus), starts, np.diff(starts), signals, hop_chunk, hop_link)  # fmt: skip
    followers = [Thread(target=follow, args=(part, seed, *state), daemon=True) for part in range(1, parts)]
    follows, stride = np.zeros(parts, np.int8), max(_VISITS // max(len(in_links), 1), 1)
    hops = steps = 0
    try:
        with suppress(RuntimeError):  # where the system has no threads to give, this one goes alone
            for follower in followers:
                follower.start()
        while hops < len(hop_chunk) and steps < max_steps:
            last = min(steps + stride, max_steps)
            hops, steps = lead(hops, steps, last, follows, MOST_LOST_NS, seed, *state)
            if steps < last:
                break
        return hops, steps
    finally:  # they would wait forever for a thread that was interrupted
        dismiss(signals)
        for follower in followers:
            with suppress(RuntimeError):  # never started, or interrupted while it was
                follower.join()


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
    held = np.diff(first_start)
    source, pointer = src[in_links].astype(np.uint32), np.zeros(len(in_links), np.uint32)
    ends = np.zeros((num_npus, ROUND + 1), np.uint32)
    ends[:, 0] = held
    done, seen = np.zeros((2, num_npus), np.uint8)
    out_places, out_start = np.argsort(source, kind="stable"), np.zeros(num_npus + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=num_npus), out=out_start[1:])
    # As many entries as come in a round, the most that there are, and what links have yet to look at.
    news = np.minimum(np.diff(in_start) * ROUND, num_chunks)
    logs = Logs(num_npus, hop_chunk.dtype)
    needed = held + news
    logs.make_room(needed, held)
    begin(first_start, first_chunks, words, have, logs.entries, logs.start)
    picked = np.empty(len(in_links) * ROUND, hop_link.dtype)
    state = (num_chunks, words, have, ends, done, seen, source, pointer, in_start, in_links)
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
            emit = partial(emit_hops, steps, *log, num_chunks, ends, done, in_start, picked, hop_chunk, hop_link)
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
