"""Reproduce the comparison of TACOS (MICRO'24, arXiv 2304.05301): tables and three figures, from nothing.

    python experiments/reproduce_tacos.py [--quick] [--out DIR] [--jobs N]

AllReduce and AllGather on the paper's networks with tuned baselines and TACOS, every schedule verified before it is
timed; link utilisation on a mesh; synthesis time against NPUs. The full study writes to ``results/tacos``, the quick
one to ``results/tacos/quick``. Ctrl-C keeps the rows that are finished, in ``*.partial.csv``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NoReturn

if __package__ in (None, ""):
    # Run as a file, Python puts this folder on the path, where our modules would hide libraries of the same names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from experiments.plots.style import save, styled
from experiments.progress import counted
from experiments.tacos_study.bandwidth import bandwidth_figure
from experiments.tacos_study.grid import FULL, QUICK, Grid
from experiments.tacos_study.running import Row, rows_of
from experiments.tacos_study.scaling import measured, scaling_figure, scaling_table
from experiments.tacos_study.tables import comparison, write_csv
from experiments.tacos_study.utilisation import SHOWN, busy_links, utilisation_figure
from topologies import format_bytes
from topologies.atomic import write_text
from topologies.exceptions import CollbenchError

#: Finished rows are written at most this often.
_SAVE_EVERY_S = 5.0


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


class _Kept:
    """Rows as they come, in ``NAME.partial.csv`` until all are there and ``NAME.csv`` replaces it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.rows: list[Row] = []
        self.partial, self.whole = folder / f"{name}.partial.csv", folder / f"{name}.csv"
        self._saved = time.monotonic()

    def take(self, rows: Iterable[Row], done: Callable[[Row], None] | None = None) -> None:
        """Collect all rows, and say of each that it is done; keep those that there are when interrupted."""
        try:
            for row in rows:
                self.rows.append(row)
                if done:
                    done(row)
                if time.monotonic() - self._saved > _SAVE_EVERY_S:
                    write_csv(self.partial, self.rows)
                    self._saved = time.monotonic()
        except BaseException:
            if self.rows:
                write_csv(self.partial, self.rows)
            raise

    def finish(self, order: Callable[[Row], Any] | None = None) -> list[Row]:
        """Write the whole table in order, remove the partial one, return the rows."""
        if order:
            self.rows.sort(key=order)
        write_csv(self.whole, self.rows)
        self.partial.unlink(missing_ok=True)
        return self.rows


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _Parser(prog="reproduce_tacos", description="Reproduce the comparison of TACOS: tables and figures.")
    parser.add_argument("--quick", action="store_true", help="small networks and two sizes: about a minute")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: results/tacos, or results/tacos/quick")
    parser.add_argument("--jobs", type=_jobs, default=os.cpu_count() or 1, metavar="N", help="runs at a time")
    arguments = parser.parse_args(argv)
    out = arguments.out or Path("results", "tacos", *(["quick"] if arguments.quick else []))
    try:
        out.mkdir(parents=True, exist_ok=True)
        return reproduce(QUICK if arguments.quick else FULL, out, arguments.jobs)
    except KeyboardInterrupt:
        print(f"interrupted; what was finished is in {out}", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"cannot write into {out}: {error.strerror or error}; choose another --out", file=sys.stderr)
    except CollbenchError as error:
        print(error, file=sys.stderr)
    except BrokenProcessPool:
        print(f"a worker died, perhaps for want of memory; try --jobs 1 (finished rows are in {out})", file=sys.stderr)
    return 1


def reproduce(grid: Grid, out: Path, jobs: int = 1) -> int:
    """Run a version of the study, and write its tables and figures.

    Parameters
    ----------
    grid : Grid
        What to run.
    out : Path
        An existing folder.
    jobs : int
        Processes for the comparison; synthesis times of the figure are always measured alone.

    Returns
    -------
    status : int
        1 if a score was above its bound, which is a defect of the bench; else 0. Failed runs are rows.

    Raises
    ------
    CollbenchError
        A file cannot be written.
    KeyboardInterrupt
        After the finished rows have been written.
    """
    runs = grid.runs()
    table, links, times = (_Kept(out, name) for name in ("comparison", "utilisation", "scaling"))
    write_csv(table.partial, [])  # an unwritable folder shows now, not after minutes
    plots: list[Path] = []
    with styled(), counted(len(runs) + len(SHOWN) + sum(len(series.names) for series in grid.series)) as step:
        table.take(rows_of(runs, jobs), lambda row: step(_said(row)))
        place = {(run.network.label, run.kind, run.size, run.algorithm): at for at, run in enumerate(runs)}
        rows = table.finish(lambda row: place[row["network"], row["collective"], row["size"], row["synthesizer"]])
        summary = comparison(rows, grid.algorithms)
        write_text(out / "comparison.md", summary)
        for kind in grid.kinds:
            figure = bandwidth_figure(rows, grid.networks, grid.algorithms, kind, grid.sizes)
            plots += save(figure, out, f"bandwidth_{kind}")
        figure = bandwidth_figure(rows, grid.networks, grid.algorithms, grid.kinds[0], grid.sizes[-1:])
        plots += save(figure, out, "overview")

        for algorithm in SHOWN:
            links.take(busy_links(grid, algorithm))
            step(f"links of {grid.heat_map.name} {algorithm}")
        links.finish()
        plots += save(utilisation_figure(links.rows), out, "utilisation")

        for series in grid.series:
            times.take(measured(series), lambda row: step(f"synthesis time {row['topology']} {row['collective']}"))
        times.finish()
        write_text(out / "scaling.md", scaling_table(times.rows))
        plots += save(scaling_figure(times.rows), out, "scaling")
    print(summary)
    print(scaling_table(times.rows))
    print("\n".join(map(str, plots)))
    return _verdict(rows)


def _verdict(rows: Sequence[Row]) -> int:
    """Say aloud on standard error what went wrong, and return the exit status."""
    wrong = [row for row in rows if row["status"] not in ("ok", "unsupported")]
    if wrong:
        print(f"{len(wrong)} of {len(rows)} runs failed; the table gives the reasons", file=sys.stderr)
    defects = [row for row in rows if (row["efficiency"] or 0) > 1 + 1e-9]
    for row in defects:
        print(f"{_said(row)}: {row['reason']}", file=sys.stderr)
    return 1 if defects else 0


def _said(row: Row) -> str:
    """Return a row in one line."""
    run = f"{row['topology']} {row['collective']} {format_bytes(row['size'])} {row['synthesizer']}"
    return f"{run}: {row['algbw_gbps']:.1f} GB/s" if row["status"] == "ok" else f"{run}: {row['status']}"


def _jobs(text: str) -> int:
    """Return a number of jobs."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1024, found {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
