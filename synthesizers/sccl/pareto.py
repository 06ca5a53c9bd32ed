"""The trade between steps and rounds (SCCL, arXiv 2008.08708, algorithm 1): from the least latency to full bandwidth.

For each number of steps, from the longest way on, the least R/C is wanted: rounds for each piece of a chunk. SCCL asks
for one (C, R) after another; here CP-SAT minimises R for each C, and has to beat the best so far. The search ends where
R/C is what the densest cut asks for, or with its effort.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from schedules import Collective, Schedule
from synthesizers.sccl.instance import Instance
from synthesizers.sccl.models import Send, num_variables
from synthesizers.sccl.rounds import Found, fewest_rounds, schedule_of
from synthesizers.sccl.trees import tree_sends
from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, OPTIMAL, Limits
from topologies import Topology

#: Variables of a model at most.
MOST_VARIABLES = 10_000

#: Steps beyond the least that are tried.
_MORE_STEPS = 2

#: Share of the effort, and of the time, that one model may take.
_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Point:
    """An algorithm: so many pieces of each chunk in so many steps and rounds.

    Attributes
    ----------
    chunks, steps, rounds : int
    instance : Instance
    sends : list of Send
    """

    chunks: int
    steps: int
    rounds: int
    instance: Instance
    sends: list[Send]

    @property
    def rounds_per_chunk(self) -> Fraction:
        """What it costs in bandwidth."""
        return Fraction(self.rounds, self.chunks)

    def schedule(self, together: bool = True) -> Schedule:
        """Return it as a schedule; `together`: what a link sends in a step is one message."""
        return schedule_of(self.instance, self.sends, together)


@dataclass
class Frontier:
    """What a search found.

    Attributes
    ----------
    found : list of Point
        In the order found; the first is a tree for each chunk, without a solver.
    stages : list of dict
        For each model, what the solver said.
    spent : float
        Effort.
    by_clock : bool
        Whether the wall clock ended something.
    """

    found: list[Point] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)
    spent: float = 0.0
    by_clock: bool = False

    @property
    def points(self) -> list[Point]:
        """Those that no other beats in both steps and rounds per chunk, by steps."""
        best: list[Point] = []
        for point in sorted(self.found, key=lambda each: (each.steps, each.rounds_per_chunk, each.chunks)):
            if not best or point.rounds_per_chunk < best[-1].rounds_per_chunk:
                best.append(point)
        return best

    @property
    def proven(self) -> bool:
        """Whether every model was solved to its end."""
        return all(stage["status"] in (OPTIMAL, INFEASIBLE) for stage in self.stages)


def frontier(
    topology: Topology, collective: Collective, chunks: Sequence[int], limits: Limits, steps: int | None = None
) -> Frontier:
    """Search for the best trades between steps and rounds.

    Parameters
    ----------
    topology : Topology
        Without switches.
    collective : Collective
        One that copies.
    chunks : sequence of int
        Into how many pieces each chunk may be cut, ascending.
    limits : Limits
        For the whole search.
    steps : int, optional
        Only so many.
    """
    begin = time.perf_counter()
    instances = {count: Instance(topology, collective.refined(count) if count > 1 else collective) for count in chunks}
    result, first = Frontier(), instances[chunks[0]]
    least = first.least_steps
    sends, rounds = tree_sends(first)
    start = Point(chunks[0], least, rounds, first, sends)
    best = start.rounds_per_chunk
    if steps is None or steps >= least:
        result.found.append(start)
    asked = range(least, least + _MORE_STEPS + 1) if steps is None else [steps]
    for count in asked:
        for pieces, instance in instances.items():
            if best <= first.least_rounds / chunks[0]:
                return result
            most = -(-best.numerator * pieces // best.denominator) - 1  # the most rounds that are an improvement
            if num_variables(instance, count) > MOST_VARIABLES or instance.refuted(count, most):
                continue
            left = None if limits.seconds is None else limits.seconds - (time.perf_counter() - begin)
            if limits.effort - result.spent <= 0 or (left is not None and left <= 0):
                result.by_clock |= left is not None and left <= 0
                return result
            effort = min(limits.effort * _SHARE, limits.effort - result.spent)
            seconds = None if left is None or limits.seconds is None else min(limits.seconds * _SHARE, left)
            began = time.perf_counter()
            found = fewest_rounds(instance, count, most, Limits(effort, seconds, limits.seed))
            result.spent += found.spent
            result.by_clock |= found.by_clock
            result.stages.append(_stage(pieces, count, most, found, time.perf_counter() - began))
            if found.status in (OPTIMAL, FEASIBLE):
                point = Point(pieces, count, found.rounds, instance, found.sends)
                result.found.append(point)
                best = point.rounds_per_chunk
    return result


def _stage(pieces: int, steps: int, most: int, found: Found, seconds: float) -> dict[str, Any]:
    """Return the record of one model."""
    rounds = f"{found.rounds}" if found.status in (OPTIMAL, FEASIBLE) else f"≤ {most}"
    return {"stage": f"{pieces} chunks, {steps} steps, {rounds} rounds", "solver": "cp_sat", "status": found.status,
            "seconds": round(seconds, 3)}  # fmt: skip
