"""Recursive halving and doubling (Rabenseifner): lg p exchanges with partners at distances p/2 … 1, or 1 … p/2.

ReduceScatter halves the vector in each exchange, AllGather doubles it, AllReduce is one after the other (Thakur,
Rabenseifner, Gropp 2005). Scatter is a binomial tree whose messages halve, Broadcast is Scatter then AllGather; Gather
and Reduce are Scatter and Broadcast played backwards. For p ranks that are no power of two, q the power below, the
first p − q pairs of neighbours fold: the second of a pair hands in what it has before and gets its result after, and
the others run as q ranks. A block of several chunks is one message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedules import Schedule
from synthesizers.base import Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import routed

_KINDS = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "gather", "scatter")
_BACKWARDS = {"reduce_scatter": "all_gather", "reduce": "broadcast", "gather": "scatter"}


class HalvingDoubling(Synthesizer):
    """Recursive halving and doubling; any number of ranks, several groups at once, any root."""

    name = "halving_doubling"
    reference = "Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for kinds that are no exchange of halves."""
        kind = problem.collective.kind
        return None if kind in _KINDS else f"halving and doubling makes {', '.join(_KINDS)}, not {kind}"

    def synthesize(self, problem: Problem, options: object) -> Schedule:  # noqa: ARG002  it has no options
        """Return the schedule: the exchanges of all groups, step by step."""
        collective = problem.collective
        if collective.kind in ("all_reduce", "broadcast", "reduce"):
            # As many shards as the largest group exchanges; smaller groups exchange several shards at once.
            largest = max((len(group) for group in collective.groups), default=1)
            collective = collective.resharded(_power_below(largest), collective.chunks)
        parts, first = [], 0
        for part, group in enumerate(collective.groups):
            shards = collective.shard_count(part)
            blocks = _blocks(collective.kind, len(group), shards, collective.root)
            parts.append(blocks.placed(np.array(group), first, collective.chunks))
            first += shards * collective.chunks
        blocks = _Blocks.joined(parts)
        blocks = blocks.chosen(np.lexsort((blocks.begin, blocks.target, blocks.source, blocks.step)))
        length = blocks.end - blocks.begin
        block = np.repeat(np.arange(len(length)), length)
        chunk = np.arange(len(block)) - np.repeat(np.cumsum(length) - length, length) + blocks.begin[block]
        return routed(
            problem.topology, collective, chunk, blocks.source[block], blocks.target[block],
            reduce=blocks.reduce[block], step=blocks.step[block], bundle=blocks.bundles()[block],
        )  # fmt: skip


