"""Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that counts one step as done and says what it was.

    Parameters
    ----------
    total : int
        Steps in all.
    """
    if not sys.stderr.isatty():
        done = 0

        def line(text: str) -> None:
            nonlocal done
            done += 1
            print(f"[{done:{len(str(total))}}/{total}] {text}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"),
               TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda text: bar.update(task, advance=1, description=text)
