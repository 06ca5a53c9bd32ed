"""Training workloads: models as files, strategies to spread them over servers, and the traffic that follows.

The six models are those of TopoOpt (W. Wang et al., NSDI 2023, arXiv 2202.00433). `reading` makes a `Workload` of a
file, `strategies` spreads it, `demands` says what servers then send and compute, `iteration` how long one iteration
takes.
"""

from __future__ import annotations

from experiments.workloads.demands import compute_s, demand, forward_bytes
from experiments.workloads.holding import Strategy, memory_bytes
from experiments.workloads.iteration import IterationTime
from experiments.workloads.model import Layer, Server, Table, Workload, WorkloadError
from experiments.workloads.reading import read_workload, shipped
from experiments.workloads.strategies import Placement, data_parallel, hybrid

__all__ = [
    "IterationTime",
    "Layer",
    "Placement",
    "Server",
    "Strategy",
    "Table",
    "Workload",
    "WorkloadError",
    "compute_s",
    "data_parallel",
    "demand",
    "forward_bytes",
    "hybrid",
    "memory_bytes",
    "read_workload",
    "shipped",
]
