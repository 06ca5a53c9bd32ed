"""Networks after failures: drawn from a study file, written as topology files, and an experiment over them.

In a draw the failures of a network come one after the other in a random order, so that more failures include fewer; one
that would cut the network in two is left out, for no collective of all NPUs is possible then.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec

from experiments.files.study_file import read_study
from topologies import Topology, parse_topology
from topologies.atomic import write_text
from topologies.exceptions import TopologyError
from topologies.files import save_topology


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network, what of it fails (``cables`` or ``npus``), how many of them, and in which draws."""

    network: str
    what: str
    lost: list[int]
    draws: list[int]


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; ``grid`` is the part of an experiment file that is the same for all networks."""

    description: str
    grid: dict[str, Any]
    cases: list[Case]


class Damage(msgspec.Struct, frozen=True):
    """One draw of failures of a network."""

    network: str
    what: str
    lost: int
    draw: int

    @property
    def name(self) -> str:
        """What the network is called afterwards."""
        return f"{self.network} less {self.lost} {self.what}, draw {self.draw}"


def read_damages(path: Path) -> tuple[Study, list[Damage]]:
    """Return a study file, and the failures that it asks for.

    Raises
    ------
    CollbenchError
        A mistake in the file, with its line.
    """
    document, study = read_study(path, Study, "cases", Case)
    damages: dict[Damage, None] = {}  # a set that keeps the order
    for at, case in enumerate(study.cases):
        if case.what not in ("cables", "npus"):
            raise document.error(("cases", at, "what"), f"what: expected cables or npus, found {case.what}")
        if min([*case.lost, *case.draws], default=0) < 0:
            raise document.error(("cases", at), "lost and draws: expected no negative numbers")
        for lost in case.lost:
            # Without failures all draws are the same.
            draws = case.draws if lost else case.draws[:1]
            damages |= dict.fromkeys(Damage(case.network, case.what, lost, draw) for draw in draws)
    return study, list(damages)


def damaged(damage: Damage) -> Topology:
    """Return the network that is left.

    Raises
    ------
    TopologyError
        So many cannot fail without cutting the network in two.
    """
    topology = parse_topology(damage.network)
    if damage.what == "npus":
        parts: list[tuple[int, ...]] = [(npu,) for npu in range(topology.num_npus)]
    else:
        cables: dict[tuple[int, int], list[int]] = {}
        for link, ends in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
            cables.setdefault((min(ends), max(ends)), []).append(link)
        parts = [tuple(links) for links in cables.values()]
    random.Random(damage.draw).shuffle(parts)
    field = "nodes" if damage.what == "npus" else "links"
    gone: list[int] = []
    lost = 0
    for part in parts:
        if lost == damage.lost:
            break
        rest = topology.without(**{field: [*gone, *part]})
        if len(rest.components()) == 1:
            gone += part
            lost += 1
    if lost < damage.lost:
        raise TopologyError(
            f"{damage.network} falls apart when {damage.lost} {damage.what} fail in draw {damage.draw}; expected at "
            f"most {lost}"
        )
    rest = topology.without(**{field: gone})
    return Topology(rest.num_npus, rest.src, rest.dst, rest.latency_us, rest.bandwidth_gbps, rest.num_switches,
                    damage.name, rest.node_names)  # fmt: skip


def write_grid(path: Path, out: Path) -> Path:
    """Write the networks of a study file and the experiment file over them into a folder; return the latter.

    Raises
    ------
    CollbenchError, OSError
        A mistake in the study file; the folder cannot be written.
    """
    study, damages = read_damages(path)
    (out / "networks").mkdir(parents=True, exist_ok=True)
    names = []
    for damage in damages:
        file = f"networks/{damage.name.replace(':', '-').replace(', ', '_').replace(' ', '_')}.json"
        save_topology(damaged(damage), out / file)
        names.append(file)
    grid = {"description": study.description, **study.grid}
    grid["problems"] = {"topology": names, **grid.get("problems", {})}
    # JSON is YAML, a key on a line.
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in grid.items()]
    write_text(out / "experiment.yaml", "{" + ",\n".join(lines) + "}\n")
    return out / "experiment.yaml"
