"""Fat-trees of three layers of switches: the fabric that direct-connect networks are compared with.

The shape is the k-ary tree of M. Al-Fares, A. Loukissas and A. Vahdat (SIGCOMM 2008) with the least even k whose k³/4
hosts are enough: k/2 hosts at a leaf, k/2 leaves in a pod, k pods. Hosts spread evenly where they do not fill it, and
layers above the first one with a single switch are left out.

The k/2 upper switches of a pod, and all core switches, are one node each here, and the links up to them are one link of
their summed bandwidth; so C. E. Leiserson drew fat-trees (IEEE Transactions on Computers C-34(10), 1985). A schedule
here sends a chunk along one route. With many small switches it would have to choose among equal routes, and those that
choose the same one would collide where a fabric that spreads its packets has room. The model so is a fat-tree with
perfect load balance, kinder to it than hashing flows to routes (ECMP) would be.
"""

from __future__ import annotations

from dataclasses import replace

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


def fat_tree(
    hosts: int,
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
    oversubscription: int = 1,
) -> Topology:
    """Return a fat-tree: NPUs, then leaf switches, pods and the core, each layer from left to right.

    Parameters
    ----------
    hosts : int
        NPUs, each with one cable to its leaf; two or more.
    bandwidth_gbps : float
        Of a host's cable, each way. What leads up from a leaf or a pod has it times the hosts below, divided by
        `oversubscription`.
    latency_us : float
        Of each hop: two hosts are 2 hops apart below the same leaf, 4 in the same pod, else 6.
    oversubscription : int
        1: full bisection bandwidth. 2: half of the links up from the leaves are left out (2:1), and with them what
        they would need above. A lone host at a leaf (only odd numbers of hosts below 16 have one) then gets half of
        its bandwidth.

    Raises
    ------
    TopologyError
        Less than two hosts, an oversubscription below 1, or a bandwidth or latency that no link can have.
    """
    hosts, ratio = checked_sizes("fat_tree", (hosts, oversubscription))
    sizes = (hosts,) if ratio == 1 else (hosts, ratio)
    title = f"fat_tree:{'x'.join(map(str, sizes))}"
    if hosts < 2:
        raise TopologyError(f"{title}: found {hosts} host, expected 2 or more")
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, 1)
    latencies = per_dimension(title, "latency", latency_us, 1)
    refuse_oversize(title, 2 * hosts)
    half = _half_radix(hosts)
    runs: list[Cables] = []
    names: list[str] = []
    below, first = np.ones(hosts, np.int64), 0  # hosts below each node of the layer, and the layer's first node
    for layer, most_below in (("leaf", half), ("pod", half), ("core", 2 * half)):
        children = len(below)
        if layer != "leaf" and children == 1:
            break
        count = -(-children // most_below)
        each, more = divmod(children, count)  # below each switch, and switches with one more, the first ones
        parent = np.repeat(np.arange(count), each + (np.arange(count) < more))
        for share in np.unique(below)[::-1].tolist():  # so from left to right
            alike = np.flatnonzero(below == share)
            up = bandwidths[0] if layer == "leaf" else bandwidths[0] * share / ratio
            runs.append(Cables(first + alike, first + children + parent[alike], up, latencies[0]))
        names += ["core"] if layer == "core" else [f"{layer} {switch}" for switch in range(count)]
        below, first = np.bincount(parent, weights=below).astype(np.int64), first + children
    network = wired(short_name("fat_tree", sizes, bandwidths, latencies), hosts, runs, len(names))
    return replace(network, node_names=[*(f"NPU {host}" for host in range(hosts)), *names])


def _half_radix(hosts: int) -> int:
    """Return k/2 of the least k-ary fat-tree for so many hosts: h with 2·h³ ≥ hosts, and 2 or more."""
    half = 2
    while 2 * half**3 < hosts:
        half += 1
    return half
