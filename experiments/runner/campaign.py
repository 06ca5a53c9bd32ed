"""A campaign: what of a grid is not finished yet is run, each record is stored at once, and the results are written."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.record import Record
from experiments.runner.cluster import records_from
from experiments.runner.progress import progress
from experiments.runner.run import Run
from experiments.runner.slots import records_of
from experiments.runner.store import FAILURES, Store


@dataclass(frozen=True)
class Plan:
    """What there is to do.

    Attributes
    ----------
    runs : list of Run
        The whole grid, in order.
    records : list of Record or None
        Of each run that is finished.
    todo : list of int
        Positions of the runs to do now.
    """

    runs: list[Run]
    records: list[Record | None]
    todo: list[int]


def plan(runs: Sequence[Run], store: Store, chosen: Sequence[bool] | None = None, retry: bool = False) -> Plan:
    """Return what is to be done of a grid.

    Parameters
    ----------
    runs : sequence of Run
    store : Store
    chosen : sequence of bool, optional
        Runs to do at all (default: all); the others keep the records that they have.
    retry : bool
        Whether runs that failed are done again.
    """
    records = [store.load(run) for run in runs]
    todo = [
        index
        for index, record in enumerate(records)
        if (chosen is None or chosen[index]) and (record is None or (retry and record.status in FAILURES))
    ]
    return Plan(list(runs), records, todo)


def carry_out(work: Plan, store: Store, jobs: int = 1, name: str = "", scheduler: str | None = None) -> None:
    """Do what a plan says: fill in its records, and write the results; also when interrupted, with what there is.

    Parameters
    ----------
    work : Plan
    store : Store
    jobs : int
        Runs at a time on this machine.
    name : str
        Of the experiment.
    scheduler : str, optional
        Address of a dask scheduler, whose workers do the runs instead.

    Raises
    ------
    KeyboardInterrupt
        After all finished runs have been written.
    CollbenchError
        The folder cannot be written, or the cluster fails.
    """
    from experiments.tables.rows import row_of, write_results

    place = {id(work.runs[index]): index for index in work.todo}
    try:
        with progress(len(work.todo)) as step:
            todo = [work.runs[index] for index in work.todo]
            for source in _sources(todo, jobs, store.memory_limit_mb, scheduler):
                with closing(source) as records:
                    for run, found in records:
                        record = work.records[place[id(run)]] = store.save(run, found)
                        step(run, record)
    finally:
        finished = [(run, record) for run, record in zip(work.runs, work.records, strict=True) if record]
        rows = [row_of(run, record, name, run.key()) for run, record in finished]
        write_results(Path(store.folder), rows)


def _sources(
    runs: Sequence[Run], jobs: int, memory_limit_mb: float | None, scheduler: str | None
) -> Iterator[Generator[tuple[Run, dict[str, Any]], None, None]]:
    """Yield where records come from: of the runs that may be beside others, then of those that are done alone."""
    if scheduler is not None:
        yield records_from(scheduler, runs, memory_limit_mb)
        return
    yield records_of([run for run in runs if not run.alone], jobs, memory_limit_mb)
    yield records_of([run for run in runs if run.alone], 1, memory_limit_mb)
