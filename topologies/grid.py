"""Meshes and tori of any number of dimensions, as in the evaluation of TACOS (MICRO'24, arXiv 2304.05301).

The first dimension is x and varies fastest: NPU = x + X·(y + Y·z). A dimension of 2 is one cable, in a torus too; a
dimension of 1 has none. Links come dimension by dimension, in each by ascending NPU, a cable's two links together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topologies.cables import Cables, wired
from topologies.exceptions import TopologyError
from topologies.shape import (
    DEFAULT_BANDWIDTH_GBPS,
    DEFAULT_LATENCY_US,
    PerDimension,
    checked_sizes,
    per_dimension,
    refuse_oversize,
    short_name,
)
from topologies.topology import Topology


def mesh(
    shape: int | Sequence[int],
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
) -> Topology:
    """Return a mesh: neighbours along each dimension are joined by a cable, the ends of a dimension are not.

    Parameters
    ----------
    shape : int or sequence of int
        NPUs along each dimension, x first.
    bandwidth_gbps, latency_us : float or sequence of float
        Of each link, for all dimensions or one for each.

    Raises
    ------
    TopologyError
        A size below 1, a wrong number of values, or more than 2^27 links.
    """
    _refuse_separate_sizes("mesh", shape, bandwidth_gbps)
    return _grid("mesh", shape, bandwidth_gbps, latency_us, wrap=False)


def torus(
    shape: int | Sequence[int],
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
) -> Topology:
    """Return a torus: a mesh whose dimensions of 3 and more are closed to rings.

    Parameters
    ----------
    shape : int or sequence of int
        NPUs along each dimension, x first.
    bandwidth_gbps, latency_us : float or sequence of float
        Of each link, for all dimensions or one for each.

    Raises
    ------
    TopologyError
        A size below 1, a wrong number of values, or more than 2^27 links.
    """
    _refuse_separate_sizes("torus", shape, bandwidth_gbps)
    return _grid("torus", shape, bandwidth_gbps, latency_us, wrap=True)


def num_neighbours(sizes: Sequence[int], dimension: int, wrap: bool) -> int:
    """Return how many cables `neighbours` would give, without building them."""
    size = sizes[dimension]
    return math.prod(sizes) // size * (size if wrap and size > 2 else size - 1)


def neighbours(sizes: Sequence[int], dimension: int, wrap: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends (a, b) of the cables along one dimension: from each NPU to the next one, by ascending NPU."""
    size, stride = sizes[dimension], math.prod(sizes[:dimension])
    npu = np.arange(math.prod(sizes), dtype=np.int64)
    place = npu // stride % size
    following = npu + stride
    if wrap and size > 2:
        return npu, np.where(place == size - 1, following - size * stride, following)
    inner = place < size - 1
    return npu[inner], following[inner]


def _refuse_separate_sizes(kind: str, shape: int | Sequence[int], bandwidth_gbps: PerDimension) -> None:
    """Refuse ``mesh(3, 3)``: it would be a line of three NPUs at 3 GB/s, which nobody means."""
    if isinstance(shape, int) and isinstance(bandwidth_gbps, int):
        raise TopologyError(
            f"{kind}({shape}, {bandwidth_gbps}): give the sizes together, as in {kind}([{shape}, {bandwidth_gbps}]), "
            f"or a bandwidth as a float, as in {kind}({shape}, {float(bandwidth_gbps)})"
        )


def _grid(
    kind: str, shape: int | Sequence[int], bandwidth_gbps: PerDimension, latency_us: PerDimension, wrap: bool
) -> Topology:
    """Build a mesh or a torus."""
    sizes = checked_sizes(kind, shape)
    title = f"{kind}:{'x'.join(map(str, sizes))}"
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, len(sizes))
    latencies = per_dimension(title, "latency", latency_us, len(sizes))
    refuse_oversize(title, 2 * sum(num_neighbours(sizes, dimension, wrap) for dimension in range(len(sizes))))
    runs = [
        Cables(*neighbours(sizes, dimension, wrap), bandwidths[dimension], latencies[dimension])
        for dimension in range(len(sizes))
    ]
    return wired(short_name(kind, sizes, bandwidths, latencies), math.prod(sizes), runs)
