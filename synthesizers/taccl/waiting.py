"""Compiled solvers run in a thread beside the caller, so that Ctrl-C gets through to him and stops them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

#: Seconds between looks whether somebody wants to stop.
_LOOK = 0.05


def wait_for(solve: Callable[[], _T], stop: Callable[[], object]) -> _T:
    """Return what `solve` returns; whatever is raised here while waiting stops it first.

    Raises
    ------
    KeyboardInterrupt
        And whatever else a signal raises, or `solve` itself.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(solve())
        except BaseException as error:  # handed on to the caller below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK)
    except BaseException:
        stop()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
