"""What the page is told: the rows, the problems that they are about, and how names and columns are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from experiments.plots.style import Look
    from experiments.tables.layout import Table

#: Columns of results that the page knows: how their values are formatted, and what the head of a table says.
COLUMNS = {
    "experiment": ("text", "experiment"),
    "label": ("text", "synthesizer"),
    "topology": ("text", "topology"),
    "collective": ("text", "collective"),
    "size": ("bytes", "size"),
    "group": ("text", "group"),
    "root": ("count", "root"),
    "pairs": ("text", "pairs"),
    "chunks": ("count", "chunks"),
    "latency": ("text", "latency"),
    "switching": ("text", "switching"),
    "time_limit_s": ("number", "time limit (s)"),
    "scenario": ("text", "scenario"),
    "size_as_run": ("bytes", "size as run"),
    "seed": ("count", "seed"),
    "repeat": ("count", "repeat"),
    "status": ("text", "status"),
    "time_us": ("us", "time (µs)"),
    "efficiency": ("share", "efficiency"),
    "busbw_gbps": ("gbps", "busbw (GB/s)"),
    "algbw_gbps": ("gbps", "algbw (GB/s)"),
    "bound_us": ("us", "bound (µs)"),
    "bound_by": ("text", "bound by"),
    "synthesis_s": ("s", "synthesis (s)"),
    "transfers": ("count", "transfers"),
    "reason": ("text", "reason"),
    "verified": ("flag", "verified"),
    "synthesizer": ("text", "plugin"),
    "version": ("text", "version"),
    "options": ("text", "options"),
    "num_npus": ("count", "NPUs"),
    "ranks": ("count", "ranks"),
    "groups": ("count", "groups"),
    "planned_us": ("us", "planned (µs)"),
    "quantised_bound_us": ("us", "quantised bound (µs)"),
    "rsag_bound_us": ("us", "RS+AG bound (µs)"),
    "max_utilisation": ("share", "max. utilisation"),
    "mean_utilisation": ("share", "mean utilisation"),
    "channels": ("count", "channels"),
    "threadblocks": ("count", "threadblocks"),
    "steps": ("count", "steps"),
    "scratch": ("count", "scratch (chunks)"),
    "over_limits": ("text", "past MSCCL's limits"),
    "verify_s": ("s", "verification (s)"),
    "simulate_s": ("s", "simulation (s)"),
    "peak_memory_mb": ("number", "peak memory (MB)"),
    "stages": ("text", "stages"),
    "versions": ("text", "versions"),
    "machine": ("text", "machine"),
    "key": ("text", "key"),
}

#: Columns shown at first, and those shown if their values differ.
_SHOWN = ("label", "topology", "collective", "size", "status", "time_us", "efficiency", "busbw_gbps", "synthesis_s",
          "reason")  # fmt: skip
_SHOWN_IF_DIFFERENT = ("experiment", "seed", "repeat", "chunks", "group", "root", "pairs", "latency", "switching",
                       "time_limit_s", "scenario", "size_as_run")  # fmt: skip

#: What columns begin with that are for this package alone, so that no file has one of their names.
_OWN = "."

#: What matplotlib's markers are called by plotly.
_SYMBOLS = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross",
            "X": "x"}  # fmt: skip


#: Luminance of the page in the dark, and the least contrast that a mark has to it (WCAG 2.1, 1.4.11).
_DARK, _CONTRAST = 0.009, 3.0


@dataclass(frozen=True)
class Content:
    """What the page is told of the results.

    Attributes
    ----------
    rows : DataFrame
        As `reading.joined` returns them, with ``.problem`` and ``.series``: positions in `problems` and `looks`.
    problems : DataFrame
        What differs from problem to problem, its bound and its names.
    looks : dict of str to Look
        How each label is drawn, in the order of legends.
    """

    rows: pd.DataFrame
    problems: pd.DataFrame
    looks: dict[str, Look]

    def meta(self) -> dict[str, Any]:
        """Return how columns and names are shown, as plain values."""
        return {
            "looks": [
                {
                    "label": name,
                    "text": look.label,
                    "light": look.colour,
                    "dark": _lightened(look.colour),
                    "symbol": _SYMBOLS[look.marker],
                }
                for name, look in self.looks.items()
            ],
            "columns": _columns(self.rows),
        }

    def shown(self) -> pd.DataFrame:
        """Return the rows as the page has them: without what is for this package alone."""
        return self.rows[[*_theirs(self.rows), ".problem", ".series"]]


def content_of(rows: pd.DataFrame) -> Content:
    """Return what the page is told.

    Parameters
    ----------
    rows : DataFrame
        As `reading.joined` returns them.
    """
    from experiments.plots.rows import series_of
    from experiments.plots.style import looks
    from experiments.tables.repeats import PROBLEM, numbered

    number = numbered(rows, PROBLEM)
    drawn = looks(series_of(rows.assign(series=rows["label"])))
    at = {name: place for place, name in enumerate(drawn)}
    placed = {".problem": number, ".series": rows["label"].map(at).astype(int)}
    return Content(rows.assign(**placed), _problems(rows, number), drawn)


def table_frame(table: Table) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table as columns that the page can sort, and what it says of itself.

    Columns are named by their position, since heads may repeat; ``best0`` … say which cells are the best.
    """
    import pandas as pd

    columns: dict[str, Any] = {}
    for at in range(len(table.head)):
        columns[str(at)] = pd.Series([line[at].text for line in table.lines], dtype=object)
        if at >= table.sides:
            columns[f"best{at}"] = pd.Series([int(line[at].best) for line in table.lines], dtype=int)
    return pd.DataFrame(columns), {"title": table.title, "head": list(table.head), "sides": table.sides}


