"""Independent pieces of work on several processes: results as they are finished, and a process that dies costs one."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from typing import Any, TypeVar

import psutil

from experiments.isolation import EndedError, settle

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def outcomes(
    perform: Callable[[_Task], _Result], tasks: Sequence[_Task], jobs: int
) -> Generator[tuple[int, _Result | EndedError]]:
    """Yield (position, result) of each task when it is finished, in any order; all ends when the reader ends.

    Functions, tasks and results are pickled; the processes are started anew, not forked, and deaf to Ctrl-C, which is
    for the one that reads.

    Parameters
    ----------
    perform : callable
        A public function of a module, or a `functools.partial` of one. What it raises is raised here.
    tasks : sequence
    jobs : int
        Processes.

    Yields
    ------
    (int, result or EndedError)
        The error, where the process of the task died.
    """
    from pebble import ProcessExpired, ProcessPool

    others = set(psutil.Process().children())
    pool = ProcessPool(min(jobs, max(len(tasks), 1)), initializer=settle, context=multiprocessing.get_context("spawn"))
    # The threads of the pool, and the processes that they start, begin with what is blocked here.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        waiting: dict[Any, int] = {pool.schedule(perform, (task,)): at for at, task in enumerate(tasks)}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        for future in as_completed(waiting):
            try:
                found = future.result()
            except ProcessExpired as error:
                found = EndedError(f"its process ended by itself (exit code {error.exitcode})")
            yield waiting[future], found
    finally:
        solvers = _started_by(set(psutil.Process().children()) - others)
        pool.stop()
        pool.join()
        for process in solvers:  # a task that was ended could not end what it had started
            with suppress(psutil.Error):
                process.kill()


def _started_by(processes: set[psutil.Process]) -> list[psutil.Process]:
    """Return what some processes have started, and so on."""
    found: list[psutil.Process] = []
    for process in processes:
        with suppress(psutil.Error):
            found += process.children(recursive=True)
    return found
