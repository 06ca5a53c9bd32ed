"""A time limit on importing somebody's plugin, so that one that never comes back does not hold up every command.

An alarm interrupts the import from within: it needs no process, and ends whatever Python code does. It cannot end a
loop inside compiled code, and does not exist on Windows.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Names the environment variable with the limit in seconds, and what holds without it.
VARIABLE, DEFAULT_S = "COLLBENCH_IMPORT_LIMIT", 20.0


class ImportLimit(BaseException):
    """An import that took too long; no ``except Exception`` of the plugin holds it up."""


def seconds() -> float:
    """Return the limit in force; what is no positive number counts as not set."""
    try:
        given = float(os.environ.get(VARIABLE, ""))
    except ValueError:
        return DEFAULT_S
    return given if 0 < given < 1e6 else DEFAULT_S


@contextmanager
def import_limit() -> Iterator[None]:
    """Raise `ImportLimit` in the body once the limit is over; without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    limit = seconds()

    def stop(*_: object) -> None:
        """End the import."""
        raise ImportLimit(
            f"its import took over {limit:g} s; import heavy libraries inside synthesize(), or raise {VARIABLE}"
        )

    handler = signal.signal(signal.SIGALRM, stop)
    # Again every second: the plugin may catch the first.
    timer = signal.setitimer(signal.ITIMER_REAL, limit, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)
