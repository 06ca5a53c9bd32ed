"""What each hop of a simulated schedule may see: its version of the place that it reads.

A place is a chunk at a node; the deliveries to it, in an order of their own, make its versions. Where chunks are
reduced that order is the list's, where they are only copied it is that of their arrival. `Versions.kept_by` tells
whether another list order leaves every hop with what it got.
"""

from __future__ import annotations

import numba
import numpy as np

from schedules import Schedule
from schedules.dataflow import Dataflow, by_chunk
from simulator.timelines import Timeline


class Versions:
    """What each hop may see: a prefix of the deliveries to its place, in an order of their own.

    In a collective that reduces, these are the deliveries listed before it. Where values are only copied, any delivery
    is as good as another: the prefix is what had arrived when the hop started, so that it never waits for more.

    Parameters
    ----------
    times : Timeline

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
    """Return ranks of all ends and starts in one order of time; of one instant the steps decide."""
    count = times.schedule.num_hops
    steps, ends = np.tile(_steps(times.schedule), 2), np.repeat([True, False], count)
    rank = np.empty(2 * count, np.int64)
    rank[np.lexsort((ends, steps, np.concatenate([times.end_ps, times.start_ps])))] = np.arange(2 * count)
    return rank[:count], rank[count:]


def _steps(schedule: Schedule) -> np.ndarray:
    """Return the step of each hop, without a column its place in the list: it reads the state before its step."""
    return np.arange(schedule.num_hops) if schedule.step is None else schedule.step


def _arrived(times: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Return (reads, depth) where the deliveries to a place count in order of their end."""
    into, out_of, delivers, starts_route = places_of(times.schedule)
    hops = np.arange(times.schedule.num_hops)
    arriving, leaving = hops[delivers], hops[starts_route]
    # One sort of arrivals and departures together. Of one instant the steps decide: a hop needs what is of an earlier.
    events = np.concatenate([arriving, leaving])
    departs = np.repeat([False, True], [len(arriving), len(leaving)])
    place = np.concatenate([into[arriving], out_of[leaving]])
    time = np.concatenate([times.end_ps[arriving], times.start_ps[leaving]])
    order = np.lexsort((~departs, _steps(times.schedule)[events], time, place))
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


def places_of(schedule: Schedule) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return, per hop: the place (chunk at a node) it leads to, the one it leaves, if it ends, if it starts a route."""
    topology, dataflow = schedule.topology, schedule.dataflow
    row = schedule.chunk.astype(np.int64) * topology.num_nodes
    everywhere = np.ones(schedule.num_hops, bool)
    routed = len(dataflow.before) > 0
    return (row + topology.dst[schedule.link], row + topology.src[schedule.link],
            dataflow.delivers if routed else everywhere, dataflow.before < 0 if routed else everywhere)  # fmt: skip


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
