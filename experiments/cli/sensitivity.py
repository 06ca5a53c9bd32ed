"""``collbench sensitivity``: whether a ranking holds where the network or the size is a little different."""

from __future__ import annotations

from pathlib import Path

import click

from experiments.cli.output import remark, require_writable
from experiments.cli.program import Failure
from experiments.cli.table import format_option, give, out_option, results_argument
from experiments.cli.values import ShareType, SizesType


@click.command()
@results_argument
@click.option("--latency-change", type=ShareType(), default="20%", show_default=True,
              help="How much slower and faster latencies are tried.")  # fmt: skip
@click.option("--bandwidth-change", type=ShareType(), default="20%", show_default=True,
              help="How much lower and higher bandwidths are tried.")  # fmt: skip
@click.option("--sizes", type=SizesType(), help="Sizes to try (default: a sixteenth of each problem's, and 16 times).")
@click.option("--draws", type=click.IntRange(0, 1000), default=5, show_default=True,
              help="Networks to try in which each link differs by itself, at random within the changes.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the draws.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Schedules at a time (default: as many as cores).")
@format_option
@out_option
def sensitivity(
    results: str,
    latency_change: float,
    bandwidth_change: float,
    sizes: list[int] | None,
    draws: int,
    seed: int,
    jobs: int | None,
    form: str,
    out: str | None,
) -> None:
    """Simulate the schedules of results under other networks, link models and sizes, and show how the ranking changes.

    Of each problem and synthesizer the run of median time is taken; its schedule stays as it is. Schedules that were
    not kept (--keep-schedules of collbench run) are synthesised again. All rows are written beside the results, as
    sensitivity.parquet and sensitivity.csv. Exit status 1: no schedule could be had back, or a score is above its
    bound.
    """
    from experiments.progress import counted
    from experiments.record import DEFECT
    from experiments.sensitivity import scenarios, tried
    from experiments.sensitivity.tables import tables
    from experiments.tables.repeats import typical
    from experiments.tables.rows import load_results
    from topologies.cores import usable_cores

    if out is not None:
        require_writable(out)
    frame = typical(load_results(results))
    folder = Path(results) if Path(results).is_dir() else Path(results).parent
    require_writable(str(folder / "sensitivity.csv"))
    asked = scenarios(latency_change, bandwidth_change, sizes, draws, seed)
    with counted(int((frame["status"] == "ok").sum())) as advance:

        def tell(said: str, lost: str | None) -> None:
            advance(f"{said}: {lost}" if lost else said, doing=said, aloud=lost is not None)

        trials = tried(frame, asked, folder, jobs or usable_cores(), tell)
    if not trials.tried:
        first = f"; the first: {trials.lost[0]}" if trials.lost else ": no run of them worked"
        raise Failure(f"no schedule of {results} could be had back{first}")
    files = trials.write(folder)
    give(tables(trials), form, out)
    remark(f"every row is in {files[0]} and {files[1].name}")
    if trials.lost:
        count = len(trials.lost)
        remark(f"{count} of {count + trials.tried} schedules could not be had back and count as not solved in every "
               "scenario")  # fmt: skip
    defects = [row for rows in trials.rows for row in rows if row["reason"].startswith(DEFECT)]
    for row in defects:
        remark(f"{row['label']} on {row['topology']}, {row['collective']}, {row['scenario']}: {row['reason']}")
    if defects:
        raise Failure(f"{len(defects)} times are below their bound")
