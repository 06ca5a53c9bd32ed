"""One run of an experiment: a problem and a synthesizer with options, as plain values; the key it is stored under."""

from __future__ import annotations

import hashlib
import re
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from experiments.runner.groups import Groups, Pairs, groups_text
from experiments.runner.sources import code_of, scoring_code
from schedules import Collective, collective
from schedules.files.header import VERSION as IR_VERSION
from simulator import LinkModel
from synthesizers import Problem, find, parse_options
from synthesizers.registry import FILE
from topologies import OptionError, Topology, format_bytes, parse_topology


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What is run; small, so that it travels to a worker.

    Attributes
    ----------
    topology, collective, size, chunks, root, latency, switching, seed
        As in a `Record`; the topology is a short name or the path of a file.
    groups, pairs : tuple
        Groups and pairs of NPUs; empty: all NPUs.
    synthesizer, options, label
        Who makes the schedule, with which options, and what tables call that.
    repeat : int
        Which of the repeated measurements.
    time_limit_s : float or None
        Budget of the synthesis.
    keep_schedule : bool
        Whether the schedule is stored beside the record; it changes nothing about the result, and so is not in the key.
    alone : bool
        Whether it is done while nothing else is; not in the key either.
    places : dict
        Where files that it names are, if that is elsewhere: on the worker of a cluster.
    """

    topology: str
    collective: str
    size: int
    synthesizer: str
    label: str
    chunks: int = 1
    groups: Groups = ()
    root: int = 0
    pairs: Pairs = ()
    latency: str = "blocking"
    switching: str = "cut_through"
    options: dict[str, Any] = {}
    seed: int = 0
    repeat: int = 0
    time_limit_s: float | None = None
    keep_schedule: bool = False
    alone: bool = False
    places: dict[str, str] = {}

    def problem(self) -> Problem:
        """Return the problem.

        Raises
        ------
        CollbenchError
            A network, groups, a root or pairs that do not fit together.
        """
        topology = network(self.places.get(self.topology, self.topology))
        kind = _collective(self.collective, topology.num_npus, self.groups, self.chunks, self.root, self.pairs)
        model = LinkModel(self.latency, self.switching)
        return Problem(topology, kind, self.size, model, self.seed, self.time_limit_s)

    def key(self) -> str:
        """Return the hash of everything that determines the result."""
        topology = network(self.topology)
        kind = _collective(self.collective, topology.num_npus, self.groups, self.chunks, self.root, self.pairs)
        # What is in a file may change while this process runs.
        made_by = _maker.__wrapped__ if self.synthesizer.startswith(FILE) else _maker
        *maker, options = made_by(self.synthesizer, msgspec.json.encode(self.options, order="sorted"))
        identity = {
            "topology": [topology.name, topology.fingerprint],
            "collective": kind.fingerprint,
            "size": self.size,
            "model": [self.latency, self.switching],
            "seed": self.seed,
            "repeat": self.repeat,
            "time_limit_s": self.time_limit_s,
            "synthesizer": [*maker, {name: _content(value) for name, value in options.items()}],
            "versions": release(),
            "code": scoring_code(),
        }
        return hashlib.sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()[:32]

    def describe(self) -> str:
        """Return a phrase for a user."""
        return phrase(
            self.label, self.collective, self.size, network(self.topology).name, self.chunks, groups_text(self.groups),
            self.time_limit_s, self.seed, self.repeat,
        )  # fmt: skip


def phrase(
    label: str,
    collective: str,
    size: int,
    topology: str,
    chunks: int,
    group: str,
    time_limit_s: float | None,
    seed: int,
    repeat: int,
) -> str:
    """Return what a run is called for a user; ``--only`` is compared with it."""
    parts = [label, collective, format_bytes(size), f"on {topology}"]
    parts += [f"{chunks} chunks"] if chunks != 1 else []
    parts += [f"group {group}"] if group != "all" else []
    limited = time_limit_s is not None and time_limit_s == time_limit_s  # in results none is NaN
    parts += [f"within {time_limit_s:g} s"] if limited else []
    parts += [f"seed {seed}"] if seed else []
    parts += [f"repeat {repeat}"] if repeat else []
    return " ".join(parts)


def is_like(pattern: str, label: str, called: str) -> bool:
    """Return whether ``--only PATTERN`` means the run of a label and phrase."""
    return fnmatchcase(label, pattern) or fnmatchcase(called, pattern)


def release() -> str:
    """Return the versions of collbench and of its schedules."""
    return f"collbench {_version()}, schedules {IR_VERSION}"


@cache
def _version() -> str:
    """Return the version of collbench; kept, because it is read from a file."""
    return version("collbench")


@lru_cache(maxsize=256)
def network(name: str) -> Topology:
    """Return a topology; kept, because many runs share it and bounds are cached by it."""
    return parse_topology(name)


@lru_cache(maxsize=256)
def _collective(kind: str, num_npus: int, groups: Groups, chunks: int, root: int, pairs: Pairs) -> Collective:
    """Return a collective; kept, as networks are."""
    return collective(kind, num_npus, groups=groups or None, chunks=chunks, root=root, pairs=pairs)


@lru_cache(maxsize=1024)
def _maker(name: str, options: bytes) -> list[Any]:
    """Return what identifies a synthesizer: name, version, code, all options; of a broken one, that it is broken."""
    given = msgspec.json.decode(options)
    try:
        synthesizer = find(name)
        return [name, synthesizer.version, code_of(synthesizer), msgspec.to_builtins(parse_options(synthesizer, given))]
    except OptionError:
        return [name, None, None, given]


def _content(value: Any) -> Any:
    """Return what of an option's value determines the result: of a file, such as a sketch, what is in it."""
    return "sha256:" + hashlib.sha256(Path(value).read_bytes()).hexdigest() if names_file(value) else value


def names_file(value: Any) -> bool:
    """Return whether the value of an option is the path of a file that is there."""
    return isinstance(value, str) and looks_like_file(value) and Path(value).is_file()


def looks_like_file(name: str) -> bool:
    """Return whether a value is to be taken for a file where there is one of that name."""
    return "/" in name or bool(re.search(r"\.[a-z]+$", name, re.IGNORECASE))
