"""Runs of synthesizers in a process of their own: of those that are not collbench's, or under a limit that kills."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

import msgspec

from experiments.evaluate import blank, evaluate
from experiments.isolation import EndedError, Isolation, OverdueError
from experiments.record import Record
from simulator import bound
from synthesizers import Problem, Synthesizer, parse_options, registry
from synthesizers.outside import Outside
from synthesizers.registry import OURS, Plugin, load

#: Seconds after which a run of a plugin is ended, where no limit is given.
KILL_AFTER_S = 600.0


class Runs(AbstractContextManager["Runs"]):
    """Evaluates synthesizers one after another; whatever a plugin does, there is a record.

    Parameters
    ----------
    kill_after_s : float or None
        Ends any run after this long. None: collbench's own run here and without limit; a plugin apart, and at most
        ten minutes, or twice its time limit and a minute.
    """

    def __init__(self, kill_after_s: float | None = None) -> None:
        self._kill_after_s = kill_after_s
        self._isolation: Isolation | None = None
        self._opened = ExitStack()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def evaluate(self, problem: Problem, synthesizer: Synthesizer, options: Mapping[str, str]) -> Record:
        """Return the record of a run; see `experiments.evaluate.evaluate`."""
        name = synthesizer.name
        outside = isinstance(synthesizer, Outside)
        if self._kill_after_s is None and (outside or registry.discover()[name].source == OURS):
            return evaluate(problem, synthesizer, options)[0]
        if self._isolation is None:
            self._isolation = self._opened.enter_context(Isolation())
        try:
            if outside:
                return self._isolation.call(self._limit(problem), _evaluate_file, problem, synthesizer)
            return self._isolation.call(self._limit(problem), evaluate_named, problem, name, dict(options))
        except EndedError as error:
            record = blank(problem, name)
            record.version = synthesizer.version
            record.options = msgspec.to_builtins(parse_options(synthesizer, options))
            least = bound(problem.topology, problem.collective, problem.size, problem.model)
            record.bound_us, record.bound_by = least.time_us, least.binding
            record.status = "timeout" if isinstance(error, OverdueError) else "failed"
            record.reason = str(error)
            return record

    def _limit(self, problem: Problem) -> float:
        """Return the seconds that a run may take."""
        if self._kill_after_s is not None:
            return self._kill_after_s
        return max(KILL_AFTER_S, 2 * (problem.time_limit_s or 0) + 60)


def evaluate_named(problem: Problem, name: str, options: dict[str, str]) -> Record:
    """Return the record of a run of the synthesizer of that name, importing no other plugin."""
    plugin = load(name)
    if plugin.synthesizer is None:  # it could be imported a moment ago
        return unusable(problem, plugin)
    return evaluate(problem, plugin.synthesizer, options)[0]


def _evaluate_file(problem: Problem, outside: Outside) -> Record:
    """Return the record of the algorithm of a file."""
    return evaluate(problem, outside)[0]


def unusable(problem: Problem, plugin: Plugin) -> Record:
    """Return the record of a plugin that is no synthesizer, or cannot be imported."""
    record = blank(problem, plugin.name)
    record.status, record.reason = "failed", f"cannot be used: {plugin.error}"
    return record
