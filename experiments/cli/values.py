"""What a user types, turned into values and checked before any work begins.

A wrong value is wrong usage (exit status 2); a file that cannot be used is work that failed (1).
"""

from __future__ import annotations

import difflib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import remark
from experiments.cli.program import Failure

if TYPE_CHECKING:
    from synthesizers import Synthesizer
    from topologies import Topology


class TopologyType(click.ParamType):
    """A short name or file of a network."""

    name = "topology"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Topology:
        """Return the topology."""
        try:
            network, notes = network_of(value)
        except click.UsageError as error:
            return self.fail(error.message, param, ctx)
        for note in notes:
            remark(note)
        return network


class SizeType(click.ParamType):
    """Bytes with a unit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the size in bytes."""
        from topologies import UnitError, parse_bytes

        try:
            return parse_bytes(value)
        except UnitError as error:
            return self.fail(str(error), param, ctx)


class SizesType(click.ParamType):
    """Several sizes, joined by commas."""

    name = "size,size,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Return the sizes in bytes, each once, as given."""
        return list(dict.fromkeys(SizeType().convert(part, param, ctx) for part in value.split(",")))


class CollectiveType(click.ParamType):
    """The name of a collective."""

    name = "collective"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, checked."""
        from schedules import KINDS

        if value == "custom":
            return self.fail("custom collectives are given by conditions, in Python: schedules.custom", param, ctx)
        if value not in KINDS:
            known = [kind for kind in KINDS if kind != "custom"]
            plain = value.lower().replace("-", "_").replace("_", "")
            near = [kind for kind in known if kind.replace("_", "") == plain] or difflib.get_close_matches(value, known)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            return self.fail(f"unknown collective {value!r}; {hint}", param, ctx)
        return str(value)


class SynthesizerType(click.ParamType):
    """The name of a synthesizer."""

    name = "synthesizer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Synthesizer:
        """Return the synthesizer; one that is broken is work that failed."""
        from synthesizers import discover, find
        from topologies import OptionError

        try:
            return find(value)
        except OptionError as error:
            if value in discover():
                raise Failure(str(error)) from error
            return self.fail(str(error), param, ctx)


class GroupType(click.ParamType):
    """NPUs in rank order."""

    name = "npu,npu,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the NPUs."""
        try:
            return tuple(_npu(part) for part in value.split(","))
        except ValueError:
            return self.fail(f"{value!r} is no group; expected NPUs joined by commas, such as 0,1,2", param, ctx)


class PairsType(click.ParamType):
    """Source and destination NPUs."""

    name = "npu-npu,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, int], ...]:
        """Return the pairs."""
        try:
            pairs = [part.split("-") for part in value.split(",")]
            return tuple((_npu(source), _npu(target)) for source, target in pairs)
        except ValueError:
            return self.fail(f"{value!r}: expected SOURCE-DESTINATION pairs, such as 0-1,2-3", param, ctx)


class SecondsType(click.ParamType):
    """A number of seconds, or a time with a unit."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        from topologies import UnitError, parse_time

        try:
            seconds = parse_time(value if value[-1:].isalpha() else f"{value}s") / 1e6
        except UnitError:
            seconds = 0.0
        if seconds <= 0:
            return self.fail(f"{value!r}: expected more than 0 seconds, such as 60 or 1.5s", param, ctx)
        return seconds


class TimesType(click.ParamType):
    """Several times, joined by commas."""

    name = "seconds,seconds,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        """Return seconds, each number once, as given."""
        return list(dict.fromkeys(SecondsType().convert(part.strip(), param, ctx) for part in value.split(",")))


class ShareType(click.ParamType):
    """A part of a whole in percent."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share: 0.2 for ``20%``."""
        number = str(value).strip()
        try:
            share = float(number.removesuffix("%")) / 100
        except ValueError:
            share = 0.0
        if not number.endswith("%") or not 1e-6 <= share <= 1 - 1e-6:
            return self.fail(f"{value!r}: expected more than 0% and less than 100%, such as 20%", param, ctx)
        return share


def network_of(text: str) -> tuple[Topology, list[str]]:
    """Return the network of a short name or file, and what its reader left out or took from a table.

    Raises
    ------
    Failure
        A file that cannot be used.
    UsageError
        A wrong name.
    """
    from topologies import CollbenchError, FormatError, TopologyWarning, parse_topology

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TopologyWarning)
        try:
            network, fault = parse_topology(text), None
        except CollbenchError as error:
            network, fault = None, error
    notes = [str(warning.message) for warning in caught]
    if network is not None:
        return network, notes
    # One line for a mistake: what the reader had left out before may be why.
    said = f"{fault} (before that: {'; '.join(notes)})" if notes else str(fault)
    if isinstance(fault, FormatError) or is_file(text):
        raise Failure(said) from fault
    raise click.UsageError(said) from fault


def _npu(text: str) -> int:
    """Return the number of an NPU; ValueError for anything but plain digits."""
    if not text.strip().isdecimal() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def is_file(text: str) -> bool:
    """Return whether a text names a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
