"""Rows of the study as its tables and figures read them, and the files that hold them.

A point is measured once for each seed; what is shown of it is the median over them, with the least and the most.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from experiments.study_rows import read_frame
from experiments.tables.rows import Row, plain
from experiments.topoopt_study.networks import NETWORKS
from experiments.topoopt_study.settings import Setting
from topologies.atomic import atomic_path

if TYPE_CHECKING:
    import pandas as pd

#: Columns of rows that are lists, as JSON in the files of results.
LISTS = ("trace", "hops", "link_busy_us")

#: Columns of figures; `measure.measure` says what they are. Rows that failed have none.
FIGURES = (
    "usd", "search_s", "joint_us", "all_reduce_us", "mp_us", "bound_us", "compute_s", "no_overlap_s", "overlap_s",
    "exposed_s", "bandwidth_tax",
)  # fmt: skip

#: Column of the search's estimate of an iteration without overlap, in seconds.
ESTIMATE = "estimated_s"

#: Gb/s of a port at which what is no line over bandwidths is shown, where it was measured.
REFERENCE = 100.0

_SETTING = tuple(field.name for field in msgspec.structs.fields(Setting))


class Case(NamedTuple):
    """Servers, and ports of each."""

    servers: int
    ports: int

    def __str__(self) -> str:
        return f"{self.servers} servers, d = {self.ports}"


class Spread(NamedTuple):
    """Of one figure over seeds."""

    median: float
    least: float
    most: float


def write_results(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``results.parquet`` and ``results.csv``, each whole or not at all; lists are JSON, traces in Parquet only.

    Raises
    ------
    CollbenchError
        The folder cannot be written.
    """
    frame = frame_of(rows)
    with atomic_path(folder / "results.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    with atomic_path(folder / "results.csv") as temporary:
        frame.drop(columns="trace").to_csv(temporary, index=False, lineterminator="\n")


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table that has all columns, whichever rows failed; lists are JSON."""
    import pandas as pd

    first = dict.fromkeys((*_SETTING, *FIGURES, ESTIMATE, "status", "reason"))

    def columns(row: Row) -> Row:
        """Return a row with all columns; beside what is simulated stands what the search took its best for."""
        estimate = {ESTIMATE: row["trace"][-1]} if row.get("trace") else {}
        return first | row | estimate | {name: json.dumps(row.get(name, [])) for name in LISTS}

    return pd.DataFrame([columns(row) for row in rows], columns=None if rows else [*first, *LISTS])


def read_results(folder: Path) -> pd.DataFrame:
    """Return the rows of ``results.parquet`` in a folder.

    Raises
    ------
    FormatError
        It is not there, or is no file of this study.
    """
    return read_frame(folder / "results.parquet", (*_SETTING, *FIGURES, *LISTS, "status", "reason"))


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Return rows with lists as lists, what is missing as None, and what follows: ``gbit_per_s``, ``usd_per_server``.

    Parameters
    ----------
    frame : DataFrame
        As `read_results` returns it.
    """
    rows = plain(frame)
    for row in rows:
        row |= {name: json.loads(row[name] or "[]") for name in LISTS}
        row["case"] = Case(row["servers"], row["ports"])
        row["gbit_per_s"] = float(f"{8 * row['port_gbps']:.6g}")
        row["usd_per_server"] = None if row["usd"] is None else row["usd"] / row["servers"]
    return rows


def grouped(rows: Iterable[Row], *columns: str) -> dict[tuple, list[Row]]:
    """Return the rows that worked by the values of some columns, in the order in which they come."""
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        if row["status"] == "ok":
            found.setdefault(tuple(row[name] for name in columns), []).append(row)
    return found


def spread(rows: Iterable[Row], column: str) -> Spread | None:
    """Return median, least and most of a figure; None where no row has it."""
    values = [row[column] for row in rows if row[column] is not None]
    return Spread(median(values), min(values), max(values)) if values else None


def middle(lists: Sequence[Sequence[float]]) -> list[float]:
    """Return the median at each place of lists of one length; empty ones do not count."""
    return [median(values) for values in zip(*filter(None, lists), strict=True)]


def cases(rows: Iterable[Row]) -> list[Case]:
    """Return the cases, large ones first."""
    return sorted({row["case"] for row in rows}, key=lambda case: (-case.servers, case.ports))


def networks(rows: Iterable[Row]) -> list[str]:
    """Return the networks of rows, in the order of `NETWORKS`."""
    found = {row["network"] for row in rows}
    return [name for name in NETWORKS if name in found]


def bandwidths(rows: Iterable[Row]) -> list[float]:
    """Return the bandwidths of a port in Gb/s, ascending."""
    return sorted({row["gbit_per_s"] for row in rows})


def at_reference(rows: Sequence[Row]) -> list[Row]:
    """Return the rows at `REFERENCE`; at the fastest ports, where nothing was measured there."""
    found = bandwidths(rows)
    chosen = REFERENCE if REFERENCE in found else max(found, default=None)
    return [row for row in rows if row["gbit_per_s"] == chosen]
