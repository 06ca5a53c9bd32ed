"""Double binary tree: two trees in which every rank is inner in at most one, with half of the data on each.

Sanders, Speck, Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009), as in NCCL. A rank
that only receives in one tree forwards in the other, so both directions of its port are used. AllReduce reduces each
half to its tree's root and broadcasts it from there. Broadcast and Reduce put the root above both trees, which then
span the other ranks, in rank order from the root on. Cut into pieces, the halves stream through the trees.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from schedules import Schedule
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import routed
from synthesizers.tuning import Pieces, tuned
from topologies import Paths

_KINDS = ("all_reduce", "broadcast", "reduce")


class DoubleBinaryTree(Synthesizer):
    """Double binary tree; any number of ranks, several groups at once, any root."""

    name = "double_binary_tree"
    reference = "Sanders, Speck, Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009"

    class Options(OptionsBase, frozen=True):
        """Options of `DoubleBinaryTree`.

        Parameters
        ----------
        pieces : int or "auto"
            Pieces of each half (times the chunks that the problem asks for); ``auto``: the fastest by simulation.
        """

        pieces: Pieces = "auto"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for kinds in which not everyone's whole buffer goes up or down a tree."""
        kind = problem.collective.kind
        return None if kind in _KINDS else f"trees of whole buffers make {', '.join(_KINDS)}, not {kind}"

    def synthesize(self, problem: Problem, options: Options) -> Schedule:
        """Return the schedule: piece by piece, up the trees level by level, then down."""
        kind, root = problem.collective.kind, problem.collective.root
        edges = [
            _group_edges(kind, part, np.array(group), root) for part, group in enumerate(problem.collective.groups)
        ]
        half, level, child, parent = np.concatenate([np.zeros((4, 0), np.int64), *edges], axis=1)
        up, down = np.lexsort((half, -level)), np.lexsort((half, level))
        if kind != "all_reduce":
            up, down = (up, down[:0]) if kind == "reduce" else (up[:0], down)
        edge = np.concatenate([up, down])
        rising = np.arange(len(edge)) < len(up)
        source, target = np.where(rising, child[edge], parent[edge]), np.where(rising, parent[edge], child[edge])
        paths = Paths(problem.topology, np.unique(source).tolist())
        build = partial(_schedule, problem, half[edge], source, target, rising, paths)
        return tuned(problem, build, options.pieces)


def _schedule(
    problem: Problem, half: np.ndarray, source: np.ndarray, target: np.ndarray, rising: np.ndarray, paths: Paths,
    pieces: int,
) -> Schedule:  # fmt: skip
    """Return the schedule of the sends of each half, in order, for every piece, the oldest piece first."""
    chunks = problem.collective.chunks * pieces
    collective = problem.collective.resharded(2, chunks)
    chunk = (half * chunks + np.arange(chunks)[:, None]).ravel()
    return routed(problem.topology, collective, chunk, np.tile(source, chunks), np.tile(target, chunks),
                  reduce=np.tile(rising, chunks), paths=paths, notes={"pieces": pieces})  # fmt: skip


def _group_edges(kind: str, part: int, group: np.ndarray, root: int) -> np.ndarray:
    """Return (half, level, child, parent) of the edges of both trees of a group, (4, E); level 1 is the highest."""
    # The root of a Broadcast or Reduce stands above both trees; in an AllReduce nobody does.
    top, members = (-1, group) if kind == "all_reduce" else (int(group[root]), np.roll(group, -root)[1:])
    both = []
    for tree, parents in enumerate(trees(len(members))):
        parent = np.full(len(members), top)
        parent[parents >= 0] = members[parents[parents >= 0]]
        edge = np.flatnonzero(parent >= 0)
        half = np.full(len(edge), 2 * part + tree)
        both.append(np.stack([half, depths(parents)[edge] + (top >= 0), members[edge], parent[edge]]))
    return np.concatenate(both, axis=1)


def trees(ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the parents of `ranks` ranks in the two trees, (ranks,) int64 each; −1 for a root.

    The first is the in-order binary tree, in which odd ranks are inner and even ranks are leaves: rank + 1 in binary,
    ``xx01000``, hangs below ``xx10000`` from the left, ``xx11000`` from the right. In the second it is the other way
    round: the first mirrored (`ranks` even), or shifted by one (`ranks` odd).
    """
    place = np.arange(1, ranks + 1)
    bit = place & -place
    above = (place ^ bit) | (bit << 1)
    # Beyond the end the parent is the next below from the right; nothing there either: the root.
    parent = np.where(above <= ranks, above, place ^ bit) - 1
    if ranks % 2 == 0:
        return parent, np.where(parent >= 0, ranks - 1 - parent, -1)[::-1].copy()
    shifted = np.roll(parent, -1)
    return parent, np.where(shifted >= 0, (shifted - 1) % max(ranks, 1), -1)


def depths(parents: np.ndarray) -> np.ndarray:
    """Return how many edges each rank is below its root."""
    depth = np.zeros(len(parents), np.int64)
    ancestor = parents.copy()
    while (ancestor >= 0).any():
        depth += ancestor >= 0
        ancestor = np.where(ancestor >= 0, parents[ancestor], -1)
    return depth
