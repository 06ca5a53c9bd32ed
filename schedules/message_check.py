"""Part of the verifier: messages. Members cross one link, consecutively in its order, and none waits for another.

The last is a question about circles: units (a message, or a hop alone) wait for the units that bring what they send,
routes wait for their previous hop and, in program order, links for their previous unit. If everything can be worked
off, nobody waits for himself.
"""

from __future__ import annotations

import numba
import numpy as np

from schedules.schedule import NO_IDS, Schedule
from topologies.exceptions import VerificationError


def check_messages(schedule: Schedule, starts: np.ndarray, ends: np.ndarray) -> None:
    """Raise `VerificationError` where a message is not one transfer.

    Parameters
    ----------
    schedule : Schedule
        One with a `message` column.
    starts, ends : (H,) bool arrays
        Which hops start and end a route.
    """
    assert schedule.message is not None
    member = np.flatnonzero(schedule.message >= 0)
    name = schedule.message[member]
    by_message = member[np.argsort(name, kind="stable")]
    same = schedule.message[by_message][1:] == schedule.message[by_message][:-1]
    apart = same & (schedule.link[by_message][1:] != schedule.link[by_message][:-1])
    if apart.any():
        hop = int(by_message[np.argmax(apart) + 1])
        raise VerificationError(f"hop {hop} crosses another link than its message {schedule.message[hop]}", hop)
    if schedule.order == "program":
        rank = np.empty(schedule.num_hops, np.int64)
        by_link = np.argsort(schedule.link, kind="stable")
        rank[by_link] = np.arange(schedule.num_hops)
        torn = same & (np.diff(rank[by_message]) != 1)
        if torn.any():
            hop = int(by_message[np.argmax(torn) + 1])
            raise VerificationError(
                f"hop {hop} of message {schedule.message[hop]} does not follow the message's other hops on its link",
                hop,
            )
    topology = schedule.topology
    stuck = _first_stuck(
        np.argsort(schedule.chunk, kind="stable"), schedule.chunk, schedule.link,
        NO_IDS if schedule.flow is None else schedule.flow, NO_IDS if schedule.step is None else schedule.step,
        schedule.message, starts, ends, topology.src, topology.dst, topology.num_nodes, schedule.order == "program",
    )  # fmt: skip
    if stuck >= 0:
        raise VerificationError(
            f"hop {stuck} of message {schedule.message[stuck]} depends, directly or through others, on its own message",
            int(stuck),
        )


