"""Trials: each schedule of results had back once and simulated in every scenario, beside the bound of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.evaluate import efficiency, one_line
from experiments.interruption import raise_if_interrupted
from experiments.isolation import EndedError
from experiments.parallel import outcomes
from experiments.replay import called, link_model, schedule_of
from experiments.sensitivity.scenarios import Scenario
from experiments.tables.rows import Row, columns, write_results
from schedules import Collective, Schedule, collective
from simulator import algbw_gbps, bound, busbw_gbps, simulate_us
from simulator.bounds import Bound
from topologies import FormatError, Topology

if TYPE_CHECKING:
    import pandas as pd

#: Columns that rows of trials have beside those of results.
EXTRA: Mapping[str, type] = {"scenario": str, "size_as_run": int}

#: Columns that say what a run was, beside those that all results have.
_NEEDED = (
    "synthesizer", "version", "options", "seed", "ranks", "chunks", "groups", "latency", "switching", "time_us",
)  # fmt: skip

#: Columns of what is not done again, or was planned for the network as it is.
_EMPTY = (
    "planned_us", "quantised_bound_us", "rsag_bound_us", "max_utilisation", "mean_utilisation", "verify_s",
    "simulate_s", "peak_memory_mb",
)  # fmt: skip

#: Columns that a trial fills in.
_FILLED = ("time_us", "bound_us", "efficiency", "algbw_gbps", "busbw_gbps")


@dataclass(frozen=True)
class Trials:
    """What came out.

    Attributes
    ----------
    scenarios : list of Scenario
        Those that say something, the unchanged one first.
    rows : list of list of dict
        For each scenario a row for each problem and label, in the same order.
    lost : list of str
        Why schedules could not be had back, each with whose it is.
    tried : int
        Schedules that were.
    """

    scenarios: list[Scenario]
    rows: list[list[Row]]
    lost: list[str]
    tried: int

    def write(self, folder: Path) -> list[Path]:
        """Write ``sensitivity.parquet`` and ``sensitivity.csv`` into a folder, scenario by scenario.

        Raises
        ------
        CollbenchError
            The folder cannot be written.
        """
        write_results(folder, [row for rows in self.rows for row in rows], "sensitivity", EXTRA)
        return [folder / "sensitivity.parquet", folder / "sensitivity.csv"]


def tried(
    frame: pd.DataFrame,
    scenarios: Sequence[Scenario],
    folder: Path | None = None,
    jobs: int = 1,
    tell: Callable[[str, str | None], None] | None = None,
) -> Trials:
    """Return what becomes of results in each scenario.

    Schedules stay what they are: the same transfers, in the same order on each link. A row whose run did not work is a
    row without a time in every scenario, and so is one whose schedule cannot be had back, as a failed one.

    Parameters
    ----------
    frame : DataFrame
        Rows of results: one for each problem and label, as `experiments.tables.repeats.typical` returns them.
    scenarios : sequence of Scenario
        The unchanged one first. That of the other switching is left out where no schedule has a route of several links.
    folder : Path, optional
        Of the results, where schedules may be kept.
    jobs : int
        Processes; the rows do not depend on it.
    tell : callable, optional
        Called after each schedule with what it was, and why it could not be had back if it could not.

    Raises
    ------
    FormatError
        Results that do not say what a run was.
    """
    missing = [name for name in _NEEDED if name not in frame]
    if missing:
        raise FormatError(f"these are no results of collbench run: they have no column {missing[0]!r}")
    chosen: list[Row] = [_typed(row) for row in frame.to_dict("records")]
    waiting = [at for at, row in enumerate(chosen) if row["status"] == "ok"]
    answers: dict[int, Answer] = {}
    with closing(outcomes(partial(attempt, scenarios, folder), [chosen[at] for at in waiting], jobs)) as finished:
        for position, found in finished:
            at = waiting[position]
            answers[at] = Answer(lost=str(found)) if isinstance(found, EndedError) else found
            if tell is not None:
                tell(called(chosen[at]), answers[at].lost or None)
    routed = any(answer.routed for answer in answers.values())
    kept = [at for at, scenario in enumerate(scenarios) if routed or not scenario.other_switching]
    rows = [[_row(row, scenarios[at], answers.get(index), at) for index, row in enumerate(chosen)] for at in kept]
    lost = [f"{called(chosen[at])}: {answers[at].lost}" for at in waiting if answers[at].lost]
    return Trials([scenarios[at] for at in kept], rows, lost, len(waiting) - len(lost))


@dataclass(frozen=True)
class Answer:
    """What became of one schedule: fields of a row for each scenario; or why there is none."""

    fields: tuple[Row, ...] = ()
    routed: bool = False
    lost: str = ""


def attempt(scenarios: Sequence[Scenario], folder: Path | None, row: Row) -> Answer:
    """Return what becomes of the schedule of a row in each scenario."""
    try:
        schedule = schedule_of(row, folder)
    except Exception as error:  # a synthesizer may be anybody's
        raise_if_interrupted(error)
        return Answer(lost=one_line(error).removeprefix(f"{called(row)}: "))
    found = tuple(_fields(schedule, row, scenario) for scenario in scenarios)
    raise_if_interrupted()
    return Answer(found, schedule.flow is not None)


def _fields(schedule: Schedule, row: Row, scenario: Scenario) -> Row:
    """Return what a row says of a schedule in a scenario."""
    size = scenario.nbytes(int(row["size"]))
    try:
        topology = _network(schedule.topology, scenario)
        time_us = simulate_us(schedule.on(topology), size, scenario.link_model(link_model(row)))
        work = schedule.collective
        least = _bound(topology, _plain(work.kind, work.num_npus, work.groups, work.root, work.pairs), size)
    except Exception as error:  # such as a time past 53 days
        raise_if_interrupted(error)
        return {"status": "failed", "reason": one_line(error)}
    share, reason = efficiency(time_us, least.time_us, least.binding)
    return {
        "time_us": time_us,
        "bound_us": least.time_us,
        "bound_by": least.binding,
        "efficiency": share,
        "algbw_gbps": algbw_gbps(size, time_us),
        "busbw_gbps": busbw_gbps(work, size, time_us),
        "reason": reason,
    }


def _row(row: Row, scenario: Scenario, answer: Answer | None, at: int) -> Row:
    """Return the row of a problem and label in a scenario, the `at`-th of those that were tried."""
    size, model = int(row["size"]), scenario.link_model(link_model(row))
    found: Row = {"scenario": scenario.name, "size_as_run": size} | row | dict.fromkeys((*_EMPTY, *_FILLED))
    found |= {"size": scenario.nbytes(size), "latency": model.latency, "switching": model.switching, "bound_by": ""}
    if answer is None:
        return found
    if answer.lost:
        return found | {"status": "failed", "reason": f"its schedule could not be had back: {answer.lost}"}
    return found | answer.fields[at]


def _typed(row: Mapping[str, Any]) -> Row:
    """Return the columns of a results file that a row has, as values of their types."""
    found: Row = {}
    for name, kind in columns().items():
        if name in row:
            value = row[name]
            try:
                found[name] = None if value is None or value != value else kind(value)
            except ValueError:
                raise FormatError(f"column {name} of the results holds {value!r}, expected numbers") from None
    return found


@lru_cache(maxsize=64)
def _plain(
    kind: str, num_npus: int, groups: tuple[tuple[int, ...], ...], root: int, pairs: tuple[tuple[int, int], ...]
) -> Collective:
    """Return a collective without the chunks that a schedule has made of it: no bound depends on them."""
    return collective(kind, num_npus, groups=groups or None, root=root, pairs=pairs)


@lru_cache(maxsize=64)
def _network(topology: Topology, scenario: Scenario) -> Topology:
    """Return the network of a scenario; kept, because every schedule on it is tried there."""
    return scenario.network(topology)


@lru_cache(maxsize=1024)
def _bound(topology: Topology, work: Collective, size: int) -> Bound:
    """Return the bound of a problem; kept, because every schedule of it is tried against it."""
    return bound(topology, work, size)
