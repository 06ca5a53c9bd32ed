"""Compiled parts of the verifier; nothing outside the verifier uses them, and they use nothing of anyone else's.

Words are residues modulo the largest prime below 2⁶⁴. Modulo 2⁶⁴ itself, what is doubled 64 times would vanish, and
doubling is just what a faulty exchange does.
"""

from __future__ import annotations

import numba
import numpy as np

_PRIME = np.uint64(2**64 - 59)
_PAST = np.uint64(59)


@numba.njit(cache=True, nogil=True)
def routes(chunk, link, flow, src, dst, num_npus):
    """Return (starts, ends, hop, fault): which hops start and end a route; fault 0 where all routes connect."""
    count = len(chunk)
    starts = np.ones(count, np.bool_)
    ends = np.ones(count, np.bool_)
    latest = np.full(count if len(flow) else 0, -1, np.int64)
    for hop in range(len(flow)):
        if flow[hop] >= 0:
            previous = latest[flow[hop]]
            latest[flow[hop]] = hop
            if previous >= 0:
                starts[hop] = False
                ends[previous] = False
    for hop in range(count):
        if starts[hop] and src[link[hop]] >= num_npus:
            return starts, ends, hop, 1
        if len(flow) and flow[hop] >= 0:
            if not starts[hop]:
                previous = latest[flow[hop]]  # of this pass: the route's start came by
                if dst[link[previous]] != src[link[hop]]:
                    return starts, ends, hop, 3
                if chunk[previous] != chunk[hop]:
                    return starts, ends, hop, 4
            latest[flow[hop]] = hop
        if ends[hop] and dst[link[hop]] >= num_npus:
            return starts, ends, hop, 2
    return starts, ends, -1, 0


@numba.njit(cache=True, nogil=True)
def first_at_switch(link, src, dst, num_npus):
    """Return (hop, fault) of the first hop that starts (1) or ends (2) at a switch; fault 0 where none does."""
    for hop in range(len(link)):
        if src[link[hop]] >= num_npus:
            return hop, 1
        if dst[link[hop]] >= num_npus:
            return hop, 2
    return -1, 0


@numba.njit(cache=True, nogil=True)
def hop_counts(chunk, num_chunks):
    """Return where each chunk's hops begin once grouped."""
    first = np.zeros(num_chunks + 1, np.int64)
    for hop in range(len(chunk)):
        first[np.int64(chunk[hop]) + 1] += 1
    for c in range(num_chunks):
        first[c + 1] += first[c]
    return first


@numba.njit(cache=True, nogil=True)
def grouped_links(chunk, link, adds, first, begin, end):
    """Return the links of the hops of chunks begin…end−1, grouped: twice the link, plus one where it adds."""
    fill = first[begin:end] - first[begin]
    links = np.empty(first[end] - first[begin], np.uint32)
    adding = len(adds) > 0
    for hop in range(len(chunk)):
        c = np.int64(chunk[hop])
        if begin <= c < end:
            links[fill[c - begin]] = np.uint32(link[hop]) * np.uint32(2) + np.uint32(adding and adds[hop])
            fill[c - begin] += 1
    return links


@numba.njit(cache=True, nogil=True)
def grouped_hops(chunk, num_chunks):
    """Return (order, first): the hops of each chunk in list order."""
    first = hop_counts(chunk, num_chunks)
    fill = first[:-1].copy()
    order = np.empty(len(chunk), np.int64)
    for hop in range(len(chunk)):
        c = np.int64(chunk[hop])
        order[fill[c]] = hop
        fill[c] += 1
    return order, first


@numba.njit(cache=True, nogil=True)
def first_listed(chunk, number):
    """Return the first hop of the list that is hop ``number[c]`` of its chunk c, counted from 0; −1 if none is."""
    seen = np.zeros(len(number), np.int64)
    for hop in range(len(chunk)):
        c = np.int64(chunk[hop])
        if seen[c] == number[c]:
            return hop
        seen[c] += 1
    return -1


@numba.njit(cache=True, nogil=True)
def _sum(a, b):
    """Return a + b modulo the prime."""
    total = a + b
    if total < a:  # past 2⁶⁴, which is 59 modulo the prime
        return total + _PAST
    return total - _PRIME if total >= _PRIME else total


@numba.njit(cache=True, nogil=True)
def _word(seed, chunk, contributor):
    """Return the random word of a contribution (splitmix64 of its name)."""
    z = np.uint64(seed) + np.uint64(chunk) * np.uint64(0x9E3779B97F4A7C15)
    for salt in (np.uint64(contributor), np.uint64(0x94D049BB133111EB)):
        z += salt * np.uint64(0xD1342543DE82EF95) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return z - _PRIME if z >= _PRIME else z


