"""Repeats and seeds brought together: of each problem and synthesizer the median, and the spread beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from topologies import FormatError

if TYPE_CHECKING:
    import pandas as pd

#: What makes two rows the same problem; seeds and repeats measure it again. The last three are columns of results that
#: were worked on: of `experiments.sensitivity`, and of `experiments.tables.deadlines`.
PROBLEM = (
    "topology", "collective", "size", "chunks", "group", "root", "pairs", "latency", "switching", "time_limit_s",
    "scenario", "size_as_run", "deadline_s",
)  # fmt: skip


def numbered(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return (rows,) int: 0, 1, … for each different combination of the columns that are there, as they appear."""
    import pandas as pd

    found = np.zeros(len(frame), np.int64)
    for name in names:
        if name in frame:
            code, different = pd.factorize(frame[name], use_na_sentinel=False)
            found = pd.factorize(found * len(different) + code)[0]
    return found


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
        Of the first measurement that was ok, else of the first, all columns; and ``value`` (median of those that were
        ok), ``spread`` (the largest less the smallest).
    """
    import pandas as pd

    number = numbered(frame, (*PROBLEM, "label"))
    worked = (frame["status"] == "ok").to_numpy()
    order = np.lexsort((np.arange(len(frame)), ~worked, number))
    speaker = order[np.unique(number[order], return_index=True)[1]]
    measured = pd.to_numeric(frame[value], errors="coerce").where(worked).astype(float)
    groups = measured.groupby(number)
    spread = (groups.max() - groups.min()).to_numpy()
    return frame.iloc[speaker].reset_index(drop=True).assign(value=groups.median().to_numpy(), spread=spread)


def typical(frame: pd.DataFrame, also: Sequence[str] = ()) -> pd.DataFrame:
    """Return a run for each problem and label, in the order of the results.

    It is the one whose time is the median of those that were ok (of two in the middle, the quicker); where none was,
    the first.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    also : sequence of str
        Columns that tell further runs apart.

    Raises
    ------
    FormatError
        Results without times.
    """
    import pandas as pd

    if "time_us" not in frame:
        raise FormatError("these are no results of collbench run: they have no column 'time_us'")
    time = pd.to_numeric(frame["time_us"], errors="coerce").to_numpy(float)
    number = numbered(frame, (*PROBLEM, "label", *also))
    worked = (frame["status"] == "ok").to_numpy()
    order = np.lexsort((np.arange(len(frame)), time, ~worked, number))
    first = np.unique(number[order], return_index=True)[1]
    middle = np.maximum(np.bincount(number, worked).astype(int) - 1, 0) // 2
    return frame.iloc[order[first + middle]].reset_index(drop=True)
