"""The schedule behind a row of results: the one that was kept, or the same made again.

What is returned was verified here, and takes as long as its row says: a file that was exchanged, or a synthesizer that
does not repeat itself, is found out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from experiments.evaluate import blank
from experiments.interruption import raise_if_interrupted
from experiments.runner.groups import groups_of, pairs_of
from experiments.runner.run import Run, phrase
from experiments.runner.store import schedule_path
from schedules import Schedule, load_schedule, verify
from simulator import LinkModel, simulate_ps
from synthesizers import find, parse_options
from topologies import CollbenchError, TopologyError

#: A time written to a file and read again may differ in its last digit.
_SAME = 1e-9


def schedule_of(row: Mapping[str, Any], folder: Path | None = None) -> Schedule:
    """Return the schedule of a row.

    Parameters
    ----------
    row : mapping
        A row of results, as `tables.load_results` returns them, whose status is ok; of `collbench compare` too.
    folder : Path, optional
        Of the results: schedules that were kept are there.

    Raises
    ------
    CollbenchError
        It was not kept and cannot be made again; or it is wrong, or not the one of the row.
    """
    said = called(row)
    if row["status"] != "ok":
        raise CollbenchError(f"{said}: there is no schedule, its status is {row['status']}")
    path = schedule_path(folder, row["key"]) if folder is not None and row.get("key") else None
    schedule = load_schedule(path) if path is not None and path.is_file() else _again(row, said)
    verify(schedule)
    time_us = simulate_ps(schedule, int(row["size"]), link_model(row)) / 1e6
    if abs(time_us - row["time_us"]) > _SAME * row["time_us"]:
        raise CollbenchError(
            f"{said}: its schedule takes {time_us:g} us now, and {row['time_us']:g} us in the results; run the "
            "experiment again with --keep-schedules"
        )
    return schedule


def called(row: Mapping[str, Any]) -> str:
    """Return what the run of a row is called; columns that a row does not have are as in most runs."""
    usual = {"label": row["synthesizer"], "chunks": 1, "group": "all", "time_limit_s": None, "seed": 0, "repeat": 0}
    names = ("label", "collective", "size", "topology", "chunks", "group", "time_limit_s", "seed", "repeat")
    return phrase(*(row.get(name, usual.get(name)) for name in names))


def link_model(row: Mapping[str, Any]) -> LinkModel:
    """Return the link model of a row."""
    return LinkModel(row["latency"], row["switching"])


def run_of(row: Mapping[str, Any]) -> Run:
    """Return the run that a row is of; one on a network that was a file has the network's name only."""
    options = msgspec.json.decode(row["options"]) if row["options"] else {}
    limit = row.get("time_limit_s")
    return Run(
        topology=row["topology"],
        collective=row["collective"],
        size=int(row["size"]),
        synthesizer=row["synthesizer"],
        label=row.get("label") or row["synthesizer"],
        chunks=int(row["chunks"]),
        groups=() if row["collective"] == "send_recv" else groups_of(row.get("group", "all")),
        root=int(row.get("root", 0)),
        pairs=pairs_of(row.get("pairs", "")),
        latency=row["latency"],
        switching=row["switching"],
        options=options,
        seed=int(row["seed"]),
        repeat=int(row.get("repeat", 0)),
        time_limit_s=float(limit) if limit and limit == limit else None,
    )


def _again(row: Mapping[str, Any], said: str) -> Schedule:
    """Make the schedule of a row again."""
    run, hint = run_of(row), "run the experiment again with --keep-schedules"
    try:
        problem = run.problem()
    except TopologyError as error:
        raise CollbenchError(f"{said}: its schedule was not kept and its network is no short name; {hint}") from error
    if (asked := blank(problem, run.synthesizer)).ranks != row["ranks"] or asked.groups != row["groups"]:
        raise CollbenchError(f"{said}: its schedule was not kept and its row does not say its groups; {hint}")
    synthesizer = find(run.synthesizer)
    if synthesizer.version != row["version"]:
        raise CollbenchError(
            f"{said}: its schedule was not kept and was made by version {row['version']} of {run.synthesizer}, here is "
            f"version {synthesizer.version}; {hint}"
        )
    try:
        schedule = synthesizer.synthesize(problem, parse_options(synthesizer, run.options))
    except Exception as error:  # a synthesizer may be anybody's
        raise_if_interrupted(error)
        raise CollbenchError(f"{said}: its schedule was not kept and could not be made again: {error}") from error
    raise_if_interrupted()
    return schedule
