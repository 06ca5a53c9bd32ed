"""``collbench run``: an experiment file to results, each run verified, stored, and never done twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import remark
from experiments.cli.parameters import LATENCIES, SWITCHINGS
from experiments.cli.program import Ended, Failure, WrongInput
from experiments.cli.values import TimesType
from experiments.interruption import Terminated

if TYPE_CHECKING:
    from experiments.files import Experiment
    from experiments.runner.campaign import Plan
    from experiments.runner.run import Run


def _address(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the address of a scheduler."""
    if value is not None and not re.fullmatch(r"(tcp|tls)://(\[[0-9a-fA-F:.%\w]+\]|[^\s:/\[\]]+):[0-9]{1,5}", value):
        raise click.BadParameter(f"found {value!r}; expected tcp://host:port, as dask scheduler prints it",
                                 ctx, parameter)  # fmt: skip
    return value


@click.command()
@click.argument("file")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Runs at a time (default: as many as cores).")
@click.option("--scheduler", metavar="ADDRESS", callback=_address,
              help="Dask scheduler, tcp://host:port: its workers do the runs, each thread one at a time.")  # fmt: skip
@click.option("--out", type=click.Path(), help="Folder of the results (default: results/NAME of the file).")
@click.option("--only", multiple=True, metavar="PATTERN",
              help="Do only runs whose label, or whole line in --dry-run, is like 'tacos*' or '*dgx1*'.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the grid and its size, and do nothing.")
@click.option("--retry", is_flag=True, help="Do runs again that failed.")
@click.option(
    "--keep-schedules",
    is_flag=True,
    default=None,
    help="Store the schedules too: to simulate them otherwise, to draw them, to show them in a report.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Instead of the file's.")
@click.option("--repeats", type=click.IntRange(min=1), help="Instead of the file's.")
@click.option("--latency", type=click.Choice(LATENCIES), help="Instead of the file's.")
@click.option("--switching", type=click.Choice(SWITCHINGS), help="Instead of the file's.")
@click.option("--time-limit", "time_limit_s", type=TimesType(), help="Instead of the file's: 60, or 1,10,60.")
@click.option("--memory-limit", "memory_limit_mb", type=click.FloatRange(min=300), help="Instead of the file's, in MB.")
def run(
    file: str, jobs: int | None, scheduler: str | None, out: str | None, only: tuple[str, ...], dry_run: bool,
    retry: bool, **instead: Any,
) -> int:  # fmt: skip
    """Run an experiment file, or one that collbench list experiments names.

    Finished runs are kept in the folder of the results: the same command goes on where it was stopped. What fails is a
    row with its reason and stops nothing else. Exit status 1: no run worked, or a score is above its bound.
    """
    from experiments.files import ExperimentError, expand, read_experiment
    from experiments.runner.campaign import carry_out, plan
    from experiments.runner.store import Store
    from topologies.atomic import write_text
    from topologies.cores import usable_cores

    if jobs and scheduler:
        raise click.UsageError("--jobs is for this machine; with --scheduler each thread of a worker does one run at a "
                               "time (dask worker --nworkers 2 --nthreads 1)", click.get_current_context())  # fmt: skip
    path = _found(file)
    try:
        experiment, document = read_experiment(path)
        experiment = _overridden(experiment, instead)
        runs = expand(experiment, document)
    except ExperimentError as error:
        raise WrongInput(str(error)) from error
    name = Path(path).stem
    store = Store(Path(out) if out else Path("results", name), experiment.limits.memory_limit_mb)
    chosen = _chosen(runs, only)
    if dry_run:
        _print_grid(plan(runs, store, chosen, retry), chosen)
        return 0
    work = None
    try:
        with store.claimed():
            work = plan(runs, store, chosen, retry)
            write_text(store.folder / "experiment.yaml", Path(path).read_text(encoding="utf-8"))
            carry_out(work, store, jobs or usable_cores(), name, scheduler)
            return _conclude(experiment, store.folder, work)
    except (KeyboardInterrupt, Terminated) as error:
        done = sum(record is not None for record in work.records) if work else 0
        raise Ended(type(error), f"{done} of {len(runs)} runs are kept in {store.folder}, the same command goes on "
                                 "from there") from None  # fmt: skip


def _found(file: str) -> str:
    """Return the path of an experiment file, or of a shipped one by its name."""
    import difflib

    if Path(file).exists():
        return file
    shipped = {path.stem: path for path in sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))}
    if file in shipped:
        return str(shipped[file])
    near = difflib.get_close_matches(file, shipped, 1)
    hint = f"did you mean {near[0]}?" if near else f"expected a YAML file, or one of {', '.join(shipped)}"
    raise WrongInput(f"{file} is no file and no experiment that is shipped; {hint}")


def _overridden(experiment: Experiment, instead: dict[str, Any]) -> Experiment:
    """Return an experiment with what the command line says in place of what the file says."""
    from msgspec.structs import replace

    given = {key: value for key, value in instead.items() if value is not None}
    limits = {key: given.pop(key) for key in ("time_limit_s", "memory_limit_mb") if key in given}
    return replace(experiment, **given, limits=replace(experiment.limits, **limits))


def _chosen(runs: Sequence[Run], only: Sequence[str]) -> list[bool]:
    """Return which runs the patterns ask for."""
    from experiments.runner.run import is_like

    called = [run.describe() for run in runs] if only else []
    chosen = [not only] * len(runs)
    for pattern in only:
        like = [is_like(pattern, run.label, name) for run, name in zip(runs, called, strict=True)]
        chosen = [each or also for each, also in zip(chosen, like, strict=True)]
        if not any(like):
            labels = ", ".join(dict.fromkeys(run.label for run in runs))
            raise click.BadParameter(f"{pattern!r} is like no run; labels are {labels}", param_hint="'--only'")
    return chosen


def _print_grid(work: Plan, chosen: Sequence[bool]) -> None:
    """Print each run with its state, and how many there are."""
    todo = set(work.todo)
    for index, (each, record) in enumerate(zip(work.runs, work.records, strict=True)):
        state = "to do" if index in todo else record.status if record else ""
        if chosen[index]:
            click.echo(f"{state:<13} {each.describe()}")
    words = {"topology": "networks", "collective": "collectives", "size": "sizes", "label": "synthesizers"}
    parts = ", ".join(f"{word}: {len({getattr(each, name) for each in work.runs})}" for name, word in words.items())
    click.echo(f"{len(work.runs)} runs ({parts}), {len(todo)} to do")


def _conclude(experiment: Experiment, folder: Path, work: Plan) -> int:
    """Print tables, plots and complaints, and return the exit status."""
    from experiments.conclusion import complaints, conclude
    from experiments.tables.formats import written

    records = [record for record in work.records if record is not None]
    if not records:
        raise Failure("no run is finished, so there is nothing to show")
    found = conclude(experiment, folder)
    for table in found.tables:
        click.echo(written(table, "terminal"))
    for path in found.plots:
        click.echo(f"plot: {path}")
    click.echo(f"results: {folder / 'results.parquet'}, results.csv and tables.md beside it")
    status, said = complaints(records)
    for text in (*found.remarks, *said):
        remark(text)
    return status
