"""The conformance suite over one synthesizer, in a process of its own: no case can hang or crash the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from experiments.isolation import EndedError, Isolation
from synthesizers.conformance import Case, ConformanceError, cases, check, check_description
from synthesizers.registry import load

#: Cases that may end with their process before the rest is left out: each costs the whole limit, or a new process.
ENDED_CASES = 3


@dataclass
class Verdict:
    """What the suite found.

    Attributes
    ----------
    name : str
        The synthesizer.
    cases : int
        Cases of the suite.
    supported : int
        Cases solved as the contract says.
    refused : Counter
        How often each reason for refusing was given.
    failed : list of (str, str)
        Name of each failing case, and what is wrong.
    left_out : int
        Cases not tried, after `ENDED_CASES` that ran into the limit or crashed.
    """

    name: str
    cases: int = 0
    supported: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)
    left_out: int = 0

    @property
    def conforms(self) -> bool:
        """Whether nothing failed and something was solved; one that refuses everything has shown nothing."""
        return not self.failed and self.supported > 0


def run_suite(name: str, limit_s: float, tell: Callable[[int, int, str], None]) -> Verdict:
    """Return the verdict on a synthesizer.

    Parameters
    ----------
    name : str
        As its entry point calls it.
    limit_s : float
        Seconds that each case may take.
    tell : callable
        Called with the number of cases done, of cases in all, and the case that is next.
    """
    suite = list(cases())
    verdict = Verdict(name, len(suite))
    with Isolation() as isolation:
        tell(0, len(suite), "importing and warming up")
        if fault := _fault(isolation, name, limit_s):
            verdict.failed.append(("description", fault))
            verdict.left_out = len(suite)
            return verdict
        ended = 0
        for done, case in enumerate(suite):
            tell(done, len(suite), case.name)
            try:
                outcome, text = isolation.call(limit_s, tried, name, case)
            except EndedError as error:
                outcome, text = "failed", str(error)
                ended += 1
            if outcome == "refused":
                verdict.refused[text] += 1
            elif outcome == "failed":
                verdict.failed.append((case.name, text))
            else:
                verdict.supported += 1
            if ended == ENDED_CASES:
                verdict.left_out = len(suite) - done - 1
                break
    return verdict


def tried(name: str, case: Case) -> tuple[str, str]:
    """Return how a synthesizer does on a case: ``supported``, ``refused`` or ``failed``, and why."""
    synthesizer = load(name).synthesizer
    if synthesizer is None:
        return "failed", "it can no longer be imported"
    try:
        reason = check(synthesizer, case)
    except ConformanceError as error:
        return "failed", _one_line(str(error.__cause__ or error))
    except Exception as error:  # supports() may be anybody's
        return "failed", _one_line(f"{type(error).__name__}: {error}")
    return ("supported", "") if reason is None else ("refused", _one_line(reason))


def described(name: str) -> str:
    """Return what is wrong before any case is tried; empty if nothing is."""
    plugin = load(name)
    if plugin.synthesizer is None:
        return plugin.error or "it cannot be imported"
    try:
        check_description(plugin.synthesizer)
        plugin.synthesizer.warm_up()
    except ConformanceError as error:
        return _one_line(str(error))
    except Exception as error:  # warm_up() may be anybody's
        return _one_line(f"warm_up() failed: {type(error).__name__}: {error}")
    return ""


def _fault(isolation: Isolation, name: str, limit_s: float) -> str:
    """Return what `described` finds, or that it never comes back."""
    try:
        return isolation.call(limit_s, described, name)
    except EndedError as error:
        return f"importing and warming up: {error}"


def _one_line(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())