@numba.njit(cache=True, nogil=True)
def _first_stuck(order, chunk, link, flow, step, message, starts, ends, src, dst, num_nodes, program):
    """Return the first hop of a message in a circle of units that wait for each other, or −1.

    Events are hops done (0…H−1) and versions complete (H…2H−1, numbered by their delivering hop).
    """
    count = len(chunk)
    # Waiting lists as linked lists: edge e makes unit `edge_to[e]` wait for event e's owner.
    waits_for = np.full(count, -1, np.int64)  # event that the data of each hop comes from
    follows = np.full(count, -1, np.int64)
    latest = np.full(num_nodes, -1, np.int64)
    seen = np.full(num_nodes, -1, np.int64)
    run = 0
    while run < count:
        stop = run + 1
        c = np.int64(chunk[order[run]])
        while len(step) and stop < count and chunk[order[stop]] == c and step[order[stop]] == step[order[run]]:
            stop += 1
        for position in range(run, stop):
            hop = order[position]
            source = src[link[hop]]
            if starts[hop] and seen[source] == c:
                waits_for[hop] = count + latest[source]
        for position in range(run, stop):
            hop = order[position]
            if ends[hop]:
                node = dst[link[hop]]
                if seen[node] == c:
                    follows[hop] = latest[node]
                latest[node] = hop
                seen[node] = c
        run = stop
    if len(flow):
        previous = np.full(count, -1, np.int64)
        for hop in range(count):
            if flow[hop] >= 0:
                if not starts[hop]:
                    waits_for[hop] = previous[flow[hop]]
                previous[flow[hop]] = hop

    unit = np.arange(count)
    sibling = np.full(count, -1, np.int64)
    head = np.full(count, -1, np.int64)
    tail = np.full(count, -1, np.int64)
    for hop in range(count):
        name = message[hop]
        if name >= 0:
            if head[name] < 0:
                head[name] = hop
            else:
                sibling[tail[name]] = hop
                unit[hop] = head[name]
            tail[name] = hop

    needs = np.zeros(count, np.int64)
    first_waiting = np.full(2 * count, -1, np.int64)
    next_waiting = np.full(count, -1, np.int64)
    for hop in range(count):
        if waits_for[hop] >= 0:
            needs[unit[hop]] += 1
            next_waiting[hop] = first_waiting[waits_for[hop]]
            first_waiting[waits_for[hop]] = hop
    on_link = np.full(count, -1, np.int64)
    behind = np.full(count, -1, np.int64)
    if program:
        last = np.full(len(src), -1, np.int64)
        for hop in range(count):
            if unit[hop] == hop:
                if last[link[hop]] >= 0:
                    on_link[last[link[hop]]] = hop
                    behind[hop] = last[link[hop]]
                    needs[hop] += 1
                last[link[hop]] = hop
    version_needs = np.ones(count, np.int64)
    chain = np.full(count, -1, np.int64)
    for hop in range(count):
        if follows[hop] >= 0:
            version_needs[hop] = 2
            chain[follows[hop]] = hop

    todo = np.empty(count, np.int64)
    size = 0
    gone = np.zeros(count, np.bool_)
    for hop in range(count):
        if unit[hop] == hop and needs[hop] == 0:
            todo[size] = hop
            size += 1
    while size:
        size -= 1
        now = todo[size]
        if on_link[now] >= 0:
            needs[on_link[now]] -= 1
            if needs[on_link[now]] == 0:
                todo[size] = on_link[now]
                size += 1
        hop = now
        while hop >= 0:
            gone[hop] = True
            event = hop
            version = -1
            if ends[hop]:
                version_needs[hop] -= 1
                if version_needs[hop] == 0:
                    version = hop
            while event >= 0:
                waiting = first_waiting[event]
                while waiting >= 0:
                    needs[unit[waiting]] -= 1
                    if needs[unit[waiting]] == 0:
                        todo[size] = unit[waiting]
                        size += 1
                    waiting = next_waiting[waiting]
                # After the hop itself: the versions that it completes, one after another.
                event = -1
                if version >= 0:
                    event = count + version
                    version = chain[version]
                    if version >= 0:
                        version_needs[version] -= 1
                        if version_needs[version] > 0:
                            version = -1
            hop = sibling[hop]
    if gone.all():
        return -1
    # Whoever is stuck waits for somebody stuck: that leads into a circle, though not always back to where it began.
    entered = np.zeros(count, np.bool_)
    at = unit[np.argmin(gone)]
    while not entered[at]:
        entered[at] = True
        at = _blocker(at, waits_for, follows, behind, sibling, unit, gone)
    first, turn = np.int64(count), at
    while True:
        if message[turn] >= 0:
            first = min(first, turn)
        turn = _blocker(turn, waits_for, follows, behind, sibling, unit, gone)
        if turn == at:
            return first


@numba.njit(cache=True, nogil=True)
def _blocker(now, waits_for, follows, behind, sibling, unit, gone):
    """Return a unit for which a stuck unit waits and which is stuck itself."""
    if behind[now] >= 0 and not gone[behind[now]]:
        return behind[now]
    hop = now
    while hop >= 0:
        event = waits_for[hop]
        if 0 <= event < len(unit) and not gone[event]:
            return unit[event]
        delivery = event - len(unit)
        while delivery >= 0:
            if not gone[delivery]:
                return unit[delivery]
            delivery = follows[delivery]
        hop = sibling[hop]
    return np.int64(-1)  # not reached
