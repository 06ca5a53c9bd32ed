"""A table to read: one column of results laid out by others, relative to one synthesizer if asked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.tables.repeats import PROBLEM, aggregated, numbered
from topologies import OptionError, format_bytes

if TYPE_CHECKING:
    import pandas as pd

#: Columns that may stand at the side or the head of a table.
PLACES = (*PROBLEM, "label", "synthesizer", "num_npus", "ranks", "seed", "options", "experiment")

#: Values, and whether more is better.
VALUES = {
    "time_us": False, "efficiency": True, "busbw_gbps": True, "algbw_gbps": True, "synthesis_s": False,
    "verify_s": False, "simulate_s": False, "peak_memory_mb": False, "bound_us": False, "transfers": False,
    "max_utilisation": True, "mean_utilisation": True, "channels": False, "threadblocks": False, "steps": False,
    "scratch": False,
}  # fmt: skip

#: Values this close to the best are as good, and times win too.
TIE = 1e-3


@dataclass(frozen=True, slots=True)
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
        rows = [name for name in problem_columns(frame) if name != column]
    for name in (*rows, column):
        require(name, [place for place in PLACES if place in frame], "columns")
    require(value, VALUES, "value")
    if normalise is not None:
        require(normalise, dict.fromkeys(frame["label"]), "normalise")
    parts = aggregated(frame, value)
    if normalise is not None:
        parts = _divided(parts, normalise)
    geometric = normalise is not None or value.endswith(("_us", "_s"))
    side, head = numbered(parts, rows), numbered(parts, [column])
    heads = parts[column].unique().tolist()
    first = np.unique(side, return_index=True)[1]
    cells = _cells(parts, side * len(heads) + head, len(first) * len(heads), geometric)
    best = _best(cells.number.reshape(len(first), len(heads)), VALUES[value]).ravel().tolist()
    figures = [Cell(cells.text(place, spread), good and len(heads) > 1) for place, good in enumerate(best)]
    names = [_names(key, parts[key].iloc[first]) for key in rows]
    lines = [
        [*(column[at] for column in names), *figures[at * len(heads) : (at + 1) * len(heads)]]
        for at in range(len(first))
    ]
    default = value if normalise is None else f"{value} relative to {normalise}"
    return Table(title or default, (*rows, *(shown(column, each) for each in heads)), lines, len(rows))


@dataclass(frozen=True)
class _Cells:
    """The cells of a table: (cells,) arrays of their number, spread, problems that worked, problems, status."""

    number: np.ndarray
    spread: np.ndarray
    worked: np.ndarray
    problems: np.ndarray
    status: list[str]

    def text(self, place: int, spread: bool) -> str:
        """Return a cell as text."""
        if not self.worked[place]:
            return {"unsupported": "–", "ok": "n/a"}.get(self.status[place], self.status[place])
        text = four_digits(float(self.number[place]))
        if spread and self.spread[place]:
            text += f" ± {four_digits(float(self.spread[place]))}"
        if self.worked[place] < self.problems[place]:
            text += f" ({self.worked[place]} of {self.problems[place]})"
        return text


def _cells(parts: pd.DataFrame, place: np.ndarray, count: int, geometric: bool) -> _Cells:
    """Return the cells that aggregated rows fall into: means over those with a number, geometric where all are > 0."""
    value = parts["value"].to_numpy(float)
    good = np.isfinite(value)
    worked = np.bincount(place[good], minlength=count)
    positive = geometric and bool((value[good] > 0).all())
    kept = np.log(value[good]) if positive else value[good]
    with np.errstate(invalid="ignore"):
        number = np.bincount(place[good], kept, count) / worked
    number = np.exp(number) if positive else number
    spread = np.zeros(count)
    np.maximum.at(spread, place[good], parts["spread"].to_numpy(float)[good])
    status = np.full(count, "", object)
    filled, first = np.unique(place, return_index=True)
    status[filled] = parts["status"].to_numpy(object)[first]
    return _Cells(number, spread, worked, np.bincount(place, minlength=count), status.tolist())


def problem_columns(frame: pd.DataFrame) -> list[str]:
    """Return topology, collective, size, and what else problems differ in; no value at all is one, too."""
    differ = [name for name in PROBLEM[3:] if name in frame and frame[name].nunique(dropna=False) > 1]
    return [*PROBLEM[:3], *differ]


def require(name: str, known: Iterable[str], what: str) -> None:
    """Refuse a name that is not among those known, with the nearest."""
    known = list(known)
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
        raise OptionError(f"{what}: there is no {name!r}; {hint}")


def _divided(parts: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return aggregated rows with values divided by one label's on the same problem; where that has none, none."""
    problem = numbered(parts, PROBLEM)
    base = np.full(problem.max() + 1, np.nan)
    chosen = (parts["label"] == label).to_numpy()
    base[problem[chosen]] = parts["value"].to_numpy(float)[chosen]
    base[~(base > 0)] = np.nan
    return parts.assign(value=parts["value"] / base[problem], spread=parts["spread"] / base[problem])


def _best(numbers: np.ndarray, more: bool) -> np.ndarray:
    """Return (lines, heads) bool: the best number of each line, and what is as good; NaN never is."""
    finite = np.isfinite(numbers)
    cost = np.where(finite, -numbers if more else numbers, np.inf)
    least = cost.min(axis=1, keepdims=True, initial=np.inf)
    with np.errstate(invalid="ignore"):  # lines without a number
        near: np.ndarray = finite & (np.abs(cost - least) <= TIE * np.abs(least))
    return near


def four_digits(number: float) -> str:
    """Return a number to four digits, without an exponent."""
    if number == 0 or not np.isfinite(number):
        return "0" if number == 0 else str(number)
    decimals = max(0, 3 - int(np.floor(np.log10(abs(number)))))
    return f"{number:,.{decimals}f}"


def _names(column: str, values: pd.Series) -> list[Cell]:
    """Return the cells of a column of names, of which many are the same."""
    import pandas as pd

    codes, different = pd.factorize(values, use_na_sentinel=False)
    cells = [Cell(shown(column, each)) for each in different.tolist()]
    return [cells[code] for code in codes.tolist()]


def shown(column: str, name: Any) -> str:
    """Return a name at the side or head of a table."""
    if column in ("time_limit_s", "deadline_s"):
        return "none" if name is None or name != name else f"{name:g}"
    return format_bytes(int(name)) if column in ("size", "size_as_run") else str(name)
