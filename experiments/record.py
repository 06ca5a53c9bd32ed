"""A record: one row of every table. All that a run was, what came out, and how far from the bound."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import version

import msgspec

#: How the reason of a record begins whose time is below a provable bound: one of the two is wrong.
DEFECT = "DEFECT"


class Record(msgspec.Struct, kw_only=True):
    """One synthesizer on one problem.

    Attributes
    ----------
    topology, collective, size : str, str, int
        The problem: short name, collective, bytes.
    num_npus, ranks, chunks, groups : int
        NPUs of the network, ranks of a group, chunks per shard asked for, groups at once.
    latency, switching : str
        The link model.
    synthesizer, version, options, seed
        Who made the schedule, and how.
    status : str
        ``ok``, ``unsupported``, ``failed`` (the synthesizer raised), ``invalid`` (the verifier refused its schedule),
        ``out of memory``, and where a run has limits ``timeout``.
    reason : str
        Why, where the status is not ``ok``; or what is wrong with a figure.
    verified : bool
        Whether the verifier accepted the schedule; nothing else is ever timed.
    time_us, planned_us : float or None
        Simulated time; the synthesizer's own plan, if it had one.
    bound_us, bound_by : float or None, str
        What no schedule can beat, and what binds.
    quantised_bound_us, rsag_bound_us : float or None
        Bounds of schedules with equal chunks, and of ReduceScatter then AllGather.
    efficiency : float or None
        bound_us / time_us.
    algbw_gbps, busbw_gbps : float or None
        As nccl-tests reports them.
    transfers, max_utilisation, mean_utilisation
        Hops, and the share of the time that links are busy.
    synthesis_s, verify_s, simulate_s, peak_memory_mb
        What it cost here; peak memory is the process's so far.
    channels, threadblocks, steps, scratch : int or None
        What the schedule asks of MSCCL's runtime: channels, threadblocks of a GPU, steps of a threadblock, chunks of
        scratch; None where it was not counted (large schedules, or what MSCCL cannot express).
    over_limits : str
        What of it is past the runtime's limits.
    stages : list of dict
        Of a synthesizer that solves in stages, for each: its solver, what that said (optimal, feasible, no solution in
        time, infeasible), gap, seconds, variables, constraints.
    versions, machine : str
    """

    topology: str
    collective: str
    size: int
    num_npus: int
    ranks: int
    chunks: int
    groups: int
    latency: str
    switching: str
    synthesizer: str
    version: str = ""
    options: dict[str, object] = {}
    seed: int = 0
    status: str = "ok"
    reason: str = ""
    verified: bool = False
    time_us: float | None = None
    planned_us: float | None = None
    bound_us: float | None = None
    bound_by: str = ""
    quantised_bound_us: float | None = None
    rsag_bound_us: float | None = None
    efficiency: float | None = None
    algbw_gbps: float | None = None
    busbw_gbps: float | None = None
    transfers: int | None = None
    max_utilisation: float | None = None
    mean_utilisation: float | None = None
    synthesis_s: float | None = None
    verify_s: float | None = None
    simulate_s: float | None = None
    peak_memory_mb: float | None = None
    channels: int | None = None
    threadblocks: int | None = None
    steps: int | None = None
    scratch: int | None = None
    over_limits: str = ""
    stages: list[dict[str, object]] = []
    versions: str = ""
    machine: str = ""


def made_for(record: Record) -> dict[str, object]:
    """Return the notes of a schedule that say what it was made for, so that it can be simulated without being told."""
    names = ("size", "latency", "switching", "synthesizer", "version", "options", "seed")
    return {name: getattr(record, name) for name in names}


@cache
def versions() -> str:
    """Return the versions that a result depends on."""
    parts = [f"python {platform.python_version()}"]
    parts += [f"{name} {version(name)}" for name in ("collbench", "numpy", "numba")]
    return ", ".join(parts)


@cache
def machine() -> str:
    """Return the kind of machine: system, architecture, cores."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def peak_memory_mb() -> float:
    """Return the largest memory that this process has had so far, in MB."""
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)