@numba.njit(cache=True, nogil=True)
def _begin(c, seed, reduces, initial, set_start, set_member, value, held):
    """Put the initial contributions of a chunk in place; return the word that final holders must end with."""
    target = np.uint64(0)
    for member in range(set_start[initial[c]], set_start[initial[c] + 1]):
        npu = set_member[member]
        word = _word(seed, c, npu if reduces else 0)
        value[npu] = word
        held[npu] = c
        target = _sum(target, word) if reduces else word
    return target


@numba.njit(cache=True, nogil=True)
def _check_end(c, target, final, set_start, set_member, value, held, writer):
    """Return (fault, position, NPU, chunk) for the first final place that is wrong; fault 0 if none."""
    for member in range(set_start[final[c]], set_start[final[c] + 1]):
        npu = np.int64(set_member[member])
        if held[npu] != c:
            return 1, np.int64(-1), npu, c
        if value[npu] != target:
            return 2, writer[npu], npu, c
    return 0, np.int64(-1), np.int64(-1), c


@numba.njit(cache=True, nogil=True)
def execute_plain(
    links, first, skipped, src, dst, num_nodes, initial, final, set_start, set_member, reduces, seed, missing, begin,
    end,
):  # fmt: skip
    """Run the chunks begin…end−1 of a schedule without flows and steps; return (fault, position, NPU, chunk).

    `links` begins with hop `skipped` of the grouped ones. A hop that sends what is not there ends its chunk; which hop
    of the chunk it was goes to `missing`.
    """
    result = 0, np.int64(-1), np.int64(-1), np.int64(-1)
    value = np.zeros(num_nodes, np.uint64)
    held = np.full(num_nodes, -1, np.int64)
    writer = np.full(num_nodes, -1, np.int64)
    for c in range(begin, end):
        target = _begin(c, seed, reduces, initial, set_start, set_member, value, held)
        writer[:] = -1
        for position in range(first[c], first[c + 1]):
            link = links[position - skipped] >> np.uint32(1)
            source, node = src[link], dst[link]
            if held[source] != c:
                missing[c] = position - first[c]
                break
            if links[position - skipped] & np.uint32(1) and held[node] == c:
                value[node] = _sum(value[node], value[source])
            else:
                value[node] = value[source]
                held[node] = c
            writer[node] = position
        if result[0] == 0 and missing[c] < 0:
            result = _check_end(c, target, final, set_start, set_member, value, held, writer)
    return result


@numba.njit(cache=True, nogil=True)
def execute(
    order, first, link, flow, step, adds, starts, ends, words, src, dst, num_nodes, initial, final, set_start,
    set_member, reduces, seed, missing, begin, end,
):  # fmt: skip
    """Run the chunks begin…end−1 of any schedule; return (fault, position, NPU, chunk).

    `words` holds what each hop without a flow carries. A hop that sends what is not there ends its chunk; which hop of
    the chunk it was goes to `missing`.
    """
    result = 0, np.int64(-1), np.int64(-1), np.int64(-1)
    value = np.zeros(num_nodes, np.uint64)
    held = np.full(num_nodes, -1, np.int64)
    writer = np.full(num_nodes, -1, np.int64)
    routed, stepped, adding = len(flow) > 0, len(step) > 0, len(adds) > 0
    # Flow ids are below the number of hops; a chunk's flows are its own, so threads never meet in this array.
    carried = np.zeros(len(order) if routed else 0, np.uint64)
    for c in range(begin, end):
        target = _begin(c, seed, reduces, initial, set_start, set_member, value, held)
        writer[:] = -1
        run = first[c]
        while run < first[c + 1] and missing[c] < 0:
            stop = run + 1
            while stepped and stop < first[c + 1] and step[order[stop]] == step[order[run]]:
                stop += 1
            for position in range(run, stop):
                hop = order[position]
                if starts[hop]:
                    source = src[link[hop]]
                    if held[source] != c:
                        missing[c] = position - first[c]
                        break
                    if routed and flow[hop] >= 0:
                        carried[flow[hop]] = value[source]
                    else:
                        words[hop] = value[source]
            for position in range(run, stop if missing[c] < 0 else run):
                hop = order[position]
                if ends[hop]:
                    node = dst[link[hop]]
                    word = carried[flow[hop]] if routed and flow[hop] >= 0 else words[hop]
                    if adding and adds[hop] and held[node] == c:
                        value[node] = _sum(value[node], word)
                    else:
                        value[node] = word
                        held[node] = c
                    writer[node] = position
            run = stop
        if result[0] == 0 and missing[c] < 0:
            result = _check_end(c, target, final, set_start, set_member, value, held, writer)
    return result
