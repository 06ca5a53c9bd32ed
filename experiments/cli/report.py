"""``collbench report``: results as one page that opens from disk."""

from __future__ import annotations

import click

from experiments.cli.output import print_json, progress, remark, require_writable, reserved_stdout
from experiments.cli.parameters import json_option


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@click.option("-o", "--out", type=click.Path(), default="report.html", show_default=True, help="File for the page.")
@click.option("--players", type=click.IntRange(min=0), default=24, show_default=True, metavar="N",
              help="Schedules to be played in the page: the best of each problem, then the second best, …")  # fmt: skip
@json_option
def report(results: tuple[str, ...], out: str, players: int, as_json: bool) -> None:
    """Turn results into one HTML page: what was run, a ranking, all rows, plots, a page for each problem, schedules.

    RESULTS are folders of collbench run, or results files (CSV or Parquet); several are told apart by the column
    experiment. The page needs no network and no other file. A schedule that was not kept beside the results is made
    again.
    """
    from experiments.report.document import report as made
    from topologies.atomic import write_text

    require_writable(out)
    with progress(f"reading {', '.join(results)}") as say, reserved_stdout():
        found = made(results, players, say)
    write_text(out, found.html)
    for text in found.remarks:
        remark(text)
    if as_json:
        kept = found.schedules
        counts = {"schedules": len(kept.entries), "schedules_refused": len(kept.refused)}
        print_json({"file": out, "rows": found.rows, "bytes": len(found.html.encode()), **counts})
    else:
        click.echo(out)
