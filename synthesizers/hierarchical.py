"""Dimension by dimension: ReduceScatter along each dimension of a network in turn, AllGather back in reverse.

After ReduceScatter along a dimension of q ranks only a q-th of the vector is left for the next one, so the dimensions'
closed forms add up with shrinking sizes: on rings Σ (qᵢ−1)(α + β·n/(q₁…qᵢ)), on fully connected dimensions the same
with one α each, by halving with lg qᵢ (Cho et al., BlueConnect, MLSys 2019). Which dimension is first decides how many
bytes the slow ones see. Chunks of `pieces` parts are a pipeline through the dimensions; where each part begins in
another dimension, all dimensions are busy at once, as in Rashidi et al., Themis, ISCA 2022.

Dimensions are those that `topologies.dimensions` reads off the links; each line of ranks runs by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import Literal

import numpy as np

from schedules import Collective, Schedule
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sends import exchanged
from synthesizers.tuning import Pieces, fastest, tuned
from topologies import Paths
from topologies.dimensions import dimensions
from topologies.exceptions import OptionError

_KINDS = ("all_reduce", "all_gather", "reduce_scatter")

Algorithm = Literal["ring", "direct", "halving_doubling"]
Spread = Literal["one", "two_way", "rotated", "all"]

#: Choices are compared below this many hops per schedule; above, rings in the order that sends the slow ones least.
_MAX_COMPARED_HOPS = 2**17

#: Most dimensions of which every order is tried; of more, each one first and the others as they come.
_MAX_PERMUTED = 3


class HierarchicalOptions(OptionsBase, frozen=True):
    """Options of `Hierarchical`.

    Attributes
    ----------
    order : str or list of int
        Dimensions in the order of ReduceScatter (``1,0``), AllGather the other way round. ``auto``: the fastest by
        simulation.
    algorithm : {"auto", "ring", "direct", "halving_doubling"}
        What every line of ranks does; halving and doubling only along dimensions of a power of two, else rings.
        ``auto``: for each dimension the fastest by simulation.
    spread : {"auto", "one", "two_way", "rotated", "all"}
        One collective; two with half of the data each, in opposite directions along the lines; one for each dimension
        to begin in; or both. ``auto``: the fastest by simulation.
    pieces : int or "auto"
        How often each chunk is cut, so that a piece goes along one dimension while another is in the next. ``auto``: by
        simulation.
    """

    order: str | list[int] = "auto"
    algorithm: Algorithm | Literal["auto"] = "auto"
    spread: Spread | Literal["auto"] = "auto"
    pieces: Pieces = "auto"

    def __post_init__(self) -> None:
        given = self.dimensions
        if given is not None and sorted(given) != list(range(len(given))):
            raise OptionError(f"hierarchical: order {given} must name each dimension 0…{max(len(given) - 1, 0)} once")

    @property
    def dimensions(self) -> list[int] | None:
        """The order as numbers of dimensions; None where it is to be chosen."""
        if self.order == "auto":
            return None
        try:
            return [int(part) for part in (self.order.split(",") if isinstance(self.order, str) else self.order)]
        except ValueError:
            raise OptionError(f"hierarchical: order {self.order!r}; expected auto, or dimensions such as 1,0") from None


class Hierarchical(Synthesizer):
    """Rings, direct exchange or halving and doubling along one dimension after the other; several groups at once."""

    name = "hierarchical"
    reference = "Cho, Finkler, Serrano, Kung, Hunter, BlueConnect, MLSys 2019"
    cost = 0.1
    Options = HierarchicalOptions

    def supports(self, problem: Problem) -> str | None:
        """Return the reason for other kinds, for networks of one dimension, and for groups that are no grid in it."""
        kind = problem.collective.kind
        if kind not in _KINDS:
            return f"hierarchical makes {', '.join(_KINDS)}, not {kind}"
        shape = dimensions(problem.topology)
        if len(shape) < 2:
            return f"{problem.topology.name} shows no dimensions; needs a grid, a product or boxes"
        grids = [_grid(shape, group) for group in problem.collective.groups]
        if any(grid is None for grid in grids):
            return f"a group is no rectangle of {'x'.join(map(str, shape))} NPUs"
        if all(sum(size > 1 for size in grid.shape) < 2 for grid in grids if grid is not None):
            return "every group lies in one dimension"
        return None

    def synthesize(self, problem: Problem, options: HierarchicalOptions) -> Schedule:
        """Return the schedule; with ``auto`` options the fastest of those tried, one option after the other.

        Raises
        ------
        OptionError
            An order of another number of dimensions than there are.
        """
        dims = len(dimensions(problem.topology))
        if options.dimensions is not None and len(options.dimensions) != dims:
            raise OptionError(f"hierarchical: order {options.dimensions} for the {dims} dimensions of "
                              f"{problem.topology.name}; name each once")  # fmt: skip
        plan, build = _chosen(problem, options)
        return tuned(problem, lambda pieces: build(plan, pieces), options.pieces)


@dataclass(frozen=True)
class _Plan:
    """Dimensions in the order of ReduceScatter, what lines do along each (by dimension), how data are spread."""

    order: tuple[int, ...]
    algorithms: tuple[Algorithm, ...]
    spread: Spread

    def collectives(self) -> list[tuple[tuple[int, ...], int]]:
        """Return (order, direction along the lines) of each collective that has a part of the data."""
        turns = range(len(self.order)) if self.spread in ("rotated", "all") else [0]
        signs = (1, -1) if self.spread in ("two_way", "all") else (1,)
        return [((*self.order[turn:], *self.order[:turn]), sign) for sign in signs for turn in turns]


def _chosen(problem: Problem, options: HierarchicalOptions):
    """Return the plan that the options leave, chosen by simulation, and what builds a schedule of one in pieces."""
    shape = dimensions(problem.topology)
    grids = [grid for group in problem.collective.groups if (grid := _grid(shape, group)) is not None]
    paths = Paths(problem.topology, sorted(problem.collective.members))
    built: dict[tuple[_Plan, int], Schedule] = {}

    def build(plan: _Plan, pieces: int) -> Schedule:
        """Return the schedule of a plan, built already where it was compared."""
        if (plan, pieces) not in built:
            built[plan, pieces] = _schedule(problem, paths, grids, plan, pieces)
        return built[plan, pieces]

    every = tuple(range(len(shape)))
    usual: Algorithm = "ring" if options.algorithm == "auto" else options.algorithm
    order = _fast_first(problem, shape) if options.dimensions is None else tuple(options.dimensions)
    plan = _Plan(order, (usual,) * len(shape), "one" if options.spread == "auto" else options.spread)
    whole = 1 if options.pieces == "auto" else options.pieces

    def better(plans: list[_Plan]) -> _Plan:
        """Return the plan that simulates fastest, the first of equals."""
        candidates = [build(each, whole) for each in plans]
        return plans[candidates.index(fastest(problem, candidates))]

    if build(plan, whole).num_hops > _MAX_COMPARED_HOPS:
        return plan, build
    if options.algorithm == "auto":
        for dim in every:
            kept, rest = plan.algorithms[:dim], plan.algorithms[dim + 1 :]
            fits: list[Algorithm] = ["ring", "direct"]
            if all(not grid.shape[dim] & (grid.shape[dim] - 1) for grid in grids):
                fits.append("halving_doubling")
            if any(grid.shape[dim] > 2 for grid in grids):
                plan = better([replace(plan, algorithms=(*kept, each, *rest)) for each in fits])
    if options.dimensions is None:
        orders = (
            permutations(every) if len(every) <= _MAX_PERMUTED else [(d, *every[:d], *every[d + 1 :]) for d in every]
        )
        plan = better([plan, *(replace(plan, order=tuple(order)) for order in orders if order != plan.order)])
    if options.spread == "auto":
        spreads: tuple[Spread, ...] = ("one", "two_way", "rotated", "all")
        plan = better([replace(plan, spread=each) for each in spreads])
    return plan, build


def _fast_first(problem: Problem, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions by descending bandwidth out of NPU 0 along each: the slow ones come when little is left."""
    topology = problem.topology
    ways = Paths(topology, [0])
    stride = np.cumprod((1, *shape[:-1]))
    rate = []
    for step, size in zip(stride.tolist(), shape, strict=True):
        route = ways.route(0, step) if size > 1 else []
        rate.append(min(topology.bytes_per_s[route].tolist(), default=0))
    return tuple(sorted(range(len(shape)), key=lambda dim: (-rate[dim], dim)))


