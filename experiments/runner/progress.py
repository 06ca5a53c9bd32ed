"""Progress on standard error: a bar with the time left and a line for each failure on a terminal, lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.progress import counted
from experiments.record import DEFECT, Record
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
    with counted(total) as advance:

        def done(run: Run, record: Record) -> None:
            failed = record.status in FAILURES or record.reason.startswith(DEFECT)
            advance(said(run, record), doing=run.describe(), aloud=failed)

        yield done


def said(run: Run, record: Record) -> str:
    """Return what came out of a run, in one line."""
    if record.status == "ok" and record.time_us is not None:
        remark = f"; {record.reason}" if record.reason else ""
        return f"{run.describe()}: {record.time_us:,.6g} us{remark}"
    return f"{run.describe()}: {record.status}: {' '.join(record.reason.split())}"
