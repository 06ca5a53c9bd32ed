"""Results files, as tests compare them."""

from __future__ import annotations

import csv

from experiments.tables import MEASURED


def rows(program, folder="results/one"):
    """Return the rows of a results file."""
    with open(program.folder / folder / "results.csv", newline="") as file:
        return list(csv.DictReader(file))


def lasting(found):
    """Return rows without what is measured."""
    return [{key: value for key, value in row.items() if key not in MEASURED} for row in found]
