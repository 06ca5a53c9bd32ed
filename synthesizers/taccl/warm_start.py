"""Warm starts: schedules of other synthesizers as plans, so that there is an upper bound before a solver starts.

A schedule serves if each of its routes is a wire of the network and its chunks are those of the demand; it is then
timed here, in its own order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from schedules import Collective, Schedule
from simulator import hop_times
from synthesizers.problem import Problem
from synthesizers.taccl.budget import Budget
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.network import Network
from synthesizers.taccl.plan import Plan, timed
from synthesizers.tuning import Pieces, tuned
from topologies.exceptions import CollbenchError

#: Whose schedules may be taken for TACCL's; a plan may begin from the first two.
OTHERS = ("tacos", "ring", "direct")

#: Trials of TACOS.
_TRIALS = 16

#: Seconds for which there has to be time before one of them is asked for a schedule.
_SECONDS = 0.3


def warm_starts(
    problem: Problem, network: Network, demand: Demand, costs: Costs, allowed: list[list[int]]
) -> Iterator[tuple[str, Plan]]:
    """Give (name, plan) of TACOS and of rings where they solve the problem over allowed wires."""
    for name, schedule in _schedules(problem, demand.collective):
        plan = _as_plan(schedule, problem, network, demand, costs, allowed)
        if plan is not None:
            yield name, plan


def tuned_by_others(problem: Problem, pieces: Pieces, budget: Budget) -> Iterator[tuple[str, Schedule]]:
    """Give (name, schedule) of each of `OTHERS` in so many pieces, or as many as suit it best, while there is time.

    They are bounds of their own: what is simulated may be faster than what is planned, and what is cut into pieces is
    no longer the plan that the solvers improved.
    """
    from synthesizers.direct import Direct
    from synthesizers.ring import Ring, RingOptions
    from synthesizers.tacos import Tacos, TacosOptions

    def by_tacos(cut: int) -> Schedule:
        return tacos.synthesize(problem, TacosOptions(pieces=cut, threads=1))

    def by_ring(cut: int) -> Schedule:
        return ring.synthesize(problem, RingOptions(pieces=cut))

    def by_direct(cut: int) -> Schedule:
        return direct.synthesize(problem, Direct.Options(pieces=cut))

    tacos, ring, direct = Tacos(), Ring(), Direct()
    for other, build in ((tacos, by_tacos), (ring, by_ring), (direct, by_direct)):
        if other.supports(problem) is None:
            if not budget.allows(_SECONDS):
                return
            with suppress(CollbenchError):  # what is no help is no harm
                yield other.name, tuned(problem, build, pieces, budget.until)


def _schedules(problem: Problem, cut: Collective) -> Iterator[tuple[str, Schedule]]:
    """Give the schedules of others that have the chunks of a collective."""
    from synthesizers.ring import Ring, RingOptions
    from synthesizers.tacos import Tacos, TacosOptions

    tacos, ring, finer = Tacos(), Ring(), replace(problem, collective=cut)
    if tacos.supports(finer) is None:
        with suppress(CollbenchError):  # what is no help is no harm
            yield tacos.name, tacos.synthesize(finer, TacosOptions(trials=_TRIALS, threads=1))
    if ring.supports(problem) is not None or cut.kind == "custom":
        return
    pieces = cut.chunks // problem.collective.chunks
    with suppress(CollbenchError):
        yield ring.name, ring.synthesize(finer, RingOptions(rings=1, direction="one_way", pieces=1))
    if pieces > 1:
        with suppress(CollbenchError):
            # Rings cut chunks themselves: into one part for each ring and direction.
            whole = ring.synthesize(problem, RingOptions(pieces=1))
            parts = whole.collective.chunks // problem.collective.chunks
            if parts > 1 and pieces % parts == 0:
                yield ring.name, ring.synthesize(problem, RingOptions(pieces=pieces // parts))


def _as_plan(
    schedule: Schedule, problem: Problem, network: Network, demand: Demand, costs: Costs, allowed: list[list[int]]
) -> Plan | None:
    """Return a schedule as a plan; None where it takes wires that are not allowed, or has other chunks."""
    if schedule.collective.num_chunks != demand.collective.num_chunks or schedule.num_hops == 0:
        return None
    wire_of = {(*route,): wire for wire, route in enumerate(network.wires.routes)}
    permitted = [set(wires) for wires in allowed]
    routes: dict[int, list[int]] = {}
    flow = np.full(schedule.num_hops, -1) if schedule.flow is None else schedule.flow
    for hop, name in enumerate(flow.tolist()):
        routes.setdefault(hop + len(flow) if name < 0 else name, []).append(hop)
    begin = hop_times(schedule, problem.size, problem.model)[0]
    sends = []
    for hops in routes.values():
        wire = wire_of.get(tuple(schedule.link[hops].tolist()))
        chunk = int(schedule.chunk[hops[0]])
        if wire is None or wire not in permitted[chunk]:
            return None
        sends.append((int(begin[hops[0]]), hops[0], chunk, wire))
    have = {(chunk, npu) for chunk, sources in enumerate(demand.sources) for npu in sources}
    units = []
    for _, _, chunk, wire in sorted(sends):
        target = chunk, network.wires.dst[wire]
        if (chunk, network.wires.src[wire]) not in have:
            return None  # moments without duration: listed in an order that time alone does not give back
        if target not in have:
            have.add(target)
            units.append((wire, (chunk,)))
    return timed(units, network.wires, demand, costs)