def _grid(shape: tuple[int, ...], group: tuple[int, ...]) -> np.ndarray | None:
    """Return the ranks of a group by their coordinates, the first dimension first; None where it is no rectangle."""
    coordinates = np.unravel_index(np.array(group), shape, order="F")
    places = [np.unique(each, return_inverse=True) for each in coordinates]
    sizes = tuple(len(values) for values, _ in places)
    if int(np.prod(sizes)) != len(group):
        return None
    grid = np.zeros(sizes, np.int64)
    grid[tuple(place for _, place in places)] = np.arange(len(group))
    return grid


def _schedule(problem: Problem, paths: Paths, grids: list[np.ndarray], plan: _Plan, pieces: int) -> Schedule:
    """Return the schedule of a plan: its collectives deal out the parts of each chunk, piece by piece."""
    collective: Collective = problem.collective
    if collective.kind == "all_reduce":
        collective = collective.resharded(0, collective.chunks)
    collectives = plan.collectives()
    refined = collective.refined(len(collectives) * pieces)
    columns, first = [], 0
    for part, (group, grid) in enumerate(zip(collective.groups, grids, strict=True)):
        npus = np.array(group)
        for number, (order, sign) in enumerate(collectives):
            step, shard, source, target, reduce = _sends(collective.kind, grid, order, plan.algorithms, sign)
            mine = np.arange(number, refined.chunks, len(collectives))[:, None]
            # Each part by itself: parts that shared a step would be one message and could not overtake each other.
            later = step + mine * (step.max(initial=0) + 1)
            chunk = (first + shard) * refined.chunks + mine
            ends = (np.broadcast_to(npus[end], chunk.shape) for end in (source, target))
            columns.append(np.stack([later, chunk, *ends, np.broadcast_to(reduce, chunk.shape)]).reshape(5, -1))
        first += collective.shard_count(part)
    step, chunk, source, target, reduce = np.concatenate(columns, axis=1)
    notes = {"order": list(plan.order), "algorithms": list(plan.algorithms), "spread": plan.spread, "pieces": pieces}
    return exchanged(problem.topology, refined, step, chunk, source, target,
                     reduce=reduce.astype(bool) if refined.reduces else None, paths=paths, notes=notes)  # fmt: skip