def _problems(rows: pd.DataFrame, number: np.ndarray) -> pd.DataFrame:
    """Return a row for each problem, by its number."""
    import pandas as pd

    from experiments.plots.busbw import bound_gbps
    from experiments.plots.rows import places_of
    from experiments.plots.scaling import family_of
    from experiments.plots.style import title_of
    from experiments.tables.repeats import PROBLEM
    from topologies import format_bytes

    kept = [name for name in (*PROBLEM, "num_npus", "ranks", "groups", "bound_by") if name in rows]
    first = np.unique(number, return_index=True)[1]
    found = rows[kept].iloc[first].reset_index(drop=True)
    found["place"] = places_of(found) if len(found) else ""
    found["family"] = found["place"].map(family_of)
    sizes = {size: format_bytes(int(size)) for size in found["size"].unique()}
    found["title"] = [
        f"{title_of(kind)} of {sizes[size]} on {place}"
        for kind, size, place in zip(found["collective"], found["size"], found["place"], strict=True)
    ]
    bounds = rows["bound_us"] if "bound_us" in rows else pd.Series(np.nan, rows.index)
    found["bound_us"] = bounds.groupby(number).median().to_numpy(float)
    ranks = found["ranks"] if "ranks" in found else pd.Series(np.nan, found.index)
    found["bound_gbps"] = np.array(
        [
            bound_gbps(kind, int(count), size, bound) if bound > 0 and count >= 1 else None
            for kind, count, size, bound in zip(
                found["collective"], ranks, found["size"], found["bound_us"], strict=True
            )
        ],
        dtype=float,
    )
    return found


def _columns(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how each column is formatted, what it is called, and whether it is shown at first."""
    import pandas as pd

    found = []
    for name in _theirs(rows):
        kind, title = COLUMNS.get(name, ("number", name))
        if pd.api.types.is_bool_dtype(rows[name].dtype):
            kind = "flag"
        elif not pd.api.types.is_numeric_dtype(rows[name].dtype):
            kind = "text"
        shown = name in _SHOWN or (name in _SHOWN_IF_DIFFERENT and rows[name].nunique(dropna=False) > 1)
        found.append({"name": name, "kind": kind, "title": title, "shown": bool(shown)})
    return found


def _theirs(rows: pd.DataFrame) -> list[str]:
    """Return the columns of the results files: those that are known first, in their order."""
    place = {name: at for at, name in enumerate(COLUMNS)}
    return sorted((name for name in rows if not name.startswith(_OWN)), key=lambda name: place.get(name, len(place)))


def names_of(values: Sequence[str], most: int = 6) -> str:
    """Return names for a sentence; of many the first, and how many more."""
    more = len(values) - most
    return ", ".join(values[:most]) + (f" and {more:,} more" if more > 0 else "")


def _lightened(colour: str) -> str:
    """Return a colour (``#rrggbb``) with as much white as it takes to be seen on the dark page."""
    for white in range(0, 100, 5):
        parts = [
            round(int(colour[at : at + 2], 16) + white / 100 * (255 - int(colour[at : at + 2], 16))) for at in (1, 3, 5)
        ]
        linear = [part / 255 / 12.92 if part < 11 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in parts]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        if luminance + 0.05 >= _CONTRAST * (_DARK + 0.05):
            break
    return "#" + "".join(f"{part:02x}" for part in parts)
