"""One NPU's trees, carried to all: the matching of TACOS on networks that look the same from every NPU.

Where every NPU sees the same links (rings, tori, hypercubes, circulants) an AllGather may be the same from every NPU:
what goes from NPU 0 to its neighbour in some direction goes from every NPU to its neighbour there, at the same time.
All links of one direction then do the same at once, so it is enough to spread the chunks of NPU 0 with one link for
each direction, which is n times less to decide. A direction takes the delivery that fewest others could make and that
opens the most ways, and with that the ingress bound is met where choices link by link miss it by a step or two.
"""

from __future__ import annotations

import numba
import numpy as np

from synthesizers.translations import Translations

#: Orders among equals that are tried, and looks at deliveries that they may cost in all.
_TRIES, _MAX_LOOKS = 8, 2**24


@numba.njit(cache=True, nogil=True)
def grow(before, after, duration, box_of, once, rank, cutoff, hop_chunk, hop_node, hop_column):
    """Spread the chunks of NPU 0, event by event; fill the columns of hops in order of start.

    Parameters
    ----------
    before, after : (columns, nodes) int64 arrays
        The node that each direction comes from and leads to.
    duration : (columns,) int64 array
        Picoseconds that a chunk takes in each direction, ascending.
    box_of : (levels, nodes) int64 array
        The boxes that each node is in, largest last.
    once : bool
        Let each chunk enter each box once.
    rank : (chunks, nodes) int64 array
        Which of equally good deliveries comes first.
    cutoff : int
        Give up past this time.
    hop_chunk, hop_node, hop_column : (chunks · (nodes − 1),) int64 arrays
        Filled: the chunk, the node that sends it, the direction.

    Returns
    -------
    hops : int
        Deliveries made: all, unless no link leads on or `cutoff` was passed.
    time : int
        Picoseconds until the last arrival.
    """
    columns, nodes = before.shape
    chunks = len(rank)
    levels = len(box_of)
    never = np.int64(2**62)
    arrival = np.full((chunks, nodes), never)
    entered = np.zeros((chunks, box_of.max() + 1 if levels else 1), np.bool_)
    for chunk in range(chunks):
        arrival[chunk, 0] = 0
        for level in range(levels):
            entered[chunk, box_of[level, 0]] = True
    free = np.zeros(columns, np.int64)
    now, last, hops = np.int64(0), np.int64(0), 0
    while True:
        for column in range(columns):
            if free[column] > now:
                continue
            chosen, least, first = -1, 0, np.int64(0)
            for chunk in range(chunks):
                for node in range(nodes):
                    source = before[column, node]
                    if arrival[chunk, node] < never or arrival[chunk, source] > now:
                        continue
                    if once:
                        closed = False
                        for level in range(levels):
                            box = box_of[level, node]
                            closed |= box != box_of[level, source] and entered[chunk, box]
                        if closed:
                            continue
                    score = 0
                    for other in range(columns):
                        score += arrival[chunk, before[other, node]] <= now
                        score -= arrival[chunk, after[other, node]] == never
                    place = rank[chunk, node]
                    if chosen < 0 or score < least or (score == least and place < first):
                        chosen, least, first = chunk * nodes + node, score, place
            if chosen < 0:
                continue
            chunk, node = chosen // nodes, chosen % nodes
            free[column] = arrival[chunk, node] = now + duration[column]
            last = max(last, free[column])
            for level in range(levels):
                entered[chunk, box_of[level, node]] = True
            hop_chunk[hops], hop_node[hops], hop_column[hops] = chunk, before[column, node], column
            hops += 1
        if last > cutoff or hops == len(hop_chunk):
            return hops, last
        upcoming = never
        for column in range(columns):
            if free[column] > now:
                upcoming = min(upcoming, free[column])
        if upcoming == never:
            return hops, last
        now = upcoming


def carried(
    moves: Translations, dst: np.ndarray, duration: np.ndarray, boxes: np.ndarray, once: bool, chunks: int, seed: int,
    bound: int, cutoff: int,
) -> tuple[np.ndarray, np.ndarray, int] | None:  # fmt: skip
    """Return the hops of all NPUs' chunks in order of start, as (chunk, link, time); None past `cutoff`.

    Parameters
    ----------
    moves : Translations
    dst, duration : (L,) int arrays
        Where each link leads, and the picoseconds that a chunk takes on it.
    boxes : (levels, nodes) int array
    once : bool
        Let each chunk enter each box once.
    chunks : int
        Of each NPU; NPU v holds chunks ``v · chunks`` and following.
    seed : int
        Of the orders among equals; several are tried, until one reaches `bound`.
    bound, cutoff : int
        Picoseconds.
    """
    links = moves.links[:, np.argsort(duration[moves.links[0]], kind="stable")]
    nodes = len(links)
    every = np.arange(nodes)
    after = np.ascontiguousarray(dst[links].T, np.int64)
    before = np.empty_like(after)
    np.put_along_axis(before, after, np.broadcast_to(every, after.shape), axis=1)
    draw = np.random.default_rng(seed)
    best: tuple[np.ndarray, ...] | None = None
    for _ in range(min(_TRIES, 1 + _MAX_LOOKS // (chunks * nodes) ** 2)):
        rank = draw.permutation(chunks * nodes).reshape(chunks, nodes)
        hops = tuple(np.empty(chunks * (nodes - 1), np.int64) for _ in range(3))
        made, time = grow(before, after, duration[links[0]], boxes, once, rank, cutoff, *hops)
        if made == len(hops[0]) and time <= cutoff:
            best, cutoff = hops, int(time) - 1
        if cutoff < bound:
            break
    if best is None:
        return None
    chunk, node, column = (each[:, None] for each in best)
    # What NPU 0's chunk does at a node, that of NPU v does at the node moved by v.
    return (every * chunks + chunk).ravel(), links[moves.add(node, every), column].ravel(), cutoff + 1
