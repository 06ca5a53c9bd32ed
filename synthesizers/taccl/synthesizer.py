"""TACCL: sketch-guided synthesis by mixed-integer programs (A. Shah et al., NSDI 2023, arXiv 2111.04867), open solvers.

What copies is solved as it is; ReduceScatter and Reduce are the schedules of AllGather and Broadcast on the reversed
network (with the sketch reversed too), played backwards; AllReduce is ReduceScatter then AllGather.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec

from schedules import Collective, Schedule
from schedules import collective as collective_named
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.taccl.auto_sketch import derived_networks
from synthesizers.taccl.budget import Budget, OutOfTime
from synthesizers.taccl.costs import Costs, profile_costs
from synthesizers.taccl.demand import demand_of
from synthesizers.taccl.fallback import fallback
from synthesizers.taccl.model import LATE
from synthesizers.taccl.network import Network
from synthesizers.taccl.plan import in_pieces, schedule_of, timed
from synthesizers.taccl.sketch import Sketch, read_sketch
from synthesizers.taccl.sketched import checked_symmetries, sketched_network
from synthesizers.taccl.stages import Outcome, Solver, finer, not_run, run_stages
from synthesizers.taccl.warm_start import OTHERS, tuned_by_others
from synthesizers.tacos import Tacos
from synthesizers.tuning import LADDER, MAX_HOPS, PATIENCE, Pieces, fastest, tuned
from topologies import Topology, ring
from topologies.exceptions import OptionError, SynthesisError
from topologies.readers.taccl_profile import Profile, read_profile

_BACKWARD = {"reduce_scatter", "reduce"}

#: Effort without a time limit, and of each second of one.
_EFFORT, _EFFORT_PER_S = 0.15, 0.1

#: Effort that a solver can be told of: HiGHS counts its nodes in 32 bits.
_MOST_EFFORT = 1e5

#: Shares of the time limit: that solvers may use where pieces are still to be tried (on a busy machine they would leave
#: no time for it), and else; the rest is for reading and building. And that in which there has to be a plan, where
#: there is a schedule of others.
_BEFORE_PIECES, _SOLVING, _PLANNED = 0.4, 0.8, 0.9

#: Seconds for which there has to be time before more plans than the best are made schedules.
_COMPARING_S = 0.2

#: Slack of paths that is tried without a sketch.
_SLACKS = (0, 1, 2)

#: More hops than any path has.
_MOST_SLACK = 10**6

#: More hops are not listed anew: that takes more memory than it gains time.
_RELIST_HOPS = 2**21

#: The stage of a record that says whose schedule, or whose routes, were taken where they are not TACCL's own.
CHALLENGE = "upper bound"

#: The stage that says that the clock ended something.
CLOCK = "time limit"

#: Chunks times NPUs at most.
_MOST_PLACES = 200_000

#: Chunks times NPUs for which there is a plan within a second; where others may help, more are not tried.
_PLACES_PER_S = 100_000


class TacclOptions(OptionsBase, frozen=True, kw_only=True):
    """Options of `Taccl`.

    Attributes
    ----------
    sketch : str
        A sketch file of TACCL, or ``auto``: one derived from the topology.
    profile : str
        A link profile of TACCL for the costs that the solvers count with; empty: those of the topology.
    solver : str
        ``highs``, ``cp_sat``, or ``auto``: for each stage the faster one as measured.
    slack : int or "auto"
        Hops by which a chunk's paths may be longer than the shortest; ``auto``: none with a sketch, else what is best.
    pieces : int or "auto"
        How often each chunk is cut once it is scheduled; 1 keeps the chunks of problem and sketch, unless several rings
        are the result, which share each chunk.
    effort : float or "auto"
        Work of the solvers, some seconds each; ``auto``: 0.15, or 0.1 for each second of a time limit.
    warm_start : str
        ``auto``: TACOS and a ring give the upper bound where the sketch is ``auto``; they and a direct exchange also
        give the schedule where theirs simulates faster, in as many pieces. ``none``: only what TACCL itself finds.
    """

    sketch: str = "auto"
    profile: str = ""
    solver: Solver = "auto"
    slack: Annotated[int, msgspec.Meta(ge=0, le=_MOST_SLACK)] | Literal["auto"] = "auto"
    pieces: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"] = 1
    effort: Annotated[float, msgspec.Meta(gt=0, le=_MOST_EFFORT)] | Literal["auto"] = "auto"
    warm_start: Literal["auto", "none"] = "auto"


class Taccl(Synthesizer):
    """Routing, ordering and scheduling by mixed-integer programs, guided by a sketch."""

    name = "taccl"
    reference = (
        "A. Shah et al., TACCL: Guiding Collective Algorithm Synthesis using Communication Sketches, NSDI 2023 "
        "(arXiv 2111.04867)"
    )
    cost = 15.0
    Options = TacclOptions

    def supports(self, problem: Problem) -> str | None:
        """Return why not: custom reductions have no reverse, and large problems make no model."""
        collective = problem.collective
        if collective.kind == "custom" and collective.reduces:
            return "plans copies and their reversals; a custom reduction is neither"
        places = collective.num_chunks * problem.topology.num_npus
        if places > _MOST_PLACES:
            return f"{places} pairs of chunk and NPU are beyond mixed-integer programs; at most {_MOST_PLACES}"
        return None

    def warm_up(self) -> None:
        """Load the solvers, and compile what the start runs."""
        Tacos().warm_up()
        self.synthesize(Problem(ring(4), collective_named("all_reduce", 4), 2**20), TacclOptions())

    def synthesize(self, problem: Problem, options: Any) -> Schedule:
        """Return the best schedule within the budget; `notes["stages"]` records how it came about, `measured` how long.

        Raises
        ------
        OptionError
            A sketch or profile that cannot be read or does not fit; names the key and the GPUs at fault.
        SynthesisError
            A time limit that is over before there is any schedule, where a sketch or option forbids those of others.
        """
        return _Synthesis(problem, options).schedule()


class _Synthesis:
    """One problem: its sketch and profile, read once, and the outcomes that schedules are made of."""

    def __init__(self, problem: Problem, options: TacclOptions) -> None:
        self.problem, self.options = problem, options
        self.sketch: Sketch | None = None if options.sketch == "auto" else read_sketch(options.sketch)
        self.profile: Profile | None = read_profile(options.profile) if options.profile else None
        limit = problem.time_limit_s
        effort = options.effort
        if effort == "auto":
            effort = _EFFORT if limit is None else _EFFORT_PER_S * limit
        begin = time.perf_counter()
        until = last = self._cut_until = None
        if limit is not None:
            until = begin + (_BEFORE_PIECES if self._pieces == "auto" else _SOLVING) * limit
            last = begin + (_PLANNED if self.warm else 1.0) * limit
            self._cut_until = begin + _SOLVING * limit
        self.budget = Budget(effort, until, last, problem.seed)

    def schedule(self) -> Schedule:
        """Return the schedule of the problem, or where the clock comes before any plan, that of others.

        Where there is a clock, theirs is the first thing to do: it is cheap, and an upper bound too.
        """
        limit = self.problem.time_limit_s
        if limit is None:
            return self._planned([])
        places = self.problem.collective.num_chunks * self.problem.topology.num_npus
        cheap = [fallback(self.problem, self._pieces)] if self.warm else []
        try:
            if cheap and places > _PLACES_PER_S * limit:
                raise OutOfTime
            return self._planned(cheap)
        except OutOfTime:
            if not cheap:
                advice = "give more, or leave out what forbids other starts (sketch, warm_start=none)"
                raise SynthesisError(f"no schedule within the time limit of {limit:g} s; {advice}") from None
        ((name, schedule),) = cheap
        self.budget.clock = True
        return self._noted(schedule, [not_run("routing", LATE)], [name])

    def _planned(self, cheap: list[tuple[str, Schedule]]) -> Schedule:
        """Return the schedule of the problem, by the stages; or of others, of whose `cheap` ones are there already."""
        problem, collective = self.problem, self.problem.collective
        if collective.kind == "all_reduce":
            gathering = Collective("all_gather", collective.num_npus, collective.groups, collective.chunks)
            half = self.budget.half()
            scattered = self._outcome(gathering, problem.topology.reversed(), half, backwards=True)
            self.budget.effort, self.budget.clock = half.effort, half.clock
            gathered = self._outcome(gathering, problem.topology, self.budget, backwards=False)
            result = self._tuned(lambda pieces, anew: self._joined(scattered, gathered, pieces, anew))
            outcomes = [scattered, gathered]
        elif collective.kind in _BACKWARD:
            outcome = self._outcome(collective.reversed(), problem.topology.reversed(), self.budget, backwards=True)
            result = self._tuned(lambda pieces, anew: self._reversed(outcome, pieces, anew))
            outcomes = [outcome]
        else:
            outcome = self._outcome(collective, problem.topology, self.budget, backwards=False)
            result = self._tuned(lambda pieces, anew: self._forward(outcome, pieces, anew))
            outcomes = [outcome]
        stages = [stage for outcome in outcomes for stage in outcome.stages]
        result, winner = self._challenged(result, cheap)
        if winner:
            result = result.with_notes(origin=[winner])
            pieces = "" if self._pieces == 1 else " in pieces"
            stages.append(not_run(CHALLENGE, f"{winner} is faster{pieces}, and taken"))
        else:
            stages += [not_run(CHALLENGE, f"the routes are those of {origin}, on which nothing was gained")
                       for origin in dict.fromkeys(result.notes["origin"]) if origin in OTHERS]  # fmt: skip
        return self._noted(result, stages, result.notes["origin"])

    def _noted(self, schedule: Schedule, stages: list[dict[str, Any]], origin: list[str]) -> Schedule:
        """Return a schedule with the record of how it came about."""
        notes: dict[str, Any] = {"origin": origin, "sketch": self.options.sketch}
        if self.budget.clock:
            notes["time_limited"] = True
            stages = [
                *stages,
                not_run(CLOCK, "ended something; with more time it may be faster"),
            ]
        return schedule.with_notes(**notes).with_stages(stages)

    @property
    def warm(self) -> bool:
        """Whether other synthesizers may help: not where a sketch says what may be used."""
        return self.options.warm_start == "auto" and self.sketch is None

    @property
    def _pieces(self) -> Pieces:
        """The option, but a custom collective cannot be cut."""
        return self.options.pieces if self.problem.collective.kind != "custom" else 1

    def _tuned(self, build: Callable[[int, bool], Schedule]) -> Schedule:
        """Return the schedule of the option's pieces; ``auto``: the fastest found.

        Plans that are there are cut into each number of pieces; only from the best number on, until that gains nothing
        for some rungs, the pieces are also planned anew.
        """
        if self._pieces != "auto":
            return build(self._pieces, True)
        self.budget.until = self._cut_until
        best = tuned(self.problem, lambda pieces: build(pieces, False), until=self.budget.until)
        hops_per_piece = best.num_hops / best.notes["pieces"]
        misses = 0
        for pieces in LADDER[max(LADDER.index(best.notes["pieces"]), 1) :]:
            if misses == PATIENCE or hops_per_piece * pieces > MAX_HOPS or not self.budget.allows(0.5):
                break
            faster = fastest(self.problem, [best, build(pieces, True)])
            best, misses = faster, misses + 1 if faster is best else 0
        return best

    def _challenged(self, result: Schedule, cheap: list[tuple[str, Schedule]]) -> tuple[Schedule, str]:
        """Return the schedule, or that of others where they may help and theirs is faster, and whose it is."""
        winner = ""
        others = tuned_by_others(self.problem, self._pieces, self.budget) if self.warm else ()
        for name, schedule in itertools.chain(cheap, others):
            if fastest(self.problem, [result, schedule]) is schedule:
                result, winner = schedule, name
        return result, winner

    def _outcome(self, collective: Collective, topology: Topology, budget: Budget, backwards: bool) -> Outcome:
        """Return the outcome of a collective that copies."""
        problem = replace(self.problem, topology=topology, collective=collective)
        if self.sketch is None:
            demand = demand_of(collective, problem.size)
            networks = derived_networks(topology, demand, problem.model, budget.last)
        else:
            chunkup = self.sketch.hyperparameters.input_chunkup
            places = collective.num_chunks * topology.num_npus
            if chunkup * places > _MOST_PLACES:
                raise OptionError(f"sketch, hyperparameters, input_chunkup: {chunkup} makes {chunkup * places} pairs "
                                  f"of chunk and NPU; expected {_MOST_PLACES // places} at most here")  # fmt: skip
            demand = demand_of(collective if chunkup == 1 else collective.refined(chunkup), problem.size)
            networks = [sketched_network(topology, self.sketch, max(demand.nbytes, default=0), backwards)]
        most = max(demand.nbytes, default=0)
        drawn = []
        for network in networks:
            costs = Costs(network.wires, problem.model, network.extra_ports)
            checked_symmetries(network, costs, most)
            drawn.append((network, costs if self.profile is None else _profiled(costs, self.profile, network, most)))
        slacks: tuple[int, ...] = _SLACKS if self.sketch is None else (0,)
        if self.options.slack != "auto":
            slacks = (self.options.slack,)
        outcome = run_stages(problem, drawn, demand, self.options.solver, budget, self.warm, slacks)
        if self.profile is not None:
            outcome.costs = Costs(outcome.network.wires, problem.model, outcome.network.extra_ports)
            outcome.plans = {
                name: timed(plan.units, outcome.network.wires, demand, outcome.costs)
                for name, plan in outcome.plans.items()
            }
        return outcome

    def _joined(self, scattered: Outcome, gathered: Outcome, pieces: int, anew: bool) -> Schedule:
        """Return ReduceScatter then AllGather: one after the other as planned, or overlapping, whichever is faster."""
        first, then = self._reversed(scattered, pieces, anew), self._forward(gathered, pieces, anew)
        notes: dict[str, Any] = {"pieces": pieces, "origin": [*first.notes["origin"], *then.notes["origin"]]}
        joined = first.then(then).with_notes(**notes)
        if "fifo" in (first.order, then.order) or joined.num_hops > _RELIST_HOPS:
            return joined
        from simulator import relist  # needs numba from its first line

        if "planned_us" in first.notes and "planned_us" in then.notes:
            notes["planned_us"] = first.notes["planned_us"] + then.notes["planned_us"]
        ordered = joined.replaced(order="program", notes=notes)
        overlapped = relist(joined, self.problem.size, self.problem.model).with_notes(**notes)
        return fastest(self.problem, [ordered, overlapped])

    def _forward(self, outcome: Outcome, pieces: int, anew: bool) -> Schedule:
        """Return the schedule of an outcome, its plans cut into pieces; `anew`: or one of the pieces themselves.

        Of the plans of all origins that is taken which simulates fastest: where wires share ports, that is sooner than
        planned for some.
        """
        wires, demand, costs = outcome.network.wires, outcome.demand, outcome.costs
        if pieces > 1:
            cut = [
                in_pieces(plan, wires, demand, pieces, {"pieces": pieces, "origin": [origin]})
                for origin, plan in outcome.plans.items()
            ]
            small = finer(outcome, pieces, self.budget, self.warm) if anew else None
            if small is not None:
                notes = {"planned_us": small.plan.time_ps / 1e6, "pieces": pieces, "origin": [small.origin]}
                cut.append(schedule_of(small.plan, wires, small.demand, costs, notes))
            return _as_program(outcome.problem, fastest(outcome.problem, cut))
        planned = sorted(outcome.plans, key=lambda origin: (outcome.plans[origin].time_ps, origin != outcome.origin))
        whole = []
        for origin in planned if self.budget.allows(_COMPARING_S) else planned[:1]:
            plan = outcome.plans[origin]
            notes = {"planned_us": plan.time_ps / 1e6, "pieces": 1, "origin": [origin]}
            whole.append(schedule_of(plan, wires, demand, costs, notes))
        return fastest(outcome.problem, whole) if len(whole) > 1 else whole[0]

    def _reversed(self, outcome: Outcome, pieces: int, anew: bool) -> Schedule:
        """Return the schedule of an outcome played backwards, as long as it was."""
        forward = self._forward(outcome, pieces, anew)
        return forward.reverse().with_notes(**forward.notes)


def _as_program(problem: Problem, schedule: Schedule) -> Schedule:
    """Return what goes as soon as it is ready as a program: only that takes no longer played backwards."""
    if schedule.order != "fifo" or schedule.num_hops > _RELIST_HOPS:
        return schedule
    from simulator import relist  # needs numba from its first line

    return relist(schedule, problem.size, problem.model)


def _profiled(exact: Costs, profile: Profile, network: Network, chunk_bytes: int) -> Costs:
    """Return costs as a profile gives them for a chunk."""
    given = profile_costs(profile, network.wires, network.box)
    return replace(exact, given=given, unit=max(chunk_bytes, 1), _known={})
