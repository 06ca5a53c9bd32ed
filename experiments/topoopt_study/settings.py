"""What the TopoOpt study runs: cases of servers, ports, bandwidths, workloads, networks and seeds, from a YAML file."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec

from experiments.files.marked_yaml import Document
from experiments.files.study_file import read_study
from experiments.topoopt_study.networks import NETWORKS
from experiments.workloads import shipped
from topologies import parse_bandwidth, parse_time
from topologies.exceptions import UnitError


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A product of settings.

    Attributes
    ----------
    servers, ports : int, list of int
        Servers, and ports of each.
    bandwidth : list of str
        Of a port, with its unit.
    workloads, networks : list of str
        Names, see `experiments.workloads` and `NETWORKS`.
    seeds : list of int
    budget : int
        Strategies that are evaluated for each network.
    """

    servers: int
    ports: list[int]
    bandwidth: list[str]
    workloads: list[str]
    networks: list[str]
    seeds: list[int]
    budget: int


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file: what it is about, the latency of a link, and the cases."""

    description: str
    latency: str
    cases: list[Case]


class Setting(msgspec.Struct, frozen=True):
    """One row of the study.

    Attributes
    ----------
    workload, network : str
    servers, ports : int
    port_gbps, latency_us : float
        GB/s and µs of a port.
    seed, budget : int
    """

    workload: str
    network: str
    servers: int
    ports: int
    port_gbps: float
    latency_us: float
    seed: int
    budget: int


def read_settings(path: Path) -> list[Setting]:
    """Return the settings of a study file, in the order in which the file has them, each once.

    Raises
    ------
    ExperimentError
        A mistake in the file, with its line.
    """
    document, found = read_study(path, Settings, "cases", Case)
    latency_us = _quantity(document, found.latency, parse_time, ("latency",))
    if not found.cases:
        raise document.error(("cases",), "cases: expected at least one, found none")
    settings: dict[Setting, None] = {}  # a set that keeps the order
    for at, case in enumerate(found.cases):
        place = ("cases", at)
        for key in ("bandwidth", "workloads", "networks"):
            if not getattr(case, key):
                raise document.error((*place, key), f"{key}: expected at least one, found none")
        _require_named(document, case.workloads, list(shipped()), (*place, "workloads"))
        _require_named(document, case.networks, list(NETWORKS), (*place, "networks"))
        for key, least, values in (("servers", 2, [case.servers]), ("ports", 1, case.ports), ("seeds", 0, case.seeds),
                                   ("budget", 1, [case.budget])):  # fmt: skip
            if not values or min(values) < least:
                found_there = ", ".join(map(str, values)) or "none"
                raise document.error((*place, key), f"{key}: expected {least} or more, found {found_there}")
        for key, listed in (("ports", case.ports), ("seeds", case.seeds)):
            twice = [value for at, value in enumerate(listed) if value in listed[:at]]
            if twice:
                raise document.error((*place, key), f"{key}: {twice[0]} stands there twice; expected each once")
        widths = [
            _quantity(document, each, parse_bandwidth, (*place, "bandwidth", number))
            for number, each in enumerate(case.bandwidth)
        ]
        settings |= dict.fromkeys(
            Setting(workload, network, case.servers, ports, gbps, latency_us, seed, case.budget)
            for ports, gbps, workload, network, seed in itertools.product(
                case.ports, widths, case.workloads, case.networks, case.seeds
            )
        )
    return list(settings)


def _quantity(document: Document, text: str, parse: Any, place: tuple) -> float:
    """Return a value with a unit."""
    try:
        return float(parse(text))
    except UnitError as error:
        raise document.error(place, str(error)) from None


def _require_named(document: Document, names: list[str], known: list[str], place: tuple) -> None:
    """Refuse a name that nobody has."""
    for at, name in enumerate(names):
        if name not in known:
            raise document.error((*place, at), f"unknown name {name!r}; expected one of {', '.join(known)}")
