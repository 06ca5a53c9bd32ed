"""Re-listing: the hops of a schedule in order of their simulated start, as a program.

A fifo schedule, or one whose list order means little, becomes one that says when each link carries what; simulated as a
program it takes at most the same time. The list position defines what a hop reads, so the new order has to leave that
alone. Sorting by start mostly does. Where a delivery overtakes a reader of what was there before it, three further
attempts are made: a topological order that keeps readers between the deliveries that they depend on and those they must
not see; the same with ties broken into steps, so that simultaneous exchanges stay possible; and then an error.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numba
import numpy as np

from schedules import Schedule
from schedules.dataflow import Dataflow, by_chunk
from simulator.link_model import LinkModel
from simulator.simulate import hop_times
from simulator.timelines import Timeline, timeline
from topologies.exceptions import ScheduleError

_CIRCLE = (
    "the hops cannot be listed in order of their simulated start: a link carried two deliveries in the other order "
    "than some hop must see them in (a circle); keep the schedule as it is"
)


def relist(schedule: Schedule, size: int, model: LinkModel | None = None) -> Schedule:
    """Return the same hops in order of simulated start, as a ``program``.

    Each link carries the hops in the order in which it did, each hop reads what it read, messages and routes stay. A
    ``step`` column is kept where the new order respects it, dropped where it is not needed, and renumbered where
    exchanges need it.

    Parameters
    ----------
    schedule : Schedule
    size : int
        Bytes for which the order is right.
    model : LinkModel, optional
        ``blocking``, ``cut_through`` by default.

    Raises
    ------
    ScheduleError
        A link carried two deliveries in another order than that in which some hop must see them; no list can say so.
    """
    times = timeline(schedule, size, model)
    hops = np.arange(schedule.num_hops)
    head = hops.copy()  # of a message: its first hop, so that its members stand together
    if schedule.message is not None:
        named = schedule.message >= 0
        first = np.full(int(schedule.message.max(initial=0)) + 1, len(hops))
        np.minimum.at(first, schedule.message[named], hops[named])
        head[named] = first[schedule.message[named]]
    # What holds its link for no time goes before what starts at the same instant and does.
    by_start = np.lexsort((hops, head, times._release_ps, times.start_ps))
    for result in _listings(times, by_start):
        if schedule.message is None or _runs(result, size, model):
            return result
    raise ScheduleError(_CIRCLE)


def _listings(times: Timeline, by_start: np.ndarray) -> Iterator[Schedule]:
    """Yield the schedule in orders in which every hop gets what it got, the plainest first."""
    schedule, versions = times.schedule, _Versions(times)
    steps: list[np.ndarray | None] = [None]
    if schedule.step is not None and (np.diff(schedule.step[by_start]) >= 0).all():
        steps.insert(0, schedule.step[by_start])
    for step in steps:
        result = schedule.selected(by_start, step=step, order="program")
        if versions.kept_by(result, by_start):
            yield result
    graph = _Constraints(versions, by_start)
    order = graph.list_order()
    if order is not None:
        yield schedule.selected(order, step=None, order="program")
    order, step = graph.step_order()
    yield schedule.selected(order, step=step, order="program")


def _runs(schedule: Schedule, size: int, model: LinkModel | None) -> bool:
    """Return whether no message waits for itself: hops of no duration, all at one instant, can be sorted into that."""
    try:
        hop_times(schedule, size, model)
    except ScheduleError:
        return False
    return True


class _Versions:
    """What each hop may see: a prefix of the deliveries to its place, in an order of their own.

    In a collective that reduces, these are the deliveries listed before it. Where values are only copied, any delivery
    is as good as another: the prefix is what had arrived when the hop started, so that it never waits for more.

    Attributes
    ----------
    reads : (H,) int array
        The last delivery of the prefix, −1 for none.
    depth : (H,) int64 array
        How many deliveries to the same place come before each.
    block : (H,) int64 array
        Which deliveries may change places: sums among sums, and copies of one value; a copy among sums may not.
    """

    def __init__(self, times: Timeline) -> None:
        self.times, self.schedule = times, times.schedule
        schedule, dataflow = self.schedule, self.schedule.dataflow
        if schedule.collective.reduces:
            walk = _walk_order(schedule, dataflow)
            adds = np.zeros(schedule.num_hops, bool) if schedule.reduce is None else schedule.reduce
            self.reads, self.depth = dataflow.reads, _depths(walk, dataflow.follows)
            self.block = _blocks(walk, dataflow.follows, adds)
        else:
            self.reads, self.depth = _arrived(times)
            self.block = np.zeros(schedule.num_hops, np.int64)

    def kept_by(self, listed: Schedule, order: np.ndarray) -> bool:
        """Return whether every hop gets what it got, and need not wait longer, when listed in another order."""
        new, old = listed.dataflow, self.schedule.dataflow
        if len(old.before) and (np.where(new.before >= 0, order[new.before], -1) != old.before[order]).any():
            return False
        walk = _walk_order(listed, new)
        if not self.schedule.collective.reduces:
            arrival, departure = _instants(self.times)
            latest, _ = _highest(walk, new.follows, arrival[order], self.block)
            readers = np.flatnonzero(new.reads >= 0)
            lost = (new.reads < 0) & (old.reads[order] >= 0)
            return not lost.any() and bool((latest[new.reads[readers]] < departure[order[readers]]).all())
        highest, in_order = _highest(walk, new.follows, self.depth[order], self.block[order])
        reads, was = new.reads, old.reads[order]
        if not in_order or ((reads >= 0) != (was >= 0)).any():
            return False
        reads, was = reads[reads >= 0], was[was >= 0]
        # The first k deliveries in the new order are the first k in the old one if none of them was later than k.
        same = (_depths(walk, new.follows)[reads] == self.depth[was]) & (highest[reads] == self.depth[was])
        return bool(same.all())


def _instants(times: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks of all ends and starts in one order of time; of one instant the list decides."""
    count = times.schedule.num_hops
    hops = np.tile(np.arange(count), 2)
    rank = np.empty(2 * count, np.int64)
    rank[np.lexsort((hops, np.concatenate([times.end_ps, times.start_ps])))] = np.arange(2 * count)
    return rank[:count], rank[count:]


