"""Network files of ASTRA-sim's analytical back end, for the networks that they can say.

These are products of rings, fully connected and switched dimensions, each with one bandwidth and latency. Which
product a network is shows in its `dimensions` and at the links of NPU 0; the product is then built and must have the
very same links. Units are GB/s of 2^30 B/s, and ns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topologies.dimensions import dimensions
from topologies.exceptions import TopologyError
from topologies.product import product
from topologies.topology import Topology

_WORDS = {"r": "Ring", "f": "FullyConnected", "s": "Switch"}


def text_of(topology: Topology) -> str:
    """Return the network file of a topology.

    Raises
    ------
    TopologyError
        It is no product of such dimensions, or is one with its NPUs numbered otherwise.
    """
    shape = dimensions(topology)
    found = _blocks(topology, shape)
    if found is not None:
        letters, bandwidths, latencies = found
        if _links(product(letters, shape, bandwidths, latencies)) == _links(topology):
            rows: dict[str, list[Any]] = {
                "topology": [_WORDS[letter] for letter in letters],
                "npus_count": list(shape),
                "bandwidth": [repr(gbps * 1e9 / 2**30) for gbps in bandwidths],
                "latency": [repr(us * 1000) for us in latencies],
            }
            return "".join(f"{key}: [ {', '.join(map(str, values))} ]\n" for key, values in rows.items())
    raise TopologyError(f"cannot write {topology.name} as a network file of ASTRA-sim, which holds products of rings, "
                        "fully connected and switched dimensions with one bandwidth and latency each; write .json, "
                        ".csv or .graphml")  # fmt: skip


def _blocks(topology: Topology, shape: tuple[int, ...]) -> tuple[str, list[float], list[float]] | None:
    """Return the letter, bandwidth and latency of each dimension as NPU 0 shows them; None where it cannot be so."""
    out = np.flatnonzero(topology.src == 0)
    if (np.bincount(topology.src, minlength=topology.num_npus)[: topology.num_npus] != len(out)).any():
        return None  # and nothing large is built in vain
    ends = topology.dst[out]
    to_switch = out[ends >= topology.num_npus]
    to_switch = to_switch[np.argsort(topology.dst[to_switch], kind="stable")].tolist()
    letters, links, stride = "", [], 1
    taken = 0
    for size in shape:
        inside = out[(ends < topology.num_npus) & (ends % stride == 0) & (ends < stride * size)]
        steps = sorted((topology.dst[inside] // stride).tolist())
        taken += len(steps)
        if steps and steps == sorted({1, size - 1}):
            letters += "r"
            links.append(int(inside[0]))
        elif steps and steps == list(range(1, size)):
            letters += "f"
            links.append(int(inside[0]))
        elif not steps and to_switch:
            letters += "s"
            links.append(to_switch.pop(0))
            taken += 1
        else:
            return None
        stride *= size
    if taken != len(out):
        return None
    return letters, topology.bandwidth_gbps[links].tolist(), topology.latency_us[links].tolist()


def _links(topology: Topology) -> tuple[int, int, bytes]:
    """Return what a network is, whatever the order of its links."""
    rows = np.stack([topology.src, topology.dst, topology.latency_ps, topology.bytes_per_s])
    return topology.num_npus, topology.num_switches, rows[:, np.lexsort(rows)].tobytes()
