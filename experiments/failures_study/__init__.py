"""Failures: the bandwidth that is left when cables or NPUs of a network fail and schedules are made anew."""

from experiments.failures_study.damage import Damage, damaged, read_damages, write_grid
from experiments.failures_study.kept import write_study

__all__ = ["Damage", "damaged", "read_damages", "write_grid", "write_study"]
