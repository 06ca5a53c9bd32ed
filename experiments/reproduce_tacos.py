"""Reproduce the comparison of TACOS (MICRO'24, arXiv 2304.05301): tables and figures, from nothing.

    python experiments/reproduce_tacos.py [--quick] [--out DIR] [--jobs N] [--draw]

AllReduce and AllGather on the paper's networks with tuned baselines and TACOS, every schedule verified before it is
timed; link utilisation on a mesh; synthesis time against NPUs. What is run is in ``configs/tacos.yaml``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):
    # Run as a file, Python puts this folder on the path, where our modules would hide libraries of the same names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from experiments.reproduction import Study
from experiments.reproduction import main as reproduced
from experiments.tacos_study import write_study

STUDY = Study("tacos", "Reproduce the comparison of TACOS: tables and figures.", write_study)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return reproduced(STUDY, argv)


if __name__ == "__main__":
    sys.exit(main())
