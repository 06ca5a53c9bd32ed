"""``collbench plot``: plots of results files and schedule files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.cli.output import print_json, progress
from experiments.cli.parameters import json_option
from experiments.cli.program import Failure
from experiments.cli.reading import proven, read, stated_problem
from experiments.cli.values import SizeType
from experiments.plots import RESULT_KINDS, SCHEDULE_KINDS

if TYPE_CHECKING:
    from experiments.plots.simulated import Simulated


@click.command(epilog=" ".join(f"{kind}: {said}." for kind, said in (RESULT_KINDS | SCHEDULE_KINDS).items()))
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="RESULTS|SCHEDULE...")
@click.option("--kind", "kinds", multiple=True, type=click.Choice([*RESULT_KINDS, *SCHEDULE_KINDS]),
              help="What to draw; again for another (default: all that the files hold).")  # fmt: skip
@click.option("--only", multiple=True, metavar="PATTERN",
              help="Draw only rows of results whose label or problem is like 'tacos*' or '*dgx1*'.")  # fmt: skip
@click.option("--out", type=click.Path(), default="plots", show_default=True, help="Folder for the plots.")
@click.option("-s", "--size", type=SizeType(),
              help="Bytes with a unit: the rows of results to draw, the size to simulate schedules for.")  # fmt: skip
@json_option
def plot(
    files: tuple[str, ...], kinds: tuple[str, ...], only: tuple[str, ...], out: str, size: int | None, as_json: bool
) -> None:
    """Draw plots as PNG and SVG, and name the files written.

    Results (folders of collbench run, or CSV or Parquet of records, as collbench compare --csv writes them) are drawn
    as one table; schedule files beside each other, each verified first. Kinds of schedules are drawn from results too,
    problem by problem, if they are named.
    """
    from experiments.plots.drawing import Drawing, draw, of_results
    from schedules import is_schedule_file
    from schedules.msccl import is_msccl_file
    from schedules.teccl import is_teccl_file

    for file in files:
        if is_msccl_file(file) or is_teccl_file(file):
            raise Failure(f"{file} is an algorithm that says nothing of links: collbench convert {file} FILE.json -t "
                          "NETWORK first, and plot that")  # fmt: skip
    plans = [file for file in dict.fromkeys(files) if is_schedule_file(file)]
    results = [Path(file) for file in dict.fromkeys(files) if file not in plans]
    tables = [kind for kind in kinds if kind in RESULT_KINDS]
    if not results and tables:
        raise Failure(f"--kind {tables[0]} is drawn from a results file; only schedule files are given")
    if not results and only:
        raise Failure("--only chooses rows of results; only schedule files are given")
    with progress(f"drawing {', '.join(files)}"):
        drawings = of_results(results, dict.fromkeys(kinds or RESULT_KINDS), size, only) if results else []
        if plans:
            schedules = [_simulated(file, size) for file in plans]
            shown = [kind for kind in SCHEDULE_KINDS if not kinds or kind in kinds]
            drawings += [Drawing(kind, schedules) for kind in shown]
        written = draw(drawings, Path(out))
    if as_json:
        print_json({"files": [str(path) for path in written]})
    else:
        click.echo("\n".join(map(str, written)))


def _simulated(file: str, size: int | None) -> Simulated:
    """Return the timeline of a schedule file, which is verified first."""
    from experiments.plots.simulated import Simulated
    from simulator import timeline

    schedule = proven(file, read(file))
    size, model = stated_problem(file, schedule, size)
    return Simulated(Path(file).stem, timeline(schedule, size, model))
