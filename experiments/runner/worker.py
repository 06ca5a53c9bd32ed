"""What happens in a worker process: one run after another, each a record whatever a synthesizer does.

A clock in shared memory tells the parent which process this is and since when it is synthesizing, so that a time limit
counts synthesis alone, not the compilation, verification and scoring around it.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from experiments.evaluate import blank, evaluate, one_line
from experiments.record import Record, made_for, peak_memory_mb
from experiments.runner.run import Run
from experiments.runner.store import KEPT_HOPS, SCHEDULE
from schedules import Schedule, save_schedule
from synthesizers import Problem, Synthesizer, find
from synthesizers.registry import load
from topologies import CollbenchError, TopologyWarning

#: What the clock holds: the worker's process id, and since when it is synthesizing (0: it is not).
PID, SINCE = 0, 1

#: How often a worker looks whether its parent is still there, in seconds.
_LOOK_EVERY_S = 1.0

_clock: Any = [0.0, 0.0]
_warm: set[str] = set()


def start(clock: Any) -> None:
    """Prepare this process: tell who it is, keep standard output free, end with the parent."""
    global _clock
    _clock = clock
    os.dup2(2, 1)  # what synthesizers and their solvers print is no answer
    # What readers of topology files leave out has been said where the runs come from.
    warnings.simplefilter("ignore", TopologyWarning)
    clock[SINCE] = 0.0
    clock[PID] = os.getpid()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def attempt(run: Run) -> dict[str, Any]:
    """Return the record of a run as plain values, whatever happened; with it the schedule's file, if it is to be kept.

    The file travels with the record, because the process may be on another machine than the folder of the results.
    """
    problem = run.problem()
    _forget_peak()
    schedule = None
    try:
        options = {name: run.places.get(value, value) if isinstance(value, str) else value
                   for name, value in run.options.items()}  # fmt: skip
        record, schedule = evaluate(problem, _Timed(find(run.synthesizer)), options)
    except BaseException as error:  # even SystemExit: the worker goes on
        record = failure(run, problem, "failed", one_line(error))
    record.peak_memory_mb = _peak_mb()
    if run.places:
        record.options, record.reason = _as_asked(record.options, run.places), _as_asked(record.reason, run.places)
        schedule = schedule and schedule.with_notes(**_as_asked(schedule.notes, run.places))
    found: dict[str, Any] = msgspec.to_builtins(record)
    if run.keep_schedule and schedule is not None and schedule.num_hops <= KEPT_HOPS:
        found[SCHEDULE] = _file_of(schedule.with_notes(**made_for(record)))
    return found


def _as_asked(value: Any, places: Mapping[str, str]) -> Any:
    """Return a value with the files in it named as in the run, not by where they are on this machine."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(place, name)
        return value
    if isinstance(value, Mapping):
        return {key: _as_asked(item, places) for key, item in value.items()}
    return [_as_asked(item, places) for item in value] if isinstance(value, list | tuple) else value


def _file_of(schedule: Schedule) -> bytes:
    """Return the content of a schedule's Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "schedule.parquet")
        save_schedule(schedule, path)
        return path.read_bytes()


def failure(run: Run, problem: Problem, status: str, reason: str) -> Record:
    """Return the record of a run that came to nothing."""
    record = blank(problem, run.synthesizer)
    record.options, record.status, record.reason = dict(run.options), status, reason
    with suppress(CollbenchError):
        # Not `find`, which imports all plugins: where no command has done so before, that might never end.
        if (synthesizer := load(run.synthesizer).synthesizer) is not None:  # a broken plugin has no version
            record.version = synthesizer.version
    return record


class _Timed(Synthesizer):
    """A synthesizer that sets the clock while it synthesizes."""

    def __init__(self, inner: Synthesizer) -> None:
        self.inner = inner
        # What is asked of the class is the inner one's; mypy would have these on the class.
        self.name, self.reference, self.version = inner.name, inner.reference, inner.version  # type: ignore[misc]
        self.Options = inner.Options  # type: ignore[misc]
        self.chooses_network = inner.chooses_network  # type: ignore[misc]

    def supports(self, problem: Problem) -> str | None:
        return self.inner.supports(problem)

    def warm_up(self) -> None:
        if self.inner.name not in _warm:  # once for a process, not for each run
            self.inner.warm_up()
            _warm.add(self.inner.name)

    def synthesize(self, problem: Problem, options: Any) -> Schedule:
        _clock[SINCE] = time.monotonic()
        try:
            return self.inner.synthesize(problem, options)
        finally:
            _clock[SINCE] = 0.0


def _end_with(parent: int) -> None:
    """End this process and those that it started when the parent is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(1)


def _forget_peak() -> None:
    """Let the peak of memory begin anew, where the system can (Linux)."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak_mb() -> float:
    """Return the peak of memory since it was forgotten, in MB; of the whole process, where it cannot be forgotten."""
    with suppress(OSError, StopIteration), open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) * 1024 / 1e6
    return peak_memory_mb()
