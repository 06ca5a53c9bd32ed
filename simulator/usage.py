"""Sums over the hops of a timeline, compiled: link loads, utilisation over time, chunks in transit and their peaks."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def add_at(total, index, amount):
    """Add amounts to the cells that they belong to."""
    for at in range(len(index)):
        total[index[at]] += amount[at]


@numba.njit(cache=True, nogil=True)
def held_per_bin(start, stop, bins):
    """Return, for each bin of width one, how much of it the spans cover together: whole bins by differences."""
    total = np.zeros(bins)
    whole = np.zeros(bins + 1)
    for at in range(len(start)):
        first, last = min(int(start[at]), bins - 1), min(int(stop[at]), bins - 1)
        if first == last:
            total[first] += stop[at] - start[at]
        else:
            total[first] += first + 1 - start[at]
            total[last] += stop[at] - last
            whole[first + 1] += 1
            whole[last] -= 1
    covering = 0.0
    for place in range(bins):
        covering += whole[place]
        total[place] += covering
    return total


@numba.njit(cache=True, nogil=True)
def transit_spans(
    order, start, link, src, dst, before, delivers, end, initial, final, set_start, set_member, num_nodes,
    num_npus,
):  # fmt: skip
    """Return (count, npu, chunk, from, until) of chunks held by NPUs that neither start nor end with them."""
    limit = len(order)  # each such chunk at an NPU has a delivery of its own
    npus, chunks = np.empty(limit, np.int64), np.empty(limit, np.int64)
    since, until = np.empty(limit, np.int64), np.empty(limit, np.int64)
    count = 0
    routed = len(before) > 0
    own = np.zeros(num_nodes, np.int64)  # in how many of the two sets an NPU is
    arrived, sent = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
    stamp = np.full(num_nodes, -1, np.int64)
    sets = np.full(2, -1, np.int64)
    for c in range(len(start) - 1):
        for side, now in enumerate((initial[c], final[c])):
            if sets[side] != now:  # neighbouring chunks mostly share one
                if sets[side] >= 0:
                    for at in range(set_start[sets[side]], set_start[sets[side] + 1]):
                        own[set_member[at]] -= 1
                for at in range(set_start[now], set_start[now + 1]):
                    own[set_member[at]] += 1
                sets[side] = now
        for position in range(start[c], start[c + 1]):
            hop = order[position]
            node = dst[link[hop]]
            if (not routed or delivers[hop]) and node < num_npus and own[node] == 0:
                if stamp[node] != c:
                    stamp[node], arrived[node], sent[node] = c, end[hop], 0
                arrived[node] = min(arrived[node], end[hop])
        for position in range(start[c], start[c + 1]):
            hop = order[position]
            node = src[link[hop]]
            if (not routed or before[hop] < 0) and stamp[node] == c:
                sent[node] = max(sent[node], end[hop])
        for position in range(start[c], start[c + 1]):
            node = dst[link[order[position]]]
            if stamp[node] == c and sent[node] > arrived[node]:
                npus[count], chunks[count], since[count], until[count] = node, c, arrived[node], sent[node]
                count += 1
                sent[node] = 0  # once per chunk and NPU
    return count, npus, chunks, since, until


@numba.njit(cache=True, nogil=True)
def running_peaks(npu, change, num_npus):
    """Return the greatest running sum of changes of each NPU; the events of one stand together, in order of time."""
    peak = np.zeros(num_npus, np.int64)
    held = np.int64(0)
    for at in range(len(npu)):
        if at and npu[at] != npu[at - 1]:
            held = np.int64(0)
        held += change[at]
        peak[npu[at]] = max(peak[npu[at]], held)
    return peak
