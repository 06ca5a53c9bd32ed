"""The best of all synthesizers within a budget: cheap ones first, each schedule verified and simulated, a league kept.

Every built-in synthesizer that takes the problem is tried (plugins where asked for), in the order of its `cost`, with
its pieces tuned as in comparisons. What it will take is estimated from that and the deliveries of the problem, not
measured, so the same problem, options and seed give the same schedule on every machine; those past the budget are not
tried. Trying ends early once a schedule is within a given distance of the bound that no schedule can beat. Only a time
limit of the problem's own is held against the clock, and a schedule that it had a part in says so (`time_limited`).

A synthesizer that fails, crashes or is wrong is a line of the league and nothing else. The verifier shares no code with
any of them (choosing among algorithms by portfolio: Rice, The algorithm selection problem, 1976).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
import numpy as np

from schedules import Collective, Schedule, verify
from simulator import bound, simulate_ps
from synthesizers.base import OptionsBase, Synthesizer, mismatch, parse_options, refusal
from synthesizers.problem import Problem
from synthesizers.registry import OURS, discover
from topologies import Fabric
from topologies.exceptions import OptionError, SynthesisError, VerificationError

#: Deliveries that every problem is taken to have at least: below, what is done once dominates.
_LEAST_DELIVERIES = 1000


class AutoOptions(OptionsBase, frozen=True):
    """Options of `Auto`.

    Attributes
    ----------
    budget_s : float
        Seconds that all who are tried may take together, as estimated; the cheapest is always tried.
    within : float
        Trying ends when a schedule takes at most this share longer than the bound: 0.03 is an efficiency of 97.1 %.
    plugins : bool
        Whether synthesizers that others have installed are tried too. They run in this process: one that never ends,
        or ends the process, does so here.
    """

    budget_s: Annotated[float, msgspec.Meta(ge=0)] = 10.0
    within: Annotated[float, msgspec.Meta(ge=0)] = 0.03
    plugins: bool = False


class Auto(Synthesizer):
    """The best verified schedule of all synthesizers within a budget, with the league of all in its notes."""

    name = "auto"
    reference = "Rice, The algorithm selection problem, Advances in Computers 15, 1976"
    chooses_network = True
    cost = float("inf")
    Options = AutoOptions

    def supports(self, problem: Problem) -> str | None:
        """Return None where any synthesizer takes the problem, else the reason why not."""
        takes = any(_reason(synthesizer, problem) is None for synthesizer, ours in _entrants() if ours)
        return None if takes else f"no synthesizer takes {problem.collective.kind} on {problem.topology.name}"

    def warm_up(self) -> None:
        """Compile what the others compile; one that fails to will fail in the league too."""
        for synthesizer, ours in _entrants():
            if not ours:
                continue
            try:
                synthesizer.warm_up()
            except Exception:  # anybody's
                continue

    def synthesize(self, problem: Problem, options: AutoOptions) -> Schedule:
        """Return the fastest schedule found, the first of equals; its notes hold ``league`` and ``chosen``.

        A line of the league has ``name``, ``status``, ``time_us`` and ``efficiency`` (of what was timed) and
        ``reason``; the fastest comes first, what was not timed last.

        Raises
        ------
        SynthesisError
            Nobody made a right schedule; says what went wrong first.
        """
        best, chosen, league = _tried(problem, options)
        if best is None:
            faults = [f"{line.name}: {line.reason}" for line in league if line.status in ("failed", "invalid")]
            raise SynthesisError(f"auto: no synthesizer made a right schedule; {(faults or ['none was tried'])[0]}")
        notes: dict[str, Any] = {
            "chosen": chosen,
            "league": [line.content() for line in sorted(league, key=_Line.rank)],
        }
        if any(line.by_clock for line in league):
            notes["time_limited"] = True
        return best.with_notes(**notes)


@dataclass(frozen=True)
class _Line:
    """One synthesizer's line of the league; `by_clock`: the clock had a part in it."""

    name: str
    status: str
    reason: str = ""
    time_us: float | None = None
    efficiency: float | None = None
    by_clock: bool = False

    def rank(self) -> tuple[bool, float, str, str]:
        """Return what lines are sorted by."""
        return self.time_us is None, self.time_us or 0.0, self.status, self.name

    def content(self) -> dict[str, Any]:
        """Return the line as plain values."""
        return {"name": self.name, "status": self.status, "time_us": self.time_us, "efficiency": self.efficiency,
                "reason": self.reason}  # fmt: skip


