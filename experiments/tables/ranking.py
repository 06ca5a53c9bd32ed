"""A ranking over all problems: how close to the bound, how often the best, how often nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.tables.layout import TIE, Cell, Table
from experiments.tables.repeats import PROBLEM, aggregated, numbered

if TYPE_CHECKING:
    import pandas as pd


def ranking(frame: pd.DataFrame) -> Table:
    """Return the synthesizers, best first, as a table; see `standings`.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    """
    import pandas as pd

    found = standings(frame)
    lines = []
    for place, (label, row) in enumerate(found.iterrows(), 1):
        mean = "–" if pd.isna(row["mean"]) else f"{100 * row['mean']:.1f} %"
        counts = [str(int(row[name])) for name in ("wins", "solved", "failures", "unsupported")]
        lines.append([Cell(text) for text in (str(place), str(label), f"{100 * row['score']:.1f} %", mean, *counts)])
    head = ("rank", "synthesizer", "efficiency", "where solved", "wins", "solved", "failures", "unsupported")
    problems, left_out = found.attrs["problems"], found.attrs["left_out"]
    title = f"Ranking over {problems} problem{'' if problems == 1 else 's'}"
    title += f" ({left_out} more were not given to all)" if left_out else ""
    if not found.attrs["in_common"]:
        title = "Each over its own problems: none was given to all, so this is no ranking"
    return Table(title, head, lines, 2)


def standings(frame: pd.DataFrame, count_all: bool = False) -> pd.DataFrame:
    """Return how each synthesizer does, best first.

    They are ordered by mean efficiency over all problems that any of them solved, where what a synthesizer did not
    solve counts as 0; its mean over what it did solve stands beside. A win is the least time on a problem, or within
    0.1 % of it. A problem under another time limit is another problem. Problems that were not given to all synthesizers
    are left out; if there are no others, each is measured on its own problems. Problems with a bound of 0, such as
    those of one NPU, tell nobody apart and are left out too, unless there are no others.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    count_all : bool
        Whether problems that none of them solved count too.

    Returns
    -------
    standings : DataFrame
        Index: labels. Columns ``score`` and ``mean`` (shares), ``wins``, ``solved``, ``failures``, ``unsupported``
        (counts). ``attrs``: ``problems`` that count, how many were ``left_out`` as not given to all, and whether there
        are any ``in_common``.
    """
    import pandas as pd

    times, efficiency = aggregated(frame, "time_us"), aggregated(frame, "efficiency")
    solved = times["value"].notna()
    times = times.assign(
        number=numbered(times, PROBLEM),
        efficiency=efficiency["value"].where(solved),
        solved=solved,
        failed=~times["status"].isin(["ok", "unsupported"]),
        unsupported=times["status"] == "unsupported",
    )
    if "bound_us" in times and (trivial := times["bound_us"] == 0).any() and not trivial.all():
        times = times[~trivial]
    # Each label is once in each problem by now.
    to_all = times.groupby("number")["label"].transform("size") == times["label"].nunique()
    left_out = 0
    if to_all.any():
        left_out = int(times.loc[~to_all, "number"].nunique())
        times = times[to_all]
    best = times.groupby("number")["value"].transform("min")
    times = times.assign(won=times["solved"] & (times["value"] <= best * (1 + TIE)))
    times = times.assign(counted=times.groupby("number")["solved"].transform("any") | count_all)
    problems = int(times.loc[times["counted"], "number"].nunique())
    groups = times.groupby("label", sort=False)
    found = pd.DataFrame(
        {
            "score": groups["efficiency"].sum() / groups["counted"].sum().clip(lower=1),
            "mean": groups["efficiency"].mean(),
            "wins": groups["won"].sum(),
            "solved": groups["solved"].sum(),
            "failures": groups["failed"].sum(),
            "unsupported": groups["unsupported"].sum(),
        }
    )
    found = found.sort_values(["score", "wins"], ascending=False, kind="stable")
    found.attrs.update(problems=problems, left_out=left_out, in_common=bool(to_all.any()) or found.empty)
    return found
