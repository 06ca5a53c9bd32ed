"""Binomial trees: whoever has the data hands it on in each step, so those who have it double: ⌈lg p⌉ steps.

Counted from the root on, the parent of a rank is the rank without its lowest bit, and the ranks below it are the next
ones, as many as that bit says. A Broadcast sends the whole buffer down the tree, largest subtrees first, a Scatter to
each child what its subtree needs as one message; Reduce and Gather go the other way (Thakur, Rabenseifner, Gropp 2005).
Cut into pieces, the data stream through the tree.
"""

from __future__ import annotations

import numpy as np

from schedules import Schedule
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import exchanged
from synthesizers.tuning import Pieces, tuned
from topologies import Paths

_KINDS = ("broadcast", "reduce", "gather", "scatter")


class Binomial(Synthesizer):
    """Binomial trees; any number of ranks, several groups at once, any root."""

    name = "binomial"
    reference = "Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005"

    class Options(OptionsBase, frozen=True):
        """Options of `Binomial`.

        Parameters
        ----------
        pieces : int or "auto"
            Pieces of each chunk, which go through the tree one after the other; ``auto``: the fastest by simulation.
        """

        pieces: Pieces = "auto"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for kinds without a root."""
        kind = problem.collective.kind
        return None if kind in _KINDS else f"binomial trees make {', '.join(_KINDS)}, not {kind}"

    def synthesize(self, problem: Problem, options: Options) -> Schedule:
        """Return the schedule: piece by piece, one step of all groups' trees after the other."""
        collective, columns, first = problem.collective, [], 0
        whole = collective.kind in ("broadcast", "reduce")
        if whole:
            collective = collective.resharded(1, collective.chunks)
        for part, group in enumerate(collective.groups):
            columns.append(_group_sends(np.array(group), collective.root, whole, first))
            first += collective.shard_count(part)
        step, shard, above, below = np.concatenate(columns, axis=1)
        source, target = above, below
        if collective.kind in ("reduce", "gather"):
            step, source, target = step.max(initial=0) - step, below, above
        paths = Paths(problem.topology, np.unique(source).tolist())

        def build(pieces: int) -> Schedule:
            """Return the schedule of chunks cut into `pieces`."""
            refined = collective.refined(pieces)
            piece = np.arange(refined.chunks)[:, None]
            later = (step + piece * (step.max(initial=0) + 1)).ravel()
            chunk = (shard * refined.chunks + piece).ravel()
            ends = np.tile(source, len(piece)), np.tile(target, len(piece))
            reduce = np.full(len(chunk), collective.reduces)
            return exchanged(problem.topology, refined, later, chunk, *ends, reduce=reduce, paths=paths,
                             notes={"pieces": pieces})  # fmt: skip

        return tuned(problem, build, options.pieces)


def _group_sends(group: np.ndarray, root: int, whole: bool, first: int) -> np.ndarray:
    """Return (step, shard, parent, child) of what goes down a group's tree, (4, K); `first` is the group's shard 0.

    A child gets the shards of all ranks below it and its own, or the `whole` buffer, which is one shard.
    """
    ranks = len(group)
    place = np.arange(1, ranks)  # counted from the root
    bit = place & -place
    size = np.ones_like(place) if whole else np.minimum(bit, ranks - place)
    send = np.repeat(np.arange(len(place)), size)
    below = np.arange(len(send)) - np.repeat(np.cumsum(size) - size, size)
    shard = np.zeros_like(send) if whole else (place[send] + below + root) % ranks
    step = (ranks - 1).bit_length() - np.frexp(bit)[1]
    npus = np.roll(group, -root)
    return np.stack([step[send], first + shard, npus[place ^ bit][send], npus[place][send]])
