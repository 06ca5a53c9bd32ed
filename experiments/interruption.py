"""Ctrl-C and termination, so that neither is ever taken for a failure.

Compiled code can turn a `KeyboardInterrupt` into a `SystemError`, or swallow it in a callback. So the program notes the
signal itself, and whoever is about to turn an exception into a row, or to write a file, asks first.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_seen = threading.Event()


class Terminated(BaseException):
    """The program was told to end (SIGTERM); raised so that temporary files are removed on the way out."""


def watch() -> None:
    """Note Ctrl-C as well as raising it, and raise on SIGTERM; only the main thread of a program may call this."""
    _seen.clear()

    def interrupted(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature of a handler
        _seen.set()
        raise KeyboardInterrupt

    def terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise Terminated

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, terminated)


def raise_if_interrupted(error: BaseException | None = None) -> None:
    """Raise `KeyboardInterrupt` if Ctrl-C was pressed, or if `error` came of it.

    Raises
    ------
    KeyboardInterrupt
    """
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    if _seen.is_set():
        raise KeyboardInterrupt
