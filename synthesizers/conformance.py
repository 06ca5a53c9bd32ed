"""The conformance suite: what any synthesizer must keep to, built in or not, on problems small enough to run at once.

`cases` gives problems, `check` tries one synthesizer on one of them. pytest runs both over every synthesizer that
discovery finds; ``collbench synthesizer check NAME`` does for one.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from schedules import KINDS, Collective, Schedule, collective, verify
from schedules.kinds import ROOTED
from simulator import LinkModel, simulate_us
from simulator.bounds import bound
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.problem import Problem
from topologies import Topology, parse_topology
from topologies.exceptions import CollbenchError

#: Networks that get every collective: none to send to, the least there is, primes, meshes, one way, switches, machines.
_NETWORKS = (
    "line:1", "line:2", "switch:2", "ring:5", "ring_one_way:4", "mesh:3x3@50x75GB/s,0.5us", "torus:2x4", "star:7",
    "fully_connected:6", "switch:8", "dgx1", "ndv2:2", "dgx2:2",
)  # fmt: skip

#: Networks that get the variations: sizes, chunks, roots, groups, link models.
_VARIED = ("mesh:3x4", "switch:7")

_SIZES = (0, 1, 11, 2**28)
_MODELS = (
    LinkModel("blocking", "store_and_forward"), LinkModel("pipelined"), LinkModel("pipelined", "store_and_forward"),
)  # fmt: skip

_SIZE = 10**6

#: A bound is a fraction rounded to a float, a simulated time whole picoseconds.
_ROUNDING = 1e-9


class ConformanceError(CollbenchError, AssertionError):
    """A synthesizer that does not keep to the contract."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One problem of the suite.

    Attributes
    ----------
    name : str
        What it is about, readable; no two cases of `cases` share one.
    problem : Problem
    """

    name: str
    problem: Problem


def cases() -> Iterator[Case]:
    """Give the cases of the suite, small ones first within each network."""
    for name in _NETWORKS:
        topology = parse_topology(name)
        for kind in KINDS:
            if kind != "custom":
                yield _case(name, topology, kind)
    for name in _VARIED:
        topology = parse_topology(name)
        for kind in KINDS:
            if kind != "custom":
                yield from _variations(name, topology, kind)
    yield from _grouped_cases()


def check(synthesizer: Synthesizer, case: Case) -> str | None:
    """Hold a synthesizer to the contract on one case, with its default options.

    Returns
    -------
    reason : str or None
        None: the schedule is what it must be. Else why the synthesizer does not support the problem, in its words.

    Raises
    ------
    ConformanceError
        What is wrong, after the name of the synthesizer and of the case.
    """
    try:
        return _checked(synthesizer, case.problem)
    except ConformanceError as error:
        raise ConformanceError(f"{getattr(synthesizer, 'name', synthesizer)} on {case.name}: {error}") from error


def check_description(synthesizer: Synthesizer) -> OptionsBase:
    """Hold what a synthesizer says of itself to the contract, and return its default options.

    Raises
    ------
    ConformanceError
        A name, reference or version that is missing; options that are not frozen or have no defaults.
    """
    for name in ("name", "reference", "version"):
        text = getattr(synthesizer, name, None)
        if not isinstance(text, str) or not text.strip():
            raise ConformanceError(f"its {name} is {text!r}; expected text")
    if not (isinstance(synthesizer.Options, type) and issubclass(synthesizer.Options, OptionsBase)):
        raise ConformanceError(f"its Options is {synthesizer.Options!r}; expected a subclass of OptionsBase")
    if not synthesizer.Options.__struct_config__.frozen:
        raise ConformanceError("its Options can be changed after they were made; declare them with frozen=True")
    try:
        options = synthesizer.Options()
    except TypeError as error:
        raise ConformanceError(f"its Options need values: {error}; give each a default") from error
    return options


def _case(name: str, topology: Topology, kind: str, what: str = "", **changes: Any) -> Case:
    """Return a case; `changes` are those of the collective or of the problem."""
    given = {key: changes.pop(key) for key in ("size", "model", "seed") if key in changes}
    if kind == "send_recv":
        npus = topology.num_npus
        # Both ways round, one pair twice, and one NPU that nobody sends to but the last.
        changes["pairs"] = [(0, npus - 1), (0, npus - 1), (npus - 1, 0), (npus // 2, 0)] if npus > 1 else []
    problem = Problem(topology, collective(kind, topology.num_npus, **changes), given.pop("size", _SIZE), **given)
    return Case(f"{kind}-{name}{what and '-' + what}", problem)


def _variations(name: str, topology: Topology, kind: str) -> Iterator[Case]:
    """Give the cases of one collective on one network that differ in size, chunks, root, group or link model."""
    npus = topology.num_npus
    for size in _SIZES:
        yield _case(name, topology, kind, f"{size}B", size=size)
    yield _case(name, topology, kind, "3chunks", chunks=3)
    for model in _MODELS:
        yield _case(name, topology, kind, f"{model.latency}-{model.switching}", model=model)
    if kind == "send_recv":
        return
    if kind in ROOTED:
        yield _case(name, topology, kind, "last-root", root=npus - 1, chunks=2)
    if kind in ("all_reduce", "broadcast", "reduce"):
        yield _case(name, topology, kind, "5shards", shards=5)
    turned = [list(range(npus - 1, -1, -1))]
    yield _case(name, topology, kind, "ranks-turned", groups=turned, root=1 if kind in ROOTED else 0)


def _grouped_cases() -> Iterator[Case]:
    """Give cases of a part of the NPUs, and of several disjoint groups at once."""
    groupings = {
        "mesh:3x4": {
            "one-group": [[4, 3, 1, 0]],  # a square of the mesh, turned
            "rows": [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]],
            "corners": [[0, 2, 9, 11]],  # not connected by themselves
            "unequal": [[0, 1, 2, 5, 8], [3], [6, 9]],
        },
        "switch:8": {"even-odd": [[0, 2, 4, 6], [7, 5, 3, 1]], "unequal": [[1, 2, 3], [6, 5]]},
        "ndv2:2": {"boxes": [list(range(8)), list(range(8, 16))], "across": [[0, 8], [3, 11]]},
    }
    for name, each in groupings.items():
        topology = parse_topology(name)
        for what, groups in each.items():
            for kind in KINDS:
                if kind not in ("custom", "send_recv"):
                    # Ranks start at 0 in each group, so a root must be in the smallest one.
                    smallest = min(map(len, groups))
                    root = min(1, smallest - 1) if kind in ROOTED else 0
                    yield _case(name, topology, kind, what, groups=groups, root=root)


def _checked(synthesizer: Synthesizer, problem: Problem) -> str | None:
    """Return the reason why a problem is not supported; None once all has been checked."""
    options = check_description(synthesizer)
    before = _identity(problem)
    reason = synthesizer.supports(problem)
    if reason is not None:
        if not isinstance(reason, str) or not reason.strip() or "\n" in reason:
            raise ConformanceError(f"supports() returned {reason!r}; expected None or the reason why not, in one line")
        return reason
    schedules = [_synthesized(synthesizer, problem, options, state) for state in (1, 2)]
    if _identity(problem) != before:
        raise ConformanceError("it changed the problem that it was given")
    if synthesizer.supports(problem) is not None:
        raise ConformanceError("supports() changed its mind after the problem was solved")
    schedule = schedules[0]
    if schedules[1].fingerprint != schedule.fingerprint and not schedule.notes.get("time_limited"):
        raise ConformanceError("two runs with one seed made two schedules; take all randomness from problem.seed")
    if repr(schedules[1].notes) != repr(schedule.notes) and not schedule.notes.get("time_limited"):
        raise ConformanceError("two runs with one seed left different notes; what is measured belongs in `measured`")
    _check_schedule(schedule, problem)
    return None


def _check_schedule(schedule: Schedule, problem: Problem) -> None:
    """Refuse a schedule that is not of the problem, is wrong, or is faster than can be."""
    if schedule.topology != problem.topology:
        raise ConformanceError(f"its schedule is on {schedule.topology!r}, the problem on {problem.topology!r}")
    if not _refines(schedule.collective, problem.collective):
        raise ConformanceError(
            f"its schedule computes {schedule.collective.describe()}, not {problem.collective.describe()}"
        )
    try:
        verify(schedule)
        time = simulate_us(schedule, problem.size, problem.model)
    except CollbenchError as error:
        raise ConformanceError(f"its schedule is wrong: {error}") from error
    least = bound(problem.topology, problem.collective, problem.size, problem.model)
    if not math.isfinite(time) or time < least.time_us * (1 - _ROUNDING):
        raise ConformanceError(
            f"its schedule takes {time:g} us, but none takes less than {least.time_us:g} us ({least.binding}); "
            "either the simulator or the bound is wrong: please report it"
        )


def _synthesized(synthesizer: Synthesizer, problem: Problem, options: OptionsBase, state: int) -> Schedule:
    """Return the schedule that is made while the process-wide random generators are in a given state."""
    saved, saved_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  plugins may use the old ones
    random.seed(state)
    np.random.seed(state)  # noqa: NPY002
    try:
        schedule = synthesizer.synthesize(problem, options)
    except Exception as error:
        raise ConformanceError(
            f"it failed on a problem that it supports: {type(error).__name__}: {error}; either solve it, or let "
            "supports() say why not"
        ) from error
    finally:
        random.setstate(saved)
        np.random.set_state(saved_numpy)  # noqa: NPY002
    if not isinstance(schedule, Schedule):
        raise ConformanceError(f"synthesize() returned {type(schedule).__name__}; expected a Schedule")
    return schedule


def _refines(found: Collective, asked: Collective) -> bool:
    """Return whether a collective is the one asked for, or the same in other chunks."""
    if asked.kind == "custom":
        return found == asked
    fields = ("kind", "num_npus", "groups", "root", "pairs")
    return all(getattr(found, field) == getattr(asked, field) for field in fields)


def _identity(problem: Problem) -> tuple[object, ...]:
    """Return all that defines a problem, computed anew: topologies and collectives remember their fingerprints."""
    topology, wanted = (dataclasses.replace(part) for part in (problem.topology, problem.collective))
    assert isinstance(topology, Topology)
    assert isinstance(wanted, Collective)
    rest = (problem.size, problem.model, problem.seed, problem.time_limit_s)
    return (topology.fingerprint, wanted.fingerprint, *rest)
