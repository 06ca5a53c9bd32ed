"""A sketch for any topology, made without an expert: boxes, relays, symmetries and path sets.

Boxes are told by bandwidth (`synthesizers.taccl.boxes`). Relays: where several connections between two boxes share a
port, such as a NIC, chunks that many want cross from each GPU to its namesake only; chunks that one NPU wants go
straight, or through gateways (`synthesizers.taccl.gateways`), whichever starts out faster. Symmetries are looked for
(`synthesizers.taccl.symmetry`), paths are the shortest and those some hops longer.
"""

from __future__ import annotations

from collections import defaultdict

from simulator.link_model import LinkModel
from synthesizers.taccl.boxes import boxes_of, local_wires
from synthesizers.taccl.budget import in_time
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.gateways import gateway_wires
from synthesizers.taccl.network import Network
from synthesizers.taccl.symmetry import WireMaps, free_symmetries
from synthesizers.taccl.wires import Wires, wires_of
from topologies import Topology


def derived_networks(topology: Topology, demand: Demand, model: LinkModel, last: float | None = None) -> list[Network]:
    """Return the networks of the sketches that are derived from the topology alone, the plainest first.

    Parameters
    ----------
    topology : Topology
    demand : Demand
        Chunks that several want get relays; those for one NPU go straight, or in another network through gateways.
    model : LinkModel
    last : float, optional
        When `time.perf_counter` says so, it gives up.

    Raises
    ------
    OutOfTime
    """
    message = max(demand.nbytes, default=0)
    everything = wires_of(topology, message, last)
    box = boxes_of(everything)
    local = local_wires(everything, box)
    cross = [wire for wire in range(len(everything)) if box[everything.src[wire]] != box[everything.dst[wire]]]
    several = any(len(targets) > 1 for targets in demand.targets)
    choices = [_relays(everything, box, cross)] if several else [cross, *gateway_wires(everything, box, cross)]
    networks: list[Network] = []
    for choice in choices:
        in_time(last)
        wires = everything.kept(sorted({*local, *choice}))
        if (wires.hops() > topology.num_npus).any():
            if networks:
                continue
            wires = everything
        maps = WireMaps(wires, Costs(wires, model), message, last)
        symmetries = free_symmetries(maps, topology.num_npus, last)
        networks.append(Network(wires, box, symmetries=symmetries, origin="auto"))
    return networks


def _relays(wires: Wires, box: tuple[int, ...], cross: list[int]) -> list[int]:
    """Return the wires between boxes that are left when those that share a port are thinned out to namesakes."""
    sharing: dict[int, set[int]] = defaultdict(set)
    for wire in cross:
        for link in wires.routes[wire]:
            sharing[link].add(wires.src[wire] * len(box) + wires.dst[wire])
    rank: dict[int, int] = {}
    seen: dict[int, int] = defaultdict(int)
    for npu, name in enumerate(box):
        rank[npu] = seen[name]
        seen[name] += 1
    return [
        wire for wire in cross
        if rank[wires.src[wire]] == rank[wires.dst[wire]]
        or all(len(sharing[link]) == 1 for link in wires.routes[wire])
    ]  # fmt: skip
