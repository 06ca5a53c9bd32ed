"""The plugin contract: what a synthesizer is, in one class.

A synthesizer turns a `Problem` into a `Schedule`. To add one, subclass `Synthesizer` in a module of your own, name it
in the entry-point group ``collbench.synthesizers``, and it appears in every command::

    class Mine(Synthesizer):
        name = "mine"
        reference = "A. Author, Some Paper, 2026"

        class Options(OptionsBase, frozen=True):
            pieces: int = 1   # each option with its default; a comment or docstring says what it does

        def supports(self, problem):
            return None if problem.collective.kind == "all_gather" else "all_gather only"

        def synthesize(self, problem, options):
            return Schedule(problem.topology, problem.collective, chunk=..., link=...)

What it returns is verified and simulated by collbench: a schedule that is wrong is reported, never timed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

import msgspec

from schedules import Schedule
from topologies import Fabric
from topologies.exceptions import OptionError
from topologies.readers.json_struct import choices

if TYPE_CHECKING:
    from synthesizers.problem import Problem


class OptionsBase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of a synthesizer's options: typed, frozen, with a default for each."""


class Synthesizer(ABC):
    """One way of making schedules.

    Attributes
    ----------
    name : str
        What a user types.
    reference : str
        The paper, or where the algorithm is from.
    version : str
        Changed whenever the same problem may get another schedule.
    chooses_network : bool
        Whether it also chooses the network where the problem's topology is a `Fabric`.
    cost : float
        About how many seconds a problem of a thousand deliveries takes it, by which `auto` orders and budgets; the
        default is that of a closed form tuned by simulation.
    Options : type
        A frozen `msgspec.Struct` (see `OptionsBase`).
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    version: ClassVar[str] = "1"
    chooses_network: ClassVar[bool] = False
    cost: ClassVar[float] = 0.005
    Options: ClassVar[type[OptionsBase]] = OptionsBase

    def supports(self, problem: Problem) -> str | None:  # noqa: ARG002
        """Return None if the problem can be solved, else the reason why not, as shown to the user."""
        return None

    @abstractmethod
    def synthesize(self, problem: Problem, options: Any) -> Schedule:
        """Return a schedule of the problem; the same problem, options and seed must give the same one.

        Its notes are the same too. A synthesizer that solves in stages may describe them in ``notes["stages"]``, a
        mapping for each; the seconds that each took belong in ``measured["stages_s"]``.

        Parameters
        ----------
        problem : Problem
            One that `supports` accepted.
        options : Options
            Validated.

        Raises
        ------
        SynthesisError
            No schedule could be made; one line why.
        """

    def warm_up(self) -> None:  # noqa: B027
        """Compile kernels; never counted in the synthesis time."""


def refusal(synthesizer: Synthesizer, problem: Problem) -> object:
    """Return what `supports` says of a problem, or why a fabric is nothing for a synthesizer that wires none."""
    if isinstance(problem.topology, Fabric) and not synthesizer.chooses_network:
        return f"schedules on a network that is there; {problem.topology.name} is not wired yet"
    return synthesizer.supports(problem)


def mismatch(problem: Problem, schedule: object) -> str | None:
    """Return why what a synthesizer returned is not a schedule of the problem; None if it is one."""
    if not isinstance(schedule, Schedule):
        return f"it returned {type(schedule).__name__}, not a Schedule"
    if isinstance(problem.topology, Fabric):
        fault = problem.topology.fault(schedule.topology)
        if fault:
            return f"its network is no wiring of {problem.topology.name}: {fault}"
    elif schedule.topology != problem.topology:
        return f"its schedule is on {schedule.topology.name}, another network than {problem.topology.name}"
    asked, got = problem.collective, schedule.collective
    same = (asked.kind, asked.groups, asked.root, asked.pairs) == (got.kind, got.groups, got.root, got.pairs)
    resized = asked.kind == "custom" and (asked.part_bytes(problem.size) != got.part_bytes(problem.size)).any()
    if not same or asked.conditions != got.conditions or resized:
        return f"its schedule computes {got.describe()}, asked was {asked.describe()}"
    return None


def parse_options(synthesizer: Synthesizer, given: Mapping[str, Any]) -> OptionsBase:
    """Return the options of a synthesizer from names and values (text is converted by the option's type).

    Raises
    ------
    OptionError
        An unknown name (the nearest valid one is given) or a value of the wrong type.
    """
    known = synthesizer.Options.__struct_fields__
    for key in given:
        if key not in known:
            import difflib

            near = difflib.get_close_matches(key.lower(), sorted(known), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            options = ", ".join(sorted(known)) or "none"
            raise OptionError(f"{synthesizer.name} has no option {key!r}{hint} It has: {options}")
    try:
        return msgspec.convert(dict(given), synthesizer.Options, strict=False)
    except ValueError as error:  # msgspec.ValidationError is one
        path = re.search(r"\$\.(\w+)", str(error))
        words = choices(get_type_hints(synthesizer.Options).get(path[1])) if path else []
        also = ", or" if "Expected `int` >=" in str(error) else "; expected one of"  # a number, or a word in its place
        hint = f"{also} {', '.join(words)}" if words else ""
        raise OptionError(f"{synthesizer.name}: bad option: {error}{hint}") from None