def _tried(problem: Problem, options: AutoOptions) -> tuple[Schedule | None, str, list[_Line]]:
    """Return the best schedule, whose it is, and everybody's line, in the order of trying."""
    least_us = bound(problem.topology, problem.collective, problem.size, problem.model).time_us
    begin, left_s, best, chosen = time.perf_counter(), options.budget_s, None, _Line("", "")
    thousands = max(_deliveries(problem.collective), _LEAST_DELIVERIES) / 1000
    league = [_Line(name, "broken", plugin.error or "") for name, plugin in discover().items() if plugin.error]
    first = True
    for synthesizer, ours in _entrants():
        name, needs_s = synthesizer.name, synthesizer.cost * thousands
        reason = _reason(synthesizer, problem) if ours or options.plugins else None
        limit_s = None if problem.time_limit_s is None else problem.time_limit_s - (time.perf_counter() - begin)
        if reason is not None:
            line, schedule = _Line(name, "failed" if reason.startswith("supports() ") else "unsupported", reason), None
        elif not (ours or options.plugins):
            line, schedule = _Line(name, "not tried", "a plugin; -o plugins=true runs it in this process"), None
        elif chosen.time_us is not None and chosen.time_us <= least_us * (1 + options.within):
            why = f"{chosen.name} is within {100 * options.within:g} % of the bound"
            line, schedule = _Line(name, "not tried", why, by_clock=chosen.by_clock), None
        elif not first and needs_s > left_s:
            why = f"estimated at {needs_s:.3g} s, of budget_s={options.budget_s:g} there is {left_s:.3g} s left"
            line, schedule = _Line(name, "not tried", why), None
        elif not first and limit_s is not None and needs_s > limit_s:
            line, schedule = _Line(name, "not tried", "the time limit is near", by_clock=True), None
        else:
            first, left_s = False, left_s - needs_s
            line, schedule = _run(synthesizer, replace(problem, time_limit_s=limit_s and max(limit_s, 0.0)), least_us)
        league.append(line)
        if line.time_us is not None and (chosen.time_us is None or line.time_us < chosen.time_us):
            best, chosen = schedule, line
    return best, chosen.name, league


def _run(synthesizer: Synthesizer, problem: Problem, least_us: float) -> tuple[_Line, Schedule | None]:
    """Return the line of one synthesizer that was tried, and its schedule where it is right."""
    name = synthesizer.name
    try:
        schedule = synthesizer.synthesize(problem, _options(synthesizer))
        fault = mismatch(problem, schedule)
        if fault:
            return _Line(name, "invalid", fault), None
        verify(schedule)
        time_us = simulate_ps(schedule, problem.size, problem.model) / 1e6
    except VerificationError as error:
        return _Line(name, "invalid", _one_line(error)), None
    except Exception as error:  # a synthesizer may be anybody's
        return _Line(name, "failed", _one_line(error)), None
    share = least_us / time_us if time_us > 0 else 1.0
    return _Line(name, "ok", "", time_us, share, bool(schedule.notes.get("time_limited"))), schedule


def _entrants() -> list[tuple[Synthesizer, bool]]:
    """Return all synthesizers that work but this one, cheap ones first, and whether each is built in."""
    found = [(plugin.synthesizer, plugin.source == OURS) for plugin in discover().values() if plugin.synthesizer]
    others = [(each, ours) for each, ours in found if not isinstance(each, Auto)]
    return sorted(others, key=lambda entry: (entry[0].cost, entry[0].name))


def _reason(synthesizer: Synthesizer, problem: Problem) -> str | None:
    """Return why a synthesizer is not for a problem; those that wire networks are for fabrics alone."""
    if synthesizer.chooses_network and not isinstance(problem.topology, Fabric):
        return f"wires fabrics; {problem.topology.name} is a network already"
    try:
        reason = refusal(synthesizer, problem)
    except Exception as error:  # a synthesizer may be anybody's
        return f"supports() failed: {_one_line(error)}"
    return None if reason is None else str(reason)


def _options(synthesizer: Synthesizer) -> OptionsBase:
    """Return the default options, with pieces tuned where the synthesizer can."""
    try:
        return parse_options(synthesizer, {"pieces": "auto"})
    except OptionError:
        return parse_options(synthesizer, {})


def _deliveries(collective: Collective) -> int:
    """Return about how often a chunk, or a contribution to one, must arrive somewhere."""
    size = np.diff(collective.set_start)
    return int(size[collective.final].sum() + (size[collective.initial].sum() if collective.reduces else 0))


def _one_line(error: Exception) -> str:
    """Return what went wrong in one line."""
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}").strip(": ")
