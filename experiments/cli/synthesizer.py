"""``collbench synthesizer``: the package of a new synthesizer, and whether a synthesizer keeps to the contract."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from experiments.cli.output import print_json
from experiments.cli.parameters import json_option
from experiments.cli.program import Commands
from experiments.cli.values import SecondsType

if TYPE_CHECKING:
    from experiments.conformance_run import Verdict


@click.group(cls=Commands)
def synthesizer() -> None:
    """Write a new synthesizer's package, or check a synthesizer."""


@synthesizer.command()
@click.argument("name")
@click.option("--out", type=click.Path(), default=".", help="Folder to put the package into (default: this one).")
@json_option
def new(name: str, out: str, as_json: bool) -> None:
    """Write a package with a working synthesizer NAME, its test and its entry point, into a new folder NAME.

    Nothing is ever overwritten. After pip install, every command of collbench knows the synthesizer.
    """
    from experiments.new_synthesizer import require_name, write_package
    from synthesizers.registry import names
    from topologies import OptionError

    try:
        require_name(name, names())
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    folder = write_package(name, out)
    written = sorted(path.name for path in folder.iterdir())
    if as_json:
        print_json({"name": name, "folder": str(folder), "files": written})
        return
    click.echo(f"wrote {folder}: {', '.join(written)}")
    place = folder if folder.is_absolute() else f"./{folder}"
    click.echo(f"next: pip install --editable {place}, then collbench synthesizer check {name}")


@synthesizer.command()
@click.argument("name")
@click.option("--case-limit", "limit_s", type=SecondsType(), default="60", show_default=True,
              help="Seconds that each case may take.")  # fmt: skip
@json_option
def check(name: str, limit_s: float, as_json: bool) -> int:
    """Say whether the synthesizer NAME keeps to the contract, on small problems of every kind.

    It runs in a process of its own, which is ended if a case takes too long. Exit status 1: some case fails, or none is
    supported.
    """
    from experiments.conformance_run import run_suite
    from synthesizers.registry import require_known
    from topologies import OptionError

    try:
        require_known(name)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    with _bar(name) as tell:
        verdict = run_suite(name, limit_s, tell)
    if as_json:
        print_json(
            {
                "synthesizer": name,
                "conforms": verdict.conforms,
                "cases": verdict.cases,
                "supported": verdict.supported,
                "refused": dict(verdict.refused.most_common()),
                "failed": [{"case": case, "reason": reason} for case, reason in verdict.failed],
                "left_out": verdict.left_out,
            }
        )
    else:
        _print(verdict)
    return 0 if verdict.conforms else 1


def _print(verdict: Verdict) -> None:
    """Print a verdict for a reader: what failed, what was refused and why, the counts, the conclusion."""
    for case, reason in verdict.failed:
        click.echo(f"failed     {case}: {reason}")
    for reason, count in verdict.refused.most_common():
        click.echo(f"refused    {count} cases: {reason}")
    if verdict.left_out:
        click.echo(f"left out   {verdict.left_out} cases, because of what failed")
    refused = verdict.refused.total()
    click.echo(
        f"{verdict.name}: {verdict.cases} cases, {verdict.supported} supported, {refused} refused, "
        f"{len(verdict.failed)} failed"
    )
    if verdict.conforms:
        click.echo(f"{verdict.name} conforms")
    elif verdict.failed:
        click.echo(f"{verdict.name} does not conform")
    else:
        click.echo(f"{verdict.name} supports none of the cases, so nothing is known of it")


@contextmanager
def _bar(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Give a function that shows how far the suite is, on standard error and only if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(f"checking {name}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
               TextColumn("{task.fields[case]}", markup=False))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", case="", total=None)
        yield lambda done, count, case: bar.update(task, completed=done, total=count, case=case)
