"""Algorithms from files, compared like those of synthesizers: MSCCL XML, flows of TE-CCL, saved schedules.

It is no plugin: who asks for ``file:ALGO.xml`` gets one for that file. A file of MSCCL or TE-CCL is run on the
problem's network, if that has as many NPUs as the file has GPUs; a schedule of collbench is on its own network and on
no other.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from schedules import Collective, Schedule, is_schedule_file, load_schedule
from schedules.msccl import Algorithm, load_msccl, schedule_of
from schedules.msccl.algorithm import COLLECTIVES
from schedules.teccl import Flows, collective_of, is_teccl_file, load_teccl
from schedules.teccl import schedule_of as schedule_of_flows
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from synthesizers.registry import FILE


class Outside(Synthesizer):
    """The algorithm of a file.

    Parameters
    ----------
    path : str

    Raises
    ------
    FormatError
        The file cannot be read, or holds no algorithm.
    """

    reference = "a file"

    class Options(OptionsBase, frozen=True):
        """It has none: the file is what it is."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"{FILE}{path}"  # type: ignore[misc]  # one for each file
        self._content: Schedule | Algorithm | Flows
        if is_schedule_file(path):
            self._content = load_schedule(path)
        else:
            self._content = load_teccl(path) if is_teccl_file(path) else load_msccl(path)
        self.version = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]  # type: ignore[misc]

    def supports(self, problem: Problem) -> str | None:
        """Return why the file is no answer to a problem."""
        asked = problem.collective
        if isinstance(self._content, Schedule):
            if self._content.topology != problem.topology:
                return f"the file's schedule is on another network, {self._content.topology.name}"
            return _other(self._content.collective, asked)
        if isinstance(self._content, Flows):
            ranks = _ranks(asked)
            if not self._content.demand:
                return "the file names no demand: what its flows have to do is not said"
            if len(ranks) != len(self._content.gpus):
                return f"the file is for {len(self._content.gpus)} gpus, in one group"
            return _other(collective_of(self._content, asked.num_npus, ranks)[0], asked)
        kind, gpus = COLLECTIVES[self._content.collective], len(self._content.gpus)
        if kind != asked.kind:
            return f"the file computes {kind}"
        if len(asked.groups) != 1 or len(asked.groups[0]) != gpus:
            return f"the file is for {gpus} gpus, in one group"
        return None

    def synthesize(self, problem: Problem, options: object) -> Schedule:  # noqa: ARG002  it has no options
        """Return the file's algorithm as a schedule on the problem's network."""
        if isinstance(self._content, Schedule):
            return self._content
        if isinstance(self._content, Flows):
            return schedule_of_flows(self._content, problem.topology, _ranks(problem.collective))
        return schedule_of(self._content, problem.topology, problem.collective.groups[0])


def _ranks(asked: Collective) -> tuple[int, ...]:
    """Return the NPUs that the GPUs of a file are: those of the only group, else all."""
    return asked.groups[0] if len(asked.groups) == 1 else tuple(range(asked.num_npus))


def _other(found: Collective, asked: Collective) -> str | None:
    """Return what a file computes if it is not what was asked for, however either is cut into chunks."""
    names = ("kind", "groups", "root", "pairs", "conditions")
    same = all(getattr(found, name) == getattr(asked, name) for name in names)
    return None if same else f"the file computes {found.describe()}"
