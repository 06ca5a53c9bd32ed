"""Measure what is left after failures: schedules made anew on networks that lost cables or NPUs.

    python experiments/reproduce_failures.py [--quick] [--out DIR] [--jobs N] [--draw]

Bandwidth kept against cables and NPUs lost, for TACOS, rings and packed trees beside the bound, every schedule verified
before it is timed. What is run is in ``configs/studies/failures.yaml``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):
    # Run as a file, Python puts this folder on the path, where our modules would hide libraries of the same names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from experiments import reproduction as engine
from experiments.failures_study import write_grid, write_study
from experiments.study_command import CONFIGS, Command

STUDY = engine.Study("failures", "Measure what bandwidth is kept when cables or NPUs fail.", write_study)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    command = Command(
        STUDY.name,
        STUDY.description,
        "one small network: under a minute",
        CONFIGS / "studies",
        lambda config, out, jobs: engine.reproduce(STUDY, write_grid(config, out), out, jobs),
        lambda _, out: engine.draw(STUDY, out / "experiment.yaml", out),
    )
    return command.main(argv)


if __name__ == "__main__":
    sys.exit(main())
