"""Plans: sends in order, alone or several chunks as one message, with exact times; and the schedule that they are.

A plan respects the ports of `synthesizers.taccl.costs`, so that the simulated time of its schedule, in program order,
never exceeds the planned one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedules import Schedule
from synthesizers.sends import on_routes
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.wires import Wires

#: One transfer: the wire, and the chunks that cross it together.
Unit = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Plan:
    """Transfers in the order in which they take their ports.

    Attributes
    ----------
    units : tuple of (wire, chunks)
    starts : tuple of int
        Picoseconds.
    time_ps : int
        When the last wanted chunk arrives.
    """

    units: tuple[Unit, ...]
    starts: tuple[int, ...]
    time_ps: int


def unit_bytes(demand: Demand, chunks: Sequence[int]) -> int:
    """Return the bytes of chunks together."""
    return sum(demand.nbytes[chunk] for chunk in chunks)


def timed(units: Sequence[Unit], wires: Wires, demand: Demand, costs: Costs) -> Plan:
    """Return the plan in which each transfer, in the order given, starts as soon as its chunks and ports allow.

    A transfer must come after those that bring its chunks.
    """
    ready: dict[tuple[int, int], int] = {
        (chunk, npu): 0 for chunk, sources in enumerate(demand.sources) for npu in sources
    }
    free: dict[int, int] = {}
    starts, last = [], 0
    for wire, chunks in units:
        cost = costs.of(wire, unit_bytes(demand, chunks))
        source, target = wires.src[wire], wires.dst[wire]
        start = max(ready[chunk, source] for chunk in chunks)
        for port, offset, _ in cost.holds:
            start = max(start, free.get(port, 0) - offset)
        for port, offset, held in cost.holds:
            free[port] = start + offset + held
        for chunk in chunks:
            ready[chunk, target] = start + cost.time
        starts.append(start)
        last = max(last, start + cost.time)
    return Plan(tuple(units), tuple(starts), last)


def delivers(plan: Plan, wires: Wires, demand: Demand) -> bool:
    """Return whether every chunk is sent from where it is only, and gets to all who want it.

    No stage's plan is taken without this, whatever its model made of it; times and ports are `timed`'s.
    """
    have = {(chunk, npu) for chunk, sources in enumerate(demand.sources) for npu in sources}
    for wire, chunks in plan.units:
        if any((chunk, wires.src[wire]) not in have for chunk in chunks):
            return False
        have.update((chunk, wires.dst[wire]) for chunk in chunks)
    return all((chunk, npu) in have for chunk, targets in enumerate(demand.targets) for npu in targets)


def schedule_of(plan: Plan, wires: Wires, demand: Demand, costs: Costs, notes: dict[str, Any]) -> Schedule:
    """Return the schedule of a plan, its hops listed by the time at which they start, in program order."""
    rows = []  # (start of the hop, unit, place in the route, chunk, link)
    for number, ((wire, chunks), start) in enumerate(zip(plan.units, plan.starts, strict=True)):
        holds = costs.of(wire, unit_bytes(demand, chunks)).holds
        for step, link in enumerate(wires.routes[wire]):
            rows += [(start + holds[step][1], number, step, member, link) for member in chunks]
    table = np.array(sorted(rows), np.int64).reshape(-1, 5)
    unit, place, chunk = table[:, 1], table[:, 2], table[:, 3]
    longest = max((len(route) for route in wires.routes), default=1)
    several = np.array([len(wires.routes[wire]) > 1 for wire, _ in plan.units], bool)
    together = np.array([len(chunks) > 1 for _, chunks in plan.units], bool)
    chunks_of_all = max(len(demand.sources), 1)
    flow = np.where(several[unit], unit * chunks_of_all + chunk, -1) if several.any() else None
    message = np.where(together[unit], unit * longest + place, -1) if together.any() else None
    topology = wires.topology
    return Schedule(topology, demand.collective, chunk, table[:, 4], flow=flow, message=message, notes=notes)


def in_pieces(plan: Plan, wires: Wires, demand: Demand, pieces: int, notes: dict[str, Any]) -> Schedule:
    """Return the plan with each chunk cut into pieces that follow each other: what is ready goes, first come first."""
    topology, collective = wires.topology, demand.collective.refined(pieces)
    order = sorted(range(len(plan.units)), key=lambda unit: (plan.starts[unit], unit))
    sends = [(wire, chunk) for unit in order for wire, chunks in (plan.units[unit],) for chunk in chunks]
    start = np.zeros(len(wires) + 1, np.int64)
    np.cumsum([len(route) for route in wires.routes], out=start[1:])
    links = np.array([link for route in wires.routes for link in route], np.int64)
    table = np.array(sends, np.int64).reshape(-1, 2)
    wire = np.repeat(table[:, 0], pieces)
    chunk = (table[:, 1, None] * pieces + np.arange(pieces)).ravel()
    return on_routes(topology, collective, chunk, wire, start, links, order="fifo", notes=notes)
