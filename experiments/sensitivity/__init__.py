"""Robustness: the schedules of results simulated again under other latencies, bandwidths, link models and sizes."""

from __future__ import annotations

from experiments.sensitivity.scenarios import AS_RUN, Scenario, scenarios
from experiments.sensitivity.trials import Trials, tried

__all__ = ["AS_RUN", "Scenario", "Trials", "scenarios", "tried"]
