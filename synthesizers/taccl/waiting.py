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
    done = threading.Event()

    def run() -> None:
        try:
            results.append(solve())
        except BaseException as error:  # handed on to the caller below
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        # Not by join(): a thread whose join() is interrupted is taken for ended (bpo-45274).
        while not done.wait(_LOOK):
            pass
    except BaseException:
        stop()
        done.wait()
        raise
    finally:
        if done.is_set():
            thread.join()
    if errors:
        raise errors[0]
    return results[0]
