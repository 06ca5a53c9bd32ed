"""Reversal: an AllGather played backwards on the reversed network is a ReduceScatter, a Broadcast a Reduce, etc."""

from __future__ import annotations

import numba
import numpy as np

from schedules.dataflow import by_chunk
from schedules.schedule import Schedule
from topologies.exceptions import ScheduleError


def reverse(schedule: Schedule) -> Schedule:
    """Return the schedule played backwards on ``topology.reversed()`` (link numbers kept).

    A copying schedule is pruned first: only the first delivery of a chunk to an NPU is kept, and only where something
    uses it. After that each NPU must get a chunk once, and no initial holder may get it.

    Raises
    ------
    CollectiveError
        The collective has no reverse.
    ScheduleError
        An NPU sends a partial sum twice, or a final holder sends it away; names the hop.
    """
    target = schedule.collective.reversed()
    if not schedule.collective.reduces:
        schedule = pruned(schedule)
    else:
        _refuse_resent(schedule)
    hops = slice(None, None, -1)
    step = None if schedule.step is None else schedule.step.max(initial=0) - schedule.step[hops]
    # In the column's own type, which holds the numbers of as many chunks: wider ones are too much for long schedules.
    chunk = schedule.collective.reversed_chunks.astype(schedule.chunk.dtype)[schedule.chunk[hops]]
    chunk.setflags(write=False)
    notes = {key: value for key, value in schedule.notes.items() if key != "planned_us"}
    reduce = np.ones(schedule.num_hops, bool) if target.reduces else None
    return schedule.selected(hops, topology=schedule.topology.reversed(), collective=target, chunk=chunk, step=step,
                             reduce=reduce, notes=notes)  # fmt: skip


def pruned(schedule: Schedule) -> Schedule:
    """Return a copying schedule without the deliveries that nobody needs.

    Raises
    ------
    ScheduleError
        The collective reduces: there, every delivery counts.
    """
    if schedule.collective.reduces:
        raise ScheduleError("only schedules of copying collectives can be pruned")
    if _nothing_to_prune(schedule):
        return schedule
    keep = _needed(schedule)
    return schedule if keep.all() else schedule.selected(np.flatnonzero(keep))


def _nothing_to_prune(schedule: Schedule) -> bool:
    """Return whether a plain schedule makes every delivery that is wanted once, and no other."""
    if schedule.flow is not None or schedule.step is not None or schedule.message is not None:
        return False
    collective, topology = schedule.collective, schedule.topology
    words = (topology.num_nodes + 63) // 64
    if collective.num_chunks * words * 8 > max(4 * schedule.num_hops, 2**20):
        return False  # a bit for each place would be more than the hops
    return bool(
        _each_wanted_once(schedule.chunk, schedule.link, topology.dst, words, collective.initial, collective.final,
                          collective.set_start, collective.set_member)
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _each_wanted_once(chunk, link, dst, words, initial, final, set_start, set_member):
    """Return whether hops deliver to each place of the final sets that is in no initial one, each once."""
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    due = np.zeros(len(initial) * words, np.uint64)
    left = np.int64(0)
    for c in range(len(initial)):
        row = np.uint64(c * words)
        for member in range(set_start[final[c]], set_start[final[c] + 1]):
            node = np.uint64(set_member[member])
            due[row + (node >> six)] |= one << (node & low_bits)
            left += 1
        for member in range(set_start[initial[c]], set_start[initial[c] + 1]):
            node = np.uint64(set_member[member])
            left -= np.int64((due[row + (node >> six)] >> (node & low_bits)) & one)
            due[row + (node >> six)] &= ~(one << (node & low_bits))
    if left != len(chunk):
        return False
    for hop in range(len(chunk)):
        node = np.uint64(dst[link[hop]])
        slot, bit = np.uint64(np.int64(chunk[hop]) * words) + (node >> six), one << (node & low_bits)
        if not due[slot] & bit:
            return False
        due[slot] ^= bit
    return True


def _needed(schedule: Schedule) -> np.ndarray:
    """Return which hops are first deliveries (or lead to one) that a final holder or a kept hop needs."""
    flow_of = schedule.dataflow
    chunk, link, *_ = schedule.kernel_columns
    collective, topology = schedule.collective, schedule.topology
    order, start = by_chunk(chunk, collective.num_chunks, flow_of.reads[:0])
    return _walk_back(
        order, start, link, topology.src, topology.dst, flow_of.follows, flow_of.before, flow_of.delivers,
        collective.initial, collective.final, collective.set_start, collective.set_member, topology.num_nodes,
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _walk_back(
    order, start, link, src, dst, follows, before, delivers, initial, final, set_start, set_member, num_nodes
):
    """Return the mask of needed hops: each chunk's list walked from its end."""
    keep = np.zeros(len(order), np.bool_)
    needed = np.full(num_nodes, -1, np.int64)
    holder = np.full(num_nodes, -1, np.int64)
    routed = len(before) > 0
    for c in range(len(start) - 1):
        for member in range(set_start[final[c]], set_start[final[c] + 1]):
            needed[set_member[member]] = c
        for member in range(set_start[initial[c]], set_start[initial[c] + 1]):
            holder[set_member[member]] = c
        for position in range(start[c + 1] - 1, start[c] - 1, -1):
            hop = order[position]
            if not routed or delivers[hop]:
                node = dst[link[hop]]
                keep[hop] = follows[hop] < 0 and holder[node] != c and needed[node] == c
            if keep[hop]:
                if routed and before[hop] >= 0:
                    keep[before[hop]] = True
                else:
                    needed[src[link[hop]]] = c
    return keep


def _refuse_resent(schedule: Schedule) -> None:
    """Refuse a reducing schedule in which an NPU sends one chunk twice, or a final holder sends it away."""
    dataflow, topology, collective = schedule.dataflow, schedule.topology, schedule.collective
    first = np.flatnonzero(dataflow.before < 0) if len(dataflow.before) else np.arange(schedule.num_hops)
    sender = topology.src[schedule.link[first]].astype(np.int64)
    chunk = schedule.chunk[first].astype(np.int64)
    order = np.lexsort((first, sender, chunk))
    again = (np.diff(chunk[order]) == 0) & (np.diff(sender[order]) == 0)
    if again.any():
        hop = int(first[order[np.argmax(again) + 1]])
        raise ScheduleError(f"cannot reverse: hop {hop} sends chunk {schedule.chunk[hop]} out of "
                            f"{topology.node_name(int(topology.src[schedule.link[hop]]))} a second time")  # fmt: skip
    starts = collective.set_start
    alone = starts[collective.final[chunk] + 1] - starts[collective.final[chunk]] == 1
    root = collective.set_member[starts[collective.final[chunk]]] if len(chunk) else chunk
    bad = alone & (root == sender)
    if bad.any():
        hop = int(first[np.argmax(bad)])
        raise ScheduleError(f"cannot reverse: hop {hop} sends chunk {schedule.chunk[hop]} away from its final holder")
