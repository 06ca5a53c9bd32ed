"""All rows of the scaling study, one after another, each in a process of its own and kept as soon as it is finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from experiments.isolation import EndedError, Isolation
from experiments.progress import counted
from experiments.runner.sources import code_behind
from experiments.scaling_study.measure import FIGURES, attempt, failed
from experiments.scaling_study.settings import Setting
from experiments.study_rows import kept_row, read_frame, row_key
from topologies.atomic import atomic_path, write_text

#: Seconds after which a run is ended: the paper's own time for 40,000 NPUs is 9,072.
_LIMIT_S = 9072.0


def collect(settings: Sequence[Setting], out: Path) -> list[dict[str, Any]]:
    """Return the row of every setting, in their order, and write them; what is there already is not measured again.

    Rows are kept in ``rows`` under a hash of the setting and of the code that made them; all are in ``results.csv``.
    """
    folder = out / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    code = code_behind(attempt.__module__, frozenset({"experiments.files"}))
    rows: list[dict[str, Any]] = []
    try:
        with counted(len(settings)) as advance:
            for setting in settings:
                file = folder / f"{row_key(setting, code)}.json"
                row = kept_row(file)
                if row is None:
                    row = _alone(setting)
                    if row["status"] == "ok":  # what failed is tried again
                        write_text(file, json.dumps(row))
                rows.append(row)
                name = f"{setting.collective} on {setting.topology}"
                told = f"{row['synthesis_s']:.4g} s" if row["status"] == "ok" else row["reason"]
                advance(f"{name}: {told}", name, aloud=row["status"] != "ok")
    finally:
        write_rows(out, rows)
    return rows


def _alone(setting: Setting) -> dict[str, Any]:
    """Return the row of a setting, measured in a new process."""
    with Isolation() as apart:
        try:
            return apart.call(_LIMIT_S, attempt, setting)
        except EndedError as error:
            return failed(setting, str(error))


def write_rows(out: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write ``results.csv``, whole or not at all."""
    import pandas as pd

    columns = [*(field.name for field in msgspec.structs.fields(Setting)), *FIGURES, "status", "reason", "machine"]
    with atomic_path(out / "results.csv") as temporary:
        pd.DataFrame(rows, columns=columns).to_csv(temporary, index=False, lineterminator="\n")


def read_rows(out: Path) -> list[dict[str, Any]]:
    """Return the rows of ``results.csv``; figures that are missing are None.

    Raises
    ------
    FormatError
        It is not there, or is no file of this study.
    """
    frame = read_frame(out / "results.csv", (*FIGURES, "series", "status"))
    frame = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
