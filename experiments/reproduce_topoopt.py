"""Reproduce the comparison of TopoOpt (NSDI'23, arXiv 2202.00433): tables and figures, from nothing.

    python experiments/reproduce_topoopt.py [--quick] [--out DIR] [--jobs N] [--draw]

Time of a training iteration on TopoOpt's fabric and on what the same money, or the same ports, would buy instead: six
workloads, 128 servers of 4 and 8 ports, five bandwidths. What is run is in ``configs/studies/topoopt.yaml``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    # Run as a file, Python puts this folder on the path, where our modules would hide libraries of the same names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from experiments import reproduction as engine
from experiments.study_command import CONFIGS, Command
from experiments.topoopt_study import write_study
from experiments.topoopt_study.ablation import write_ablation
from experiments.topoopt_study.collection import collect
from experiments.topoopt_study.rows import read_results
from experiments.topoopt_study.settings import read_settings
from topologies.atomic import write_text

#: Every schedule on every network, run by the engine; its results are in a folder of this name.
ABLATION = engine.Study("ablation", "What the topology gains and what the schedule gains.", write_ablation)

#: A time below its bound by more than rounding.
_BELOW = 1 - 1e-9


def reproduce(config: Path, out: Path, jobs: int = 1, ablation: Path | None = None) -> int:
    """Measure all that a study file asks for, and write tables and figures.

    Parameters
    ----------
    config : Path
        The study file.
    out : Path
        Folder of the results; made if it is missing.
    jobs : int
        Processes.
    ablation : Path, optional
        The experiment file of the ablation, whose results are in a folder of their own in `out`.

    Returns
    -------
    status : int
        1 if nothing worked or a time was below its bound, which is a defect of the bench; else 0. What fails is a row.

    Raises
    ------
    CollbenchError
        A mistake in the file; the folder cannot be written.
    KeyboardInterrupt
        After the finished rows have been written.
    """
    settings = read_settings(config)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "experiment.yaml", config.read_text(encoding="utf-8"))
    rows = collect(settings, out, jobs)
    draw_rows(out)
    ablated = 0 if ablation is None else engine.reproduce(ABLATION, ablation, out / ABLATION.name, jobs)
    return max(_verdict(rows), ablated)


def draw(out: Path, ablation: Path | None = None) -> int:
    """Write tables and figures from the results in a folder, print what there is to say, and return 0.

    Raises
    ------
    CollbenchError
        There are no results, or the folder cannot be written.
    """
    draw_rows(out)
    if ablation is None or not (out / ABLATION.name / "results.parquet").is_file():
        return 0
    return engine.draw(ABLATION, ablation, out / ABLATION.name)


def draw_rows(out: Path) -> None:
    """Write the tables and figures of iterations."""
    print("\n".join(write_study(read_results(out), out)))


def _ablation_file(config: Path) -> Path | None:
    """Return the experiment file of the ablation that goes with a study file, full or quick; None of any other file."""
    found = CONFIGS / config.name.replace("topoopt", "topoopt_ablation")
    return found if found.is_file() and found.name != config.name else None


def _verdict(rows: Sequence[dict[str, Any]]) -> int:
    """Say aloud on standard error what went wrong, and return the exit status."""
    worked = [row for row in rows if row["status"] == "ok"]
    if len(worked) < len(rows):
        print(f"{len(rows) - len(worked)} of {len(rows)} rows failed, each with its reason in the results; the same "
              "command does them again", file=sys.stderr)  # fmt: skip
    defects = [row for row in worked if row["joint_us"] < row["bound_us"] * _BELOW]
    for row in defects:
        print(f"{row['workload']} on {row['topology']}: {row['joint_us']:g} µs, below the bound of {row['bound_us']:g} "
              "µs; this is a defect of collbench, please report it", file=sys.stderr)  # fmt: skip
    return 0 if worked and not defects else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    command = Command(
        "topoopt",
        "Reproduce the comparison of TopoOpt: tables and figures.",
        "16 servers, three workloads: under two minutes",
        CONFIGS / "studies",
        lambda config, out, jobs: reproduce(config, out, jobs, _ablation_file(config)),
        lambda config, out: draw(out, _ablation_file(config)),
    )
    return command.main(argv)


if __name__ == "__main__":
    sys.exit(main())
