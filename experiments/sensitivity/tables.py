"""What trials say of a ranking: rank and score of each synthesizer in each scenario, and whose win does not last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.sensitivity.trials import Trials
from experiments.tables.layout import TIE, Cell, Table, problem_columns, shown
from experiments.tables.ranking import standings
from experiments.tables.repeats import PROBLEM, numbered

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Verdict:
    """The ranking in a scenario, and what it has to do with the one as run.

    Attributes
    ----------
    scenario : str
    rank : dict of str → int
        Of each label, as in ``collbench rank``.
    score : dict of str → float
        Mean efficiency over all problems that anybody solved.
    tau : float
        Kendall's tau-b between the scores and those as run: 1 where they order alike, −1 where one is the reverse of
        the other; NaN where there is nothing to order.
    winners : list of set of str
        Labels with the least time on each problem, or within 0.1 % of it.
    problems : int
        Problems that the ranking is over.
    """

    scenario: str
    rank: dict[str, int]
    score: dict[str, float]
    tau: float
    winners: list[set[str]]
    problems: int


def verdicts(trials: Trials) -> list[Verdict]:
    """Return the ranking in each scenario, the unchanged one first."""
    import pandas as pd
    from scipy.stats import kendalltau

    found: list[Verdict] = []
    place: np.ndarray | None = None
    for scenario, rows in zip(trials.scenarios, trials.rows, strict=True):
        frame = pd.DataFrame(rows)
        place = numbered(frame, PROBLEM) if place is None else place  # rows of all scenarios are in the same order
        table = standings(frame)
        score = {str(label): float(value) for label, value in table["score"].items()}
        rank = {label: at for at, label in enumerate(score, 1)}
        before = found[0].score if found else score
        pairs = [(before[label], score[label]) for label in before]
        tau = float(kendalltau(*zip(*pairs, strict=True)).statistic) if len(pairs) > 1 else float("nan")
        found.append(Verdict(scenario.name, rank, score, tau, _winners(frame, place), table.attrs["problems"]))
    return found


def changed(before: Verdict, now: Verdict) -> list[int]:
    """Return the problems on which nobody who was the best is among the best any more."""
    pairs = zip(before.winners, now.winners, strict=True)
    return [problem for problem, (old, new) in enumerate(pairs) if old and not old & new]


def tables(trials: Trials) -> list[Table]:
    """Return three tables: ranks and scores by scenario, and the problems whose best changes, if there are any."""
    found = verdicts(trials)
    labels = list(found[0].rank)
    over = f"over {found[0].problems} problem{'' if found[0].problems == 1 else 's'}"
    won = sum(bool(winners) for winners in found[0].winners)
    ranks, scores = [], []
    for verdict in found:
        lost = len(changed(found[0], verdict))
        tau = "–" if np.isnan(verdict.tau) else f"{verdict.tau:.3f}"
        ranks.append([Cell(verdict.scenario), Cell(tau), Cell(f"{lost} of {won}")])
        scores.append([Cell(verdict.scenario)])
        for label in labels:
            first = verdict.rank[label] == 1
            ranks[-1].append(Cell(_moved(found[0].rank[label], verdict.rank[label]), first))
            scores[-1].append(Cell(f"{100 * verdict.score[label]:.1f} %", first))
    result = [
        Table(f"Rank {over} (▲ better, ▼ worse than as run)", ("scenario", "Kendall's tau", "best changes", *labels),
              ranks, 1),
        Table(f"Mean efficiency {over}", ("scenario", *labels), scores, 1),
    ]  # fmt: skip
    lines = list(_changes(trials, found))
    if lines:
        names = _columns(trials)
        head = (*names, "best as run", "still the best", "otherwise")
        result.append(Table("Problems whose best changes", head, lines, len(head)))
    return result


def _changes(trials: Trials, found: list[Verdict]) -> Iterator[list[Cell]]:
    """Yield a line for each problem whose best is not among the best in some scenario."""
    import pandas as pd

    rows = trials.rows[0]
    frame = pd.DataFrame(rows)
    first = np.unique(numbered(frame, PROBLEM), return_index=True)[1].tolist()
    lost = [set(changed(found[0], verdict)) for verdict in found]
    for problem, at in enumerate(first):
        others: dict[str, list[str]] = {}
        for verdict, gone in zip(found, lost, strict=True):
            if problem in gone:
                best = ", ".join(sorted(verdict.winners[problem])) or "nobody"
                others.setdefault(best, []).append(verdict.scenario)
        if not others:
            continue
        kept = len(found) - sum(map(len, others.values()))
        told = "; ".join(f"{best}: {', '.join(names)}" for best, names in others.items())
        sides = [shown(name, rows[at][name]) for name in _columns(trials)]
        texts = (*sides, ", ".join(sorted(found[0].winners[problem])), f"in {kept} of {len(found)}", told)
        yield [Cell(text) for text in texts]


def _columns(trials: Trials) -> list[str]:
    """Return the columns that tell the problems of the results apart."""
    import pandas as pd

    names = problem_columns(pd.DataFrame(trials.rows[0]))
    return [name for name in names if name != "size_as_run"]


def _winners(frame: pd.DataFrame, place: np.ndarray) -> list[set[str]]:
    """Return who has the least time on each problem, `place` being the problem of each row."""
    time: Any = frame["time_us"].to_numpy(float)
    best = np.full(place.max() + 1, np.inf)
    np.fmin.at(best, place, time)
    found: list[set[str]] = [set() for _ in best]
    for at in np.flatnonzero(time <= best[place] * (1 + TIE)).tolist():
        found[place[at]].add(frame["label"].iloc[at])
    return found


def _moved(before: int, now: int) -> str:
    """Return a rank, and how far it is from the one before."""
    if now == before:
        return f"{now} ="
    return f"{now} ▲{before - now}" if now < before else f"{now} ▼{now - before}"
