"""SCCL as a synthesizer: of the trades between steps and rounds, the one that is fastest for the size at hand.

ReduceScatter and Reduce are AllGather and Broadcast on the reversed network, played backwards; AllReduce is
ReduceScatter then AllGather in the same chunks, as in the paper (Cai et al., PPoPP 2021, arXiv 2008.08708).
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import msgspec

from schedules import Collective, Schedule
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.sccl.instance import Instance
from synthesizers.sccl.models import num_variables
from synthesizers.sccl.pareto import MOST_VARIABLES, Frontier, Point, frontier
from synthesizers.sccl.rounds import satisfiable
from synthesizers.taccl.model import Limits
from synthesizers.tuning import fastest
from topologies import Topology
from topologies.exceptions import OptionError, SynthesisError

#: NPUs at most, as many as the paper's machines have; with more, the effort gains little over the start.
MOST_NPUS = 8

#: Pieces that ``pieces=auto`` tries.
_PIECES = range(1, 7)

_BACKWARD = {"reduce_scatter", "reduce"}

#: Effort without a time limit, and of each second of one.
_EFFORT, _EFFORT_PER_S = 0.2, 0.3

_Count = Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"]


class ScclOptions(OptionsBase, frozen=True, kw_only=True):
    """Options of `Sccl`.

    Attributes
    ----------
    pieces : int or "auto"
        SCCL's C: how often each chunk is cut; ``auto``: from 1 to 6, by simulation.
    steps : int or "auto"
        SCCL's S; ``auto``: from the least on, by simulation.
    rounds : int or "auto"
        SCCL's R, together with the other two; ``auto``: the fewest.
    effort : float or "auto"
        Work of CP-SAT, about seconds; ``auto``: 0.2, or 0.3 for each second of a time limit.
    """

    pieces: _Count = "auto"
    steps: _Count = "auto"
    rounds: _Count = "auto"
    effort: Annotated[float, msgspec.Meta(gt=0)] | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if self.rounds != "auto" and "auto" in (self.pieces, self.steps):
            raise OptionError(f"sccl: rounds={self.rounds} says nothing without pieces and steps; give these too")


class Sccl(Synthesizer):
    """Exact synthesis in steps and rounds."""

    name = "sccl"
    reference = "Z. Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021 (arXiv 2008.08708)"
    cost = 1.0
    Options = ScclOptions

    def supports(self, problem: Problem) -> str | None:
        """Return why not: switches, custom reductions, and what is too large."""
        topology, collective = problem.topology, problem.collective
        if collective.kind == "custom" and collective.reduces:
            return "plans copies and their reversals; a custom reduction is neither"
        if topology.num_switches:
            return "knows links between NPUs alone; this network has switches (unwind them first)"
        if topology.num_npus > MOST_NPUS:
            return f"{topology.num_npus} NPUs are too many for a search over steps and rounds; at most {MOST_NPUS}"
        if collective.num_chunks <= MOST_VARIABLES:
            network = topology.reversed() if collective.kind in _BACKWARD else topology
            instance = Instance(network, _forward(collective))
            if num_variables(instance, instance.least_steps) <= MOST_VARIABLES:
                return None
        return (
            f"{collective.num_chunks} chunks over {topology.num_links} links and the least steps need more than "
            f"{MOST_VARIABLES} variables, too many for SCCL"
        )

    def warm_up(self) -> None:
        """Load the solver."""
        from ortools.sat.python import cp_model  # noqa: F401

    def synthesize(self, problem: Problem, options: ScclOptions) -> Schedule:
        """Return the fastest of the schedules found; `notes["stages"]` says what each search came to.

        Raises
        ------
        SynthesisError
            The pieces, steps and rounds that were asked for cannot be, or that could not be told.
        """
        kind, effort = problem.collective.kind, options.effort
        if effort == "auto":
            limit = problem.time_limit_s
            effort = _EFFORT if limit is None else _EFFORT_PER_S * limit
        search = _Search(problem, options, effort / 2 if kind == "all_reduce" else effort)
        if kind == "all_reduce":
            gathering = _forward(problem.collective)
            scattered = search.halves(gathering, backwards=True)
            gathered = search.halves(gathering, backwards=False)
            joined = [
                first.then(second)
                for first in scattered for second in gathered if first.collective.chunks == second.collective.chunks
            ]  # fmt: skip
            # Joined, what is ready goes; kept in order, ReduceScatter's sends go first.
            candidates = [each.replaced(order=order) for each in joined for order in ("fifo", "program")]
        else:
            candidates = search.halves(_forward(problem.collective), backwards=kind in _BACKWARD)
        best = fastest(problem, candidates)
        notes: dict[str, Any] = {"stages": search.stages, "pieces": best.collective.chunks // problem.collective.chunks}
        if search.by_clock:
            notes["time_limited"] = True
        return best.replaced(notes=notes)


class _Search:
    """The searches for one problem, and what their solvers said."""

    def __init__(self, problem: Problem, options: ScclOptions, effort: float) -> None:
        self.problem, self.options, self.effort = problem, options, effort
        self.begin = time.perf_counter()
        self.stages: list[dict[str, Any]] = []
        self.by_clock = False

    def halves(self, collective: Collective, backwards: bool) -> list[Schedule]:
        """Return candidate schedules of a collective that copies; `backwards`: of its reverse."""
        topology = self.problem.topology.reversed() if backwards else self.problem.topology
        schedules = self._found(topology, collective)
        return [each.reverse() for each in schedules] if backwards else schedules

    def _found(self, topology: Topology, collective: Collective) -> list[Schedule]:
        """Return candidate schedules, each with one message for a link and step, and without messages."""
        options, seed = self.options, self.problem.seed
        if options.pieces != "auto" and options.steps != "auto" and options.rounds != "auto":
            asked = options.pieces, options.steps, options.rounds
            schedule = satisfiable(topology, collective, *asked, effort=self.effort, seed=seed)
            if schedule is None:
                raise SynthesisError(
                    f"sccl: {asked[0]} pieces in {asked[1]} steps and {asked[2]} rounds cannot be, which is proven; "
                    "give more steps or rounds"
                )
            return [schedule, schedule.replaced(message=None)]
        pieces = (1,) if collective.kind == "custom" else _PIECES
        counts = pieces if options.pieces == "auto" else (options.pieces,)
        seconds = None
        if self.problem.time_limit_s is not None:
            left = max(self.problem.time_limit_s - (time.perf_counter() - self.begin), 0.0)
            first_half = self.problem.collective.kind == "all_reduce" and not self.stages
            seconds = left / 2 if first_half else left
        steps = None if options.steps == "auto" else options.steps
        result = frontier(topology, collective, counts, Limits(self.effort, seconds, seed), steps)
        self.stages += result.stages
        self.by_clock |= result.by_clock
        if not result.found:
            raise SynthesisError(self._nothing(result, steps))
        return [point.schedule(together) for point in _worth(result) for together in (True, False)]

    def _nothing(self, result: Frontier, steps: int | None) -> str:
        """Return why there is no schedule in the steps that were asked for."""
        if result.proven:
            return f"sccl: {steps} steps are too few, which is proven; give more"
        return f"sccl: the effort of {self.effort:g} was not enough to tell whether {steps} steps do; give more"


def _forward(collective: Collective) -> Collective:
    """Return the collective that copies, of which another is made."""
    if collective.kind == "all_reduce":
        return Collective("all_gather", collective.num_npus, collective.groups, collective.chunks)
    return collective.reversed() if collective.kind in _BACKWARD else collective


def _worth(result: Frontier) -> list[Point]:
    """Return the points of the trade, and the least cut one, which any other may be joined with."""
    return list(dict.fromkeys([*result.points, result.found[0]]))
