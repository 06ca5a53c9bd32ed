"""Bruck's exchanges: ⌈lg p⌉ steps for any number p of ranks, in each of which rank r sends one message 2^k ranks on.

AllGather: to rank r − 2^k go the shards of the next 2^k ranks from r on, or as many as are missing in the last step.
AllToAll: a shard for the rank j on moves by the powers of two in j, so step k sends to rank r + 2^k whatever has bit k
set in what it has to go: half of the buffer where p is a power of two. It pays with lg p / 2 times the bytes for having
lg p latencies and no p − 1 (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997: concatenation and index).
"""

from __future__ import annotations

import numpy as np

from schedules import Schedule
from synthesizers.base import Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import exchanged

_KINDS = ("all_gather", "all_to_all")


class Bruck(Synthesizer):
    """Bruck's AllGather and AllToAll; any number of ranks, several groups at once."""

    name = "bruck"
    reference = (
        "Bruck, Ho, Kipnis, Upfal, Weathersby, Efficient algorithms for all-to-all communications in multiport "
        "message-passing systems, IEEE TPDS 1997"
    )

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for kinds in which not everyone has something of everyone."""
        kind = problem.collective.kind
        return None if kind in _KINDS else f"Bruck's exchanges make {', '.join(_KINDS)}, not {kind}"

    def synthesize(self, problem: Problem, options: object) -> Schedule:  # noqa: ARG002  it has no options
        """Return the schedule: the exchanges of all groups, step by step."""
        collective, columns, first = problem.collective, [], 0
        sends = _all_gather if collective.kind == "all_gather" else _all_to_all
        for part, group in enumerate(collective.groups):
            step, shard, source, target = sends(len(group))
            npus = np.array(group)
            columns.append(np.stack([step, first + shard, npus[source], npus[target]]))
            first += collective.shard_count(part)
        chunks = collective.chunks
        step, shard, source, target = np.repeat(np.concatenate(columns, axis=1), chunks, axis=1)
        chunk = shard * chunks + np.arange(len(shard)) % chunks
        return exchanged(problem.topology, collective, step, chunk, source, target)


def _all_gather(ranks: int) -> np.ndarray:
    """Return (step, shard, source, target) of the shards that a group of `ranks` gathers, (4, K)."""
    away = np.arange(1, ranks)  # a shard reaches the rank this far before its owner in the step of its highest bit
    step = np.frexp(away)[1] - 1
    shard = np.repeat(np.arange(ranks), len(away))
    step, target = np.tile(step, ranks), (shard - np.tile(away, ranks)) % ranks
    return np.stack([step, shard, (target + (1 << step)) % ranks, target])


def _all_to_all(ranks: int) -> np.ndarray:
    """Return (step, shard, source, target) of the shards that a group of `ranks` exchanges, (4, K)."""
    parts = [np.zeros((4, 0), np.int64)]
    for step in range((ranks - 1).bit_length()):
        away = np.arange(ranks)
        away = away[away >> step & 1 == 1]  # how far a shard goes in all
        owner = np.repeat(np.arange(ranks), len(away))
        away = np.tile(away, ranks)
        source = (owner + away % (1 << step)) % ranks  # the lower powers of two are behind it
        shard = owner * ranks + (owner + away) % ranks
        parts.append(np.stack([np.full(len(shard), step), shard, source, (source + (1 << step)) % ranks]))
    return np.concatenate(parts, axis=1)
