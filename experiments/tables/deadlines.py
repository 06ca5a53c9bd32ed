"""Equal deadlines: what each synthesizer has after so many seconds, and when its synthesis has paid for itself.

All runs of a synthesizer count as started together, whatever their options, seeds and time limits; at a deadline it has
the best schedule of those that are finished. A run is finished in time if its synthesis took no longer than the
deadline, or if it had a time limit no longer than that: a solver that is told to stop at 10 s hands over what it has
within the tenth and the second more that the limit allows. Repeats measure one synthesis, which took their median; a
run that failed never ended.

Against a reference run, a schedule that is quicker by Δt and took Δs longer to synthesize is repaid after Δs / Δt
executions of the collective, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.fairness import baseline
from experiments.tables.layout import Cell, Table, lay_out, problem_columns, require, shown
from experiments.tables.ranking import standings
from experiments.tables.repeats import PROBLEM, numbered, typical
from topologies import FormatError

if TYPE_CHECKING:
    import pandas as pd

#: What makes a problem here: limits are what is compared.
_SAME = tuple(name for name in PROBLEM if name not in ("time_limit_s", "deadline_s"))

#: What is only known of a run that is finished.
_SCORES = ("time_us", "efficiency", "algbw_gbps", "busbw_gbps")

#: What a run that is finished too late has to show.
LATE = "late"


def at_deadlines(
    frame: pd.DataFrame, deadlines: Sequence[float], by: str = "synthesizer", against: str | None = None
) -> pd.DataFrame:
    """Return what everybody has at each deadline, as rows of results.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    deadlines : sequence of float
        Seconds.
    by : {"synthesizer", "label"}
        Whose runs count as one's.
    against : str, optional
        The reference: its result at the first of the deadlines at which it has one. By default Ring; where that solved
        nothing, who solved most (`experiments.fairness.baseline`).

    Returns
    -------
    rows : DataFrame
        For each problem, deadline and synthesizer the row of its best run, with ``deadline_s``; ``run``, the label of
        that run, and in ``label`` whose it is; and ``repaid_after``: executions after which it has paid for itself
        against the reference, 0 where it cost no more, infinity where it is no quicker, NaN for the reference itself
        and where one of the two has nothing. The status of what is finished later only is ``late``.
        ``attrs["against"]``: the reference.

    Raises
    ------
    FormatError
        Results without synthesis times, or in which nothing worked.
    OptionError
        An unknown reference; with the nearest.
    """
    import pandas as pd

    for name in (by, "seed", "synthesis_s", "time_us", "efficiency"):
        if name not in frame:
            raise FormatError(f"these are no results of collbench run: they have no column {name!r}")
    if not (frame["status"] == "ok").any():
        raise FormatError(f"none of {len(frame)} runs worked, so there is nothing to compare")
    runs = _runs(frame)
    runs["run"], runs["label"] = runs["label"], runs[by]
    solved = runs[np.isfinite(runs["synthesis_s"])].groupby("label")["place"].nunique()
    counts = {str(name): int(solved.get(name, 0)) for name in runs["label"].unique()}
    if against is None:
        against = baseline(counts)
    require(against, counts, "against")
    parts = [_at(runs, deadline) for deadline in sorted(deadlines)]
    found = pd.concat(parts).sort_values("place", kind="stable").reset_index(drop=True)
    usual: dict[int, Any] = {}
    for row in found[(found["label"] == against) & (found["status"] == "ok")].itertuples():
        usual.setdefault(row.place, row)
    found["repaid_after"] = [_repaid(row, usual.get(row.place)) for row in found.itertuples()]
    found = found.drop(columns=["place", "run_number", "time_limit_s"], errors="ignore")
    found.attrs["against"] = against
    return found


def tables(found: pd.DataFrame) -> list[Table]:
    """Return four tables of what `at_deadlines` returns: the ranking, times, efficiencies, and what repays them."""
    names = problem_columns(found)
    names = [*(name for name in names if name != "deadline_s"), "deadline_s"]
    against = found.attrs["against"]
    return [
        _summary(found),
        lay_out(found, names, value="time_us", title="Best time in us, by deadline"),
        lay_out(found, names, value="efficiency", title="Best efficiency, by deadline"),
        _repayment(found, names, f"Executions that repay the synthesis, against {against}"),
    ]


def _runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run, repeats as one, with the problem (place) and when its synthesis ended (infinity)."""
    import pandas as pd

    runs = typical(frame, ["seed"])
    took = pd.to_numeric(frame["synthesis_s"], errors="coerce").where(frame["status"] == "ok", np.inf).fillna(np.inf)
    number = numbered(frame, (*PROBLEM, "label", "seed"))
    took = took.groupby(number).median().to_numpy()
    return runs.assign(place=numbered(runs, _SAME), run_number=np.arange(len(runs)), synthesis_s=took)


