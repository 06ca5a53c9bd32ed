"""A file that is being read: its text, what its user says beside it, and the one form of every warning and refusal.

What a file does not say is given after its name, ``FILE@gpu=H100,latency=0.7us``; a reader takes some of these keys
and refuses the others, so that nothing that a user says is without effect.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topologies.exceptions import FormatError, OptionError, TopologyError, TopologyWarning, UnitError
from topologies.reading import read_bytes
from topologies.shape import shortened
from topologies.topology import Topology
from topologies.units import BANDWIDTH, parse_bandwidth, parse_time

#: Longest file that is read, in bytes.
MAX_BYTES = 2**26

#: Most nodes and links that a file may describe.
MAX_NODES, MAX_FILE_LINKS = 2**20, 2**22

#: Key → (an example, what it is).
KEYS: Mapping[str, tuple[str, str]] = {
    "gpu": ("H100", "GPU model, whose defaults stand in for what the file does not say"),
    "wiring": ("nvswitch", "whether equal NVLinks between all GPUs are an nvswitch or direct"),
    "bandwidth": ("25GB/s", "bandwidth of each link, or of each that has none in the file"),
    "latency": ("0.7us", "latency of each link, or of each that has none in the file"),
    "unit": ("Gbps", "unit of bandwidths that are bare numbers in the file"),
    "bonded": ("yes", "whether parallel links are one link of the summed bandwidth"),
    "machine": ("ndv2", "machine of a TACCL profile: ndv2, dgx2, hub_and_spoke or custom"),
    "pcie": ("24GB/s", "bandwidth of each GPU over PCIe, which joins the GPUs of a machine"),
    "nic": ("25GB/s", "bandwidth of each GPU to the network between machines"),
    "boxes": ("2", "number of machines, all as the one of the file"),
    "sketch": ("sketch.json", "sketch of TACCL that says the number of machines"),
    "cables": ("yes", "whether a line of a table of links is a cable, both ways"),
}

_NAMED = 6


@dataclass(frozen=True)
class Source:
    """A file and what is said beside it.

    Attributes
    ----------
    path : str
        As the user gave it.
    text : str
    given : mapping of str to str
        What the file does not say, by the names of `KEYS`.
    """

    path: str
    text: str
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the topology: that of the file, without its folder."""
        return Path(self.path).name

    def error(self, message: str, line: int | None = None) -> FormatError:
        """Return the error that says `message` of the file, or of one of its lines."""
        return FormatError(f"{self.path}{'' if line is None else f', line {line}'}: {message}")

    def warn(self, message: str) -> None:
        """Say what the user must know of how the file was read."""
        warnings.warn(f"{self.name}: {message}", TopologyWarning, stacklevel=2)

    def dropped(self, what: str, names: Sequence[str]) -> None:
        """Say how many things of a sort were left out, and which."""
        if names:
            self.warn(f"left out {what} ({len(names)}): {named(names)}")

    def ask(self, key: str, value: str | None = None) -> str:
        """Return how a user gives `key`, for an error message."""
        value = KEYS[key][0] if value is None else value
        flag = f"--{value}" if key == "wiring" else f"--{key} {value}"
        return f"@{key}={value} after its name (or {flag})"

    def bandwidth(self, key: str = "bandwidth") -> float | None:
        """Return a bandwidth that was given, in GB/s."""
        return self._quantity(key, parse_bandwidth)

    def latency(self) -> float | None:
        """Return the latency that was given, in µs."""
        return self._quantity("latency", parse_time)

    def flag(self, key: str) -> bool:
        """Return whether something was said to be so."""
        return self.choice(key, ("yes", "no")) == "yes"

    def choice(self, key: str, words: Sequence[str]) -> str | None:
        """Return one of some words, if it was given."""
        value = self.given.get(key)
        if value is not None and value not in words:
            raise OptionError(f"{self.path}: {key} is {shortened(value)!r}; expected {' or '.join(words)}")
        return value

    def number(self, key: str, default: int, most: int) -> int:
        """Return a whole number of 1 or more."""
        value = self.given.get(key, str(default))
        if not re.fullmatch("[0-9]{1,9}", value, re.ASCII) or not 1 <= int(value) <= most:
            raise OptionError(f"{self.path}: {key} is {shortened(value)!r}; expected a number from 1 to {most}")
        return int(value)

    def bare_unit(self) -> str | None:
        """Return the unit of bandwidths that are bare numbers, if it was given."""
        value = self.given.get("unit")
        if value is not None and value not in BANDWIDTH:
            known = ", ".join(sorted(BANDWIDTH))
            raise OptionError(f"{self.path}: unit is {shortened(value)!r}; expected one of {known}")
        return value

    def take(self, keys: Collection[str], kind: str) -> None:
        """Refuse what was given and is not among `keys`: it would have no effect."""
        for key in self.given:
            if key not in keys:
                takes = f"takes {', '.join(sorted(keys))}" if keys else "says all itself and takes nothing"
                raise OptionError(f"{self.path}: {key} has no meaning for {kind}, which {takes}; leave it out")

    def build(self, num_npus: int, rows: Sequence[tuple[int, int, float, float]], switches: int = 0,
              node_names: Sequence[str] = ()) -> Topology:  # fmt: skip
        """Return the topology of (src, dst, latency in µs, bandwidth in GB/s) rows, named after the file."""
        try:
            return Topology.from_links(num_npus, rows, num_switches=switches, name=self.name, node_names=node_names)
        except (TopologyError, OverflowError, ValueError) as error:
            raise self.error(shortened(str(error), 400)) from None

    def _quantity(self, key: str, parse: object) -> float | None:
        """Return a quantity that was given."""
        if key not in self.given:
            return None
        try:
            return float(parse(self.given[key]))  # type: ignore[operator]  # one of the two parsers above
        except UnitError as error:
            raise UnitError(f"{self.path}: {shortened(str(error), 200)}") from None


def named(names: Iterable[str]) -> str:
    """Return names joined by commas, the first few of many, each short."""
    found = [shortened(" ".join(name.split()), 40) for name in names]
    return ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")


def read_text(path: str) -> str:
    """Return the text of a file.

    Raises
    ------
    FormatError
        It cannot be read, is too long, or is not text.
    """
    return decoded(path, read_bytes(path, MAX_BYTES))


def decoded(path: str, content: bytes) -> str:
    """Return the bytes of a file as text; FormatError where they are too many, or no text."""
    if len(content) > MAX_BYTES:
        raise FormatError(f"{path} is longer than {MAX_BYTES // 2**20} MiB; expected a topology file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not text in UTF-8; expected a topology file") from None
    if "\0" in text:
        raise FormatError(f"{path} is not text: it holds a zero byte; expected a topology file")
    return text


def parse_given(path: str, text: str) -> dict[str, str]:
    """Return what ``key=value,…`` says beside a file.

    Raises
    ------
    OptionError
        An unknown key, one given twice, or another form.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise OptionError(f"{path}: {shortened(part)!r} follows the @; expected key=value, such as gpu=H100")
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(KEYS)}"
            raise OptionError(f"{path}: unknown key {shortened(key)!r} after the @; {hint}")
        if key in found:
            raise OptionError(f"{path}: {key} is given twice; give it once")
        found[key] = value
    return found