def _arrived(times: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Return (reads, depth) where the deliveries to a place count in order of their end."""
    into, out_of, delivers, starts_route = _places(times.schedule)
    hops = np.arange(times.schedule.num_hops)
    arriving, leaving = hops[delivers], hops[starts_route]
    # One sort of arrivals and departures together. Of one instant the list decides: a hop never needs a later one.
    events = np.concatenate([arriving, leaving])
    departs = np.repeat([False, True], [len(arriving), len(leaving)])
    place = np.concatenate([into[arriving], out_of[leaving]])
    time = np.concatenate([times.end_ps[arriving], times.start_ps[leaving]])
    order = np.lexsort((departs, events, time, place))
    events, departs, place = events[order], departs[order], place[order]
    opens = np.append(True, place[1:] != place[:-1])[: len(place)]
    so_far = np.cumsum(~departs)
    before = so_far - ~departs
    first = np.maximum.accumulate(np.where(opens, np.arange(len(place)), 0))
    seen = before - before[first] if len(place) else before  # deliveries to the place before the event
    latest = np.maximum.accumulate(np.where(departs, -1, np.arange(len(place))))
    reads, depth = np.full(len(hops), -1), np.zeros(len(hops), np.int64)
    depth[events[~departs]] = seen[~departs]
    supplied = departs & (seen > 0)
    reads[events[supplied]] = events[latest[supplied]]
    return reads, depth


def _places(schedule: Schedule) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return, per hop: the place (chunk at a node) it leads to, the one it leaves, if it ends, if it starts a route."""
    topology, dataflow = schedule.topology, schedule.dataflow
    row = schedule.chunk.astype(np.int64) * topology.num_nodes
    everywhere = np.ones(schedule.num_hops, bool)
    routed = len(dataflow.before) > 0
    return (row + topology.dst[schedule.link], row + topology.src[schedule.link],
            dataflow.delivers if routed else everywhere, dataflow.before < 0 if routed else everywhere)  # fmt: skip


class _Constraints:
    """Which hop must be listed before which: hops, then two gates per version of a place that is read or ends a block.

    The deliveries of a version lead to its first gate, that to its readers, they to its second gate, and that to the
    deliveries of the next version. So there are a few edges per hop, however many readers a version has.
    """

    def __init__(self, versions: _Versions, by_start: np.ndarray) -> None:
        schedule, reads, depth = versions.schedule, versions.reads, versions.depth
        dataflow = schedule.dataflow
        self.by_start, self.count = by_start, schedule.num_hops
        hops = np.arange(self.count)
        into, out_of, delivers, starts_route = _places(schedule)
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
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.nodes, self.nodes)
        graph = coo_array((np.ones(len(self.tail), np.int32), (self.tail, self.head)), shape=shape).tocsr()
        circles, circle = connected_components(graph, directed=True, connection="strong")
        tail, head = circle[self.tail].astype(np.int64), circle[self.head].astype(np.int64)
        if (self.strict & (tail == head)).any():
            raise ScheduleError(_CIRCLE)
        by_tail = np.argsort(tail, kind="stable")
        start = np.zeros(circles + 1, np.int64)
        np.cumsum(np.bincount(tail, minlength=circles), out=start[1:])
        level = _levels(start, head[by_tail], self.strict[by_tail])[circle[: self.count]]
        order = self.by_start[np.argsort(level[self.by_start], kind="stable")]
        return order, np.unique(level[order], return_inverse=True)[1]


def _walk_order(schedule: Schedule, dataflow: Dataflow) -> np.ndarray:
    """Return the hops chunk by chunk in list order: what a delivery follows comes before it."""
    order: np.ndarray = by_chunk(schedule.kernel_columns[0], schedule.collective.num_chunks, dataflow.reads[:0])[0]
    return order


@numba.njit(cache=True, nogil=True)
def _depths(order, follows):
    """Return how many deliveries to the same place come before each."""
    depth = np.zeros(len(order), np.int64)
    for hop in order:
        if follows[hop] >= 0:
            depth[hop] = depth[follows[hop]] + 1
    return depth


@numba.njit(cache=True, nogil=True)
def _blocks(order, follows, adds):
    """Return the block of each delivery at its place: a run of sums is one, a copy is one by itself."""
    block = np.zeros(len(order), np.int64)
    for hop in order:
        before = follows[hop]
        if before >= 0:
            block[hop] = block[before] + (0 if adds[hop] and adds[before] else 1)
    return block


@numba.njit(cache=True, nogil=True)
def _highest(order, follows, rank, block):
    """Return (highest rank up to each delivery along its place, whether blocks never go back)."""
    highest = rank.copy()
    for hop in order:
        before = follows[hop]
        if before >= 0:
            highest[hop] = max(highest[hop], highest[before])
            if block[hop] < block[before]:
                return highest, False
    return highest, True


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
