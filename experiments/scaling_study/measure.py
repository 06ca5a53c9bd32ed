"""One row of the scaling study: a schedule made warm, verified and simulated, with the time and memory of each."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from experiments.record import machine
from experiments.scaling_study.settings import Setting
from topologies.exceptions import CollbenchError
from topologies.memory import MemoryShortage

#: What a row says of a run; None where it did not come to that.
FIGURES = ("num_npus", "num_links", "transfers", "synthesis_s", "synthesis_cpu_s", "rounds", "verify_s", "simulate_s",
           "time_us", "schedule_bytes", "peak_bytes", "bytes_per_transfer")  # fmt: skip

#: Synthesis is repeated until this many seconds have passed, at most `_ROUNDS` times; the fastest round counts.
_REPEAT_S, _ROUNDS = 2.0, 5

#: What took longer was not spent on compiling a kernel, and is not done twice.
_COMPILING_S = 5.0

_Value = TypeVar("_Value")


def attempt(setting: Setting) -> dict[str, Any]:
    """Return the row of a setting; one that fails says why, and keeps what it had come to.

    Meant for a process of its own, whose memory then is that of the run: `peak_bytes` is the most that the process had
    in memory, `bytes_per_transfer` that above what it had before the run.
    """
    row: dict[str, Any] = {**msgspec.structs.asdict(setting), **dict.fromkeys(FIGURES), "status": "ok", "reason": "",
                           "machine": machine()}  # fmt: skip
    try:
        _measure(setting, row)
    except MemoryShortage as error:
        row |= {"status": "memory", "reason": str(error)}
    except CollbenchError as error:
        row |= {"status": "failed", "reason": str(error)}
    return row


def failed(setting: Setting, reason: str) -> dict[str, Any]:
    """Return the row of a setting whose process ended."""
    return {**msgspec.structs.asdict(setting), **dict.fromkeys(FIGURES), "status": "failed", "reason": reason,
            "machine": machine()}  # fmt: skip


def _measure(setting: Setting, row: dict[str, Any]) -> None:
    """Fill a row."""
    from schedules import collective, verify
    from simulator import simulate_us
    from synthesizers import Problem, parse_options
    from synthesizers.tacos import Tacos
    from topologies import mesh, parse_topology

    synthesizer = Tacos()
    synthesizer.warm_up()
    small = Problem(mesh([12, 12]), collective(setting.collective, 144), 144)
    warm = synthesizer.synthesize(small, parse_options(synthesizer, {}))
    verify(warm, "random")
    simulate_us(warm, 144)
    topology = parse_topology(setting.topology)
    row |= {"num_npus": topology.num_npus, "num_links": topology.num_links}
    size = setting.bytes_per_npu * topology.num_npus
    problem = Problem(topology, collective(setting.collective, topology.num_npus), size)
    options = parse_options(synthesizer, {})
    before = _peak_bytes()
    spent: list[tuple[float, float]] = []
    while not spent or (len(spent) < _ROUNDS and sum(wall for wall, _ in spent) < _REPEAT_S):
        schedule = None  # never two at a time
        schedule, *times = _timed(lambda: synthesizer.synthesize(problem, options))
        spent.append((times[0], times[1]))
    assert schedule is not None  # at least one round
    wall, cpu = min(spent)
    row |= {"transfers": schedule.num_hops, "synthesis_s": wall, "synthesis_cpu_s": cpu, "rounds": len(spent),
            "schedule_bytes": schedule.nbytes}  # fmt: skip
    row["verify_s"] = _fastest(lambda: verify(schedule, "random"))
    row |= {"peak_bytes": (peak := _peak_bytes()), "bytes_per_transfer": (peak - before) / max(schedule.num_hops, 1)}
    row["simulate_s"] = _fastest(lambda: row.update(time_us=simulate_us(schedule, size)))
    row["peak_bytes"] = _peak_bytes()


def _timed(work: Callable[[], _Value]) -> tuple[_Value, float, float]:
    """Return what a function returns, and the seconds and CPU seconds that it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return value, time.perf_counter() - wall, time.process_time() - cpu


def _fastest(work: Callable[[], object]) -> float:
    """Return the least seconds that a function takes: of a first round that may compile, and more if they are short."""
    spent: list[float] = []
    while len(spent) < 2 or (len(spent) < _ROUNDS and sum(spent) < _REPEAT_S):
        spent.append(_timed(work)[1])
        if spent[0] > _COMPILING_S:
            break
    return min(spent)


def _peak_bytes() -> int:
    """Return the most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
