"""The one tuning that every synthesizer which splits data gets: `pieces` picked by simulation from a shared ladder."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from schedules import Schedule
from simulator import simulate_ps
from synthesizers.problem import Problem

#: Pieces that ``pieces=auto`` tries, in this order.
LADDER = (1, 2, 4, 8, 16, 32, 64, 128)

#: A rung that would need more hops than this is not tried.
MAX_HOPS = 2**21

#: The climb ends after this many rungs in a row without gain.
PATIENCE = 2

#: Type of the option: a number, or the fastest on the ladder.
Pieces = Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"]


def fastest(problem: Problem, candidates: list[Schedule]) -> Schedule:
    """Return the candidate that simulates fastest on the problem; the first of equals."""
    return min(candidates, key=lambda schedule: simulate_ps(schedule, problem.size, problem.model))


def tuned(
    problem: Problem, build: Callable[[int], Schedule], pieces: Pieces = "auto", until: float | None = None
) -> Schedule:
    """Return ``build(pieces)``, or with ``"auto"`` the fastest on the ladder (the fewest pieces of equals).

    Parameters
    ----------
    problem : Problem
        Gives size and link model.
    build : callable
        Makes the schedule for a number of pieces.
    pieces : int or "auto"
        How often each chunk is cut.
    until : float, optional
        The climb ends where the next rung, at twice the time of the last, would not be done when `time.perf_counter`
        says so.
    """
    if pieces != "auto":
        return build(pieces)
    begin = time.perf_counter()
    best = build(LADDER[0])
    hops_per_piece = best.num_hops / LADDER[0]
    if hops_per_piece * LADDER[1] > MAX_HOPS:
        return best
    fastest_ps, misses = simulate_ps(best, problem.size, problem.model), 0
    for rung in LADDER[1:]:
        if misses == PATIENCE or hops_per_piece * rung > MAX_HOPS:
            break
        now = time.perf_counter()
        if until is not None and now + 2 * (now - begin) > until:
            break
        begin = now
        schedule = build(rung)
        time_ps = simulate_ps(schedule, problem.size, problem.model)
        if time_ps < fastest_ps:
            best, fastest_ps, misses = schedule, time_ps, 0
        else:
            misses += 1
    return best
