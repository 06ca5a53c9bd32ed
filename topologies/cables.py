"""Cables as columns: how generators lay out the links of a network without a Python object for each.

A cable is two links, one each way, and they lie side by side in the link order. Runs of cables of one kind are given as
two arrays of ends with the bandwidth and latency that they share, in the style of an edge list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topologies.shape import refuse_oversize
from topologies.topology import Topology


@dataclass(frozen=True)
class Cables:
    """A run of cables of one bandwidth and latency.

    Parameters
    ----------
    a, b : (C,) int arrays
        Ends of each cable.
    bandwidth_gbps, latency_us : float
        Of every link of the run.
    one_way : bool
        Only the links a → b.
    """

    a: np.ndarray
    b: np.ndarray
    bandwidth_gbps: float
    latency_us: float
    one_way: bool = False

    @property
    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """(src, dst) of the run's links, both directions of a cable adjacent."""
        if self.one_way:
            return self.a, self.b
        return np.stack([self.a, self.b], axis=1).ravel(), np.stack([self.b, self.a], axis=1).ravel()


def wired(
    name: str,
    num_npus: int,
    runs: Sequence[Cables],
    num_switches: int = 0,
    node_names: Sequence[str] = (),
) -> Topology:
    """Return the topology of runs of cables, in their order.

    Raises
    ------
    TopologyError
        More than `MAX_LINKS` links, or a link that `Topology` refuses.
    """
    refuse_oversize(name, sum(len(run.a) * (1 if run.one_way else 2) for run in runs))
    links = [run.links for run in runs]
    lengths = [len(src) for src, _ in links]
    none = np.zeros(0, np.int64)
    return Topology(
        num_npus,
        np.concatenate([none, *(src for src, _ in links)]),
        np.concatenate([none, *(dst for _, dst in links)]),
        np.repeat(np.array([run.latency_us for run in runs], float), lengths),
        np.repeat(np.array([run.bandwidth_gbps for run in runs], float), lengths),
        num_switches,
        name,
        node_names,
    )
