"""From counts of NVLinks or xGMI links to a topology: what all readers of one machine's GPUs share.

A link carries what the user says, else what a link of the GPU model does. Parallel links of two GPUs stay separate
links unless ``bonded=yes`` makes them one of the sum. All NVSwitches of a machine are one switch node, to which a GPU
has one port of the sum of its links: traffic is spread over them in hardware.

PCIe and the network between machines take part where the user says what they carry. PCIe is one switch of a machine,
the host, with a port for each GPU: the way between sockets does not limit. Further machines are copies of the first,
and the network is one switch, with a NIC for each GPU, as in the built-in machines.
"""

from __future__ import annotations

import numpy as np

from topologies.exceptions import OptionError
from topologies.readers.gpus import HOP_LATENCY_US, LINK_LATENCY_US, NIC_LATENCY_US, Gpu, given_gpu, with_links
from topologies.readers.source import Source, named
from topologies.topology import Topology

#: Most links between two GPUs: far past any board.
MAX_COUNT = 1024

_MAX_BOXES, _MAX_LINKS = 1024, 2**18


def gpu_topology(
    source: Source,
    names: list[str],
    counts: np.ndarray,
    ports: np.ndarray,
    model: Gpu | None,
    noun: str = "NVLink",
    carried: float | None = None,
) -> Topology:
    """Return the topology of a machine's GPUs.

    Parameters
    ----------
    source : Source
    names : list of str
        The GPUs in rank order, as a user knows them.
    counts : (n, n) int array
        Links from one GPU to another; the diagonal is zero.
    ports : (n,) int array
        Links of each GPU to the switch.
    model : Gpu or None
        What the file itself says of the GPUs; what the user says goes before it.
    noun : str
        What a link is called.
    carried : float or None
        GB/s of a link where the file itself says it; what the user says goes before it.

    Raises
    ------
    FormatError
        A GPU without a link (all are named), or nothing that says what a link carries.
    """
    bonded, pcie, nic = source.flag("bonded"), source.bandwidth("pcie"), source.bandwidth("nic")
    boxes = source.number("boxes", 1, _MAX_BOXES)
    if (boxes > 1) != (nic is not None):
        raise OptionError(f"{source.path}: boxes and nic go together: {source.ask('boxes')} and {source.ask('nic')}")
    alone = (counts.sum(axis=0) + counts.sum(axis=1) + ports) == 0
    if alone.any() and len(names) > 1 and pcie is None:
        lonely = [names[gpu] for gpu in np.flatnonzero(alone).tolist()]
        others = "the others have some" if not alone.all() else "no GPU has one"
        raise source.error(f"not connected: no {noun} to another GPU has {named(lonely)}, {others}; expected links of "
                           f"all: dump it where they are up, or let PCIe join them, {source.ask('pcie')}")  # fmt: skip
    n = len(names)
    if boxes * (counts.sum() + 6 * n) > _MAX_LINKS:
        raise source.error(f"{boxes} machines of {n} GPUs and {counts.sum()} links; expected at most {_MAX_LINKS}")
    hubs = ["NVSwitch"] * bool(ports.any()) + ["PCIe"] * (pcie is not None)
    bandwidth, direct_us, hop_us = _figures(source, model, counts, ports, noun, carried, bool(hubs))
    machine: list[tuple[int, int, float, float]] = []  # switches are n, n + 1
    for a, b in np.argwhere(np.triu(counts + counts.T, 1) > 0).tolist():
        for u, v in ((a, b), (b, a)):
            together = int(counts[u, v]) if bonded else 1
            machine += [(u, v, direct_us, together * bandwidth)] * (int(counts[u, v]) // max(together, 1))
    for gpu in np.flatnonzero(ports).tolist():
        machine += _cable(gpu, n, hop_us, float(ports[gpu] * bandwidth))
    if pcie is not None:
        for gpu in range(n):
            machine += _cable(gpu, n + len(hubs) - 1, hop_us, pcie)
    rows = []
    for box in range(boxes):
        place = [*range(box * n, (box + 1) * n), *(boxes * n + box * len(hubs) + hub for hub in range(len(hubs)))]
        rows += [(place[src], place[dst], *figures) for src, dst, *figures in machine]
    if nic is not None:
        for gpu in range(boxes * n):
            rows += _cable(gpu, boxes * (n + len(hubs)), NIC_LATENCY_US, nic)
    each = [""] if boxes == 1 else [f"box {box} " for box in range(boxes)]
    labels = [f"{box}GPU {rank}" for box in each for rank in range(n)] + [f"{box}{hub}" for box in each for hub in hubs]
    labels += ["network switch"] * (nic is not None)
    topology = source.build(boxes * n, rows, len(labels) - boxes * n, labels)
    apart = len(topology.components())
    if apart > 1 and pcie is None:
        source.warn(f"{apart} parts that no {noun} joins; PCIe does, {source.ask('pcie')}")
    return topology


def _cable(a: int, b: int, latency: float, bandwidth: float) -> list[tuple[int, int, float, float]]:
    """Return both links of a cable."""
    return [(a, b, latency, bandwidth), (b, a, latency, bandwidth)]


def _require_possible(source: Source, asked: Gpu, per_gpu: int, noun: str) -> None:
    """Refuse a model that cannot have the links of the file."""
    theirs = {"NVLink": False, "xGMI link": True}.get(noun)
    if theirs is not None and theirs != asked.amd:
        raise OptionError(f"{source.path}: its links are {noun}s, which {asked.name} does not have; give another model")
    if asked.links is not None and per_gpu > asked.links:
        raise OptionError(f"{source.path}: a GPU of it has {per_gpu} {noun}s, {asked.name} has {asked.links}; give "
                          "another model")  # fmt: skip


def _figures(
    source: Source, model: Gpu | None, counts: np.ndarray, ports: np.ndarray, noun: str, carried: float | None,
    hubs: bool,
) -> tuple[float, float, float]:  # fmt: skip
    """Return GB/s of a link, and the latencies of direct links and of hops to a switch."""
    asked, latency, bandwidth = given_gpu(source), source.latency(), source.bandwidth()
    per_gpu = int((counts.sum(axis=1) + ports).max())
    if asked is not None:
        _require_possible(source, asked, per_gpu, noun)
        if model is not None and model.link_gbps != asked.link_gbps:
            source.warn(f"the GPUs are {model.name} by what the file says, and taken as {asked.name} as told")
    if bandwidth is None and asked is None:
        bandwidth = carried
    found = asked or model
    basis = found.name if found is not None else ""
    if bandwidth is None and found is None and noun == "NVLink":
        likely = with_links(per_gpu)
        if likely and len({gpu.link_gbps for gpu in likely}) == 1:
            found, basis = likely[0], f"{' or '.join(gpu.name for gpu in likely)}, the only GPU with {per_gpu} links"
    taken = []
    if per_gpu == 0:
        bandwidth = 0.0  # of no link
    elif bandwidth is None and found is not None:
        bandwidth = found.link_gbps
        if asked is None:
            taken.append(f"{bandwidth:g} GB/s a link as of {basis}")
    elif bandwidth is None:
        example = "H100" if noun == "NVLink" else "MI250"
        raise source.error(f"does not say what a link carries, nor which GPU it is ({per_gpu} links each); give the "
                           f"model, {source.ask('gpu', example)}, or {source.ask('bandwidth')}")  # fmt: skip
    if latency is None and asked is None:
        taken += [f"{LINK_LATENCY_US:g} us a link"] * bool(counts.any())
        taken += [f"{HOP_LATENCY_US:g} us a hop to a switch"] * hubs
    if taken:
        source.warn(f"not in the file, from the table of defaults: {', '.join(taken)}")
    direct_us, hop_us = (LINK_LATENCY_US, HOP_LATENCY_US) if latency is None else (latency, latency)
    return bandwidth, direct_us, hop_us
