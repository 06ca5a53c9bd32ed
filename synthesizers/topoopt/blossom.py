"""The heaviest matching of a dense graph, exact; compiled.

J. Edmonds' blossom algorithm with weights (Maximum matching and a polyhedron with 0,1-vertices, J. Res. NBS 69B, 1965),
in the form that takes O(n³): each free node grows a tree of alternating edges without slack, odd cycles shrink to
blossoms, and where no edge is tight the duals move until one is (Z. Galil, Efficient algorithms for finding maximum
matching in graphs, ACM Computing Surveys 18, 1986). networkx has the same algorithm in Python; tests hold them equal.

Nodes are 0 … n − 1, blossoms n … 2n − 1; both are *vertices*. Duals are of twice the weights, so that they stay whole.
"""

from __future__ import annotations

import numba
import numpy as np

_FREE, _EVEN, _ODD = -1, 0, 1  # not in a tree; at an even distance from its root; at an odd one


@numba.njit(cache=True, nogil=True)
def heaviest_matching(weight):
    """Return (n,) int64: the partner of each node in a matching of the most weight, −1 for none.

    Parameters
    ----------
    weight : (n, n) int64 array
        Symmetric; 0 where there is no edge, at most 2^60.
    """
    n = len(weight)
    size = 2 * n
    graph = (
        weight,
        np.full((size, size), -1, np.int64),  # the node in the row's vertex of the tightest edge to the column's …
        np.full((size, n), -1, np.int64),  # … and which child of a blossom holds a node; of a node itself
        np.full((size, n + 1), -1, np.int64),  # children round the cycle, the base first
        np.zeros(size, np.int64),  # how many
    )
    state = (
        np.full(size, np.int64(weight.max() if n else 0)),  # dual
        np.full(size, -1, np.int64),  # the node that a vertex is matched to
        np.full(size, -1, np.int64),  # the outermost vertex that holds it; of a blossom not in use −1
        np.full(size, -1, np.int64),  # of an odd vertex the even node that its tree comes from
        np.full(size, _FREE, np.int64),  # label
        np.full(size, -1, np.int64),  # the even node with the tightest edge to it
        np.full(size, -1, np.int64),  # seen while looking for a common ancestor
    )
    dual, outer = state[0], state[2]
    tip, inside = graph[1], graph[2]
    for u in range(n):
        outer[u] = inside[u, u] = u
        for v in range(n):
            if weight[u, v] > 0:
                tip[u, v] = u
    dual[n:] = 0
    queue, turn = np.empty(n, np.int64), np.zeros(1, np.int64)
    while _stage(n, graph, state, queue, turn):
        pass
    return state[1][:n].copy()


@numba.njit(cache=True, nogil=True)
def _slack(x, y, graph, state):
    """Return the slack of the tightest edge between two vertices."""
    u, v = graph[1][x, y], graph[1][y, x]
    return state[0][u] + state[0][v] - 2 * graph[0][u, v]


