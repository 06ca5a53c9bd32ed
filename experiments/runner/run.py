"""One run of an experiment: a problem and a synthesizer with options, as plain values; the key it is stored under."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

import msgspec

from experiments.runner.sources import code_of, scoring_code
from schedules import Collective, collective
from schedules.files.header import VERSION as IR_VERSION
from simulator import LinkModel
from synthesizers import Problem, find, parse_options
from topologies import OptionError, Topology, parse_topology

Groups = tuple[tuple[int, ...], ...]


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
    """

    topology: str
    collective: str
    size: int
    synthesizer: str
    label: str
    chunks: int = 1
    groups: Groups = ()
    root: int = 0
    pairs: tuple[tuple[int, int], ...] = ()
    latency: str = "blocking"
    switching: str = "cut_through"
    options: dict[str, Any] = {}
    seed: int = 0
    repeat: int = 0
    time_limit_s: float | None = None

    def problem(self) -> Problem:
        """Return the problem.

        Raises
        ------
        CollbenchError
            A network, groups, a root or pairs that do not fit together.
        """
        topology = network(self.topology)
        kind = _collective(self.collective, topology.num_npus, self.groups, self.chunks, self.root, self.pairs)
        model = LinkModel(self.latency, self.switching)
        return Problem(topology, kind, self.size, model, self.seed, self.time_limit_s)

    def key(self) -> str:
        """Return the hash of everything that determines the result."""
        topology = network(self.topology)
        kind = _collective(self.collective, topology.num_npus, self.groups, self.chunks, self.root, self.pairs)
        identity = {
            "topology": [topology.name, topology.fingerprint],
            "collective": kind.fingerprint,
            "size": self.size,
            "model": [self.latency, self.switching],
            "seed": self.seed,
            "repeat": self.repeat,
            "time_limit_s": self.time_limit_s,
            "synthesizer": _maker(self.synthesizer, msgspec.json.encode(self.options, order="sorted")),
            "versions": release(),
            "code": scoring_code(),
        }
        return hashlib.sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()[:32]

    def describe(self) -> str:
        """Return a phrase for a user."""
        from topologies import format_bytes

        parts = [self.label, self.collective, format_bytes(self.size), f"on {network(self.topology).name}"]
        parts += [f"{self.chunks} chunks"] if self.chunks != 1 else []
        parts += [f"group {groups_text(self.groups)}"] if self.groups else []
        parts += [f"seed {self.seed}"] if self.seed else []
        parts += [f"repeat {self.repeat}"] if self.repeat else []
        return " ".join(parts)


def groups_text(groups: Groups) -> str:
    """Return groups as an experiment file writes them: ``0,1;2,3``; ``all`` for all NPUs."""
    return ";".join(",".join(map(str, group)) for group in groups) or "all"


def pairs_text(pairs: tuple[tuple[int, int], ...]) -> str:
    """Return pairs as the command line takes them: ``0-1,2-3``."""
    return ",".join(f"{source}-{target}" for source, target in pairs)


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
def _collective(
    kind: str, num_npus: int, groups: Groups, chunks: int, root: int, pairs: tuple[tuple[int, int], ...]
) -> Collective:
    """Return a collective; kept, as networks are."""
    return collective(kind, num_npus, groups=groups or None, chunks=chunks, root=root, pairs=pairs)


@lru_cache(maxsize=1024)
def _maker(name: str, options: bytes) -> list[Any]:
    """Return what identifies a synthesizer: name, version, code, all options; of a broken one, that it is broken."""
    given = msgspec.json.decode(options)
    try:
        synthesizer = find(name)
        all_options = msgspec.to_builtins(parse_options(synthesizer, given))
        return [name, synthesizer.version, code_of(synthesizer), all_options]
    except OptionError:
        return [name, None, None, given]
