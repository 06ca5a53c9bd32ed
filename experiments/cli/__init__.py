"""The command line ``collbench``: one module per group of commands, everything heavy imported inside the commands."""

from __future__ import annotations

import click

from experiments.cli.bounds import bound
from experiments.cli.compare import compare
from experiments.cli.convert import convert
from experiments.cli.deadlines import deadlines
from experiments.cli.listing import listing
from experiments.cli.plot import plot
from experiments.cli.program import Program
from experiments.cli.report import report
from experiments.cli.run import run
from experiments.cli.sensitivity import sensitivity
from experiments.cli.simulate import simulate
from experiments.cli.synthesize import synthesize
from experiments.cli.synthesizer import synthesizer
from experiments.cli.table import rank, table
from experiments.cli.topology import topology
from experiments.cli.verify import verify

__all__ = ["main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="collbench", prog_name="collbench", message="%(prog)s %(version)s")
def main() -> None:
    """Compare collective-communication synthesizers: verified schedules, one simulator, the bound beside each.

    A network is a short name (mesh:8x8@50GB/s,0.5us) or a file; sizes carry units (1GiB, 256MB). With --json a command
    prints one JSON object on standard output. Exit status: 0 done, 1 the work failed, 2 wrong usage.
    """


for command in (
    listing, topology, bound, synthesize, simulate, verify, convert, compare, run, table, rank, deadlines, sensitivity,
    plot, report, synthesizer,
):  # fmt: skip
    main.add_command(command)
