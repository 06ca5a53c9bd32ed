"""Rows of a study: what each is kept under while the study runs, what was kept, and the file that holds them all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from topologies.exceptions import FormatError

if TYPE_CHECKING:
    import pandas as pd


def row_key(setting: msgspec.Struct, code: str, files: Iterable[Path] = ()) -> str:
    """Return what the row of a setting is kept under: a hash of it, of the code behind it and of what files hold."""
    digest = hashlib.sha256(f"{json.dumps(msgspec.structs.asdict(setting))},{code}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def kept_row(file: Path) -> dict[str, Any] | None:
    """Return a row that was finished; a damaged file is as none."""
    try:
        row = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return row if isinstance(row, dict) and row.get("status") == "ok" else None


def read_frame(file: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Return the rows of a study's results, CSV or Parquet.

    Raises
    ------
    FormatError
        The file is not there, or is none of this study.
    """
    import pandas as pd

    if not file.is_file():
        raise FormatError(f"{file} is not there; run without --draw first, or name the folder of results with --out")
    try:
        frame = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
    except Exception as error:  # each reader has errors of its own
        raise FormatError(f"{file} is no results file: {' '.join(str(error).split())[:200]}") from error
    for name in columns:
        if name not in frame:
            raise FormatError(f"{file} is no file of results of this study: it has no column {name!r}")
    return frame
