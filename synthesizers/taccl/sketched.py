"""A sketch drawn onto a topology: checked, before any solver starts, and turned into the network that it leaves.

Every fault is told with the key of the sketch and the GPUs that it concerns.
"""

from __future__ import annotations

from synthesizers.taccl.costs import Costs
from synthesizers.taccl.network import Network
from synthesizers.taccl.sketch import Sketch
from synthesizers.taccl.symmetry import WireMaps, rotation
from synthesizers.taccl.wires import Wires, shared_fabric, wires_of
from topologies import Topology
from topologies.exceptions import OptionError


def sketched_network(topology: Topology, sketch: Sketch, message_bytes: int) -> Network:
    """Return the network that a sketch leaves of a topology.

    Parameters
    ----------
    topology : Topology
    sketch : Sketch
    message_bytes : int
        The size that ways through switches are quick for.

    Raises
    ------
    OptionError
        A sketch that does not fit; names the key and the GPUs at fault.
    """
    gpus = _gpus_per_node(topology, sketch)
    box = tuple(npu // gpus for npu in range(topology.num_npus))
    everything = wires_of(topology, message_bytes)
    _check_ids(sketch, gpus)
    local = local_wires(everything, box)
    connections = sketch.connections(gpus) if sketch.nnodes > 1 else {}
    cross = _cross_wires(everything, box, gpus, connections)
    chosen = sorted({*local, *cross})
    wires = everything.kept(chosen)
    intranode = sketch.intranode_sketch
    strategy: str = intranode.strategy
    if strategy == "switch":
        strategy = intranode.switch_hyperedge_strategy[0] if intranode.switch_hyperedge_strategy else "none"
    senders: dict[int, tuple[int, ...]] = {}
    for sender, owners in sketch.senders().items() if sketch.nnodes > 1 else ():
        for node in range(sketch.nnodes):
            for owner in owners:
                npu = node * gpus + owner
                senders[npu] = (*senders.get(npu, ()), node * gpus + sender)
    return Network(
        wires, box, strategy,
        extra_ports=_switch_ports(wires, box, gpus, intranode.switches) if intranode.switches else (),
        switched=intranode.strategy == "switch",
        relayed=sketch.nnodes > 1,
        senders=senders,
        own_first=sketch.internode_sketch is not None and sketch.internode_sketch.enforce_ordering,
        symmetries=tuple(rotation(topology.num_npus, offset, group) for offset, group in sketch.symmetry_offsets),
        chunkup=sketch.hyperparameters.input_chunkup,
    )  # fmt: skip


def local_wires(wires: Wires, box: tuple[int, ...]) -> list[int]:
    """Return the wires inside boxes: not over the fabric between them, unless a box hangs together by nothing else."""
    fabric = shared_fabric(wires.topology, box)
    inside = [wire for wire in range(len(wires)) if box[wires.src[wire]] == box[wires.dst[wire]]]
    own = [wire for wire in inside if not any(int(wires.topology.dst[link]) in fabric for link in wires.routes[wire])]
    own_hops, all_hops = wires.kept(own).hops(), wires.kept(inside).hops()
    npus = len(box)
    torn = {box[a] for a in range(npus) for b in range(npus)
            if box[a] == box[b] and own_hops[a, b] > npus >= all_hops[a, b]}  # fmt: skip
    kept = set(own)
    return [wire for wire in inside if wire in kept or box[wires.src[wire]] in torn]


def _gpus_per_node(topology: Topology, sketch: Sketch) -> int:
    """Return the GPUs of a node, checked."""
    if topology.num_npus % sketch.nnodes:
        raise OptionError(f"sketch, nnodes: {sketch.nnodes} nodes do not divide the {topology.num_npus} GPUs of "
                          f"{topology.name}; give a number that does")  # fmt: skip
    if sketch.nnodes > 1 and sketch.internode_sketch is None:
        raise OptionError(
            f"sketch, internode_sketch: missing, but nnodes is {sketch.nnodes}; say how the nodes are joined"
        )
    return topology.num_npus // sketch.nnodes


def _check_ids(sketch: Sketch, gpus: int) -> None:
    """Refuse GPUs that a node does not have, switches that overlap, and senders that send nothing."""

    def known(key: str, numbers: list[int] | tuple[int, ...]) -> None:
        for number in numbers:
            if number >= gpus:
                raise OptionError(
                    f"sketch, {key}: names GPU {number}; a node has 0…{gpus - 1} (nnodes: {sketch.nnodes})"
                )

    intranode, internode = sketch.intranode_sketch, sketch.internode_sketch
    if intranode.strategy == "switch" and not intranode.switches:
        raise OptionError(
            "sketch, intranode_sketch, switches: missing, but the strategy is switch; list the GPUs round each"
        )
    if intranode.switches and intranode.strategy != "switch":
        raise OptionError(f"sketch, intranode_sketch, switches: given, but the strategy is {intranode.strategy}; "
                          "expected switch")  # fmt: skip
    given, wanted = len(intranode.switch_hyperedge_strategy), len(intranode.switches)
    if intranode.strategy == "switch" and given not in (0, wanted):
        raise OptionError(f"sketch, intranode_sketch, switch_hyperedge_strategy: {given} for {wanted} switches; give "
                          "one for each")  # fmt: skip
    sets = [frozenset(switch) for switch in intranode.switches]
    for number, switch in enumerate(sets):
        known("intranode_sketch, switches", sorted(switch))
        for other in sets[:number]:
            if switch & other and switch != other:
                raise OptionError(f"sketch, intranode_sketch, switches: GPU {min(switch & other)} is on two switches "
                                  "of different GPUs; expected the same or disjoint sets")  # fmt: skip
    if internode is None or sketch.nnodes == 1:
        return
    connections = sketch.connections(gpus)
    for sender, receivers in connections.items():
        known("internode_sketch, internode_conn", (sender, *receivers))
    for sender, owners in sketch.senders().items():
        known("internode_sketch, gpus_to_sender_rev_map", (sender, *owners))
        if not connections.get(sender):
            raise OptionError(f"sketch, internode_sketch, gpus_to_sender_rev_map: names sender {sender}, which "
                              "internode_conn gives no receiver; add one")  # fmt: skip
    for offset, group in sketch.symmetry_offsets:
        if (gpus * sketch.nnodes) % group:
            raise OptionError(f"sketch, symmetry_offsets: [{offset}, {group}]: groups of {group} do not divide "
                              f"{gpus * sketch.nnodes} GPUs")  # fmt: skip


def _cross_wires(
    everything: Wires, box: tuple[int, ...], gpus: int, connections: dict[int, tuple[int, ...]]
) -> list[int]:
    """Return the wires between nodes that a sketch names, each of which must be there."""
    between: dict[tuple[int, int], list[int]] = {}
    for wire, ends in enumerate(zip(everything.src, everything.dst, strict=True)):
        between.setdefault(ends, []).append(wire)
    found = []
    nodes = max(box) + 1
    for sender, receivers in connections.items():
        for receiver in receivers:
            for here in range(nodes):
                for there in range(nodes):
                    ends = here * gpus + sender, there * gpus + receiver
                    if here == there:
                        continue
                    if ends not in between:
                        reached = sorted({b % gpus for a, b in between if a == ends[0] and box[b] == there})
                        shown = ", ".join(map(str, reached)) or "none"
                        raise OptionError(
                            f"sketch, internode_sketch, internode_conn: GPU {sender} of node {here} has no wire to "
                            f"GPU {receiver} of node {there}, only to: {shown}"
                        )
                    found += between[ends]
    return found


def _switch_ports(
    wires: Wires, box: tuple[int, ...], gpus: int, switches: list[list[int]]
) -> tuple[tuple[int, ...], ...]:
    """Return the ports that sketched switches add to wires, where real links do not play that part already."""
    on_switch: dict[int, int] = {}
    for number, switch in enumerate(dict.fromkeys(frozenset(switch) for switch in switches)):
        on_switch |= dict.fromkeys(switch, number)
    first = wires.topology.num_links
    result = []
    for wire in range(len(wires)):
        a, b = wires.src[wire], wires.dst[wire]
        same = box[a] == box[b] and on_switch.get(a % gpus, -1) == on_switch.get(b % gpus, -2)
        # A wire of several links goes through a real switch, whose links are ports anyhow.
        ports = (first + 2 * a, first + 2 * b + 1) if same and len(wires.routes[wire]) == 1 else ()
        result.append(ports)
    return tuple(result)


def checked_symmetries(network: Network, costs: Costs, nbytes: int) -> None:
    """Refuse symmetries of a sketch that do not leave its network as it is.

    Raises
    ------
    OptionError
        Names the connection that becomes none, or one of another cost.
    """
    maps = WireMaps(network.wires, costs, nbytes)
    for permutation in network.symmetries:
        image, fault = maps.image(permutation)
        if image is None:
            a, b = network.wires.src[fault], network.wires.dst[fault]
            raise OptionError(
                f"sketch, symmetry_offsets: GPU 0 to GPU {permutation[0]} is no symmetry of the network: the "
                f"connection {a} -> {b} would become {permutation[a]} -> {permutation[b]}, which is not there or costs "
                "something else; leave it out"
            )
