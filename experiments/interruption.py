"""Ctrl-C and termination, so that neither is ever taken for a failure.

Compiled code can turn a `KeyboardInterrupt` into a `SystemError`, or swallow it in a callback. So the program notes the
signal itself, and whoever is about to turn an exception into a row, or to write a file, asks first.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType


class Terminated(BaseException):
    """The program was told to end (SIGTERM); raised so that temporary files are removed on the way out."""


#: What each signal is raised as.
KINDS: dict[int, type[BaseException]] = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}

#: What was raised for the last signal; kept, because compiled code may have swallowed it.
_raised: list[type[BaseException]] = []


def watch() -> None:
    """Note Ctrl-C and SIGTERM as well as raising them; only the main thread of a program may call this."""
    _raised.clear()

    def handler(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature of a handler
        _raised.append(KINDS[number])
        raise KINDS[number]

    sys.unraisablehook = _unraisable
    for number in KINDS:
        signal.signal(number, handler)


def _unraisable(fault: sys.UnraisableHookArgs) -> None:
    """Say what Python says of an error in a callback or `__del__`, but nothing of a signal or after one.

    The signal is noted, and whoever asks hears. What follows is of no use: the program ends, and an object whose
    constructor a signal has cut short may complain as it is thrown away.
    """
    if not _raised and not isinstance(fault.exc_value, KeyboardInterrupt | Terminated):
        sys.__unraisablehook__(fault)


def signalled(error: BaseException | None = None) -> type[BaseException] | None:
    """Return `KeyboardInterrupt` or `Terminated` if such a signal came, or if `error` came of one; else None."""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt | Terminated):
            return type(error)
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return _raised[-1] if _raised else None


def raise_if_interrupted(error: BaseException | None = None) -> None:
    """Raise what `signalled` returns, if anything.

    Raises
    ------
    KeyboardInterrupt, Terminated
    """
    kind = signalled(error)
    if kind is not None:
        raise kind from None


def ending(kind: type[BaseException]) -> tuple[str, int]:
    """Return the word for an end by `KeyboardInterrupt` or `Terminated`, and the exit status."""
    return ("told to end", 143) if kind is Terminated else ("interrupted", 130)
