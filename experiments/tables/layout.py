"""A table to read: one column of results laid out by others, relative to one synthesizer if asked."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.tables.repeats import PROBLEM, aggregated
from topologies import OptionError, format_bytes

if TYPE_CHECKING:
    import pandas as pd

#: Columns that may stand at the side or the head of a table.
PLACES = (*PROBLEM, "label", "synthesizer", "num_npus", "ranks", "seed", "options", "experiment")

#: Values, and whether more is better.
VALUES = {
    "time_us": False, "efficiency": True, "busbw_gbps": True, "algbw_gbps": True, "synthesis_s": False,
    "verify_s": False, "simulate_s": False, "peak_memory_mb": False, "bound_us": False, "transfers": False,
    "max_utilisation": True, "mean_utilisation": True,
}  # fmt: skip

#: Values this close to the best are as good.
_TIE = 1e-3


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and whether it is the best of its line."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table as text.

    Attributes
    ----------
    title : str
    head : tuple of str
    lines : list of lists of Cell
    sides : int
        How many columns at the left are names.
    """

    title: str
    head: tuple[str, ...]
    lines: list[list[Cell]]
    sides: int


def lay_out(
    frame: pd.DataFrame,
    rows: Sequence[str] | None = None,
    column: str = "label",
    value: str = "busbw_gbps",
    normalise: str | None = None,
    title: str = "",
    spread: bool = False,
) -> Table:
    """Return a table of results.

    A cell is the median of repeats and seeds. Where it stands for several problems, it is their mean, a geometric one
    of times and ratios, over those that worked; if that was not all of them, it says how many.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    rows : sequence of str, optional
        Columns of the results at the side; by default topology, collective, size and what else problems differ in.
    column : str
        The one at the head.
    value : str
        One of `VALUES`.
    normalise : str, optional
        A label: values are divided by its value on the same problem.
    title : str
        By default made from the rest.
    spread : bool
        Whether to show the largest less the smallest measurement too.

    Raises
    ------
    OptionError
        A column, value or label that is not there; with the nearest.
    """
    if rows is None:
        rows = [name for name in PROBLEM if name != column and (name in PROBLEM[:3] or frame[name].nunique() > 1)]
    for name in (*rows, column):
        _require(name, [place for place in PLACES if place in frame], "column")
    _require(value, VALUES, "value")
    extra = [name for name in (*rows, column) if name not in (*PROBLEM, "label")]
    parts = aggregated(frame, value)
    for name in extra:  # what the label or the problem determines
        parts[name] = _looked_up(frame, parts, name)
    ratio = normalise is not None
    if ratio:
        _require(str(normalise), list(dict.fromkeys(frame["label"])), "label")
        parts = _divided(parts, str(normalise))
    heads = list(dict.fromkeys(parts[column]))
    lines = []
    for names, block in parts.groupby(list(rows), sort=False, dropna=False):
        names = names if isinstance(names, tuple) else (names,)
        cells = [_number(block[block[column] == head], ratio or value in ("time_us", "synthesis_s")) for head in heads]
        numbers = [number for number, _, _ in cells]
        best = _best(numbers, VALUES[value]) if len(heads) > 1 else [False] * len(heads)
        line = [Cell(_shown(key, name)) for key, name in zip(rows, names, strict=True)]
        for (number, note, wide), good in zip(cells, best, strict=True):
            text = note if number is None else _figure(number) + (f" ± {_figure(wide)}" if spread and wide else "")
            line.append(Cell(text + (f" {note}" if number is not None and note else ""), good))
        lines.append(line)
    default = f"{value} relative to {normalise}" if ratio else value
    return Table(title or default, (*rows, *(_shown(column, head) for head in heads)), lines, len(rows))


def _require(name: str, known: Any, what: str) -> None:
    """Refuse a name that is not among those known, with the nearest."""
    if name not in known:
        near = difflib.get_close_matches(name.lower(), list(known), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
        raise OptionError(f"the results have no {what} {name!r}; {hint}")


def _looked_up(frame: pd.DataFrame, parts: pd.DataFrame, name: str) -> list[Any]:
    """Return a column of the results for aggregated rows."""
    keys = [key for key in (*PROBLEM, "label") if key in frame]
    first = frame.drop_duplicates(keys).set_index(keys)[name]
    return [first[key] for key in parts[keys].itertuples(index=False, name=None)]


def _divided(parts: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return aggregated rows with values divided by one label's on the same problem; where that has none, none."""
    keys = [key for key in PROBLEM if key in parts]
    reference = parts[parts["label"] == label].set_index(keys)["value"].rename("_reference")
    joined = parts.join(reference, on=keys)
    base = joined["_reference"].where(joined["_reference"] > 0)
    return parts.assign(value=parts["value"] / base, spread=parts["spread"] / base)


def _number(part: pd.DataFrame, geometric: bool) -> tuple[float | None, str, float]:
    """Return the number of a cell, what is to be said of it, and its spread."""
    values = part["value"].to_numpy(float)
    good = values[np.isfinite(values)]
    if not len(good):
        statuses = list(dict.fromkeys(part["status"]))
        plain = {"unsupported": "–", "ok": "n/a"}
        return None, plain.get(statuses[0], statuses[0]) if statuses else "", 0.0
    note = f"({len(good)} of {len(part)})" if len(good) < len(part) else ""
    if geometric and (good > 0).all():
        return float(np.exp(np.log(good).mean())) if len(good) > 1 else float(good[0]), note, _widest(part)
    return float(good.mean()), note, _widest(part)


def _widest(part: pd.DataFrame) -> float:
    """Return the spread of a cell: the largest of its problems'."""
    return float(np.nanmax(part["spread"].to_numpy(float)))


def _best(numbers: Sequence[float | None], more: bool) -> list[bool]:
    """Return which numbers are the best, or as good."""
    there = [number for number in numbers if number is not None]
    if not there:
        return [False] * len(numbers)
    top = max(there) if more else min(there)
    return [number is not None and abs(number - top) <= _TIE * abs(top) for number in numbers]


def _figure(number: float) -> str:
    """Return a number to four digits, without an exponent."""
    if number == 0 or not np.isfinite(number):
        return "0" if number == 0 else str(number)
    decimals = max(0, 3 - int(np.floor(np.log10(abs(number)))))
    return f"{number:,.{decimals}f}"


def _shown(column: str, name: Any) -> str:
    """Return a name at the side or head of a table."""
    return format_bytes(int(name)) if column == "size" else str(name)
