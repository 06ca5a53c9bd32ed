"""A process of its own for other people's code, in which one call after another runs, each with a time limit.

A call that loops for ever is ended with its process, a crash takes that process only, and the next call gets a fresh
one. What the code prints goes to standard error.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class EndedError(Exception):
    """A call that gave no result: it was ended, or its process went away."""


class OverdueError(EndedError):
    """A call that was ended because its time was over."""


class Isolation:
    """Runs functions in a process beside this one; a context manager.

    Functions, arguments and results are pickled. The process is started anew, not forked: threads and solvers that
    this process has used cannot disturb it.
    """

    def __init__(self) -> None:
        from pebble import ProcessPool

        self._pool = ProcessPool(1, initializer=settle, context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Isolation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.stop()
        self._pool.join()

    def call(self, limit_s: float, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return what the function returns.

        Parameters
        ----------
        limit_s : float
            Seconds that it may take; starting the process does not count.
        function : callable
            A public function of a module. It should catch what it expects: other errors are raised here.

        Raises
        ------
        OverdueError
            It took longer.
        EndedError
            Its process ended: a crash of compiled code, too much memory, or an exit.
        """
        from pebble import ProcessExpired

        future = self._pool.schedule(function, arguments, timeout=limit_s)
        try:
            return future.result()
        except TimeoutError:
            raise OverdueError(f"ended after {limit_s:g} s without a result") from None
        except ProcessExpired as error:
            raise EndedError(f"its process ended by itself (exit code {error.exitcode})") from None


def settle() -> None:
    """Send standard output to standard error, and end this process when the one that started it has gone."""
    with suppress(OSError):  # standard error is closed
        os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one; a loop in a plugin would otherwise outlive it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
