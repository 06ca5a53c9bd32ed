"""The matching of TACOS on even networks: all links take equally long, so events are steps and nothing needs a queue.

The choices of `synthesizers.tacos.matching` with the rule ``oldest``. One word test per look and no call per link:
the branch that ends a scan is what costs, so everything around it is kept straight.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def turn(seed, npu, event):
    """Return 32 hashed bits of three numbers (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(npu) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(event) * np.uint64(0x94D049BB133111EB) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def match_even(
    num_npus, num_chunks, src, in_start, in_links, first_start, first_chunks, seed, max_steps, hop_chunk, hop_link
):  # fmt: skip
    """Match all chunks to links of equal duration; fill `hop_chunk` and `hop_link` in order of start.

    `max_steps` is where to give up; the other parameters are those of `synthesizers.tacos.matching.match`.

    Returns
    -------
    hops : int
        Transfers made: all of them, unless the network is not connected or `max_steps` was passed.
    steps : int
        Steps taken.
    """
    words = np.uint64((num_chunks + 63) >> 6)
    have = np.zeros(np.uint64(num_npus) * words, np.uint64)  # held or awaited
    log = np.empty(num_npus * num_chunks, hop_chunk.dtype)
    log_end = np.zeros(num_npus, np.int64)
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for npu in range(num_npus):
        log_end[npu] = npu * num_chunks
        for entry in range(first_start[npu], first_start[npu + 1]):
            c = np.uint64(first_chunks[entry])
            log[log_end[npu]] = c
            log_end[npu] += 1
            have[np.uint64(npu) * words + (c >> six)] |= one << (c & low_bits)
    # Per in-link, in the order of visit: its source, and where it is in the source's log.
    source = np.empty(len(in_links), np.uint32)
    pointer = np.empty(len(in_links), np.int64)
    for place in range(len(in_links)):
        source[place] = src[in_links[place]]
        pointer[place] = np.int64(source[place]) * num_chunks
    picked_end = np.zeros(num_npus, np.int64)
    hops = 0
    step = 0
    while hops < len(hop_chunk) and step < max_steps:
        before = hops
        for d in range(num_npus):
            low, high = in_start[d], in_start[d + 1]
            row = np.uint64(d) * words
            # In-links in hashed rotation: none is always first.
            place = low + np.int64((turn(seed, d, step) * np.uint64(high - low)) >> np.uint64(32))
            for _ in range(high - low):
                at, end = pointer[place], log_end[source[place]]
                link = in_links[place]
                while at < end:
                    c = np.uint64(log[np.uint64(at)])
                    at += 1
                    index = row + (c >> six)
                    word, bit = have[index], one << (c & low_bits)
                    if not word & bit:
                        have[index] = word | bit
                        hop_chunk[np.uint64(hops)] = c
                        hop_link[np.uint64(hops)] = link
                        hops += 1
                        break
                pointer[place] = at
                place += 1
                if place == high:
                    place = low
            picked_end[d] = hops
        if hops == before:
            break
        # Logs grow only after all have chosen: arrivals of this step serve the next.
        hop = before
        for d in range(num_npus):
            at = log_end[d]
            while hop < picked_end[d]:
                log[np.uint64(at)] = hop_chunk[np.uint64(hop)]
                at += 1
                hop += 1
            log_end[d] = at
        step += 1
    return hops, step
