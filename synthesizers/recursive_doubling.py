"""Recursive doubling: in each of lg p steps every rank exchanges all that it has with a partner twice as far away.

An AllReduce exchanges and adds up whole vectors, so that it takes half as many steps as halving and doubling and is
the faster one for small sizes; an AllGather doubles what each rank holds (Thakur, Rabenseifner, Gropp 2005). For p
ranks that are no power of two, q the power below, the second of each of the first p − q pairs of neighbours hands in
what it has before and gets the result after, and the others run as q ranks.
"""

from __future__ import annotations

import numpy as np

from schedules import Schedule
from synthesizers.base import Synthesizer
from synthesizers.halving_doubling import HalvingDoubling
from synthesizers.problem import Problem
from synthesizers.sends import exchanged

_KINDS = ("all_gather", "all_reduce")


class RecursiveDoubling(Synthesizer):
    """Recursive doubling; any number of ranks, several groups at once."""

    name = "recursive_doubling"
    reference = "Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for kinds in which not every rank ends with all."""
        kind = problem.collective.kind
        return None if kind in _KINDS else f"recursive doubling makes {', '.join(_KINDS)}, not {kind}"

    def synthesize(self, problem: Problem, options: object) -> Schedule:
        """Return the schedule: the exchanges of all groups, step by step."""
        if problem.collective.kind == "all_gather":
            return HalvingDoubling().synthesize(problem, options)  # whose second half this is
        chunks = problem.collective.chunks
        collective = problem.collective.resharded(1, chunks)
        columns = []
        for part, group in enumerate(collective.groups):
            step, source, target, reduce = _exchanges(len(group))
            npus, first = np.array(group), np.full(len(step), part * chunks)
            columns.append(np.stack([step, first, npus[source], npus[target], reduce]))
        step, first, source, target, reduce = np.repeat(np.concatenate(columns, axis=1), chunks, axis=1)
        chunk = first + np.tile(np.arange(chunks), len(first) // chunks)
        return exchanged(problem.topology, collective, step, chunk, source, target, reduce=reduce.astype(bool))


def _exchanges(ranks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (step, source, target, reduce) of each vector that is sent in a group."""
    steps = ranks.bit_length() - 1
    cores = 1 << steps
    extras = ranks - cores
    # Extra i is rank 2i + 1 and folds into its neighbour 2i, which is core i; ranks from 2·extras on are cores too.
    core = np.arange(cores) + np.minimum(np.arange(cores), extras)
    partner, extra = core[:extras], core[:extras] + 1
    distance = np.repeat(1 << np.arange(steps), cores)
    place = np.tile(np.arange(cores), steps)
    step = np.concatenate(
        [np.zeros(extras, int), np.repeat(np.arange(1, steps + 1), cores), np.full(extras, steps + 1)]
    )
    source = np.concatenate([extra, core[place], partner])
    target = np.concatenate([partner, core[place ^ distance], extra])
    return step, source, target, step <= steps
