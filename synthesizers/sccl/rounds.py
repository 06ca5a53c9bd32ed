"""Whether an algorithm of so many chunks, steps and rounds exists (SCCL, arXiv 2008.08708), and its schedule.

What distances and cuts do not settle is up to CP-SAT. A schedule keeps the steps; what a link sends in one is a
message. Steps do not wait for each other: a link goes on as soon as it has what it sends next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from schedules import Collective, Schedule
from synthesizers.sccl.instance import Instance
from synthesizers.sccl.models import Send, model_of
from synthesizers.taccl.cp_sat import configured, solved
from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, NOTHING, OPTIMAL, Limits
from topologies import Topology
from topologies.exceptions import SynthesisError


@dataclass(frozen=True)
class Found:
    """What a search for the fewest rounds came to.

    Attributes
    ----------
    status : str
        `OPTIMAL`, `FEASIBLE`, `INFEASIBLE` or `NOTHING` (given up).
    sends : list of Send
        What goes over which link in which step.
    rounds : int
        Of all steps together; 0 without a solution.
    spent : float
        Effort that it took.
    by_clock : bool
        Whether the wall clock ended it.
    """

    status: str
    sends: list[Send]
    rounds: int = 0
    spent: float = 0.0
    by_clock: bool = False


def satisfiable(
    topology: Topology,
    collective: Collective,
    chunks: int,
    steps: int,
    rounds: int,
    effort: float = 60.0,
    seed: int = 0,
) -> Schedule | None:
    """Return an algorithm of so many chunks, steps and rounds; None if it is proven that there is none.

    Parameters
    ----------
    topology : Topology
        Without switches.
    collective : Collective
        One that copies.
    chunks : int
        How often each chunk of `collective` is cut.
    steps, rounds : int
    effort : float
        In the units of `Limits`.
    seed : int

    Raises
    ------
    SynthesisError
        The effort was not enough to tell.
    """
    instance = Instance(topology, collective.refined(chunks))
    found = fewest_rounds(instance, steps, rounds, Limits(effort, None, seed), any_will_do=True)
    if found.status == NOTHING:
        raise SynthesisError(
            f"sccl: an effort of {effort:g} does not tell whether {steps} steps of {rounds} rounds do for {chunks} "
            "chunks; give more"
        )
    return None if found.status == INFEASIBLE else schedule_of(instance, found.sends, together=True)


def fewest_rounds(instance: Instance, steps: int, rounds: int, limits: Limits, any_will_do: bool = False) -> Found:
    """Return sends in so many steps and the fewest rounds, or in any number up to `rounds`."""
    if instance.refuted(steps, rounds):
        return Found(INFEASIBLE, [])
    if not instance.demand.wanted:
        return Found(OPTIMAL, [])
    begin = time.perf_counter()
    search = model_of(instance, steps, rounds)
    if any_will_do or rounds == instance.rounds_at_least(steps):
        # Without anything to minimise CP-SAT looks for a solution alone, and finds it much sooner.
        search.model.clear_objective()
    solver = configured(limits, time.perf_counter() - begin)
    # All constraints are in the linear relaxation: it finds six chunks of DGX-1's AllGather 10 times as fast.
    solver.parameters.linearization_level = 2
    word, by_clock = solved(solver, search.model)
    spent = solver.response_proto.deterministic_time
    if word not in (OPTIMAL, FEASIBLE):
        return Found(word, [], 0, spent, by_clock)
    return Found(word, search.sends(solver), solver.value(search.total), spent, by_clock)


def schedule_of(instance: Instance, sends: list[Send], together: bool) -> Schedule:
    """Return the schedule of sends, those of a link and step as one message if `together`."""
    step, link, chunk = np.array(sorted(sends), np.int64).reshape(-1, 3).T
    return Schedule(
        instance.topology, instance.collective, chunk=chunk, link=link, step=step,
        message=step * instance.topology.num_links + link if together else None,
    )  # fmt: skip
