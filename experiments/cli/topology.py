"""``collbench topology show``: what a network is, and what looks wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import number, print_facts, print_json, progress
from experiments.cli.parameters import json_option
from experiments.cli.program import Commands
from experiments.cli.values import TopologyType

if TYPE_CHECKING:
    import numpy as np

    from topologies import Topology

#: NPUs × links past which the diameter is not worked out: it would take minutes.
_MAX_DIAMETER_WORK = 2**31

#: Breadth-first searches at a time: their distances are a row of nodes each.
_SOURCES = 256


@click.group("topology", cls=Commands)
def topology() -> None:
    """Look at networks."""


@topology.command()
@click.argument("network", metavar="NAME_OR_FILE", type=TopologyType())
@json_option
def show(network: Topology, as_json: bool) -> None:
    """Print what a network is: nodes, links, diameter, bandwidth, and what looks wrong with it."""
    with progress(f"looking at {network.name}"):
        summary = summarise(network)
    if as_json:
        print_json(summary)
        return
    least, most = summary["bandwidth_per_npu_gbps"], summary["max_bandwidth_per_npu_gbps"]
    bandwidth = f"{number(least)} GB/s" if least == most else f"{number(least)} to {number(most)} GB/s"
    diameter = summary["diameter"]
    print_facts(
        [
            ("topology", summary["topology"]),
            ("NPUs", str(summary["num_npus"])),
            ("switches", str(summary["num_switches"])),
            ("links", f"{summary['num_links']} (a cable is two)"),
            ("link bandwidth", f"{_listed(network.bandwidth_gbps)} GB/s"),
            ("link latency", f"{_listed(network.latency_us)} us"),
            ("diameter", "–" if diameter is None else f"{diameter} links"),
            ("components", str(summary["components"])),
            ("bandwidth per NPU", bandwidth),
            ("AllGather at most", f"{number(summary['allgather_bound_gbps'])} GB/s algbw"),
            *(("warning", text) for text in summary["warnings"]),
        ]
    )


def summarise(network: Topology) -> dict[str, Any]:
    """Return what a network is, by the names of the JSON form.

    `diameter` counts links, between NPUs; None where some cannot reach another, or on a network too large to tell.
    `bandwidth_per_npu_gbps` is the least, over NPUs, of what comes in and what goes out.
    """
    import numpy as np

    from simulator import allgather_bound_gbps

    npus, nodes = network.num_npus, network.num_nodes
    into = np.bincount(network.dst, weights=network.bandwidth_gbps, minlength=nodes)[:npus]
    out = np.bincount(network.src, weights=network.bandwidth_gbps, minlength=nodes)[:npus]
    parts = [part[part < npus] for part in network.components()]
    parts = [part for part in parts if len(part)]
    warnings = _warnings(network, parts)
    diameter = None
    if len(parts) == 1:
        if npus * max(network.num_links, 1) <= _MAX_DIAMETER_WORK:
            diameter = _diameter(network)
        else:
            warnings.append("a large network: its diameter was not worked out")
    per_npu = np.minimum(into, out)
    return {
        "topology": network.name,
        "num_npus": npus,
        "num_switches": network.num_switches,
        "num_links": network.num_links,
        "diameter": diameter,
        "components": len(parts),
        "bandwidth_per_npu_gbps": float(per_npu.min()),
        "max_bandwidth_per_npu_gbps": float(per_npu.max()),
        "allgather_bound_gbps": allgather_bound_gbps(network),
        "warnings": warnings,
    }


def _diameter(network: Topology) -> int:
    """Return the greatest number of links on a shortest path between two NPUs of a connected network."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    ones = np.ones(network.num_links)
    graph = coo_array((ones, (network.src, network.dst)), shape=(network.num_nodes, network.num_nodes)).tocsr()
    longest = 0.0
    for first in range(0, network.num_npus, _SOURCES):
        sources = np.arange(first, min(first + _SOURCES, network.num_npus))
        far = dijkstra(graph, indices=sources, unweighted=True)[:, : network.num_npus]
        longest = max(longest, float(far.max()))
    return int(longest)


def _warnings(network: Topology, parts: list[np.ndarray]) -> list[str]:
    """Return what is likely a mistake in a network, each in one line."""
    import numpy as np

    from topologies import Fabric

    if isinstance(network, Fabric):
        return [
            f"not wired yet: {network.num_npus} servers of {network.ports} ports; choose a synthesizer that wires them"
        ]
    found = []
    nodes, npus = network.num_nodes, network.num_npus
    degree = np.bincount(network.src, minlength=nodes) + np.bincount(network.dst, minlength=nodes)
    lonely = np.flatnonzero(degree == 0).tolist()
    if lonely and nodes > 1:
        found.append(f"without any link: {_nodes(network, lonely)}")
    if len(parts) > 1:
        sides = " and ".join(f"{{{_nodes(network, part.tolist())}}}" for part in parts[:2])
        found.append(f"not connected: {len(parts)} parts of NPUs cannot both reach each other, such as {sides}")
    # Bandwidth of all links from one node to another, beside that of the way back.
    key = network.src.astype(np.int64) * nodes + network.dst
    pairs, place = np.unique(key, return_inverse=True)
    total = np.bincount(place, weights=network.bandwidth_gbps, minlength=len(pairs))
    back = pairs % nodes * nodes + pairs // nodes
    at = np.minimum(np.searchsorted(pairs, back), max(len(pairs) - 1, 0))
    missing = pairs[at] != back if len(pairs) else np.zeros(0, bool)
    if missing.any():
        name = _between(network, int(pairs[np.argmax(missing)]))
        found.append(f"one way only: {int(missing.sum())} connections have no way back, such as {name}")
    uneven = ~missing & ~np.isclose(total, total[at]) if len(pairs) else missing
    if uneven.any():
        name = _between(network, int(pairs[np.argmax(uneven)]))
        found.append(f"uneven: {int(uneven.sum())} connections differ in bandwidth from their way back, such as {name}")
    if network.num_links and (network.latency_us == 0).any():
        found.append(f"{int((network.latency_us == 0).sum())} links have no latency")
    passable = set(network.src.tolist()) & set(network.dst.tolist())
    leaves = [node for node in range(npus, nodes) if degree[node] and node not in passable]
    if leaves:
        found.append(f"dead ends: {_nodes(network, leaves)} can pass nothing on")
    return found


def _nodes(network: Topology, nodes: list[int]) -> str:
    """Return the names of nodes, the first few of many."""
    return ", ".join(network.node_name(node) for node in nodes[:4]) + (", …" if len(nodes) > 4 else "")


def _between(network: Topology, key: int) -> str:
    """Return the name of a connection from its key."""
    return f"{network.node_name(key // network.num_nodes)} -> {network.node_name(key % network.num_nodes)}"


def _listed(values: np.ndarray) -> str:
    """Return the different values of a column: all of a few, else their range."""
    import numpy as np

    different = np.unique(values).tolist()
    if not different:
        return "–"
    if len(different) > 4:
        return f"{different[0]:g} to {different[-1]:g}"
    return ", ".join(f"{value:g}" for value in different)
