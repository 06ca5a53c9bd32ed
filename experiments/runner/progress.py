"""Progress on standard error: a bar with the time left and a line for each failure on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.record import Record
from experiments.runner.run import Run
from experiments.runner.store import FAILURES


@contextmanager
def progress(total: int) -> Iterator[Callable[[Run, Record], None]]:
    """Yield a function that counts a run as done and says what came out.

    Parameters
    ----------
    total : int
        Runs in all.
    """
    if not sys.stderr.isatty():
        done = 0

        def line(run: Run, record: Record) -> None:
            nonlocal done
            done += 1
            print(f"[{done:{len(str(total))}}/{total}] {said(run, record)}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"),
               TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)))  # fmt: skip
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task("", total=total)

        def advance(run: Run, record: Record) -> None:
            if record.status in FAILURES or record.reason.startswith("DEFECT"):
                bar.console.print(said(run, record))
            bar.update(task, advance=1, description=run.describe())

        yield advance


def said(run: Run, record: Record) -> str:
    """Return what came out of a run, in one line."""
    if record.status == "ok" and record.time_us is not None:
        remark = f"; {record.reason}" if record.reason else ""
        return f"{run.describe()}: {record.time_us:,.6g} us{remark}"
    return f"{run.describe()}: {record.status}: {' '.join(record.reason.split())}"
