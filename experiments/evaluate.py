"""One run: a synthesizer on a problem, its schedule verified, simulated and put beside the bound.

Everything that can go wrong in a synthesizer becomes a row with its reason. Only a verified schedule is timed, and an
efficiency above 1 is said aloud: it means that a bound, the simulator or the verifier is wrong.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import msgspec

from experiments.deployability import deployability
from experiments.interruption import raise_if_interrupted
from experiments.record import DEFECT, Record, machine, peak_memory_mb, versions
from schedules import Collective, Schedule, collective, verify
from schedules.reversal import pruned
from simulator import LinkModel, algbw_gbps, bound, busbw_gbps, quantised_bound_us, rsag_bound_us, simulate_ps, timeline
from simulator.bounds import Bound
from synthesizers import Problem, Synthesizer, parse_options
from synthesizers.base import mismatch, refusal
from synthesizers.direct import Direct
from synthesizers.halving_doubling import HalvingDoubling
from topologies import Topology, mesh, switch
from topologies.exceptions import CollbenchError, VerificationError
from topologies.memory import MemoryShortage

#: Above this many hops link utilisation is not worked out: it needs a start and an end per hop.
_TIMELINE_HOPS = 2**23


def blank(problem: Problem, name: str) -> Record:
    """Return the record of a problem before anybody has tried it."""
    work = problem.collective
    sizes = [len(group) for group in work.groups] or [len(work.members)]
    return Record(
        topology=problem.topology.name,
        collective=work.kind,
        size=problem.size,
        num_npus=problem.topology.num_npus,
        ranks=max(sizes),
        chunks=work.chunks,
        groups=max(len(work.groups), 1),
        latency=problem.model.latency,
        switching=problem.model.switching,
        synthesizer=name,
        seed=problem.seed,
        versions=versions(),
        machine=machine(),
    )


def evaluate(
    problem: Problem, synthesizer: Synthesizer, options: Mapping[str, Any] | None = None
) -> tuple[Record, Schedule | None]:
    """Return the record of a run, and its schedule where it was right.

    Parameters
    ----------
    problem : Problem
    synthesizer : Synthesizer
    options : mapping, optional
        Names and values, as a user gives them.

    Raises
    ------
    OptionError
        The user's mistake: an option that does not exist, or a wrong value.
    """
    record = blank(problem, synthesizer.name)
    parsed = parse_options(synthesizer, options or {})
    record.version = synthesizer.version
    record.options = msgspec.to_builtins(parsed)
    record.bound_us, record.bound_by = (found := _bound(problem)).time_us, found.binding
    try:
        reason = refusal(synthesizer, problem)
        if reason is not None:
            record.status, record.reason = _refused(reason)
            return record, None
        compile_bench()
        synthesizer.warm_up()
        begin = time.perf_counter()
        schedule = synthesizer.synthesize(problem, parsed)
        record.synthesis_s = time.perf_counter() - begin
        raise_if_interrupted()
    except MemoryShortage as error:
        record.status, record.reason = "out of memory", str(error)
        return record, None
    except MemoryError:
        record.status, record.reason = "out of memory", "the synthesizer asked for more memory than there is"
        return record, None
    except VerificationError as error:  # the file that it was read from is wrong
        record.status, record.reason = "invalid", one_line(error)
        return record, None
    except Exception as error:  # a synthesizer may be anybody's
        raise_if_interrupted(error)
        record.status, record.reason = "failed", one_line(error)
        return record, None
    fault = mismatch(problem, schedule)
    if fault:
        record.status, record.reason = "invalid", fault
        return record, None
    try:
        scored = score(record, problem, schedule)
        raise_if_interrupted()
        return scored
    except Exception as error:  # ours to mend, but one run must not end the others
        raise_if_interrupted(error)
        record.status, record.reason = "failed", f"it could not be scored: {one_line(error)}"
        record.time_us = record.efficiency = record.algbw_gbps = record.busbw_gbps = None
        return record, None


def _refused(reason: object) -> tuple[str, str]:
    """Return status and reason of what ``supports`` has refused; one that gives no reason is at fault."""
    if isinstance(reason, str) and reason.strip():
        return "unsupported", reason
    return "failed", f"its supports() returned {reason!r:.40}; expected None, or the reason why not"


@cache
def compile_bench() -> None:
    """Compile the verifier, the simulator and the reversal, outside all timing.

    They see plain hops, routes, steps, messages and both orders.
    """
    for topology in (mesh([2, 3]), switch(4)):
        problem = Problem(topology, collective("all_reduce", topology.num_npus), 2**16)
        built_in: tuple[Synthesizer, ...] = (Direct(), HalvingDoubling())
        for synthesizer in built_in:
            schedule = synthesizer.synthesize(problem, parse_options(synthesizer, {}))
            for each in (schedule, schedule.replaced(order="program", step=None, message=None)):
                verify(each, "random")
                timeline(each, problem.size, problem.model).utilisation()
                simulate_ps(each, problem.size, problem.model)
        gathering = Problem(topology, collective("all_gather", topology.num_npus), 2**16)
        pruned(Direct().synthesize(gathering, Direct.Options()))


def one_line(error: BaseException) -> str:
    """Return what went wrong in one line; the class of the error too, where it is not one of ours."""
    kind = "" if isinstance(error, CollbenchError) else f"{type(error).__name__}: "
    return re.sub(r"\s+", " ", f"{kind}{error}").strip(": ")


def score(record: Record, problem: Problem, schedule: Schedule) -> tuple[Record, Schedule | None]:
    """Fill in what verifier, simulator and bounds say of a schedule; a wrong one is never timed."""
    begin = time.perf_counter()
    try:
        verify(schedule)
    except VerificationError as error:
        record.status, record.reason = "invalid", str(error)
        return record, None
    record.verified = True
    record.verify_s = time.perf_counter() - begin
    begin = time.perf_counter()
    time_us = simulate_ps(schedule, problem.size, problem.model) / 1e6
    record.simulate_s = time.perf_counter() - begin
    record.time_us = time_us
    planned = schedule.notes.get("planned_us")
    record.planned_us = float(planned) if isinstance(planned, int | float) else None
    record.stages = _stages(schedule)
    record.transfers = schedule.num_hops
    if (needs := deployability(schedule)) is not None:
        for name in ("channels", "threadblocks", "steps", "scratch"):
            setattr(record, name, getattr(needs, name))
        record.over_limits = needs.over
    record.algbw_gbps = algbw_gbps(problem.size, time_us)
    record.busbw_gbps = busbw_gbps(problem.collective, problem.size, time_us)
    if record.bound_us is None:
        record.bound_us, record.bound_by = (found := _bound(problem)).time_us, found.binding
    record.quantised_bound_us = _equal_chunk_bound(problem, schedule)
    record.rsag_bound_us = _cached_rsag_bound(problem.topology, problem.collective, problem.size, problem.model)
    record.efficiency, record.reason = efficiency(time_us, record.bound_us, record.bound_by)
    if schedule.num_hops <= _TIMELINE_HOPS and schedule.topology.num_links:
        share = timeline(schedule, problem.size, problem.model).utilisation()
        record.max_utilisation, record.mean_utilisation = float(share.max()), float(share.mean())
    record.peak_memory_mb = peak_memory_mb()
    return record, schedule


def efficiency(time_us: float, bound_us: float, bound_by: str) -> tuple[float, str]:
    """Return bound / time, and what is to be said of it: nothing, or that a time below the bound is a defect."""
    share = bound_us / time_us if time_us > 0 else 1.0
    if share <= 1 + 1e-9:
        return share, ""
    return share, (
        f"{DEFECT}: {time_us:g} us is below the provable bound of {bound_us:g} us ({bound_by}); please report this "
        "problem, a bound or the simulator is wrong"
    )


def _stages(schedule: Schedule) -> list[dict[str, object]]:
    """Return what a schedule notes of its stages, with the seconds that were measured; anybody may have made it."""
    stages, seconds = schedule.notes.get("stages"), schedule.measured.get("stages_s")
    if not isinstance(stages, list | tuple) or not all(isinstance(stage, dict) for stage in stages):
        return []
    if not isinstance(seconds, list | tuple) or len(seconds) != len(stages):
        return list(stages)
    return [{**stage, "seconds": took} for stage, took in zip(stages, seconds, strict=True)]


def _equal_chunk_bound(problem: Problem, schedule: Schedule) -> float | None:
    """Return the quantised bound for a schedule's own chunks; None where they differ in weight or travel together."""
    if schedule.collective.weights is not None or schedule.message is not None:
        return None
    return _cached_quantised_bound(schedule.topology, schedule.collective, problem.size, problem.model)


def _bound(problem: Problem) -> Bound:
    """Return the bound of a problem; cached, as every synthesizer on it shares it."""
    return _cached_bound(problem.topology, problem.collective, problem.size, problem.model)


@lru_cache(maxsize=256)
def _cached_quantised_bound(topology: Topology, work: Collective, size: int, model: LinkModel) -> float | None:
    """Return the bound of equal chunks; other seeds and repeats share it."""
    return quantised_bound_us(topology, work, size, model)


@lru_cache(maxsize=256)
def _cached_rsag_bound(topology: Topology, work: Collective, size: int, model: LinkModel) -> float | None:
    """Return the bound of ReduceScatter then AllGather; every synthesizer on a problem shares it."""
    return rsag_bound_us(topology, work, size, model)


@lru_cache(maxsize=256)
def _cached_bound(topology: Topology, work: Collective, size: int, model: LinkModel) -> Bound:
    """Return the bound; topologies and collectives hash by what they are."""
    return bound(topology, work, size, model)
