"""The exact optimum as a synthesizer: the yardstick for bounds, simulator and all other synthesizers on tiny networks.

What copies is solved as it is, over every schedule that the simulator could time (routes that cut through and messages
too) of the chunks that are asked for. ReduceScatter and Reduce are AllGather and Broadcast on the reversed network,
played backwards, and that is no less exact: the hops that bring each contribution to its end, turned round in time,
bring a copy from there to everybody, over the same links for the same spans. AllReduce has no such dual and is refused.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from schedules import Schedule
from simulator import simulate_ps
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.direct import Direct
from synthesizers.exact.model import Answer, optimum
from synthesizers.exact.routes import routes_of
from synthesizers.problem import Problem
from synthesizers.taccl.demand import demand_of
from synthesizers.taccl.model import FEASIBLE, INFEASIBLE, OPTIMAL, Limits
from synthesizers.tacos import Tacos, TacosOptions
from synthesizers.tuning import fastest
from topologies.exceptions import CollbenchError, SynthesisError

#: NPUs at most.
MOST_NPUS = 6

#: Hops of all routes of all chunks at most, and pairs of them that may share a message.
MOST_HOPS, MOST_PAIRS = 1_000, 15_000

_BACKWARD = {"reduce_scatter", "reduce"}

#: Effort without a time limit, and of each second of one.
_EFFORT, _EFFORT_PER_S = 0.3, 0.5


class ExactOptions(OptionsBase, frozen=True, kw_only=True):
    """Options of `Exact`.

    Attributes
    ----------
    pieces : int
        How often each chunk is cut. The optimum is that of these pieces: finer ones may be faster.
    bundles : bool
        Whether hops of one link may go as one message, which pays its latency once.
    effort : float or "auto"
        Work of CP-SAT, about seconds; ``auto``: 0.3, or 0.5 for each second of a time limit.
    """

    pieces: Annotated[int, msgspec.Meta(ge=1)] = 1
    bundles: bool = True
    effort: Annotated[float, msgspec.Meta(gt=0)] | Literal["auto"] = "auto"


class Exact(Synthesizer):
    """The least time of all schedules, with its proof or how far that got."""

    name = "exact"
    reference = "the optimum in this simulator's model, by OR-Tools CP-SAT"
    cost = 2.0
    Options = ExactOptions

    def supports(self, problem: Problem) -> str | None:
        """Return why not: AllReduce, and what is too large or takes no time."""
        return _too_much(problem, ExactOptions())

    def warm_up(self) -> None:
        """Load the solver, and compile what gives the upper bound."""
        Tacos().warm_up()
        from ortools.sat.python import cp_model  # noqa: F401

    def synthesize(self, problem: Problem, options: ExactOptions) -> Schedule:
        """Return the fastest schedule; `notes["stages"]` says whether that is proven, and the bound that is.

        Raises
        ------
        SynthesisError
            More pieces than can be solved; or a schedule of another synthesizer that beats the proven optimum, which
            is a defect of one of them.
        """
        reason = _too_much(problem, options)
        if reason is not None:
            raise SynthesisError(f"exact: {reason}")
        begin = time.perf_counter()
        work = problem
        if options.pieces > 1:
            work = replace(problem, collective=problem.collective.refined(options.pieces))
        backwards = work.collective.kind in _BACKWARD
        if backwards:
            work = replace(work, topology=work.topology.reversed(), collective=work.collective.reversed())
        start = _start(work)
        if backwards and start.order == "fifo":
            from simulator import relist  # needs numba from its first line

            start = relist(start, work.size, work.model)  # only a program takes no longer played backwards
        start_ps = simulate_ps(start, work.size, work.model)
        limit = problem.time_limit_s
        effort = options.effort
        if effort == "auto":
            effort = _EFFORT if limit is None else _EFFORT_PER_S * limit
        left = None if limit is None else max(limit - (time.perf_counter() - begin), 0.01)
        answer = _answer(work, options, start_ps, Limits(effort, left, problem.seed))
        best = start if answer.schedule is None else fastest(work, [answer.schedule, start])
        best = best.reverse() if backwards else best
        best_ps = simulate_ps(best, work.size, work.model)
        notes = {"pieces": options.pieces, "stages": [_stage(answer, best_ps)]}
        if answer.by_clock:
            notes["time_limited"] = True
        return best.replaced(notes=notes)


def _too_much(problem: Problem, options: ExactOptions) -> str | None:
    """Return why a problem cannot be solved with these options; None if it can."""
    topology, collective, pieces = problem.topology, problem.collective, options.pieces
    if collective.kind == "all_reduce":
        return "AllReduce would need a model of every partial sum; ReduceScatter and AllGather are solved, one by one"
    if collective.kind == "custom" and collective.reduces:
        return "a custom reduction has no reverse that copies"
    if collective.kind == "custom" and pieces > 1:
        return "the chunks of a custom collective stay whole; leave out pieces"
    if topology.num_npus > MOST_NPUS:
        return f"{topology.num_npus} NPUs are too many for an exact optimum; at most {MOST_NPUS}"
    most = f"at most {MOST_HOPS} are, for an exact optimum"
    if collective.num_chunks * pieces > MOST_HOPS:
        return f"{collective.num_chunks * pieces} chunks are too many; {most}"
    if collective.kind in _BACKWARD:
        collective = collective.reversed()
    demand = demand_of(collective.refined(pieces) if pieces > 1 else collective, problem.size)
    chunks = len(demand.wanted)
    routes = routes_of(topology, problem.model, MOST_HOPS // max(chunks, 1))
    if routes is None:
        return f"the hops of {chunks} chunks over all their routes are too many; {most}"
    if options.bundles and problem.model.latency == "blocking":
        hops = chunks * np.bincount([link for route in routes for link in route], minlength=topology.num_links)
        pairs = int((hops * (hops - 1) // 2)[topology.latency_ps > 0].sum())
        if pairs > MOST_PAIRS:
            return (
                f"{pairs} pairs of hops may share a message, too many for an exact optimum; at most {MOST_PAIRS} "
                "(none with -o bundles=false)"
            )
    if any(demand.nbytes[chunk] == 0 for chunk in demand.wanted) and topology.latency_ps.min(initial=1) == 0:
        return "chunks of no bytes over links without latency take no time: there is nothing to plan"
    return None


def _start(problem: Problem) -> Schedule:
    """Return the fastest that others make of the same chunks: the upper bound."""
    schedules = [Direct().synthesize(problem, Direct.Options(pieces=1))]
    tacos = Tacos()
    if tacos.supports(problem) is None:
        with suppress(CollbenchError):  # what is no help is no harm
            schedules.append(tacos.synthesize(problem, TacosOptions(pieces=1, threads=1, trials=4)))
    return fastest(problem, [each for each in schedules if each.collective == problem.collective])


def _answer(problem: Problem, options: ExactOptions, start_ps: int, limits: Limits) -> Answer:
    """Return what the solver finds that is no slower than the start."""
    demand = demand_of(problem.collective, problem.size)
    if not demand.wanted:
        return Answer(OPTIMAL, None, 0)
    routes = routes_of(problem.topology, problem.model, MOST_HOPS)
    assert routes is not None
    answer = optimum(problem.topology, demand, problem.model, routes, start_ps, options.bundles, limits)
    if answer.status == INFEASIBLE and options.bundles:
        raise SynthesisError(
            f"exact: a schedule takes {start_ps / 1e6:g} us, but no schedule is that fast by the exact model; "
            "one of the two is wrong: please report it"
        )
    return answer


def _stage(answer: Answer, best_ps: int) -> dict[str, Any]:
    """Return the record of the proof."""
    proven = best_ps <= answer.bound_ps
    gap = 0.0 if proven else (best_ps - answer.bound_ps) / best_ps
    return {
        "stage": "optimum", "solver": "cp_sat", "status": OPTIMAL if proven else FEASIBLE, "gap": round(gap, 6),
        "bound_us": answer.bound_ps / 1e6, "seconds": round(answer.seconds, 3), "variables": answer.variables,
        "constraints": answer.constraints,
    }  # fmt: skip
