"""Measure how TACOS grows, after the scalability figure of its paper (MICRO'24, arXiv 2304.05301): from nothing.

    python experiments/reproduce_scaling.py [--quick] [--out DIR] [--draw]

AllGather and AllReduce on meshes, tori, uneven meshes and dragonflies of 16 to 40,000 NPUs, each verified and simulated
in a process of its own, one at a time: each uses all cores. What is run is in ``configs/studies/scaling.yaml``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    # Run as a file, Python puts this folder on the path, where our modules would hide libraries of the same names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from experiments.plots.style import save, styled
from experiments.scaling_study.collection import collect, read_rows
from experiments.scaling_study.report import figure, table
from experiments.scaling_study.settings import read_settings
from experiments.study_command import CONFIGS, Command
from topologies.atomic import write_text


def reproduce(config: Path, out: Path) -> int:
    """Measure all that a study file asks for, and write the table and the figure.

    Returns
    -------
    status : int
        1 if a run failed; 0 also where runs were refused because they would not fit in memory, which is a row.

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
    rows = collect(settings, out)
    _draw(rows, out)
    return int(any(row["status"] == "failed" for row in rows))


def draw(out: Path) -> int:
    """Write the table and the figure from the results in a folder, and return 0."""
    _draw(read_rows(out), out)
    return 0


def _draw(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Write the table and the figure, and print the table and the names of the files."""
    text = table(rows)
    write_text(out / "scaling.md", text)
    with styled():
        files = save(figure(rows), out, "scaling")
    print("\n".join([text, *map(str, [out / "scaling.md", *files])]))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    command = Command(
        "scaling",
        "Measure how TACOS grows with the network: time and memory.",
        "up to 1,024 NPUs: about a minute",
        CONFIGS / "studies",
        lambda config, out, _: reproduce(config, out),  # one run at a time, whatever --jobs says
        lambda _, out: draw(out),
    )
    return command.main(argv)


if __name__ == "__main__":
    sys.exit(main())
