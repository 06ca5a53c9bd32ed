"""The same network with slower or faster links: what a schedule made for one is tried on to see how robust it is.

Factors count to the millionth, and a link's new latency and bandwidth are rounded to the nearest picosecond and byte
per second, halves up; all of it is done in integers, so that the same factors give the same network everywhere.
"""

from __future__ import annotations

import numpy as np

from topologies.exceptions import TopologyError
from topologies.topology import Topology

#: What factors are counted in; and what latencies in picoseconds and bandwidths in bytes per second stay below.
_PARTS, _MOST = 10**6, 2e18


def scaled(
    topology: Topology,
    latency: float | np.ndarray = 1.0,
    bandwidth: float | np.ndarray = 1.0,
    name: str | None = None,
) -> Topology:
    """Return a network with latencies and bandwidths multiplied; nodes, links and their numbers stay.

    Parameters
    ----------
    topology : Topology
    latency, bandwidth : float or (L,) float array
        Factors of all links, or of each.
    name : str, optional
        By default the network's own with "scaled".

    Raises
    ------
    TopologyError
        A negative or infinite factor, another number of factors than of links, or a link past what a network can have:
        one without bandwidth, for example.
    """
    columns = {}
    for what, factor, values, unit in (
        ("latency", latency, topology.latency_ps, 1e6),
        ("bandwidth", bandwidth, topology.bytes_per_s, 1e9),
    ):
        columns[what] = _product(topology, what, values, factor) / unit
    return Topology(
        topology.num_npus,
        topology.src,
        topology.dst,
        columns["latency"],
        columns["bandwidth"],
        topology.num_switches,
        f"{topology.name}, scaled" if name is None else name,
        topology.node_names,
    )


def _product(topology: Topology, what: str, values: np.ndarray, factor: float | np.ndarray) -> np.ndarray:
    """Return (L,) int64: values times factors, rounded to the nearest integer; refuse factors that make no network."""
    factors = np.asarray(factor, float)
    if factors.shape not in ((), (topology.num_links,)):
        raise TopologyError(
            f"topology {topology.name}: expected one {what} factor, or one for each of its {topology.num_links} links, "
            f"found {factors.size}"
        )
    with np.errstate(invalid="ignore"):  # no latency times infinity
        fits = (factors >= 0) & (values * factors < _MOST) & (factors < _MOST / _PARTS)
    if not fits.all():
        found = np.broadcast_to(factors, fits.shape)[~fits][0]
        raise TopologyError(f"topology {topology.name}: cannot scale a {what} by {found:g}; expected a factor that is "
                            "not negative and leaves it in range")  # fmt: skip
    parts = np.rint(factors * _PARTS).astype(np.int64)
    # In two steps, so that nothing overflows.
    whole, rest = np.divmod(values, _PARTS)
    product: np.ndarray = whole * parts + (rest * parts + _PARTS // 2) // _PARTS
    return product
