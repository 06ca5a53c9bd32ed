"""Scatter, then AllGather round a ring: van de Geijn's Broadcast for large buffers, and backwards a Reduce.

The buffer is cut into a share for each rank. A binomial tree scatters them in ⌈lg p⌉ steps, each parent sending what
the ranks below its child own as one message; then the shares go round the ring of ranks in p − 1 steps. In one port's
worth of links that is (⌈lg p⌉ + p − 1)α + 2(p−1)/p·nβ, where a binomial Broadcast takes ⌈lg p⌉(α + nβ) (Barnett,
Shuler, van de Geijn, Gupta, Payne, Watts, Interprocessor collective communication library, SHPCC 1994; Thakur,
Rabenseifner, Gropp 2005). A share that the next rank has from the scatter is not sent to it again.
"""

from __future__ import annotations

import numpy as np

from schedules import Schedule
from synthesizers.base import Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import exchanged
from synthesizers.tuning import fastest

_KINDS = ("broadcast", "reduce")


class ScatterAllGather(Synthesizer):
    """Van de Geijn's Broadcast and its reverse; any number of ranks, several groups at once, any root."""

    name = "scatter_allgather"
    reference = "Barnett, Shuler, van de Geijn et al., Interprocessor collective communication library, SHPCC 1994"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for other kinds."""
        kind = problem.collective.kind
        return None if kind in _KINDS else f"scatter and AllGather make {' and '.join(_KINDS)}, not {kind}"

    def synthesize(self, problem: Problem, options: object) -> Schedule:  # noqa: ARG002  it has no options
        """Return the schedule: the steps of all groups' trees, then those of their rings."""
        collective = problem.collective
        # As many shards as the largest group has ranks; a rank of a smaller one owns several, or none.
        shards = max((len(group) for group in collective.groups), default=1)
        collective = collective.resharded(shards, collective.chunks)
        chunks, columns = np.arange(collective.chunks), []
        for part, group in enumerate(collective.groups):
            step, share, source, target = _sends(len(group))
            first = np.arange(len(group) + 1) * shards // len(group)  # shard of each share
            count = first[share + 1] - first[share]
            send = np.repeat(np.arange(len(count)), count)
            shard = np.arange(len(send)) - np.repeat(np.cumsum(count) - count, count) + first[share[send]]
            npus = np.roll(np.array(group), -collective.root)
            columns.append(np.stack([step[send], part * shards + shard, npus[source[send]], npus[target[send]]]))
        step, shard, source, target = np.repeat(np.concatenate(columns, axis=1), len(chunks), axis=1)
        chunk = shard * len(chunks) + np.resize(chunks, len(shard))
        if collective.reduces:
            step, source, target = step.max(initial=0) - step, target, source
        reduce = np.full(len(chunk), collective.reduces)
        listed = exchanged(problem.topology, collective, step, chunk, source, target, reduce=reduce)
        # First come, first served, shares of the ring may overtake the scatter, for better or for worse.
        return fastest(problem, [listed, listed.replaced(order="program")])


def _sends(ranks: int) -> np.ndarray:
    """Return (step, share, source, target) of a Broadcast, (4, K); ranks are counted from the root, as shares are."""
    place = np.arange(1, ranks)
    bit = place & -place
    size = np.minimum(bit, ranks - place)  # a rank and those below it
    child = np.repeat(place, size)
    share = child + np.arange(len(child)) - np.repeat(np.cumsum(size) - size, size)
    steps = (ranks - 1).bit_length()
    scatter = np.stack([steps - np.frexp(child & -child)[1], share, child & (child - 1), child])
    turn, share = (each.ravel() for each in np.indices((max(ranks - 1, 0), ranks)))
    source, target = (share + turn) % ranks, (share + turn + 1) % ranks
    reach = np.where(target, target & -target, ranks)  # how many shares, from its own on, the scatter left at a rank
    needed = (share < target) | (share >= target + reach)
    return np.concatenate([scatter, np.stack([steps + turn, share, source, target])[:, needed]], axis=1)
