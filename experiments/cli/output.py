"""What commands print: one JSON object or a table on standard output, remarks and progress on standard error."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.program import Failure

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a table that no terminal limits.
_WIDE = 240


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on one line; NaN and infinities are null."""
    import msgspec

    click.echo(msgspec.json.encode(content).decode())


def remark(text: str) -> None:
    """Say something on standard error, in one line."""
    click.echo(f"collbench: {' '.join(text.split())}", err=True)


def console() -> Console:
    """Return the console for tables; what is no terminal is wide, so that nothing is cut off there."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDE
    # Names and reasons are anybody's text: brackets and colons in them are not markup.
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", right: Sequence[int] = ()
) -> None:
    """Print a table; `right` names the columns to be set to the right, by their position."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False,
                  padding=(0, 1, 0, 0))  # fmt: skip
    for index, header in enumerate(headers):
        number_column = index in right
        table.add_column(header, justify="right" if number_column else "left", no_wrap=number_column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print name and value pairs, one a line."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        click.echo(f"{name:<{width}}  {value}".rstrip())


def number(value: float | None, decimals: int | None = None) -> str:
    """Return a number for a reader: a dash where there is none, decimals by magnitude unless given."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if decimals is None:
        decimals = 1 if abs(value) >= 1000 else 3 if abs(value) >= 1 or value == 0 else 6
    return f"{value:,.{decimals}f}"


def share(value: float | None) -> str:
    """Return a ratio in percent."""
    return "–" if value is None or math.isnan(value) else f"{100 * value:.1f} %"


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show that something is going on, on standard error and only if that is a terminal; yield a way to say what."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True, markup=False).status(text) as status:
        yield lambda text: status.update(text)


@contextmanager
def reserved_stdout() -> Iterator[None]:
    """Send what synthesizers and their solvers print to standard error: standard output is for the answer."""
    try:
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of the two is closed
        with redirect_stdout(sys.stderr):
            yield
        return
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _flush_c()
        os.dup2(saved, 1)
        os.close(saved)


def _flush_c() -> None:
    """Write out what compiled libraries have printed but not yet written."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):  # no C library to ask
        ctypes.CDLL(None).fflush(None)


def require_writable(path: str) -> None:
    """Refuse a file that could not be written, before any work is done for it.

    Raises
    ------
    Failure
        Its folder is missing or not writable, or it is a folder itself.
    """
    import tempfile

    target = Path(path)
    try:
        if target.is_dir():
            raise Failure(f"cannot write {path}: expected a file name, found a folder")
        if not target.parent.is_dir():
            raise Failure(f"cannot write {path}: the folder {target.parent} does not exist; create it first")
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}."):
            pass
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}; choose another place") from None
