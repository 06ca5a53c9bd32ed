"""Which hop must be listed before which, so that each sees its version of what it reads; and the orders that allow it.

The constraints are a graph of hops and gates. Its topological order is a list; where it has circles, hops of a circle
share a step, in which each reads the state before the step.
"""

from __future__ import annotations

import heapq

import numba
import numpy as np

from simulator.versions import Versions, places_of
from topologies.exceptions import ScheduleError

#: What a `ScheduleError` says where no order exists.
CIRCLE = (
    "the hops cannot be listed in order of their simulated start: a link carried two deliveries in the other order "
    "than some hop must see them in (a circle); keep the schedule as it is"
)


class Constraints:
    """Which hop must be listed before which: hops, then two gates per version of a place that is read or ends a block.

    The deliveries of a version lead to its first gate, that to its readers, they to its second gate, and that to the
    deliveries of the next version. So there are a few edges per hop, however many readers a version has.

    Parameters
    ----------
    versions : Versions
        What each hop may see.
    by_start : (H,) int array
        The hops in the order that is wanted, as far as the constraints allow it.
    """

    def __init__(self, versions: Versions, by_start: np.ndarray) -> None:
        schedule, reads, depth = versions.schedule, versions.reads, versions.depth
        dataflow = schedule.dataflow
        self.by_start, self.count = by_start, schedule.num_hops
        hops = np.arange(self.count)
        into, out_of, delivers, starts_route = places_of(schedule)
        arriving, leaving = hops[delivers], hops[starts_route]
        arriving = arriving[np.lexsort((depth[arriving], into[arriving]))]
        place, block = into[arriving], versions.block[arriving]
        is_read = np.zeros(self.count, bool)
        is_read[reads[reads >= 0]] = True
        last = np.append((place[1:] != place[:-1]) | (block[1:] != block[:-1]), True) | is_read[arriving]
        version = np.cumsum(last) - last  # of each delivery: how many versions ended before it
        opens = np.append(True, place[1:] != place[:-1])  # the first delivery to a place
        complete, released = self.count + 2 * version, self.count + 2 * version + 1
        self.nodes = self.count + 2 * (int(version[-1]) + 1 if len(version) else 0)
        version_of = np.zeros(self.count, np.int64)
        version_of[arriving] = version
        readers = leaving[reads[leaving] >= 0]
        read = self.count + 2 * version_of[reads[readers]]
        edges = [(arriving, complete, True), (read, readers, False), (readers, read + 1, False),
                 (complete, released, False)]  # fmt: skip
        # A version begins where the one before has been read, at the same place.
        later = ~opens & (np.append(False, version[1:] != version[:-1]) if len(version) else opens)
        begins = np.flatnonzero(later)
        first_of = np.full(int(version[-1]) + 1 if len(version) else 0, -1, np.int64)
        first_of[version[begins]] = released[begins - 1]
        gated = first_of[version] >= 0
        edges.append((first_of[version[gated]], arriving[gated], False))
        # What leaves a place before anything has come in: before its first version.
        untouched = leaving[reads[leaving] < 0]
        places = place[opens]
        at = np.searchsorted(places, out_of[untouched])
        known = at < len(places)
        known[known] = places[at[known]] == out_of[untouched[known]]
        gate_of = self.nodes + at[known]
        self.nodes += len(places)
        edges.append((untouched[known], gate_of, False))
        first_version = ~gated
        gate = self.nodes - len(places) + np.cumsum(opens) - 1
        edges.append((gate[first_version], arriving[first_version], False))
        # Links and routes keep their order.
        position = np.empty(self.count, np.int64)
        position[by_start] = hops
        on_link = by_start[np.argsort(schedule.link[by_start], kind="stable")]
        same = schedule.link[on_link[1:]] == schedule.link[on_link[:-1]]
        edges.append((on_link[:-1][same], on_link[1:][same], False))
        if len(dataflow.before):
            inner = hops[~starts_route]
            edges.append((dataflow.before[inner].astype(np.int64), inner, False))
        self.tail = np.concatenate([tail for tail, _, _ in edges])
        self.head = np.concatenate([head for _, head, _ in edges])
        self.strict = np.concatenate([np.full(len(tail), strict) for tail, _, strict in edges])
        # Gates come as soon as they can; hops by their start.
        self.priority = np.full(self.nodes, -1, np.int64)
        self.priority[: self.count] = position

    def list_order(self) -> np.ndarray | None:
        """Return the hops in a topological order, earliest start first; None where there is none."""
        by_tail = np.argsort(self.tail, kind="stable")
        start = np.zeros(self.nodes + 1, np.int64)
        np.cumsum(np.bincount(self.tail, minlength=self.nodes), out=start[1:])
        order = _topological(start, self.head[by_tail], self.priority)
        return order[order < self.count] if len(order) == self.nodes else None

    def step_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (hops, step of each): what must be before each other in a circle shares a step.

        A hop of a step reads the state before it, so a reader and the delivery that it must not see may share one; a
        delivery and its reader may not.

        Raises
        ------
        ScheduleError
            A delivery and its reader are in one circle.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.nodes, self.nodes)
        graph = coo_array((np.ones(len(self.tail), np.int32), (self.tail, self.head)), shape=shape).tocsr()
        circles, circle = connected_components(graph, directed=True, connection="strong")
        tail, head = circle[self.tail].astype(np.int64), circle[self.head].astype(np.int64)
        if (self.strict & (tail == head)).any():
            raise ScheduleError(CIRCLE)
        by_tail = np.argsort(tail, kind="stable")
        start = np.zeros(circles + 1, np.int64)
        np.cumsum(np.bincount(tail, minlength=circles), out=start[1:])
        level = _levels(start, head[by_tail], self.strict[by_tail])[circle[: self.count]]
        order = self.by_start[np.argsort(level[self.by_start], kind="stable")]
        return order, np.unique(level[order], return_inverse=True)[1]


@numba.njit(cache=True, nogil=True)
def _topological(start, head, priority):
    """Return the nodes in topological order, of those free the lowest (priority, node) first; fewer if cyclic."""
    count = len(priority)
    waits = np.zeros(count, np.int64)
    for edge in range(len(head)):
        waits[head[edge]] += 1
    heap = [(priority[node], node) for node in range(count) if waits[node] == 0]
    heapq.heapify(heap)
    order = np.empty(count, np.int64)
    listed = 0
    while len(heap):
        _, node = heapq.heappop(heap)
        order[listed] = node
        listed += 1
        for edge in range(start[node], start[node + 1]):
            waits[head[edge]] -= 1
            if waits[head[edge]] == 0:
                heapq.heappush(heap, (priority[head[edge]], head[edge]))
    return order[:listed]


@numba.njit(cache=True, nogil=True)
def _levels(start, head, strict):
    """Return, for each node of a graph whose only circles are loops, the most strict edges on a path to it."""
    count = len(start) - 1
    waits = np.zeros(count, np.int64)
    for node in range(count):
        for edge in range(start[node], start[node + 1]):
            if head[edge] != node:
                waits[head[edge]] += 1
    level = np.zeros(count, np.int64)
    stack = np.empty(count, np.int64)
    size = 0
    for node in range(count):
        if waits[node] == 0:
            stack[size] = node
            size += 1
    while size:
        size -= 1
        node = stack[size]
        for edge in range(start[node], start[node + 1]):
            other = head[edge]
            if other != node:
                level[other] = max(level[other], level[node] + strict[edge])
                waits[other] -= 1
                if waits[other] == 0:
                    stack[size] = other
                    size += 1
    return level