@numba.njit(cache=True, nogil=True)
def _stage(n, graph, state, queue, turn):
    """Add one edge to the matching; False if that gains nothing."""
    weight, tip, inside, _, _ = graph
    dual, mate, outer, origin, label, tightest, _ = state
    label[:] = _FREE
    tightest[:] = -1
    head = tail = 0
    for x in range(2 * n):
        if outer[x] == x and mate[x] < 0:
            origin[x], label[x] = -1, _EVEN
            tail = _enqueue(x, n, inside, queue, tail)
    if tail == 0:
        return False
    while True:
        while head < tail:
            u = queue[head]
            head += 1
            if label[outer[u]] == _ODD:
                continue
            for v in range(n):
                if weight[u, v] > 0 and outer[u] != outer[v]:
                    if dual[u] + dual[v] == 2 * weight[u, v]:
                        done, tail = _tight(u, v, n, graph, state, queue, tail, turn)
                        if done:
                            return True
                    else:
                        x = outer[v]
                        if tightest[x] < 0 or _slack(u, x, graph, state) < _slack(tightest[x], x, graph, state):
                            tightest[x] = u
        # No tight edge is left: move the duals until one is, a blossom opens, or free nodes are worth nothing.
        step = np.iinfo(np.int64).max
        for x in range(2 * n):
            if outer[x] == x:
                if x >= n and label[x] == _ODD:
                    step = min(step, dual[x] // 2)
                if tightest[x] >= 0 and label[x] != _ODD:
                    slack = _slack(tightest[x], x, graph, state)
                    step = min(step, slack if label[x] == _FREE else slack // 2)
        for u in range(n):
            if label[outer[u]] == _EVEN:
                if dual[u] <= step:
                    return False
                dual[u] -= step
            elif label[outer[u]] == _ODD:
                dual[u] += step
        for x in range(n, 2 * n):
            if outer[x] == x:
                if label[x] == _EVEN:
                    dual[x] += 2 * step
                elif label[x] == _ODD:
                    dual[x] -= 2 * step
        head = tail = 0
        for x in range(2 * n):
            u = tightest[x]
            if outer[x] == x and u >= 0 and outer[u] != x and _slack(u, x, graph, state) == 0:
                done, tail = _tight(tip[u, x], tip[x, u], n, graph, state, queue, tail, turn)
                if done:
                    return True
        for x in range(n, 2 * n):
            if outer[x] == x and label[x] == _ODD and dual[x] == 0:
                tail = _open(x, n, graph, state, queue, tail)


@numba.njit(cache=True, nogil=True)
def _enqueue(x, n, inside, queue, tail):
    """Append the nodes of a vertex to the queue, and return its end."""
    for u in range(n):
        if inside[x, u] >= 0:
            queue[tail] = u
            tail += 1
    return tail


@numba.njit(cache=True, nogil=True)
def _find_tightest(x, n, graph, state):
    """Find the even node with the tightest edge to a vertex anew."""
    outer, label, tightest = state[2], state[4], state[5]
    tightest[x] = -1
    for u in range(n):
        if (
            graph[1][u, x] >= 0
            and outer[u] != x
            and label[outer[u]] == _EVEN
            and (tightest[x] < 0 or _slack(u, x, graph, state) < _slack(tightest[x], x, graph, state))
        ):
            tightest[x] = u


@numba.njit(cache=True, nogil=True)
def _tight(u, v, n, graph, state, queue, tail, turn):
    """Use a tight edge from an even node: return whether the matching grew, and the end of the queue."""
    _, mate, outer, origin, label, tightest, seen = state
    x, y = outer[u], outer[v]
    if label[y] == _FREE:
        origin[y], label[y] = u, _ODD
        partner = outer[mate[y]]
        tightest[y] = tightest[partner] = -1
        label[partner] = _EVEN
        return False, _enqueue(partner, n, graph[2], queue, tail)
    if label[y] == _ODD:
        return False, tail
    # Two even vertices: one path between two roots, or a cycle from where their paths to the root meet.
    turn[0] += 1
    one, other, meet = x, y, -1
    while one >= 0 or other >= 0:
        if one >= 0:
            if seen[one] == turn[0]:
                meet = one
                break
            seen[one] = turn[0]
            one = outer[origin[outer[mate[one]]]] if mate[one] >= 0 else -1
        one, other = other, one
    if meet < 0:
        _augment(x, y, graph, state)
        _augment(y, x, graph, state)
        return True, tail
    return False, _shrink(x, meet, y, n, graph, state, queue, tail)


@numba.njit(cache=True, nogil=True)
def _augment(x, y, graph, state):
    """Match an even vertex to another one, and all pairs on its way to the root anew."""
    _, mate, outer, origin, _, _, _ = state
    while True:
        before = outer[mate[x]] if mate[x] >= 0 else -1
        _match(x, y, graph, state)
        if before < 0:
            return
        x = outer[origin[before]]
        _match(before, x, graph, state)
        y = before


@numba.njit(cache=True, nogil=True)
def _match(x, y, graph, state):
    """Match a vertex to another one by their tightest edge; within a blossom, all others in pairs."""
    _, tip, inside, children, count = graph
    mate = state[1]
    todo = [(x, y)]
    while todo:
        x, y = todo.pop()
        mate[x] = tip[y, x]
        if count[x] == 0:
            continue
        entered = inside[x, tip[x, y]]
        place = _even_place(x, entered, children, count)
        for at in range(place):
            todo.append((children[x, at], children[x, at ^ 1]))  # noqa: PERF401 (compiled)
        todo.append((entered, y))
        children[x, : count[x]] = np.roll(children[x, : count[x]], -place)


@numba.njit(cache=True, nogil=True)
def _even_place(x, child, children, count):
    """Return at which place a child is, turning the cycle round if that is odd."""
    place = 0
    while children[x, place] != child:
        place += 1
    if place % 2:
        children[x, 1 : count[x]] = children[x, 1 : count[x]][::-1].copy()
        place = count[x] - place
    return place


@numba.njit(cache=True, nogil=True)
def _shrink(x, meet, y, n, graph, state, queue, tail):
    """Make a blossom of the cycle from `meet` to x, to y and back, and return the end of the queue."""
    _, tip, inside, children, count = graph
    dual, mate, outer, origin, label, _, _ = state
    b = n
    while outer[b] >= 0:
        b += 1
    dual[b], label[b], mate[b], origin[b] = 0, _EVEN, mate[meet], origin[meet]
    children[b, 0], size = meet, 1
    while x != meet:
        odd = outer[mate[x]]
        children[b, size], children[b, size + 1] = x, odd
        size += 2
        tail = _enqueue(odd, n, inside, queue, tail)
        x = outer[origin[odd]]
    children[b, 1:size] = children[b, 1:size][::-1].copy()
    while y != meet:
        odd = outer[mate[y]]
        children[b, size], children[b, size + 1] = y, odd
        size += 2
        tail = _enqueue(odd, n, inside, queue, tail)
        y = outer[origin[odd]]
    count[b] = size
    inside[b, :] = tip[b, :] = tip[:, b] = -1
    for place in range(size):
        child = children[b, place]
        for u in range(n):
            if inside[child, u] >= 0:
                inside[b, u], outer[u] = child, b
        outer[child] = b
    outer[b] = b
    for place in range(size):
        child = children[b, place]
        for z in range(2 * n):
            if (
                tip[child, z] >= 0
                and outer[z] != -1
                and (tip[b, z] < 0 or _slack(child, z, graph, state) < _slack(b, z, graph, state))
            ):
                tip[b, z], tip[z, b] = tip[child, z], tip[z, child]
    _find_tightest(b, n, graph, state)
    return tail


@numba.njit(cache=True, nogil=True)
def _open(b, n, graph, state, queue, tail):
    """Take an odd blossom apart, and return the end of the queue."""
    _, tip, inside, children, count = graph
    _, _, outer, origin, label, tightest, _ = state
    for place in range(count[b]):
        child = children[b, place]
        outer[child] = child
        for u in range(n):
            if inside[child, u] >= 0:
                outer[u] = child
    entered = inside[b, tip[b, origin[b]]]
    place = _even_place(b, entered, children, count)
    for at in range(0, place, 2):
        odd, even = children[b, at], children[b, at + 1]
        origin[odd], label[odd], label[even] = tip[even, odd], _ODD, _EVEN
        tightest[odd] = -1
        _find_tightest(even, n, graph, state)
        tail = _enqueue(even, n, inside, queue, tail)
    label[entered], origin[entered] = _ODD, origin[b]
    for at in range(place + 1, count[b]):
        child = children[b, at]
        label[child] = _FREE
        _find_tightest(child, n, graph, state)
    outer[b], count[b] = -1, 0
    return tail
