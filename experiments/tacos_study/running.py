"""Running the comparison: every run becomes a row, in this process or on several, as rows come.

A row is a `Record` as a dictionary, with the network's label, the paper's ideal and the share of it that was reached.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import active_children, get_context
from typing import Any

import msgspec

from experiments.evaluate import blank, evaluate
from experiments.tacos_study.grid import Run
from experiments.tacos_study.ideal import ideal_us
from schedules import Schedule, collective
from synthesizers import Problem, Synthesizer, find
from topologies import Topology, parse_topology
from topologies.exceptions import CollbenchError

Row = dict[str, Any]

#: Options that every synthesizer with them gets: the shared ladder, and as many rings as help.
_TUNED = {"pieces": "auto", "rings": "auto"}


def tuning(synthesizer: Synthesizer) -> dict[str, str]:
    """Return the options of the study for a synthesizer: everything that can be tuned is, by simulation."""
    known = {field.name for field in msgspec.structs.fields(synthesizer.Options)}
    return {name: value for name, value in _TUNED.items() if name in known}


@lru_cache(maxsize=64)
def _network(name: str) -> Topology:
    """Return a topology; kept, because many runs share it and bounds are cached by it."""
    return parse_topology(name)


def attempt(run: Run) -> tuple[Row, Schedule | None]:
    """Return the row of a run, whatever happened, and its schedule where it was right."""
    topology = _network(run.network.name)
    problem = Problem(topology, collective(run.kind, topology.num_npus), run.size)
    schedule = None
    try:
        synthesizer = find(run.algorithm)
        record, schedule = evaluate(problem, synthesizer, tuning(synthesizer))
    except Exception as error:  # a plugin that cannot be loaded, a defect of the bench: the others go on
        record = blank(problem, run.algorithm)
        kind = "" if isinstance(error, CollbenchError) else f"{type(error).__name__}: "
        record.status, record.reason = "failed", " ".join(f"{kind}{error}".split())
    row = {"network": run.network.label} | msgspec.to_builtins(record)
    row["ideal_us"] = ideal_us(topology, run.kind, run.size)
    row["share_of_ideal"] = row["ideal_us"] / record.time_us if record.time_us else None
    return row, schedule


def row_of(run: Run) -> Row:
    """Return the row of a run."""
    return attempt(run)[0]


def rows_of(runs: Sequence[Run], jobs: int, perform: Callable[[Run], Row] = row_of) -> Iterator[Row]:
    """Yield the row of each run as it is finished: in order with one job, in any order with several.

    Parameters
    ----------
    runs : sequence of Run
    jobs : int
        Processes; 1: this one.
    perform : callable
        Makes the row of a run.
    """
    if jobs == 1:
        yield from map(perform, runs)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        with _no_interrupts():
            waiting = [pool.submit(perform, run) for run in runs]
        for finished in as_completed(waiting):
            yield finished.result()
    except BaseException:
        # What the workers are at is lost anyway: do not wait for it.
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            worker.terminate()
        raise
    pool.shutdown()


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C inside the ``with`` block, and for good in processes started there: it is for this one alone."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
