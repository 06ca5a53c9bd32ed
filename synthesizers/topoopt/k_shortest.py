"""The k shortest loopless paths between many pairs of nodes: Yen's algorithm, compiled.

J. Y. Yen, Finding the k shortest loopless paths in a network, Management Science 17 (1971), with E. L. Lawler's rule
(1972) that a path is only deviated from past the place where it deviates itself, so that no path is found twice. Length
is hops.

Of equally long paths the first in lexicographic order counts as the shorter, the arcs out of a node being in the order
of their numbers. Then the few paths of all pairs crowd on low arcs; *turned*, the order begins elsewhere for each pair
and node, as a hash of source, target and node says. (A sum of the three is the same for all pairs of one offset where
the degree is unlucky.)
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def k_shortest(source, target, k, turned, graph):
    """Return the paths of all pairs.

    Parameters
    ----------
    source, target : (K,) int64 arrays
        Different nodes; fastest where pairs of one target follow each other.
    k : int
        Paths of each pair at most.
    turned : bool
        Whether the order of arcs differs from pair to pair.
    graph : tuple of int64 arrays
        (tail, head, out_start, in_start, in_arcs): the ends of the arcs, ascending by tail, no two with the same ends;
        the arcs out of node v are ``out_start[v] … out_start[v + 1] − 1``, those into it
        ``in_arcs[in_start[v]:in_start[v + 1]]``.

    Returns
    -------
    first : (K + 1,) int64 array
        The paths of pair i are number ``first[i] … first[i + 1] − 1``, the shortest first; none if there is no path.
    start : (first[K] + 1,) int64 array
    arcs : int32 array
        Path p is ``arcs[start[p]:start[p + 1]]``.
    """
    nodes = len(graph[2]) - 1
    scratch = (np.full(nodes, -1, np.int64), np.empty(nodes, np.int64))
    marks = (np.zeros(nodes, np.bool_), np.zeros(len(graph[0]), np.bool_))
    toward, known = np.empty(nodes, np.int64), -1  # hops to the target `known`
    paths, length, deviates = np.empty((k + 1, nodes), np.int64), np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    first, start = np.zeros(len(source) + 1, np.int64), np.zeros(len(source) * k + 1, np.int64)
    arcs = np.empty(len(source) * k * 4 + nodes, np.int32)
    total = 0
    for pair in range(len(source)):
        if target[pair] != known:
            known = target[pair]
            _hops_to(known, graph, toward, scratch[1])
        turn = source[pair] * nodes + known if turned else -1
        found = _of_pair(source[pair], known, k, turn, graph, toward, scratch, marks, paths, length, deviates)
        for path in range(found):
            if total + length[path] > len(arcs):
                arcs = _doubled(arcs)
            for step in range(length[path]):
                arcs[total + step] = paths[path, step]
            total += length[path]
            start[first[pair] + path + 1] = total
        first[pair + 1] = first[pair] + found
    return first, start[: first[-1] + 1], arcs[:total]


@numba.njit(cache=True, nogil=True)
def _doubled(arcs):
    """Return the array with as much room again."""
    more = np.empty(2 * len(arcs), np.int32)
    for place in range(len(arcs)):
        more[place] = arcs[place]
    return more


@numba.njit(cache=True, nogil=True)
def _hops_to(target, graph, toward, front):
    """Write the hops from each node to the target; nodes that cannot reach it are as far as there are nodes."""
    tail, in_start, in_arcs = graph[0], graph[3], graph[4]
    for node in range(len(toward)):
        toward[node] = len(toward)
    toward[target], front[0], count, at = 0, target, 1, 0
    while at < count:
        here = front[at]
        at += 1
        for place in range(in_start[here], in_start[here + 1]):
            before = tail[in_arcs[place]]
            if toward[before] == len(toward):
                toward[before] = toward[here] + 1
                front[count] = before
                count += 1


@numba.njit(cache=True, nogil=True)
def _of_pair(source, target, k, turn, graph, toward, scratch, marks, paths, length, deviates):
    """Write a pair's paths into the rows of `paths` and return how many; `deviates` is where each leaves its parent."""
    barred = marks[1]
    found = kept = 0  # rows up to `found` are paths, those up to `kept` the best that may follow them
    if graph[2][source] == graph[2][source + 1]:
        return 0
    spare = paths[k]
    while True:
        begin, end = 0, 1
        if found:
            begin, end = deviates[found - 1], length[found - 1]
            for step in range(begin):
                spare[step] = paths[found - 1, step]
        for place in range(begin, end):
            if place > begin:
                spare[place - 1] = paths[found - 1, place - 1]  # what came in between overwrote it
            # Any arc says which node the path has reached; all that paths with this beginning go on with are barred.
            spare[place] = paths[found - 1, place] if found else graph[2][source]
            for path in range(found):
                if _begins(paths[path], length[path], spare, place):
                    barred[paths[path, place]] = True
            most = length[k - 1] if kept == k else len(toward)
            size = _deviation(spare, place, most, target, turn, graph, toward, scratch, marks)
            for path in range(found):
                if place < length[path]:
                    barred[paths[path, place]] = False
            if size < 0:
                continue
            slot = kept
            while slot > found and _after(paths[slot - 1], length[slot - 1], spare, size, turn, graph):
                slot -= 1
            if slot < k:
                kept = min(kept + 1, k)
                for row in range(kept - 1, slot, -1):
                    for step in range(length[row - 1]):
                        paths[row, step] = paths[row - 1, step]
                    length[row], deviates[row] = length[row - 1], deviates[row - 1]
                for step in range(size):
                    paths[slot, step] = spare[step]
                length[slot], deviates[slot] = size, place
        if found == kept:
            return found
        found += 1
        if found == k:
            return found


