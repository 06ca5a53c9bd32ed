"""Results files as one table: tidy CSV or Parquet whose columns are the fields of `experiments.record.Record`.

Two columns are added. `series` is who made a row: the synthesizer, with the options that tell it from others where it
takes part several times in one problem (or `label`, where `collbench compare` wrote one). `place` is what a panel or a
group of bars is for: the topology, with the chunks, groups or link model that tell it from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.plots.style import LABELS, label_of, pages, spread
from experiments.replay import called
from experiments.runner.run import is_like
from experiments.tables.labels import labels
from experiments.tables.rows import believed, numbers, read_csv
from topologies import format_bytes
from topologies.exceptions import FormatError

if TYPE_CHECKING:
    import pandas as pd

#: Columns that every results file has.
REQUIRED = ("topology", "collective", "size", "synthesizer", "status")

_NUMBERS = ("size", "num_npus", "ranks", "time_us", "bound_us", "efficiency", "busbw_gbps", "synthesis_s")

#: Columns beside topology, collective and size that make another problem, and how they are said.
_CONDITIONS = {
    "chunks": "{} chunks", "groups": "{} groups", "ranks": "{} ranks", "latency": "{}", "switching": "{}",
    "time_limit_s": "within {} s", "scenario": "{}",
}  # fmt: skip

#: Further columns that make another problem; they are said only where the others do not tell apart already, for a group
#: may be long.
_FURTHER = ("group", "root", "pairs")

#: A problem and who solved it.
KEY = ["collective", "place", "size", "series"]

#: More sizes than these are drawn for the first, the last and some between, unless one is asked for.
_SIZES = 3


def read(
    paths: Sequence[Path], columns: Iterable[str] = (), size: int | None = None, only: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the rows of results files, those that failed among them.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders of `collbench run`.
    columns : iterable of str
        Columns that are needed beside `REQUIRED`.
    size : int, optional
        Bytes; only rows of this size.
    only : sequence of str
        Patterns, as of ``collbench run --only``; only rows that one of them means.

    Raises
    ------
    FormatError
        A file that cannot be read, lacks a column or has no rows, or nothing that worked; one line.
    """
    import pandas as pd

    rows = pd.concat([_one(path, [*REQUIRED, *columns]) for path in paths], ignore_index=True)
    named = ", ".join(map(str, paths))
    if size is not None:
        sizes = sorted(rows["size"].dropna().unique())
        rows = rows[rows["size"] == size].reset_index(drop=True)
        if rows.empty:
            found = ", ".join(format_bytes(int(each)) for each in sizes[:6]) + (", …" if len(sizes) > 6 else "")
            raise FormatError(f"{named}: no rows of {format_bytes(size)}; found sizes {found}")
    if only:
        rows = rows[chosen(rows, only)].reset_index(drop=True)
    failed = rows[rows["status"] != "ok"]
    if len(failed) == len(rows):
        first = failed.iloc[0]
        reason = str(first.get("reason") or "no reason given")
        raise FormatError(f"{named}: none of {len(rows)} runs worked, so there is nothing to draw; the first, "
                          f"{first['synthesizer']} on {first['topology']}: {first['status']}: {reason}")  # fmt: skip
    rows["series"], rows["place"] = labels(rows), places_of(rows)
    return rows


def chosen(rows: pd.DataFrame, only: Sequence[str]) -> list[bool]:
    """Return which rows the patterns of ``--only`` mean.

    Raises
    ------
    FormatError
        A pattern that means none.
    """
    labels = rows["label" if "label" in rows else "synthesizer"].tolist()
    names = [called(row) for row in rows.to_dict("records")]
    found = [False] * len(rows)
    for pattern in only:
        like = [is_like(pattern, str(label), name) for label, name in zip(labels, names, strict=True)]
        if not any(like):
            raise FormatError(
                f"--only {pattern!r} is like no row; labels are {', '.join(map(str, dict.fromkeys(labels)))}"
            )
        found = [each or also for each, also in zip(found, like, strict=True)]
    return found


