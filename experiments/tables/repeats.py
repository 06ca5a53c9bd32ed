"""Repeats and seeds brought together: of each problem and synthesizer the median, and the spread beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: What makes two rows the same problem; seeds and repeats measure it again.
PROBLEM = ("topology", "collective", "size", "chunks", "group", "root", "pairs", "latency", "switching")


def aggregated(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a row for each problem and label, in the order of the results.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    value : str
        A column of numbers.

    Returns
    -------
    aggregated : DataFrame
        The columns of the problem, ``label``, ``synthesizer``, ``status`` (``ok`` if any measurement was), ``reason``
        (the first), ``value`` (median of those that were ok), ``spread`` (the largest less the smallest) and
        ``measurements``.
    """
    import pandas as pd

    keys = [name for name in (*PROBLEM, "label") if name in frame]
    worked = frame["status"] == "ok"
    numbers = pd.to_numeric(frame[value], errors="coerce").where(worked)
    work = frame.assign(_value=numbers, _failed=~worked, _order=np.arange(len(frame)))
    # Of several measurements the one that worked speaks for all.
    first = work.sort_values(["_failed", "_order"], kind="stable").groupby(keys, sort=False, dropna=False)
    found = first[["synthesizer", "status", "reason"]].first()
    groups = work.groupby(keys, sort=False, dropna=False)
    found["value"] = groups["_value"].median()
    found["spread"] = groups["_value"].max() - groups["_value"].min()
    found["measurements"] = groups["_value"].count()
    found["_order"] = groups["_order"].min()
    return found.reset_index().sort_values("_order").drop(columns="_order").reset_index(drop=True)