@numba.njit(cache=True, nogil=True)
def _begins(path, length, other, place):
    """Return whether a path is longer than `place` and begins as the other does up to there."""
    step = 0
    while step < min(place, length) and path[step] == other[step]:
        step += 1
    return step == place and place < length


@numba.njit(cache=True, nogil=True)
def _after(first, first_length, second, second_length, turn, graph):
    """Return whether the first path comes after the second: longer, or as long and later in lexicographic order."""
    if first_length != second_length:
        return first_length > second_length
    for step in range(first_length):
        if first[step] != second[step]:
            node = graph[0][first[step]]
            degree = graph[2][node + 1] - graph[2][node]
            begin = graph[2][node] + _shift(turn, node, degree)
            return (first[step] - begin) % degree > (second[step] - begin) % degree
    return False


@numba.njit(cache=True, nogil=True)
def _deviation(path, place, most, target, turn, graph, toward, scratch, marks):
    """Write into path[place:] the shortest way on to the target; return the path's length, −1 if none is up to `most`.

    It leaves the node that the path has reached over an arc that is not barred, and passes no node a second time.
    `toward` are hops to the target with nothing in the way. scratch[0] must be −1 throughout and marks[0] False, and
    they are so again afterwards.
    """
    tail, head, out_start, in_start, in_arcs = graph
    hops, front = scratch
    blocked, barred = marks
    node, nearest = tail[path[place]], len(toward)
    for arc in range(out_start[node], out_start[node + 1]):
        if not barred[arc]:
            nearest = min(nearest, toward[head[arc]])
    if nearest == len(toward) or place + 1 + nearest > most:
        return -1
    for step in range(place + 1):
        blocked[tail[path[step]]] = True
    # Nothing is shorter than the way with nothing in the way; often it passes no blocked node.
    end = _downhill(path, place, node, nearest, toward, turn, graph, marks)
    if end < 0:
        # Breadth first from the target back, until the nearest level that the node has an arc to is complete.
        front[0], count, at, nearest = target, 1, 0, -1
        hops[target] = 0
        while at < count and (nearest < 0 or hops[front[at]] < nearest):
            here = front[at]
            at += 1
            for each in range(in_start[here], in_start[here + 1]):
                before = tail[in_arcs[each]]
                if before == node:
                    if nearest < 0 and not barred[in_arcs[each]]:
                        nearest = hops[here]
                elif not blocked[before] and hops[before] < 0:
                    hops[before] = hops[here] + 1
                    front[count] = before
                    count += 1
        if nearest >= 0 and place + 1 + nearest <= most:
            end = _downhill(path, place, node, nearest, hops, turn, graph, marks)
        for each in range(count):
            hops[front[each]] = -1
    for step in range(place):
        blocked[tail[path[step]]] = False
    blocked[node] = False
    return end


@numba.njit(cache=True, nogil=True)
def _downhill(path, place, node, nearest, hops, turn, graph, marks):
    """Write into path[place:] the first arcs along which `hops` falls from `nearest` to 0; −1 at a blocked node."""
    head, out_start = graph[1], graph[2]
    end = place
    for left in range(nearest, -1, -1):
        degree = out_start[node + 1] - out_start[node]
        shift = _shift(turn, node, degree)
        for each in range(degree):
            arc = out_start[node] + (each + shift) % degree
            if hops[head[arc]] == left and not (end == place and marks[1][arc]):
                path[end] = arc
                break
        node = head[path[end]]
        if marks[0][node]:
            return -1
        end += 1
    return end


@numba.njit(cache=True, nogil=True)
def _shift(turn, node, degree):
    """Return where the order of the arcs out of a node begins; `turn` tells pairs apart, −1 is the plain order."""
    if turn < 0:
        return 0
    mixed = ((turn & 0x7FFFFFFF) * 2654435761 + node * 2246822519) & 0xFFFFFFFF
    for factor in (2246822507, 3266489909):
        mixed = ((mixed ^ (mixed >> 15)) * factor) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 16)) % degree
