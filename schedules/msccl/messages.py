"""The messages of a schedule, for memory that is not versioned: who sends what to whom, on which channel and when.

A route of several links is one message from its first GPU to its last; the runtime finds the way. All that happens is
put in one order, that of the list: what is sent in a step leaves before anything of that step arrives. Whatever waits
for what comes before it in this order cannot wait in a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedules.schedule import Schedule


@dataclass
class Message:
    """Chunks that go from one NPU to another as one, or several steps if they are many.

    Attributes
    ----------
    source, target, lane : int
        The connection; lanes of a pair of NPUs are numbered from 0.
    chunks : list of int
        Adjacent in the memory of both.
    adds : bool
        Whether the receiver adds.
    sent, received : int
        When, in the order of all that happens.
    bundle : int
        The schedule's own message that it is of; −1: none.
    """

    source: int
    target: int
    lane: int
    chunks: list[int]
    adds: bool
    sent: int
    received: int
    bundle: int


def messages_of(schedule: Schedule) -> list[Message]:
    """Return a message of one chunk for each route of a schedule that the verifier accepts, by the time of sending."""
    topology, flow = schedule.topology, schedule.flow
    hops = np.arange(schedule.num_hops)
    if flow is None:
        first = last = hops
    else:
        leads = schedule.dataflow.before < 0
        first, last = hops[leads], np.empty(int(leads.sum()), np.int64)
        place = np.cumsum(leads) - 1
        route = np.full(int(flow.max(initial=-1)) + 2, -1)
        alone = flow < 0
        route[flow[leads & ~alone]] = place[leads & ~alone]
        owner = np.where(alone, place, route[flow])
        ends = schedule.dataflow.delivers
        last[owner[ends]] = hops[ends]
    step = hops if schedule.step is None else schedule.step
    count = len(first)
    key_step = np.concatenate([step[first], step[last]])
    phase = np.repeat([0, 1], count)
    order = np.lexsort((np.concatenate([first, last]), phase, key_step))
    time = np.empty(2 * count, np.int64)
    time[order] = np.arange(2 * count)
    adds = np.zeros(count, bool) if schedule.reduce is None else schedule.reduce[last]
    bundle = np.full(count, -1) if schedule.message is None else schedule.message[first]
    columns = (topology.src[schedule.link[first]], topology.dst[schedule.link[last]], schedule.link[first],
               schedule.chunk[first], adds, time[:count], time[count:], bundle)  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found = [Message(source, target, link, [chunk], add, sent, received, group)
             for source, target, link, chunk, add, sent, received, group in rows]  # fmt: skip
    found.sort(key=lambda message: message.sent)
    _choose_lanes(found)
    return found


def _choose_lanes(messages: list[Message]) -> None:
    """Give each message a lane: one per parallel link, and more where messages overtake, for lanes keep their order."""
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}  # of a pair: link and last arrival of each lane
    for message in messages:
        mine = lanes.setdefault((message.source, message.target), [])
        link = message.lane
        fit = (lane for lane, (own, arrived) in enumerate(mine) if own == link and arrived < message.received)
        lane = next(fit, len(mine))
        mine[lane : lane + 1] = [(link, message.received)]
        message.lane = lane


def bundled(messages: list[Message], adjoins: Callable[[Message, Message], bool]) -> list[Message]:
    """Return the messages with those of one bundle put together, as far as memory lets them.

    Parameters
    ----------
    messages : list of Message
        By the time of sending.
    adjoins : callable
        Whether the chunks of a message lie just behind those of another, at both ends.
    """
    if all(message.bundle < 0 for message in messages):
        return messages
    uses: dict[tuple[int, int], list[int]] = {}  # of each place: when it is read (even) or written (odd), doubled
    for message in messages:
        chunk = message.chunks[0]
        uses.setdefault((message.source, chunk), []).append(2 * message.sent)
        uses.setdefault((message.target, chunk), []).append(2 * message.received + 1)
    for times in uses.values():
        times.sort()
    open_on: dict[tuple[int, int, int], Message] = {}
    result = []
    for message in messages:
        connection = message.source, message.target, message.lane
        last = open_on.get(connection)
        if (
            last is not None
            and message.bundle >= 0
            and (last.bundle, last.adds) == (message.bundle, message.adds)
            and adjoins(last, message)
            and all(_free(uses, message.source, chunk, last.sent, message.sent, writes_only=True)
                    and _free(uses, message.target, chunk, last.received, message.received, writes_only=False)
                    for chunk in last.chunks)
        ):  # fmt: skip
            last.chunks += message.chunks
            last.sent, last.received = message.sent, message.received
        else:
            open_on[connection] = message
            result.append(message)
    return sorted(result, key=lambda message: message.sent)


def _free(uses: dict, npu: int, chunk: int, begin: int, end: int, writes_only: bool) -> bool:
    """Return whether nothing uses (or writes) a place between two times, both exclusive."""
    from bisect import bisect_left, bisect_right

    times = uses.get((npu, chunk), [])
    between = times[bisect_right(times, 2 * begin + 1) : bisect_left(times, 2 * end)]
    return not any(time % 2 for time in between) if writes_only else not between