def _sends(
    kind: str, grid: np.ndarray, order: tuple[int, ...], algorithms: tuple[Algorithm, ...], sign: int
) -> np.ndarray:
    """Return (step, shard, source rank, target rank, adds) of one collective over a grid of ranks, (5, K)."""
    ranks, stride = np.arange(grid.size), np.cumprod((1, *grid.shape[:-1]))
    number = grid.ravel(order="F")
    gathered, steps, parts = np.zeros(1, np.int64), 0, [np.zeros((4, 0), np.int64)]
    left = ranks  # of each place the part of its number in dimensions that are still scattered
    for dim in reversed(order):  # AllGather, innermost first; ReduceScatter is the same backwards
        size, along = grid.shape[dim], int(stride[dim])
        step, source, target, block = _line(algorithms[dim], size, sign)[:, :, None, None]
        place = ranks[ranks // along % size == 0][:, None]
        base = left[place]
        shard = base + block * along + gathered
        sends = np.broadcast_arrays(steps + step, shard, place + source * along, place + target * along)
        parts.append(np.stack(sends).reshape(4, -1))
        steps += int(step.max(initial=-1)) + 1
        gathered = (gathered + np.arange(size)[:, None] * along).ravel()
        left = left - left // along % size * along
    step, shard, source, target = np.concatenate(parts, axis=1)
    shard, source, target = number[shard], number[source], number[target]
    gather = np.stack([step, shard, source, target, np.zeros_like(step)])
    scatter = np.stack([steps - 1 - step, shard, target, source, np.ones_like(step)])
    if kind == "all_reduce":
        gather[0] += steps
        return np.concatenate([scatter, gather], axis=1)
    return gather if kind == "all_gather" else scatter


def _line(algorithm: Algorithm, size: int, sign: int) -> np.ndarray:
    """Return (step, source, target, block) of an AllGather along a line; block b is that of place b, (4, K)."""
    if algorithm == "halving_doubling" and not size & (size - 1):
        parts = [np.zeros((4, 0), np.int64)]
        for turn in range(size.bit_length() - 1):
            place, inner = np.divmod(np.arange(size << turn), 1 << turn)
            gathered = (place >> turn << turn) + inner  # what the aligned places around it have, and so itself
            parts.append(np.stack([np.full_like(place, turn), place, place ^ (1 << turn), gathered]))
        return np.concatenate(parts, axis=1)
    step, block = np.indices((size - 1, size)).reshape(2, -1)
    if algorithm == "direct":
        return np.stack([step, block, (block + sign * (step + 1)) % size, block])
    return np.stack([step, (block + sign * step) % size, (block + sign * (step + 1)) % size, block])
