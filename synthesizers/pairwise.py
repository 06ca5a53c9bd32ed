"""Pairwise exchange: an AllToAll in p − 1 steps, in each of which every rank has one partner to send to.

In step k rank r exchanges with r XOR k where p is a power of two; else it sends to r + k and receives from r − k
(Thakur, Rabenseifner, Gropp 2005). No rank receives from two in one step, so with one port per rank the shards follow
each other without a gap. The steps are the order in which a port takes what it has to send: as all of it is there from
the start, ranks with several ports use all at once.
"""

from __future__ import annotations

import numpy as np

from schedules import Schedule
from synthesizers.base import Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import exchanged


class Pairwise(Synthesizer):
    """Pairwise exchange; any number of ranks, several groups at once."""

    name = "pairwise"
    reference = "Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for all other kinds."""
        kind = problem.collective.kind
        return None if kind == "all_to_all" else f"pairwise exchange makes all_to_all, not {kind}"

    def synthesize(self, problem: Problem, options: object) -> Schedule:  # noqa: ARG002  it has no options
        """Return the schedule: the exchanges of all groups, step by step."""
        collective, columns, first = problem.collective, [], 0
        for group in collective.groups:
            ranks, npus = len(group), np.array(group)
            step = np.repeat(np.arange(1, ranks), ranks)
            source = np.tile(np.arange(ranks), ranks - 1)
            target = source ^ step if ranks & (ranks - 1) == 0 else (source + step) % ranks
            columns.append(np.stack([step, first + source * ranks + target, npus[source], npus[target]]))
            first += ranks * ranks
        chunks = collective.chunks
        step, shard, source, target = np.repeat(np.concatenate(columns, axis=1), chunks, axis=1)
        chunk = shard * chunks + np.arange(len(shard)) % chunks
        return exchanged(problem.topology, collective, step, chunk, source, target)