def _one(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the rows of one file, its numbers as numbers."""
    import pandas as pd

    path = path / "results.parquet" if path.is_dir() else path
    try:
        with open(path, "rb") as opened:
            parquet = opened.read(4) == b"PAR1"
        rows = pd.read_parquet(path) if parquet else read_csv(path)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except pd.errors.EmptyDataError:
        raise FormatError(f"{path}: expected a results file of collbench, found an empty file") from None
    except (ValueError, pd.errors.ParserError) as error:  # what pandas and pyarrow raise for anything foreign
        fault = " ".join(str(error).split())[:120]
        raise FormatError(f"{path}: expected a results file (CSV or Parquet) of collbench: {fault}") from error
    missing = [column for column in columns if column not in rows]
    if missing:
        found = ", ".join(map(str, rows.columns[:6])) + (", …" if len(rows.columns) > 6 else "")
        if set(REQUIRED) <= set(missing):
            raise FormatError(f"{path}: expected a results file of collbench, with the columns {', '.join(REQUIRED)} "
                              f"and more; found {found:.120}")  # fmt: skip
        raise FormatError(
            f"{path}: the column{'s' if len(missing) > 1 else ''} {', '.join(missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing; found {found:.120}"
        )
    if rows.empty:
        raise FormatError(f"{path}: the results file has no rows; run an experiment that fills it")
    for column in _NUMBERS:
        if column in rows:
            rows[column] = numbers(rows[column], str(path))
    rows = believed(rows, str(path))
    for column in ("topology", "collective", "synthesizer", "status"):
        rows[column] = rows[column].astype(str)
    return rows


def places_of(rows: pd.DataFrame) -> pd.Series:
    """Return the topology of each row, with what else tells its problems apart."""
    place = rows["topology"].copy()
    for column, said in _CONDITIONS.items():
        if column not in rows or rows[column].nunique(dropna=False) == 1:
            continue
        texts = rows[column].map(lambda value, said=said, column=column: _condition(value, said, column))
        kinds = texts.groupby([rows["collective"], rows["topology"]]).transform("nunique")
        place = place.where(kinds <= 1, place + ", " + texts)
    for column in _FURTHER:
        if column in rows:
            kinds = rows[column].groupby([rows["collective"], place]).transform("nunique")
            place = place.where(kinds <= 1, place + f", {column} " + rows[column].astype(str))
    return place


def _condition(value: Any, said: str, column: str) -> str:
    """Return in words what a condition of a problem is."""
    if value != value or value is None:
        return f"no {column}"
    text = said.format(value if isinstance(value, str) else f"{value:g}")
    return text.removesuffix("s") if value == 1 and said == f"{{}} {column}" else text


def series_of(rows: pd.DataFrame) -> list[str]:
    """Return who takes part: the built-in synthesizers in the order of `LABELS`, then the others by name."""
    order = list(LABELS)
    names = rows["series"].unique().tolist()
    return sorted(names, key=lambda name: (order.index(base) if (base := name.partition(":")[0]) in order
                                           else len(order), name))  # fmt: skip


def medians(rows: pd.DataFrame, column: str) -> dict[tuple[str, int, str], float]:
    """Return the median of a column over seeds and repeats, by (place, size, series) of what worked."""
    worked = rows[(rows["status"] == "ok") & rows[column].notna()]
    found: dict[Any, float] = worked.groupby(KEY[1:], sort=False)[column].median().to_dict()
    return found


def absent(rows: pd.DataFrame) -> dict[tuple[str, int, str], str]:
    """Return the status of what never worked, by (place, size, series)."""
    found: dict[Any, str] = {}
    worked = rows["status"] == "ok"
    done = set(rows[worked].groupby(KEY[1:], sort=False).groups)
    for key, status in rows[~worked].groupby(KEY[1:], sort=False)["status"].first().items():
        if key not in done:
            found[key] = "n/a" if status == "unsupported" else status
    return found


def shown_sizes(rows: pd.DataFrame) -> tuple[list[int], str]:
    """Return the sizes that panels are drawn for, and a remark where there are more."""
    sizes = sorted(int(size) for size in rows["size"].unique())
    remark = f"{_SIZES} of {len(sizes)} sizes are shown; --size draws another." if len(sizes) > _SIZES else ""
    return spread(sizes, _SIZES), remark


def entrants(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Return who made a schedule at least once, as `series_of` orders them, and a remark that names the others."""
    worked = set(rows[rows["status"] == "ok"]["series"])
    series = series_of(rows)
    first = rows.groupby("series")["status"].first()
    others = [f"{label_of(name)} ({'n/a' if first[name] == 'unsupported' else first[name]})"
              for name in series if name not in worked]  # fmt: skip
    return [name for name in series if name in worked], f"No schedule: {', '.join(others)}." if others else ""


def by_collective(rows: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    """Yield each collective in which anything worked, with its rows."""
    for collective, of_it in rows.groupby("collective", sort=False):
        if (of_it["status"] == "ok").any():
            yield str(collective), of_it


def paged(rows: pd.DataFrame, kind: str, most: int) -> Iterator[tuple[str, pd.DataFrame, str, Sequence[str]]]:
    """Yield (name of the figure, rows, collective, places): `most` places at most a figure, further ones numbered."""
    for collective, of_it in by_collective(rows):
        for page, places in enumerate(pages(of_it["place"].unique().tolist(), most)):
            yield f"{kind}_{collective}" + (f"_{page + 1}" if page else ""), of_it, collective, places


def short_label(place: str) -> str:
    """Return a place for an axis, on several lines."""
    name, _, rest = place.partition("@")
    return "\n".join(part.strip() for part in [*name.split(", "), *rest.split(",")] if part)
