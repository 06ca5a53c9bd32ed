"""``collbench table`` and ``collbench rank``: results to read, as text for a terminal, a page or a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from experiments.cli.output import require_writable

if TYPE_CHECKING:
    from experiments.tables.layout import Table

# Written out, because the module that defines them is too slow to import for --help; a test holds them equal.
FORMATS = ("terminal", "markdown", "latex", "csv")

results_argument = click.argument("results")
format_option = click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
out_option = click.option("--out", type=click.Path(), help="File for the table instead of standard output.")


@click.command()
@results_argument
@click.option("--rows", help="Columns at the side (default: topology,collective,size and what else differs).")
@click.option("--columns", default="label", show_default=True, help="The column at the head.")
@click.option("--value", default="busbw_gbps", show_default=True,
              help="What the cells show: time_us, efficiency, busbw_gbps, algbw_gbps, synthesis_s, …")  # fmt: skip
@click.option("--normalise", metavar="LABEL", help="Divide by the value of this one on the same problem.")
@click.option("--spread", is_flag=True, help="Show the largest less the smallest of repeated measurements too.")
@format_option
@out_option
def table(
    results: str,
    rows: str | None,
    columns: str,
    value: str,
    normalise: str | None,
    spread: bool,
    form: str,
    out: str | None,
) -> None:
    """Lay out results (a folder of collbench run, or a results file) as a table.

    A cell is the median over repeats and seeds; where it stands for several problems, the mean over them.
    """
    from experiments.tables.layout import lay_out
    from experiments.tables.rows import load_results
    from topologies import OptionError

    frame = load_results(results)
    try:
        sides = None if rows is None else [name.strip() for name in rows.split(",")]
        found = lay_out(frame, sides, columns, value, normalise, spread=spread)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    give([found], form, out)


@click.command()
@results_argument
@format_option
@out_option
def rank(results: str, form: str, out: str | None) -> None:
    """Rank the synthesizers of results over all problems: mean efficiency, wins, failures.

    What one did not solve counts as efficiency 0.
    """
    from experiments.tables.ranking import ranking
    from experiments.tables.rows import load_results

    give([ranking(load_results(results))], form, out)


def give(tables: Sequence[Table], form: str, out: str | None) -> None:
    """Print tables, or write them to a file."""
    from experiments.tables.formats import written
    from topologies.atomic import write_text

    text = "\n".join(written(found, form) for found in tables)
    if out is None:
        click.echo(text, nl=False)
        return
    require_writable(out)
    write_text(out, text)
