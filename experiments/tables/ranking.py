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
    return Table(f"Ranking over {found.attrs['problems']} problems", head, lines, 2)


def standings(frame: pd.DataFrame, problems: int | None = None) -> pd.DataFrame:
    """Return how each synthesizer does, best first.

    They are ordered by mean efficiency over all problems that any of them solved, where what a synthesizer did not
    solve counts as 0; its mean over what it did solve stands beside. A win is the least time on a problem, or within
    0.1 % of it. A problem under another time limit is another problem.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    problems : int, optional
        How many problems count, where some of them are solved under other conditions only.

    Returns
    -------
    standings : DataFrame
        Index: labels. Columns ``score`` and ``mean`` (shares), ``wins``, ``solved``, ``failures``, ``unsupported``
        (counts). ``attrs["problems"]``: how many problems count.
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
    best = times.groupby("number")["value"].transform("min")
    times["won"] = solved & (times["value"] <= best * (1 + TIE))
    problems = int(times.loc[solved, "number"].nunique()) if problems is None else problems
    groups = times.groupby("label", sort=False)
    found = pd.DataFrame(
        {
            "score": groups["efficiency"].sum() / max(problems, 1),
            "mean": groups["efficiency"].mean(),
            "wins": groups["won"].sum(),
            "solved": groups["solved"].sum(),
            "failures": groups["failed"].sum(),
            "unsupported": groups["unsupported"].sum(),
        }
    )
    found = found.sort_values(["score", "wins"], ascending=False, kind="stable")
    found.attrs["problems"] = problems
    return found
