"""From counts of NVLinks or xGMI links to a topology: what all readers of one machine's GPUs share.

A link carries what the user says, else what a link of the GPU model does. Parallel links of two GPUs stay separate
links unless ``bonded=yes`` makes them one of the sum. All NVSwitches of a machine are one switch node, to which a GPU
has one port of the sum of its links: traffic is spread over them in hardware.
"""

from __future__ import annotations

import numpy as np

from topologies.readers.gpus import HOP_LATENCY_US, LINK_LATENCY_US, Gpu, given_gpu, with_links
from topologies.readers.source import Source, named
from topologies.topology import Topology

#: Most links between two GPUs: far past any board.
MAX_COUNT = 1024


def gpu_topology(
    source: Source,
    names: list[str],
    counts: np.ndarray,
    ports: np.ndarray,
    model: Gpu | None,
    noun: str = "NVLink",
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

    Raises
    ------
    FormatError
        A GPU without a link (all are named), or nothing that says what a link carries.
    """
    bonded = source.flag("bonded")
    alone = (counts.sum(axis=0) + counts.sum(axis=1) + ports) == 0
    if alone.any() and len(names) > 1:
        lonely = [names[gpu] for gpu in np.flatnonzero(alone).tolist()]
        others = "the others have some" if not alone.all() else "no GPU has one"
        raise source.error(f"not connected: no {noun} to another GPU has {named(lonely)}, {others}; expected links of "
                           "all: dump the topology anew on a machine where they are up")  # fmt: skip
    per_gpu = int(max((counts.sum(axis=1) + ports).max(initial=0), 0))
    figures = _figures(source, model, per_gpu, noun, bool(counts.any()), bool(ports.any())) if per_gpu else (0, 0, 0)
    bandwidth, direct_us, hop_us = figures
    rows: list[tuple[int, int, float, float]] = []
    n = len(names)
    for a, b in np.argwhere(np.triu(counts + counts.T, 1) > 0).tolist():
        for u, v in ((a, b), (b, a)):
            links = int(counts[u, v])
            rows += (
                [(u, v, direct_us, links * bandwidth)] if bonded and links else [(u, v, direct_us, bandwidth)] * links
            )
    for gpu in np.flatnonzero(ports).tolist():
        port = float(ports[gpu] * bandwidth)
        rows += [(gpu, n, hop_us, port), (n, gpu, hop_us, port)]
    switches = int(ports.any())
    labels = [f"GPU {rank}" for rank in range(n)] + ["NVSwitch"] * switches
    return source.build(n, rows, switches, labels)


def _figures(
    source: Source, model: Gpu | None, per_gpu: int, noun: str, direct: bool, switched: bool
) -> tuple[float, float, float]:
    """Return GB/s of a link, and the latencies of direct links and of hops to a switch."""
    asked, latency, bandwidth = given_gpu(source), source.latency(), source.bandwidth()
    found = asked or model
    basis = f"{found.name}" if found is not None else ""
    if bandwidth is None and found is None and noun == "NVLink":
        likely = with_links(per_gpu)
        if likely and len({gpu.link_gbps for gpu in likely}) == 1:
            found, basis = likely[0], f"{' or '.join(gpu.name for gpu in likely)}, the only GPU with {per_gpu} links"
    if bandwidth is None and found is None:
        example = "H100" if noun == "NVLink" else "MI250"
        raise source.error(f"does not say what a link carries, nor which GPU it is ({per_gpu} links each); give the "
                           f"model, {source.ask('gpu', example)}, or {source.ask('bandwidth')}")  # fmt: skip
    taken = []
    if bandwidth is None and found is not None:
        bandwidth = found.link_gbps
        if asked is None:
            taken.append(f"{bandwidth:g} GB/s a link as of {basis}")
    if latency is None and asked is None:
        taken += [f"{LINK_LATENCY_US:g} us a link"] * direct + [f"{HOP_LATENCY_US:g} us a hop to the switch"] * switched
    if taken:
        source.warn(f"not in the file, from the table of defaults: {', '.join(taken)}")
    assert bandwidth is not None
    return bandwidth, LINK_LATENCY_US if latency is None else latency, HOP_LATENCY_US if latency is None else latency
