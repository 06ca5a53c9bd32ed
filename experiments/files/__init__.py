"""Experiment files: YAML that names problems, synthesizers, limits and tables; read, checked, laid out as a grid."""

from __future__ import annotations

from experiments.files.grid import expand
from experiments.files.marked_yaml import ExperimentError
from experiments.files.reading import read_experiment
from experiments.files.schema import Entrant, Experiment, Limits, Plot, Problems, TableLayout

__all__ = [
    "Entrant",
    "Experiment",
    "ExperimentError",
    "Limits",
    "Plot",
    "Problems",
    "TableLayout",
    "expand",
    "read_experiment",
]
