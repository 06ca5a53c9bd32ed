"""Reproduce the comparison of TACCL (NSDI'23, arXiv 2111.04867) on open solvers: tables and figures, from nothing.

    python experiments/reproduce_taccl.py [--quick] [--out DIR] [--jobs N] [--draw]

AllGather, AllToAll and AllReduce on NDv2 and DGX-2 nodes, 1 KB to 1 GB: TACCL with a sketch and without, ring, direct,
TACOS and the bound beside the figures that TACCL and TE-CCL published. What is run is in ``configs/taccl.yaml``.
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
from experiments.taccl_study import write_study

STUDY = Study("taccl", "Reproduce the comparison of TACCL: tables and figures.", write_study)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return reproduced(STUDY, argv)


if __name__ == "__main__":
    sys.exit(main())
