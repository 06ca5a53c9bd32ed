"""``collbench deadlines``: what each synthesizer has after 1, 10 and 60 seconds, and what its synthesis is worth."""

from __future__ import annotations

import click

from experiments.cli.output import require_writable
from experiments.cli.table import format_option, give, out_option, results_argument
from experiments.cli.values import TimesType


@click.command()
@results_argument
@click.option("--at", "deadlines", type=TimesType(), default="1,10,60", show_default=True, help="Deadlines in seconds.")
@click.option("--by", type=click.Choice(["synthesizer", "label"]), default="synthesizer", show_default=True,
              help="Whose runs count together: a synthesizer's with all its options, or a label's.")  # fmt: skip
@click.option("--against", metavar="NAME", help="Whom synthesis must repay (default: ring, else who solved most).")
@format_option
@out_option
@click.option("--csv", "csv_file", type=click.Path(), help="File for all rows as comma-separated values.")
def deadlines(
    results: str,
    deadlines: list[float],
    by: str,
    against: str | None,
    form: str,
    out: str | None,
    csv_file: str | None,
) -> None:
    """Compare the best that each synthesizer has at equal deadlines, over all its options, seeds and time limits.

    A run counts if its synthesis ended by the deadline, or if its time limit was no longer. The last table says after
    how many executions of the collective the synthesis is repaid, against what --against has at its first deadline.
    """
    from experiments.tables.deadlines import at_deadlines, tables
    from experiments.tables.rows import load_results
    from topologies import OptionError
    from topologies.atomic import write_text

    for path in filter(None, (out, csv_file)):
        require_writable(path)
    try:
        found = at_deadlines(load_results(results), deadlines, by, against)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    if csv_file is not None:
        write_text(csv_file, found.to_csv(index=False, lineterminator="\n"))
    give(tables(found), form, out)
