"""What NPUs got, in order, for as long as a link has yet to look at it: a ring of entries for each NPU.

Entry `i` of NPU u's log is ``entries[start[u] + (i & mask[u])]``. Rings grow where links lag behind. They do so where a
network is uneven, at the edges of a mesh for example; elsewhere a few hundred entries are all that is ever needed.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def begin(first_start, first_chunks, words, have, log, log_start):
    """Enter what NPUs hold at the start."""
    for npu in range(len(log_start)):
        for entry in range(first_start[npu], first_start[npu + 1]):
            c = np.uint64(first_chunks[entry])
            log[log_start[npu] + entry - first_start[npu]] = c
            have[np.uint64(npu * words) + (c >> np.uint64(6))] |= np.uint64(1) << (c & np.uint64(63))


@numba.njit(cache=True, nogil=True)
def _moved(entries, npus, length, start, mask, new_start, new_mask):
    """Copy what is in the rings of some NPUs to where they will be."""
    for index in range(len(npus)):
        npu = npus[index]
        for entry in range(max(length[npu] - mask[npu] - 1, 0), length[npu]):
            entries[new_start[index] + (entry & new_mask[index])] = entries[start[npu] + (entry & mask[npu])]


@numba.njit(cache=True, nogil=True)
def room_needed(npus, news, lengths, out_start, out_places, pointer, needed):
    """Set how many entries the ring of each of `npus` must hold: what links have yet to look at, and some news."""
    for index in range(len(npus)):
        npu = np.int64(npus[index])
        length = np.int64(lengths[npu])
        least = length
        for place in range(out_start[npu], out_start[npu + 1]):
            least = min(least, np.int64(pointer[out_places[place]]))
        needed[npu] = length - least + news[npu]


class Logs:
    """The rings of all NPUs, empty.

    Attributes
    ----------
    entries : (…,) unsigned array
        Chunks.
    start, mask : (num_npus,) int64 arrays
        Where each ring begins, and its size less one; sizes are powers of two.
    """

    def __init__(self, num_npus: int, of_type: np.dtype) -> None:
        self.entries = np.zeros(0, of_type)
        self.start, self.mask = np.zeros(num_npus, np.int64), np.full(num_npus, -1)
        self._used = 0

    def make_room(self, needed: np.ndarray, lengths: np.ndarray) -> None:
        """Give each ring at least so many entries; `lengths` are those of the logs."""
        short = np.flatnonzero(needed > self.mask + 1)
        if not len(short):
            return
        size = 1 << np.ceil(np.log2(needed[short])).astype(np.int64)
        start = self._used + np.cumsum(size) - size
        used = self._used + int(size.sum())
        if used > len(self.entries):
            # Made by numpy, which asks the system for large pages.
            entries = np.zeros(max(used, min(2 * len(self.entries), used + self._used)), self.entries.dtype)
            entries[: self._used] = self.entries[: self._used]
            self.entries = entries
        _moved(self.entries, short, lengths, self.start, self.mask, start, size - 1)
        self.start[short], self.mask[short], self._used = start, size - 1, used
