"""The results file: a row for each run, in the order of the grid, as Parquet and as comma-separated values."""

from __future__ import annotations

import csv
import io
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from experiments.record import Record
from experiments.runner.groups import groups_text, pairs_text
from experiments.runner.run import Run
from experiments.tables.labels import labels
from topologies import FormatError
from topologies.atomic import atomic_path, write_text

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

#: Columns that are measured, and so differ from one time to the next.
MEASURED = ("synthesis_s", "verify_s", "simulate_s", "peak_memory_mb", "stages")

#: Columns that are JSON.
JSON = ("options", "stages")

#: Columns that stand before those of a record, with their types.
_FIRST = {
    "experiment": str, "key": str, "label": str, "repeat": int, "group": str, "root": int, "pairs": str,
    "time_limit_s": float,
}  # fmt: skip


def row_of(run: Run, record: Record, experiment: str = "", key: str = "") -> Row:
    """Return a row: what the run was called, the key it is stored under, and its record; `JSON` columns are text."""
    content: Row = msgspec.to_builtins(record)
    for name in JSON:
        content[name] = msgspec.json.encode(content[name], order="sorted").decode()
    first = {
        "experiment": experiment,
        "key": key,
        "label": run.label,
        "repeat": run.repeat,
        "group": groups_text(run.groups),
        "root": run.root,
        "pairs": pairs_text(run.pairs),
        "time_limit_s": run.time_limit_s,
    }
    # NaN, which differs from itself, is as empty as None.
    return first | {key: None if value != value else value for key, value in content.items()}


def columns(extra: Mapping[str, type] | None = None) -> dict[str, type]:
    """Return the columns of a results file and the types of their values; those that are extra stand first."""
    hints = {name: _plain(hint) for name, hint in get_type_hints(Record).items()}
    return {**(extra or {}), **_FIRST, **hints, **dict.fromkeys(JSON, str)}


def write_results(
    folder: Path, rows: Sequence[Row], name: str = "results", extra: Mapping[str, type] | None = None
) -> None:
    """Write ``results.parquet`` and ``results.csv``, each whole or not at all.

    Parameters
    ----------
    folder : Path
    rows : sequence of dict
    name : str
        Of the files.
    extra : mapping, optional
        Columns that rows have beside those of results, and the types of their values.

    Raises
    ------
    CollbenchError
        The folder cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds: dict[type, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(column, kinds[kind]) for column, kind in columns(extra).items()])
    with atomic_path(folder / f"{name}.parquet") as temporary:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), temporary)
    text = io.StringIO()
    table = csv.DictWriter(text, list(columns(extra)), lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow({key: value for key, value in row.items() if value is not None})
    write_text(folder / f"{name}.csv", text.getvalue())


def load_results(path: str) -> pd.DataFrame:
    """Return the rows of a results file, or of the one in a folder; a label is made where there is none.

    Raises
    ------
    FormatError
        It is not there, or is no results file.
    """
    import pandas as pd

    file = Path(path) / "results.parquet" if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise FormatError(f"{file} is not there; expected results of collbench run: a folder, or its results.parquet")
    try:
        frame = read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
    except Exception as error:  # each reader has errors of its own
        raise FormatError(f"{file} is no results file: {' '.join(str(error).split())[:200]}") from error
    if "label" not in frame and "synthesizer" in frame:
        frame["label"] = labels(frame)
    needed = ("label", "topology", "collective", "size", "synthesizer", "status", "time_us", "efficiency")
    missing = [name for name in needed if name not in frame]
    if missing:
        raise FormatError(f"{file} is no results file: it has no column {missing[0]!r}")
    for name, kind in columns().items():
        if kind in (int, float) and name in frame:
            frame[name] = numbers(frame[name], str(file))
    frame = believed(frame, str(file))
    return frame.assign(**{name: frame[name].fillna("") for name in _texts() if name in frame})


def believed(frame: pd.DataFrame, file: str) -> pd.DataFrame:
    """Return rows of which none is ok that was not verified: nothing else is ever timed.

    Raises
    ------
    FormatError
        A row without a size, or with a time below 0.
    """
    if frame["size"].isna().any():
        raise FormatError(f"{file}: row {int(frame['size'].isna().argmax()) + 1} has no size; expected bytes")
    if "time_us" in frame and (wrong := frame["time_us"] < 0).any():
        raise FormatError(f"{file}: row {int(wrong.argmax()) + 1} has a time below 0; this is no file of collbench")
    if "verified" in frame:
        doubtful = (frame["status"] == "ok") & ~frame["verified"].isin([True, "True"])
        if doubtful.any():
            frame = frame.copy()
            frame.loc[doubtful, "status"] = "invalid"
            if "reason" in frame:
                frame["reason"] = frame["reason"].astype(object)
                frame.loc[doubtful, "reason"] = "it was never verified"
    return frame


def plain(frame: pd.DataFrame) -> list[Row]:
    """Return rows as dictionaries in which what is missing is None."""
    rows: list[Row] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def read_csv(path: Path) -> pd.DataFrame:
    """Return the rows of comma-separated values: texts stay as they are, only what is empty is missing."""
    import pandas as pd

    return pd.read_csv(path, dtype=dict.fromkeys(_texts(), str), keep_default_na=False, na_values=[""])


def _texts() -> list[str]:
    """Return the columns of texts."""
    return [name for name, kind in columns().items() if kind is str]


def numbers(column: pd.Series, file: str) -> pd.Series:
    """Return a column as numbers.

    Raises
    ------
    FormatError
        It holds text that is none.
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return column
    found = pd.to_numeric(column, errors="coerce")
    wrong = column.notna() & found.isna()
    if wrong.any():
        raise FormatError(f"{file}: column {column.name} holds {str(column[wrong].iloc[0])!r:.40}, expected numbers")
    return found


def _plain(hint: Any) -> type:
    """Return the type of a column that may be empty."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    found: type = get_origin(hint) or hint
    return found
