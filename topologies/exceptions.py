"""The exception tree of collbench; every member also subclasses the builtin that fits it."""

from __future__ import annotations


class CollbenchError(Exception):
    """Base of every error that collbench raises on purpose: one line that says what, expected, found, what to do."""


class UnitError(CollbenchError, ValueError):
    """A quantity without its unit, with a wrong unit, or out of range."""


class TopologyError(CollbenchError, ValueError):
    """A network that cannot be built, read or used as asked."""


class CollectiveError(CollbenchError, ValueError):
    """A collective whose ranks, root, groups or chunks do not fit together."""


class ScheduleError(CollbenchError, ValueError):
    """A schedule that is malformed, or an operation that does not apply to it."""


class VerificationError(ScheduleError):
    """A schedule that does not compute its collective.

    Attributes
    ----------
    hop : int or None
        Index of the first hop at fault in the schedule's list, if one is.
    """

    def __init__(self, message: str, hop: int | None = None) -> None:
        super().__init__(message)
        self.hop = hop


class FormatError(CollbenchError, ValueError):
    """A file that is truncated, foreign or of another version."""


class SynthesisError(CollbenchError, RuntimeError):
    """A synthesizer could not produce a schedule for a problem."""


class TopologyWarning(UserWarning):
    """What a reader left out of a file, or took from a table because the file does not say it; one line."""


class OptionError(CollbenchError, ValueError):
    """An unknown synthesizer, option or option value."""
