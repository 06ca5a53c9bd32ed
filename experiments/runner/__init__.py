"""Running a grid: watched worker processes, a folder of finished runs that a later start goes on from, progress."""

from __future__ import annotations

from experiments.runner.run import Run

__all__ = ["Run"]
