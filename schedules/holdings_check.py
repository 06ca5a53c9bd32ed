"""Executes a schedule that only copies, and has no flows or steps: a bit for each place (NPU, chunk) is all it takes.

Nothing is ever added, so what a place holds is the chunk itself or nothing, and knowing which of the two proves the
schedule right. This is exact, goes through the hops once, in their order, and holds nothing per hop.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from schedules.schedule import Schedule

#: Hops of which a thread picks its own at a time.
_BLOCK = 4096


@numba.njit(cache=True, nogil=True)
def _deliver(chunk, link, src, dst, words, held, low, high, block):
    """Run the hops of the chunks low…high−1; return the first that sends what is not there, −1 if none does."""
    own = np.empty(block, np.int64)
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for first in range(0, len(chunk), block):
        # Which hops are this thread's is as good as random, so it is not branched on.
        count = 0
        for hop in range(first, min(first + block, len(chunk))):
            own[count] = hop
            c = np.int64(chunk[hop])
            count += (c >= low) & (c < high)
        for index in range(count):
            hop = own[index]
            l = np.int64(link[hop])  # noqa: E741
            row = np.uint64(np.int64(chunk[hop]) * words)
            source, node = np.uint64(src[l]), np.uint64(dst[l])
            if not (held[row + (source >> six)] >> (source & low_bits)) & one:
                return hop
            held[row + (node >> six)] |= one << (node & low_bits)
    return -1


@numba.njit(cache=True, nogil=True)
def _place(sets, set_start, set_member, words, held):
    """Set the bits of the NPUs of each chunk's set."""
    for c in range(len(sets)):
        for member in range(set_start[sets[c]], set_start[sets[c] + 1]):
            npu = np.uint64(set_member[member])
            held[np.uint64(c * words) + (npu >> np.uint64(6))] |= np.uint64(1) << (npu & np.uint64(63))


@numba.njit(cache=True, nogil=True)
def _lacking(sets, set_start, set_member, words, held):
    """Return (NPU, chunk) of the first place of the chunks' sets that holds nothing; (−1, −1) if there is none."""
    wanted = np.zeros(words, np.uint64)
    known = -1
    for c in range(len(sets)):
        if sets[c] != known:
            known = sets[c]
            wanted[:] = 0
            _place(sets[c : c + 1], set_start, set_member, words, wanted)
        for word in range(words):
            lack = wanted[word] & ~held[c * words + word]
            if lack:
                npu = word * 64
                while not lack & np.uint64(1):
                    lack >>= np.uint64(1)
                    npu += 1
                return npu, c
    return -1, -1


def only_copies(schedule: Schedule) -> bool:
    """Return whether this check is for a schedule: it copies hop by hop, and has fewer places than bits of hops."""
    plain = schedule.flow is None and schedule.step is None and schedule.message is None
    copying = schedule.reduce is None and not schedule.collective.reduces
    holdings = _words(schedule) * schedule.collective.num_chunks * 8
    return plain and copying and holdings <= max(4 * schedule.num_hops, 2**20)


def check_holdings(schedule: Schedule) -> tuple[int, int, int]:
    """Return (hop, NPU, chunk): the first hop that sends what is not there, or the first place that ends empty.

    Parameters
    ----------
    schedule : Schedule
        One that `only_copies`, whose links all join nodes that may send and receive.

    Returns
    -------
    hop, npu, chunk : int
        All −1 if the schedule computes its collective.
    """
    collective, topology = schedule.collective, schedule.topology
    words = _words(schedule)
    held = np.zeros(collective.num_chunks * words, np.uint64)  # by chunk: ends of a link are mostly near each other
    members = collective.set_start, collective.set_member
    _place(collective.initial, *members, words, held)
    middle = collective.num_chunks // 2

    def run(low: int, high: int) -> int:
        """Run the hops of some chunks."""
        return int(_deliver(schedule.chunk, schedule.link, topology.src, topology.dst, words, held, low, high, _BLOCK))

    with ThreadPoolExecutor(2) as pool:
        faults = [hop for hop in pool.map(run, (0, middle), (middle, collective.num_chunks)) if hop >= 0]
    if faults:
        return min(faults), -1, -1
    npu, chunk = _lacking(collective.final, *members, words, held)
    return -1, int(npu), int(chunk)


def _words(schedule: Schedule) -> int:
    """Return the 64-bit words that a bit per node takes."""
    return (schedule.topology.num_nodes + 63) // 64
