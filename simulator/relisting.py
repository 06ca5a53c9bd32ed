"""Re-listing: the hops of a schedule in order of their simulated start, as a program.

A fifo schedule, or one whose list order means little, becomes one that says when each link carries what; simulated as a
program it takes at most the same time. The list position defines what a hop reads, so the new order has to leave that
alone. Sorting by start mostly does. Where a delivery overtakes a reader of what was there before it, three further
attempts are made: a topological order that keeps readers between the deliveries that they depend on and those they must
not see; the same with ties broken into steps, so that simultaneous exchanges stay possible; and then an error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schedules import Schedule
from simulator.link_model import LinkModel
from simulator.list_constraints import CIRCLE, Constraints
from simulator.simulate import hop_times
from simulator.timelines import Timeline, timeline
from simulator.versions import Versions
from topologies.exceptions import ScheduleError


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
    return relisted(timeline(schedule, size, model))


def relisted(times: Timeline) -> Schedule:
    """Return the hops of a schedule in order of their start on its timeline; see `relist`."""
    schedule = times.schedule
    keys = [times.start_ps]
    holds = times.release_ps > times.start_ps
    if not holds.all():
        # What holds its link for no time goes before what starts at the same instant and does.
        keys.insert(0, holds)
    if schedule.message is not None:
        head = np.arange(schedule.num_hops)  # of a message: its first hop, so that its members stand together
        named = np.flatnonzero(schedule.message >= 0)
        first = np.full(int(schedule.message.max(initial=0)) + 1, len(head))
        np.minimum.at(first, schedule.message[named], named)
        head[named] = first[schedule.message[named]]
        keys.insert(0, head)
    by_start = np.lexsort(keys)
    for result in _listings(times, by_start):
        if schedule.message is None or _runs(result, times.size, times.model):
            return result
    raise ScheduleError(CIRCLE)


def _listings(times: Timeline, by_start: np.ndarray) -> Iterator[Schedule]:
    """Yield the schedule in orders in which every hop gets what it got, the plainest first."""
    schedule, versions = times.schedule, Versions(times)
    steps: list[np.ndarray | None] = [None]
    if schedule.step is not None and (np.diff(schedule.step[by_start]) >= 0).all():
        steps.insert(0, schedule.step[by_start])
    for step in steps:
        result = schedule.selected(by_start, step=step, order="program")
        if versions.kept_by(result, by_start):
            yield result
    graph = Constraints(versions, by_start)
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