@dataclass(frozen=True)
class _Blocks:
    """Blocks that are sent, as parallel columns: shards (or chunks) ``begin … end − 1`` from one rank to another."""

    step: np.ndarray
    source: np.ndarray
    target: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    reduce: np.ndarray

    @classmethod
    def of(cls, step, source, target, begin, end) -> _Blocks:
        """Return the copied blocks of columns or single values."""
        given = (np.asarray(column, np.int64) for column in (step, source, target, begin, end))
        step, source, target, begin, end = np.broadcast_arrays(*given)
        return cls(step, source, target, begin, end, np.zeros(step.shape, bool))

    @classmethod
    def joined(cls, parts: list[_Blocks]) -> _Blocks:
        """Return all blocks of several tables."""
        parts = [cls.of([], [], [], [], []), *parts]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def chosen(self, rows: np.ndarray) -> _Blocks:
        """Return some blocks, in the order given."""
        return _Blocks(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def later(self, steps: int) -> _Blocks:
        """Return the blocks `steps` later."""
        return _Blocks(self.step + steps, self.source, self.target, self.begin, self.end, self.reduce)

    def backwards(self, steps: int, reduce: bool) -> _Blocks:
        """Return the blocks of `steps` steps played backwards, added up by their receivers or not."""
        added = np.full(len(self.step), reduce)
        return _Blocks(steps - 1 - self.step, self.target, self.source, self.begin, self.end, added)

    def placed(self, group: np.ndarray, first: int, chunks: int) -> _Blocks:
        """Return the blocks with NPUs for ranks and chunks for shards, `first` being the chunk of shard 0."""
        return _Blocks(self.step, group[self.source], group[self.target], first + self.begin * chunks,
                       first + self.end * chunks, self.reduce)  # fmt: skip

    def bundles(self) -> np.ndarray:
        """Return the message of each block: blocks of one step and pair are adjacent and share it; −1: one chunk."""
        same = (np.diff(self.step) == 0) & (np.diff(self.source) == 0) & (np.diff(self.target) == 0)
        message = np.cumsum(np.concatenate([[False], ~same])[: len(self.step)])
        chunks = np.zeros(len(self.step) + 1, np.int64)
        np.add.at(chunks, message, self.end - self.begin)
        return np.where(chunks[message] > 1, message, -1)


def _blocks(kind: str, ranks: int, shards: int, root: int) -> _Blocks:
    """Return the blocks that a group of `ranks` sends for a collective; shards are numbered from its first."""
    if kind in _BACKWARDS:
        forward = _blocks(_BACKWARDS[kind], ranks, shards, root)
        return forward.backwards(int(forward.step.max(initial=-1)) + 1, reduce=kind != "gather")
    cores = _power_below(ranks)
    steps, extras = cores.bit_length() - 1, ranks - cores
    # Extra i is rank 2i + 1 and folds into its neighbour 2i, which is core i; ranks from 2·extras on are cores too.
    core = np.arange(cores) + np.minimum(np.arange(cores), extras)
    partner, extra = core[:extras], core[:extras] + 1
    owned = kind in ("all_gather", "scatter")  # a shard for each rank; else as many for each core
    bound = np.append(core, ranks) if owned else np.arange(cores + 1) * (shards // cores)
    if kind == "all_gather":
        parts = [
            _Blocks.of(0, extra, partner, extra, extra + 1),
            _doubling(cores, core, bound).later(1),
            _Blocks.of(steps + 1, partner, extra, 0, extra),  # all but its own
            _Blocks.of(steps + 1, partner, extra, extra + 1, ranks),
        ]
    elif kind == "all_reduce":
        doubling = _doubling(cores, core, bound)
        parts = [
            _Blocks.of(0, partner, extra, 0, shards).backwards(1, reduce=True),
            doubling.backwards(steps, reduce=True).later(1),
            doubling.later(steps + 1),
            _Blocks.of(2 * steps + 1, partner, extra, 0, shards),
        ]
    elif kind == "scatter":
        parts = [_halving_tree(cores, core, bound), _Blocks.of(steps, partner, extra, extra, extra + 1)]
    else:  # broadcast
        parts = [
            _halving_tree(cores, core, bound),
            _doubling(cores, core, bound, scattered=True).later(steps),
            _Blocks.of(2 * steps, partner, extra, 0, shards),
        ]
    blocks = _Blocks.joined(parts)
    blocks = blocks.chosen(np.flatnonzero(blocks.end > blocks.begin))
    if kind == "all_gather" or not root:
        return blocks
    return _rotated(blocks, root, ranks, owned)


def _doubling(cores: int, core: np.ndarray, bound: np.ndarray, scattered: bool = False) -> _Blocks:
    """Return recursive doubling: at distance d, core c exchanges with c XOR d the aligned block of d cores around it.

    After a scatter a core that is a multiple of 2d holds its partner's block already, so nothing is sent to it.
    """
    parts, source = [], np.arange(cores)
    for step in range(cores.bit_length() - 1):
        distance = 1 << step
        sender = source[(source ^ distance) % (2 * distance) != 0] if scattered else source
        begin = sender & -distance
        parts.append(_Blocks.of(step, core[sender], core[sender ^ distance], bound[begin], bound[begin + distance]))
    return _Blocks.joined(parts)


def _halving_tree(cores: int, core: np.ndarray, bound: np.ndarray) -> _Blocks:
    """Return the binomial scatter from core 0: who holds a block hands its upper half on."""
    parts, steps = [], cores.bit_length() - 1
    for step in range(steps):
        half = cores >> (step + 1)
        sender = np.arange(0, cores, 2 * half)
        parts.append(
            _Blocks.of(step, core[sender], core[sender + half], bound[sender + half], bound[sender + 2 * half])
        )
    return _Blocks.joined(parts)


def _rotated(blocks: _Blocks, root: int, ranks: int, owned: bool) -> _Blocks:
    """Return the blocks with rank 0 moved to the root, and the shards too where they are owned by ranks."""
    source, target = (blocks.source + root) % ranks, (blocks.target + root) % ranks
    if not owned:
        return _Blocks(blocks.step, source, target, blocks.begin, blocks.end, blocks.reduce)
    begin, end = (blocks.begin + root) % ranks, (blocks.end - 1 + root) % ranks + 1
    split = begin >= end  # a block that goes round the end becomes two
    moved = _Blocks(blocks.step, source, target, begin, np.where(split, ranks, end), blocks.reduce)
    rest = _Blocks(blocks.step, source, target, np.zeros_like(begin), end, blocks.reduce)
    return _Blocks.joined([moved, rest.chosen(np.flatnonzero(split))])


def _power_below(ranks: int) -> int:
    """Return the largest power of two that is at most `ranks`."""
    return 1 << (ranks.bit_length() - 1)
