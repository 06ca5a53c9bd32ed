"""Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere.

The study of a paper and the runner of experiment files show theirs alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counted(total: int) -> Iterator[Callable[..., None]]:
    """Yield ``advance(text, doing=None, aloud=False)``: it counts one step as done and says what it was.

    On a terminal `doing` (or the text) stands beside the bar, and the text has a line of its own only where it is said
    aloud; elsewhere every text is a line.

    Parameters
    ----------
    total : int
        Steps in all.
    """
    if not sys.stderr.isatty():
        done = 0

        def line(text: str, doing: str | None = None, aloud: bool = False) -> None:  # noqa: ARG001  as on a terminal
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
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task("", total=total)

        def advance(text: str, doing: str | None = None, aloud: bool = False) -> None:
            if aloud:
                bar.console.print(text)
            bar.update(task, advance=1, description=text if doing is None else doing)

        yield advance
