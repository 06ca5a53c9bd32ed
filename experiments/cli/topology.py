"""``collbench topology``: what a network is, what looks wrong with it, and its file in another format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import number, print_facts, print_json, progress, remark, require_writable
from experiments.cli.parameters import json_option, options
from experiments.cli.program import Commands, Failure
from experiments.cli.values import is_file, network_of

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


file_options = options(
    click.option("--gpu", metavar="MODEL", help="GPU model whose defaults stand in for what the file does not say."),
    click.option("--nvswitch", "wiring", flag_value="nvswitch", help="Equal NVLinks of all GPUs are one NVSwitch."),
    click.option("--direct", "wiring", flag_value="direct", help="Equal NVLinks of all GPUs are direct links."),
    click.option("--bandwidth", metavar="25GB/s", help="Bandwidth of the links that have none in the file."),
    click.option("--latency", metavar="0.7us", help="Latency of the links that have none in the file."),
    click.option("--unit", metavar="Gbps", help="Unit of bandwidths that are bare numbers in the file."),
    click.option("--bonded", is_flag=True, help="Make parallel links of two GPUs one link of the sum."),
    click.option("--cables", is_flag=True, help="A line of a table of links is a cable, both ways."),
    click.option("--machine", metavar="NAME", help="Machine of a TACCL profile, such as ndv2."),
    click.option("--pcie", metavar="24GB/s", help="Bandwidth of each GPU over PCIe, which joins a machine's GPUs."),
    click.option("--nic", metavar="25GB/s", help="Bandwidth of each GPU to the network between machines."),
    click.option("--boxes", metavar="N", help="Number of machines, all as the one of the file."),
    click.option("--sketch", metavar="FILE", help="Sketch of TACCL that says the number of machines."),
)  # fmt: skip


@topology.command()
@click.argument("network", metavar="NAME_OR_FILE")
@file_options
@click.option("--plot", "plot_file", type=click.Path(), help="Draw it to a file, .png or .svg.")
@json_option
def show(network: str, plot_file: str | None, as_json: bool, **given: Any) -> None:
    """Print what a network is: nodes, links, diameter, bandwidth, and what looks wrong with it.

    Files of other tools are known by their content (docs/topology_files.md has the formats). What a file does not say
    is given by the options, or after its name, which serves every command: -t topo.txt@gpu=H100,latency=0.7us.
    """
    if plot_file is not None:
        _require_suffix("--plot", plot_file, (".png", ".svg"))
    found, notes = _network(network, given)
    with progress(f"looking at {found.name}"):
        summary = summarise(found)
        summary["warnings"] = notes + summary["warnings"]
        if plot_file is not None:
            _draw(found, plot_file)
    if as_json:
        print_json(summary)
        return
    diameter = summary["diameter"]
    print_facts(
        [
            ("topology", summary["topology"]),
            ("NPUs", str(summary["num_npus"])),
            ("switches", str(summary["num_switches"])),
            ("links", f"{summary['num_links']} (a cable is two)"),
            ("links per NPU", _range(summary["degree"], summary["max_degree"], str)),
            ("link bandwidth", f"{_listed(found.bandwidth_gbps)} GB/s"),
            ("link latency", f"{_listed(found.latency_us)} us"),
            ("diameter", "–" if diameter is None else f"{diameter} links"),
            ("components", str(summary["components"])),
            ("bandwidth per NPU",
             _range(summary["bandwidth_per_npu_gbps"], summary["max_bandwidth_per_npu_gbps"], number) + " GB/s"),
            ("AllGather at most", f"{number(summary['allgather_bound_gbps'])} GB/s algbw"),
            *(("warning", text) for text in summary["warnings"]),
        ]
    )  # fmt: skip


@topology.command("convert")
@click.argument("network", metavar="NAME_OR_FILE")
@click.argument("target", metavar="OUT", type=click.Path())
@file_options
@json_option
def convert_topology(network: str, target: str, as_json: bool, **given: Any) -> None:
    """Write a network as file OUT: .json (collbench's own), .csv (a table of links), .graphml, .yml (ASTRA-sim).

    What is read back is the same network. ASTRA-sim's file can say products of rings, fully connected and switched
    dimensions only; another network is refused.
    """
    from topologies import TopologyError
    from topologies.writers import SUFFIXES, write_topology

    _require_suffix("OUT", target, tuple(SUFFIXES))
    if os.path.realpath(target) in map(os.path.realpath, (network, network.rpartition("@")[0] or network)):
        raise click.UsageError(f"{target} would overwrite the file to be converted; give another name")
    require_writable(target)
    found, notes = _network(network, given)
    with progress(f"writing {target}"):
        try:
            write_topology(found, target)
        except TopologyError as error:
            raise Failure(str(error)) from error
    written = SUFFIXES[Path(target).suffix.lower()][0]
    if as_json:
        print_json({"file": target, "format": written, "topology": found.name, "num_npus": found.num_npus,
                    "num_switches": found.num_switches, "num_links": found.num_links, "warnings": notes})  # fmt: skip
        return
    for text in notes:
        remark(text)
    print_facts(
        [
            ("file", target),
            ("format", written),
            ("topology", found.name),
            ("NPUs", str(found.num_npus)),
            ("switches", str(found.num_switches)),
            ("links", f"{found.num_links} (a cable is two)"),
        ]
    )


def _network(text: str, given: dict[str, Any]) -> tuple[Topology, list[str]]:
    """Return the network of an argument with what the options say of its file, and what its reader had to say."""
    said = [f"{key}={'yes' if value is True else value}" for key, value in given.items() if value]
    if said:
        path = text.rpartition("@")[0]
        if is_file(text):
            text = f"{text}@{','.join(said)}"
        elif path and is_file(path):
            text = f"{text},{','.join(said)}"
        else:
            raise click.UsageError(f"--{said[0].split('=')[0]} is for files, and {text!r} is none; leave it out")
    return network_of(text)


def _require_suffix(what: str, path: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a file name of another ending."""
    if Path(path).suffix.lower() not in suffixes:
        raise click.UsageError(f"{what} is {path!r}; expected a name that ends in {', '.join(suffixes)}")


def _draw(network: Topology, path: str) -> None:
    """Draw a network to a file."""
    from experiments.plots.network import figure
    from experiments.plots.style import save_as, styled

    with styled():
        save_as(figure(network), Path(path))


def _range(least: float, most: float, show: Callable[[Any], str]) -> str:
    """Return one number, or two that it lies between."""
    return show(least) if least == most else f"{show(least)} to {show(most)}"


def summarise(network: Topology) -> dict[str, Any]:
    """Return what a network is, by the names of the JSON form.

    `diameter` counts links, between NPUs; None where some cannot reach another, or on a network too large to tell.
    `bandwidth_per_npu_gbps` is the least, over NPUs, of what comes in and what goes out; `degree` is the least of links
    out of an NPU.
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
    degree = np.bincount(network.src, minlength=nodes)[:npus]
    return {
        "topology": network.name,
        "num_npus": npus,
        "num_switches": network.num_switches,
        "num_links": network.num_links,
        "degree": int(degree.min()),
        "max_degree": int(degree.max()),
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
