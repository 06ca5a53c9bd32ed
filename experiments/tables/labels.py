"""What the rows of a results file are called: who made each, told apart by the options that differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def labels(rows: pd.DataFrame) -> pd.Series:
    """Return who made each row: its label, else the synthesizer with the options in which its rows differ.

    Parameters
    ----------
    rows : DataFrame
        Rows of results, with a column ``synthesizer``, and ``label`` or ``options`` where there are any.
    """
    import pandas as pd

    if "label" in rows and rows["label"].notna().all():
        return rows["label"].astype(str)
    if "options" in rows:
        differing = {}
        options = rows["options"].map(_plain)
        for name, of_it in options.groupby(rows["synthesizer"]):
            keys = dict.fromkeys(key for each in of_it for key in each)
            differing[name] = [key for key in keys if len({str(each.get(key)) for each in of_it}) > 1]
        told = [
            ",".join(f"{key}={_said(each[key])}" for key in differing[name] if key in each)
            for name, each in zip(rows["synthesizer"], options, strict=True)
        ]
    else:
        told = [""] * len(rows)
    names = [f"{name}:{text}" if text else name for name, text in zip(rows["synthesizer"], told, strict=True)]
    found = pd.Series(names, rows.index)
    if "label" in rows:
        found = rows["label"].where(rows["label"].notna(), found).astype(str)
    return found


def _plain(options: Any) -> dict[str, Any]:
    """Return options as a dictionary, from JSON or from what Parquet makes of it."""
    if isinstance(options, str):
        try:
            options = json.loads(options)
        except ValueError:
            return {}
    return options if isinstance(options, dict) else {}


def _said(value: Any) -> str:
    """Return an option's value as a user types it."""
    return json.dumps(value) if isinstance(value, bool | dict | list) else str(value)
