"""Networks of one size: ring, line, star, fully connected, hypercube and a single switch.

They are the building blocks of the collective-algorithm literature (Chan et al. 2007, Thakur et al. 2005); ring, fully
connected and switch are also the blocks that ASTRA-sim and TACOS multiply into larger networks.
"""

from __future__ import annotations

import numpy as np

from topologies.cables import Cables, wired
from topologies.exceptions import TopologyError
from topologies.grid import neighbours
from topologies.shape import (
    DEFAULT_BANDWIDTH_GBPS,
    DEFAULT_LATENCY_US,
    MAX_LINKS,
    checked_sizes,
    per_dimension,
    refuse_oversize,
    short_name,
)
from topologies.topology import Topology


def ring(
    n: int,
    bandwidth_gbps: float = DEFAULT_BANDWIDTH_GBPS,
    latency_us: float = DEFAULT_LATENCY_US,
    one_way: bool = False,
) -> Topology:
    """Return a ring of `n` NPUs: NPU i is joined to NPU i+1, the last to the first.

    Parameters
    ----------
    n : int
        NPUs. A ring of 2 is one cable (two links), a ring of 1 has no link.
    bandwidth_gbps, latency_us : float
        Of each link.
    one_way : bool
        Only the links i → i+1.

    Raises
    ------
    TopologyError
        `n` below 1, or a bandwidth or latency that no link can have.
    """
    n, bandwidth, latency, name = _single("ring_one_way" if one_way else "ring", n, bandwidth_gbps, latency_us)
    refuse_oversize(name, 2 * n)
    a, b = neighbours((n,), 0, wrap=True)
    if one_way and n == 2:
        a, b = np.array([0, 1]), np.array([1, 0])
    return wired(name, n, [Cables(a, b, bandwidth, latency, one_way)])


def line(n: int, bandwidth_gbps: float = DEFAULT_BANDWIDTH_GBPS, latency_us: float = DEFAULT_LATENCY_US) -> Topology:
    """Return a line of `n` NPUs: NPU i is joined to NPU i+1, and the ends are open.

    Raises
    ------
    TopologyError
        `n` below 1, or a bandwidth or latency that no link can have.
    """
    n, bandwidth, latency, name = _single("line", n, bandwidth_gbps, latency_us)
    refuse_oversize(name, 2 * (n - 1))
    return wired(name, n, [Cables(*neighbours((n,), 0, wrap=False), bandwidth, latency)])


def star(n: int, bandwidth_gbps: float = DEFAULT_BANDWIDTH_GBPS, latency_us: float = DEFAULT_LATENCY_US) -> Topology:
    """Return a star of `n` NPUs: NPU 0 is the hub, joined to each of the `n` − 1 others; there is no switch.

    Raises
    ------
    TopologyError
        `n` below 1, or a bandwidth or latency that no link can have.
    """
    n, bandwidth, latency, name = _single("star", n, bandwidth_gbps, latency_us)
    refuse_oversize(name, 2 * (n - 1))
    return wired(name, n, [Cables(np.zeros(n - 1, np.int64), np.arange(1, n), bandwidth, latency)])


def fully_connected(
    n: int, bandwidth_gbps: float = DEFAULT_BANDWIDTH_GBPS, latency_us: float = DEFAULT_LATENCY_US
) -> Topology:
    """Return `n` NPUs with a cable between every two of them, each of the full bandwidth.

    Raises
    ------
    TopologyError
        `n` below 1, or a bandwidth or latency that no link can have.
    """
    n, bandwidth, latency, name = _single("fully_connected", n, bandwidth_gbps, latency_us)
    refuse_oversize(name, n * (n - 1))
    return wired(name, n, [Cables(*np.triu_indices(n, 1), bandwidth, latency)])


def hypercube(
    dimensions: int, bandwidth_gbps: float = DEFAULT_BANDWIDTH_GBPS, latency_us: float = DEFAULT_LATENCY_US
) -> Topology:
    """Return a binary hypercube of 2^`dimensions` NPUs: those whose numbers differ in one bit are joined.

    Links come bit by bit, the lowest first. (TACOS calls a mesh "Hypercube3D"; that is `mesh`.)

    Raises
    ------
    TopologyError
        `dimensions` below 1, too many, or a bandwidth or latency that no link can have.
    """
    dimensions, bandwidth, latency, name = _single("hypercube", dimensions, bandwidth_gbps, latency_us)
    if dimensions > MAX_LINKS.bit_length():  # 2^dimensions may be too large to compute
        raise TopologyError(
            f"{name}: it would have 2^{dimensions} NPUs, expected at most 2^22; choose fewer dimensions"
        )
    refuse_oversize(name, dimensions * 2**dimensions)
    sizes = (2,) * dimensions
    return wired(
        name,
        2**dimensions,
        [Cables(*neighbours(sizes, bit, wrap=False), bandwidth, latency) for bit in range(dimensions)],
    )


def switch(n: int, bandwidth_gbps: float = DEFAULT_BANDWIDTH_GBPS, latency_us: float = DEFAULT_LATENCY_US) -> Topology:
    """Return `n` NPUs around one switch node.

    Parameters
    ----------
    n : int
        NPUs. One NPU alone has no switch.
    bandwidth_gbps : float
        Of each NPU's port, each way; the switch itself never limits.
    latency_us : float
        Of each NPU–switch hop, so two NPUs are twice that apart.

    Raises
    ------
    TopologyError
        `n` below 1, or a bandwidth or latency that no link can have.
    """
    n, bandwidth, latency, name = _single("switch", n, bandwidth_gbps, latency_us)
    refuse_oversize(name, 2 * n)
    npus = np.arange(n if n > 1 else 0)
    return wired(name, n, [Cables(npus, np.full(len(npus), n), bandwidth, latency)], int(n > 1))


def _single(kind: str, n: int, bandwidth_gbps: float, latency_us: float) -> tuple[int, float, float, str]:
    """Return the checked size, bandwidth and latency, and the short name."""
    sizes = checked_sizes(kind, n)
    if len(sizes) != 1:
        raise TopologyError(f"{kind}: found {len(sizes)} sizes, expected 1, as in {kind}:8")
    (bandwidth,) = per_dimension(f"{kind}:{sizes[0]}", "bandwidth", bandwidth_gbps, 1)
    (latency,) = per_dimension(f"{kind}:{sizes[0]}", "latency", latency_us, 1)
    return sizes[0], bandwidth, latency, short_name(kind, sizes, [bandwidth], [latency])
