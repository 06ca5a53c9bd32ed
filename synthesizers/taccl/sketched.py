"""A sketch drawn onto a topology: checked, before any solver starts, and turned into the network that it leaves.

Every fault is told with the key of the sketch and the GPUs that it concerns.
"""

from __future__ import annotations

from collections.abc import Sequence

from synthesizers.taccl.boxes import divisions, local_wires
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.network import Network
from synthesizers.taccl.sketch import Sketch
from synthesizers.taccl.symmetry import WireMaps, rotation
from synthesizers.taccl.wires import Wires, wires_of
from topologies import Topology
from topologies.exceptions import OptionError

#: What a switch's strategy makes of the number of different wires used: few are good, or many.
_SPARING = {"uc-min": 1, "uc-max": -1}


def sketched_network(topology: Topology, sketch: Sketch, message_bytes: int, backwards: bool = False) -> Network:
    """Return the network that a sketch leaves of a topology.

    Parameters
    ----------
    topology : Topology
    sketch : Sketch
    message_bytes : int
        The size that ways through switches are quick for.
    backwards : bool
        Whether the topology is the reversed one, for which the sketch is reversed too once it is checked.

    Raises
    ------
    OptionError
        A sketch that does not fit; names the key and the GPUs at fault.
    """
    everything = wires_of(topology, message_bytes)
    gpus = _gpus_per_node(everything, sketch)
    box = tuple(npu // gpus for npu in range(topology.num_npus))
    _check_switches(sketch, gpus)
    _check_relays(sketch, gpus)
    seen: set[tuple[int, int]] = set()
    for offset, group in sketch.symmetry_offsets:
        where = f"sketch, symmetry_offsets: [{offset}, {group}]"
        if topology.num_npus % group:
            raise OptionError(f"{where}: groups of {group} do not divide {topology.num_npus} GPUs")
        if offset % group == 0:
            raise OptionError(f"{where}: leaves every GPU where it is; expected an offset of 1…{group - 1} or none")
        if (offset % group, group) in seen:
            raise OptionError(f"{where}: stands twice; leave one out")
        seen.add((offset % group, group))
    if backwards:
        sketch = sketch.reversed(gpus)
    local = local_wires(everything, box)
    cross = _cross_wires(everything, box, gpus, sketch.connections(gpus))
    chosen = sorted({*local, *cross})
    wires = everything.kept(chosen)
    intranode = sketch.intranode_sketch
    switch = _switches_of(wires, box, gpus, intranode.switches)
    strategies = [_SPARING[word] for word in intranode.switch_hyperedge_strategy]
    senders: dict[int, tuple[int, ...]] = {}
    for sender, owners in sketch.senders().items():
        for node in range(sketch.nnodes):
            for owner in owners:
                npu = node * gpus + owner
                senders[npu] = (*senders.get(npu, ()), node * gpus + sender)
    return Network(
        wires, box,
        "none" if intranode.strategy == "switch" else intranode.strategy,
        sparing=tuple(strategies[number] if number >= 0 else 0 for number in switch) if strategies else (),
        extra_ports=_switch_ports(wires, switch) if intranode.switches else (),
        switched=intranode.strategy == "switch",
        relayed=sketch.nnodes > 1,
        senders=senders,
        own_first=sketch.internode_sketch is not None and sketch.internode_sketch.enforce_ordering,
        symmetries=tuple(rotation(topology.num_npus, offset, group) for offset, group in sketch.symmetry_offsets),
        chunkup=sketch.hyperparameters.input_chunkup,
    )  # fmt: skip


def _gpus_per_node(everything: Wires, sketch: Sketch) -> int:
    """Return the GPUs of a node, checked."""
    topology = everything.topology
    if topology.num_npus % sketch.nnodes:
        raise OptionError(f"sketch, nnodes: {sketch.nnodes} nodes do not divide the {topology.num_npus} GPUs of "
                          f"{topology.name}; give a number that does")  # fmt: skip
    if sketch.nnodes > 1 and sketch.internode_sketch is None:
        raise OptionError(
            f"sketch, internode_sketch: missing, but nnodes is {sketch.nnodes}; say how the nodes are joined"
        )
    if sketch.nnodes == 1 and sketch.internode_sketch is not None:
        raise OptionError("sketch, internode_sketch: given, but nnodes is 1; leave it out, or say how many nodes")
    # Where the network itself falls into nodes, of one or several sizes, a sketch for others is for another machine.
    found = [box for box in divisions(everything) if list(box) == sorted(box)]
    counts = list(dict.fromkeys(max(box) + 1 for box in found))
    if counts and sketch.nnodes not in counts:
        shown = " or ".join(f"{count} nodes of {topology.num_npus // count} GPUs" for count in counts)
        raise OptionError(f"sketch, nnodes: expected {' or '.join(map(str, counts))} for {topology.name}, which has "
                          f"{shown}; found {sketch.nnodes}")  # fmt: skip
    return topology.num_npus // sketch.nnodes


def _check_gpus(sketch: Sketch, gpus: int, key: str, numbers: Sequence[int]) -> None:
    """Refuse GPUs that a node does not have, and those that stand twice in one list."""
    for number in numbers:
        if number >= gpus:
            raise OptionError(f"sketch, {key}: names GPU {number}; a node has 0…{gpus - 1} (nnodes: {sketch.nnodes})")
        if numbers.count(number) > 1:
            raise OptionError(f"sketch, {key}: names GPU {number} twice in one list; expected each once")


def _check_switches(sketch: Sketch, gpus: int) -> None:
    """Refuse switches that overlap or join nothing, and what is said of switches where there are none."""
    part, intranode = "intranode_sketch", sketch.intranode_sketch
    switches, strategies = intranode.switches, intranode.switch_hyperedge_strategy
    if intranode.strategy == "switch" and not switches:
        raise OptionError(f"sketch, {part}, switches: missing, but the strategy is switch; list the GPUs round each")
    for key in ("switches", "switch_hyperedge_strategy"):
        if getattr(intranode, key) and intranode.strategy != "switch":
            raise OptionError(
                f"sketch, {part}, {key}: given, but the strategy is {intranode.strategy}; expected switch"
            )
    if len(strategies) not in (0, len(switches)):
        raise OptionError(f"sketch, {part}, switch_hyperedge_strategy: {len(strategies)} for {len(switches)} switches; "
                          "give one for each")  # fmt: skip
    for number, switch in enumerate(switches):
        if len(switch) < 2:
            raise OptionError(f"sketch, {part}, switches: {switch} joins nothing; expected two GPUs or more in a list")
        _check_gpus(sketch, gpus, f"{part}, switches", switch)
        for before, other in enumerate(switches[:number]):
            common = set(switch) & set(other)
            if common and set(switch) != set(other):
                raise OptionError(f"sketch, {part}, switches: GPU {min(common)} is on two switches of different GPUs; "
                                  "expected the same or disjoint sets")  # fmt: skip
            if common and strategies and strategies[before] != strategies[number]:
                raise OptionError(
                    f"sketch, {part}, switch_hyperedge_strategy: {strategies[before]} and {strategies[number]} for "
                    f"switch {switch}, which is listed twice; expected the same, as it is one"
                )


def _check_relays(sketch: Sketch, gpus: int) -> None:
    """Refuse GPUs that a node does not have, and senders that send nothing."""
    connections = sketch.connections(gpus)
    if sketch.internode_sketch is not None and sketch.internode_sketch.gpus_to_sender_rev_map == {}:
        raise OptionError("sketch, internode_sketch, gpus_to_sender_rev_map: names no sender; leave the key out")
    for sender, receivers in connections.items():
        _check_gpus(sketch, gpus, "internode_sketch, internode_conn", (sender,))
        _check_gpus(sketch, gpus, "internode_sketch, internode_conn", receivers)
    for sender, owners in sketch.senders().items():
        _check_gpus(sketch, gpus, "internode_sketch, gpus_to_sender_rev_map", (sender,))
        _check_gpus(sketch, gpus, "internode_sketch, gpus_to_sender_rev_map", owners)
        if not connections.get(sender):
            raise OptionError(f"sketch, internode_sketch, gpus_to_sender_rev_map: names sender {sender}, which "
                              "internode_conn gives no receiver; add one")  # fmt: skip


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


def _switches_of(wires: Wires, box: tuple[int, ...], gpus: int, switches: list[list[int]]) -> list[int]:
    """Return for each wire the number of the sketched switch that it goes round; −1 where there is none."""
    on_switch: dict[int, int] = {}
    for number, switch in enumerate(switches):
        for gpu in switch:
            on_switch.setdefault(gpu, number)
    result = []
    for a, b in zip(wires.src, wires.dst, strict=True):
        number = on_switch.get(a % gpus, -1)
        result.append(number if box[a] == box[b] and number == on_switch.get(b % gpus, -1) else -1)
    return result


def _switch_ports(wires: Wires, switch: list[int]) -> tuple[tuple[int, ...], ...]:
    """Return the ports that sketched switches add to wires, where real links do not play that part already."""
    first = wires.topology.num_links
    # A wire of several links goes through a real switch, whose links are ports anyhow.
    return tuple(
        (first + 2 * a, first + 2 * b + 1) if number >= 0 and len(route) == 1 else ()
        for a, b, route, number in zip(wires.src, wires.dst, wires.routes, switch, strict=True)
    )


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