def _at(runs: pd.DataFrame, deadline: float) -> pd.DataFrame:
    """Return the row of each problem and synthesizer at one deadline."""
    ended = np.isfinite(runs["synthesis_s"])
    in_time = runs["synthesis_s"] <= deadline
    if "time_limit_s" in runs:
        in_time |= ended & (runs["time_limit_s"] <= deadline)
    # The best in time, else one that is late, else the first that failed.
    rows = runs.assign(deadline_s=float(deadline), standing=np.select([in_time, ended], [0, 1], 2))
    rows["status"] = rows["status"].where(in_time | (rows["status"] != "ok"), LATE)
    rows.loc[~in_time, [name for name in _SCORES if name in rows]] = np.nan
    rows = rows.sort_values(["standing", "time_us", "synthesis_s"], kind="stable")
    rows = rows.drop_duplicates(["place", "label"]).sort_values("run_number", kind="stable")
    order = np.lexsort((numbered(runs, ["label"])[rows["run_number"]], rows["place"]))
    return rows.iloc[order].drop(columns="standing")


def _repaid(row: Any, usual: Any) -> float:
    """Return after how many executions a row has paid for itself against another; see `at_deadlines`."""
    if row.status != "ok" or usual is None:
        return math.nan
    gain_us = _exact(usual.time_us) - _exact(row.time_us)
    cost_us = (_exact(row.synthesis_s) - _exact(usual.synthesis_s)) * 10**6
    if gain_us <= 0:
        return math.nan if row.label == usual.label else math.inf
    return float(max(math.ceil(cost_us / gain_us), 0))


def _exact(number: float) -> Fraction:
    """Return a number as it is written: times are whole picoseconds, and what divides evenly must not be rounded up."""
    return Fraction(repr(float(number)))


def _summary(found: pd.DataFrame) -> Table:
    """Return efficiency, wins and problems solved at each deadline, best first at the last one."""
    problem = numbered(found, _SAME)
    counted = found[np.isin(problem, problem[found["status"] == "ok"])]
    deadlines = found["deadline_s"].unique().tolist()
    each = [standings(counted[counted["deadline_s"] == deadline], count_all=True) for deadline in deadlines]
    problems = each[-1].attrs["problems"]
    head, lines = ["synthesizer"], [[Cell(str(label))] for label in each[-1].index]
    for deadline, table in zip(deadlines, each, strict=True):
        head += [f"{name} {deadline:g} s" for name in ("efficiency", "wins", "solved")]
        best = table["score"].max()
        for line, label in zip(lines, each[-1].index, strict=True):
            row = table.loc[label]
            line.append(Cell(f"{100 * row['score']:.1f} %", bool(row["score"] == best > 0)))
            line += [Cell(str(int(row["wins"]))), Cell(str(int(row["solved"])))]
    over = f"{problems} problem{'' if problems == 1 else 's'}"
    return Table(f"Mean efficiency over {over}, problems won and solved, by deadline", tuple(head), lines, 1)


def _repayment(found: pd.DataFrame, names: Sequence[str], title: str) -> Table:
    """Return after how many executions everybody has paid for itself."""
    labels = found["label"].unique().tolist()
    lines: list[list[Cell]] = []
    for _, rows in found.groupby(numbered(found, names), sort=True):
        said = {row.label: _said(row, row.label == found.attrs["against"]) for row in rows.itertuples()}
        sides = [Cell(shown(name, rows[name].iloc[0])) for name in names]
        lines.append([*sides, *(Cell(said.get(label, "–")) for label in labels)])
    return Table(title, (*names, *labels), lines, len(names))


def _said(row: Any, is_reference: bool) -> str:
    """Return in words after how many executions a row has paid for itself."""
    repaid, worked = row.repaid_after, row.status == "ok"
    if math.isnan(repaid):
        return "reference" if worked and is_reference else "–"
    return "never" if math.isinf(repaid) else f"{repaid:,.0f}" if repaid else "at once"
