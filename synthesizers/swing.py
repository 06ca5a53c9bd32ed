"""Swing: recursive halving and doubling whose partners swing left and right, so that they stay near on rings and tori.

In step s an even rank of a ring exchanges with the one ρ(s) further on, an odd rank with the one ρ(s) back, where
ρ(s) = 1 − 2 + 4 − … ± 2^s: 1, −1, 3, −5, 11 … Partners are a third nearer than powers of two, so messages share fewer
links. On a torus each dimension has its turn. A D-dimensional torus has 2D ports, and as many of these collectives run
at once, each on its share of the data, starting in each of the dimensions and in both directions (De Sensi, Bonato,
Saam, Hoefler, Swing: Short-cutting Rings for Higher Bandwidth Allreduce, NSDI'24).

The variant for bandwidth is a ReduceScatter and an AllGather, as in Rabenseifner's algorithm; that for latency
exchanges whole vectors. Both are right for powers of two only.
"""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np

from schedules import Schedule
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import exchanged
from synthesizers.tuning import MAX_HOPS, fastest
from topologies import Paths, Topology, mesh, torus

_KINDS = ("all_reduce", "all_gather", "reduce_scatter")

Variant = Literal["bandwidth", "latency"]
Ports = Literal["all", "one"]


class Swing(Synthesizer):
    """Swing on rings, tori and, by shortest routes, any other network; several groups at once."""

    name = "swing"
    reference = "De Sensi, Bonato, Saam, Hoefler, Swing: Short-cutting Rings for Higher Bandwidth Allreduce, NSDI 2024"

    class Options(OptionsBase, frozen=True):
        """Options of `Swing`.

        Parameters
        ----------
        variant : {"auto", "bandwidth", "latency"}
            Halves of what is left are exchanged, as always in an AllGather or ReduceScatter, or whole vectors.
            ``auto``: the faster by simulation.
        ports : {"auto", "all", "one"}
            As many collectives at once as a torus has ports, or one. ``auto``: the faster by simulation; all,
            where they take more hops than are compared.
        """

        variant: Variant | Literal["auto"] = "auto"
        ports: Ports | Literal["auto"] = "auto"

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for other kinds and for groups of other than 2^k ranks."""
        kind = problem.collective.kind
        if kind not in _KINDS:
            return f"Swing makes {', '.join(_KINDS)}, not {kind}"
        odd = next((len(group) for group in problem.collective.groups if len(group) & (len(group) - 1)), None)
        return (
            None if odd is None else f"Swing's exchanges add each rank up once in powers of two only, not {odd} ranks"
        )

    def synthesize(self, problem: Problem, options: Options) -> Schedule:
        """Return the schedule: the exchanges of all groups and collectives, step by step."""
        variants: list[Variant] = ["bandwidth", "latency"] if options.variant == "auto" else [options.variant]
        if problem.collective.kind != "all_reduce":
            variants = ["bandwidth"]
        groups, network = problem.collective.groups, problem.topology
        swings = [_swings(_shape(network, group)) for group in groups]
        paths = Paths(network, sorted(problem.collective.members))
        found = []
        for variant in variants:
            if options.ports != "one":
                found.append(_schedule(problem, paths, variant, swings))
            if options.ports == "one" or (options.ports == "auto" and found[-1].num_hops <= MAX_HOPS):
                found.append(_schedule(problem, paths, variant, [each[:1] for each in swings]))
        return fastest(problem, found)


def _schedule(problem: Problem, paths: Paths, variant: Variant, swings: list[list[np.ndarray]]) -> Schedule:
    """Return the schedule of one variant, given the partners in each collective of each group."""
    collective = problem.collective
    if collective.kind == "all_reduce":
        collective = collective.resharded(1 if variant == "latency" else 0, collective.chunks)
    # A chunk is cut into as many pieces as each group can deal out evenly to its collectives.
    pieces = int(np.lcm.reduce([len(each) for each in swings]))
    refined = collective.refined(pieces)
    columns, first = [], 0
    for part, (group, each) in enumerate(zip(collective.groups, swings, strict=True)):
        npus = np.array(group)
        dealt = np.arange(refined.chunks).reshape(len(each), -1, order="F")
        for mine, peers in zip(dealt, each, strict=True):
            sends = np.repeat(_sends(collective.kind, variant, peers), len(mine), axis=1)
            step, shard, source, target, reduce = sends
            chunk = (first + shard) * refined.chunks + np.resize(mine, len(shard))
            columns.append(np.stack([step, chunk, npus[source], npus[target], reduce]))
        first += collective.shard_count(part)
    step, chunk, source, target, reduce = np.concatenate(columns, axis=1)
    notes = {"variant": variant, "collectives": max(len(each) for each in swings)}
    return exchanged(problem.topology, refined, step, chunk, source, target, reduce=reduce.astype(bool), paths=paths,
                     notes=notes)  # fmt: skip


def _sends(collective: str, variant: Variant, peers: np.ndarray) -> np.ndarray:
    """Return (step, shard, source, target, reduce) of what one collective of a group sends, (5, K)."""
    steps, ranks = peers.shape
    rank, parts = np.arange(ranks), [np.zeros((5, 0), np.int64)]
    if variant == "latency":
        for step, peer in enumerate(peers):
            parts.append(np.stack([np.full(ranks, step), np.zeros(ranks, int), rank, peer, np.ones(ranks, int)]))
        return np.concatenate(parts, axis=1)
    reached = rank[:, None]  # whose shards a rank answers for after a step: its own, and those of its later partners
    for step in range(steps - 1, -1, -1):
        peer = peers[step]
        source = np.repeat(rank, reached.shape[1])
        for kind, at, shards in (
            ("reduce_scatter", step, reached[peer]),  # the partner adds up what it answers for
            ("all_gather", 2 * steps - 1 - step, reached),  # and gets what has been added up here
        ):
            if collective in ("all_reduce", kind):
                same = np.broadcast_to([[at], [int(kind == "reduce_scatter")]], (2, len(source)))
                parts.append(np.stack([same[0], shards.ravel(), source, peer[source], same[1]]))
        reached = np.hstack([reached, reached[peer]])
    return np.concatenate(parts, axis=1)


def _swings(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Return the partners in each step, (steps, ranks), of each collective that runs on a torus: the plain one first.

    There is one for each dimension to start in; where a dimension has more than two ranks, mirrored ones too.
    """
    rank, starts = np.arange(int(np.prod(shape))), max(len(shape), 1)
    strides = np.cumprod((1, *shape))
    found = []
    for sign, first in product((1, -1) if max(shape, default=1) > 2 else (1,), range(starts)):
        order = [*range(first, len(shape)), *range(first)]
        turns = [(turn, dim) for turn in range(max(shape, default=1).bit_length()) for dim in order]
        peers = []
        for turn, dim in turns:
            size, stride = shape[dim], int(strides[dim])
            if 1 << (turn + 1) <= size:
                place = rank // stride % size
                swing = sign * (1 - (-2) ** (turn + 1)) // 3 * np.where(place % 2 == 0, 1, -1)
                peers.append(rank + ((place + swing) % size - place) * stride)
        found.append(np.array(peers, np.int64).reshape(-1, len(rank)))
    return found


def _shape(topology: Topology, group: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of a mesh or torus over which the group is everybody, in order; else the group is a ring."""
    ranks = len(group)
    if group != tuple(range(topology.num_nodes)):
        return (ranks,)
    # In such numbers the neighbours of NPU 0 that are powers of two are those one further on in each dimension.
    beside = [int(npu) for npu in np.unique(topology.dst[topology.src == 0]) if npu & (npu - 1) == 0]
    if beside[:1] == [1]:
        shape = tuple(after // before for before, after in zip(beside, [*beside[1:], ranks], strict=True))
        links = _ends(topology)
        if any(np.array_equal(links, _ends(network(shape))) for network in (torus, mesh)):
            return shape
    return (ranks,)


def _ends(topology: Topology) -> np.ndarray:
    """Return which nodes are linked, as one number for each pair, ascending."""
    return np.unique(topology.src.astype(np.int64) * topology.num_nodes + topology.dst)
