"""``collbench plot``: plots of results files and schedule files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import print_json, progress
from experiments.cli.parameters import json_option
from experiments.cli.program import Failure
from experiments.cli.reading import proven, read, stated_problem
from experiments.cli.values import SizeType
from experiments.plots import RESULT_KINDS, SCHEDULE_KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.plots.simulated import Simulated


@click.command(epilog=" ".join(f"{kind}: {said}." for kind, said in (RESULT_KINDS | SCHEDULE_KINDS).items()))
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="RESULTS|SCHEDULE...")
@click.option("--kind", "kinds", multiple=True, type=click.Choice([*RESULT_KINDS, *SCHEDULE_KINDS]),
              help="What to draw; again for another (default: all that the files allow).")  # fmt: skip
@click.option("--out", type=click.Path(), default="plots", show_default=True, help="Folder for the plots.")
@click.option("-s", "--size", type=SizeType(),
              help="Bytes with a unit: the rows of results to draw, the size to simulate schedules for.")  # fmt: skip
@json_option
def plot(files: tuple[str, ...], kinds: tuple[str, ...], out: str, size: int | None, as_json: bool) -> None:
    """Draw plots as PNG and SVG, and name the files written.

    Results files (CSV or Parquet of records, as collbench compare --csv writes them) are drawn as one table; schedule
    files beside each other, each verified first.
    """
    from schedules import is_schedule_file

    plans = [file for file in dict.fromkeys(files) if is_schedule_file(file)]
    results = [Path(file) for file in dict.fromkeys(files) if file not in plans]
    wanted = {name: [kind for kind in known if not kinds or kind in kinds]
              for name, known in (("results", RESULT_KINDS), ("schedules", SCHEDULE_KINDS))}  # fmt: skip
    for name, found, other in (("results", results, "schedule"), ("schedules", plans, "results")):
        if not found and kinds and wanted[name]:
            needed = "results" if name == "results" else "schedule"
            raise Failure(f"--kind {wanted[name][0]} is drawn from a {needed} file; only {other} files are given")
    with progress(f"drawing {', '.join(files)}"):
        drawings: list[tuple[str, Any]] = []
        if results and wanted["results"]:
            drawings += _of_results(results, wanted["results"], size)
        if plans and wanted["schedules"]:
            schedules = [_simulated(file, size) for file in plans]
            drawings += [(kind, schedules) for kind in wanted["schedules"]]
        written = _draw(drawings, out)
    if as_json:
        print_json({"files": [str(path) for path in written]})
    else:
        click.echo("\n".join(map(str, written)))


def _of_results(results: list[Path], kinds: list[str], size: int | None) -> list[tuple[str, Any]]:
    """Return (kind, table) of what is drawn from results files."""
    from experiments.plots.rows import read as read_rows

    columns = dict.fromkeys(column for kind in kinds for column in import_module(f"experiments.plots.{kind}").COLUMNS)
    table = read_rows(results, columns, size)
    return [(kind, table) for kind in kinds]


def _simulated(file: str, size: int | None) -> Simulated:
    """Return the timeline of a schedule file, which is verified first."""
    from experiments.plots.simulated import Simulated
    from simulator import timeline

    schedule = proven(file, read(file))
    size, model = stated_problem(file, schedule, size)
    return Simulated(Path(file).stem, timeline(schedule, size, model))


def _draw(drawings: list[tuple[str, Any]], out: str) -> list[Path]:
    """Draw and write everything, and return the files."""
    from experiments.plots.style import save, styled

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot write into {out}: {error.strerror or error}; choose another --out") from error
    figures: list[tuple[str, Figure]] = []
    with styled():
        # All of them before any is written: what cannot be drawn leaves no half of a set behind.
        for kind, content in drawings:
            figures += import_module(f"experiments.plots.{kind}").figures(content)
        return [path for name, figure in figures for path in save(figure, folder, name)]
