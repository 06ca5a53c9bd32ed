"""The network that a sketch leaves: its wires, boxes, relays and symmetries, and the wires that each chunk may take.

A chunk keeps to the NPUs on its shortest paths (by hops, over the wires that are left), or on paths that are `slack`
hops longer (TACCL, arXiv 2111.04867, section 5.1). Between boxes it keeps to the relays: it leaves the box that it
starts in through the senders that are named for it, and no other box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from synthesizers.taccl.budget import in_time
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.wires import Wires
from topologies.exceptions import OptionError


@dataclass(frozen=True)
class Network:
    """What a sketch leaves of a topology.

    Attributes
    ----------
    wires : Wires
        All that may be used.
    box : tuple of int
        The box of each NPU.
    strategy : str
        ``none``, ``minmax`` or ``maxmin``: what breaks ties in routing.
    sparing : tuple of int
        Per wire, where a sketched switch breaks ties: 1 where few different wires shall be used (uc-min), −1 where many
        (uc-max), 0 where it is no matter. Empty: no switch does.
    extra_ports : tuple of tuples of int
        Per wire, the ports that a sketched switch adds to its links.
    switched : bool
        Whether a switch was sketched; decides the priorities of the ordering.
    relayed : bool
        Chunks cross from their own box only, once at least to each box that wants them.
    senders : mapping of int to tuple of int
        NPU → the NPUs that may send its chunks to other boxes; an NPU that is not there may use any.
    own_first : bool
        A sender sends its own chunks across before those of others.
    symmetries : tuple of tuples of int
        Permutations of the NPUs under which a schedule may be taken to be the same.
    slack : int
        Hops by which a chunk's paths may be longer than the shortest.
    chunkup : int
        How often each chunk is cut.
    origin : str
        ``sketch`` or ``auto``; for messages.
    """

    wires: Wires
    box: tuple[int, ...]
    strategy: str = "none"
    sparing: tuple[int, ...] = ()
    extra_ports: tuple[tuple[int, ...], ...] = ()
    switched: bool = False
    relayed: bool = False
    senders: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    own_first: bool = False
    symmetries: tuple[tuple[int, ...], ...] = ()
    slack: int = 0
    chunkup: int = 1
    origin: str = "sketch"

    @cached_property
    def cross(self) -> frozenset[int]:
        """The wires from box to box."""
        wires, box = self.wires, self.box
        return frozenset(wire for wire in range(len(wires)) if box[wires.src[wire]] != box[wires.dst[wire]])

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """(src, dst) of the wires as arrays."""
        return np.array(self.wires.src, np.int64), np.array(self.wires.dst, np.int64)

    @cached_property
    def distance(self) -> np.ndarray:
        """(npus, npus) int64: hops between NPUs over the wires; npus + 1 where there is no way."""
        return self.wires.hops()


def allowed_wires(network: Network, demand: Demand, last: float | None = None) -> list[list[int]]:
    """Return the wires that each chunk may take, ascending; none for a chunk that nobody wants.

    Raises
    ------
    OptionError
        A chunk cannot reach somebody who wants it; names the key of the sketch and the GPUs at fault.
    OutOfTime
        `time.perf_counter` passed `last`.
    """
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    result: list[list[int]] = []
    for sources, targets in zip(demand.sources, demand.targets, strict=True):
        if (sources, targets) not in known:
            in_time(last)
            known[sources, targets] = _of_chunk(network, sources, targets) if targets else []
        result.append(known[sources, targets])
    return result


def _of_chunk(network: Network, sources: tuple[int, ...], targets: tuple[int, ...]) -> list[int]:
    """Return the wires of one chunk, without those that lead nowhere."""
    wires, distance = network.wires, network.distance
    near = distance[list(sources)].min(axis=0)
    lost = [target for target in targets if near[target] > len(near)]
    if lost:
        raise OptionError(
            f"{_key(network, sources[0], lost[0])}: no way from GPU {sources[0]} to GPU {lost[0]} over the connections "
            "that it leaves; add one"
        )
    places = np.zeros(len(near), bool)
    for target in targets:
        places |= near + distance[:, target] <= near[target] + network.slack
    inside = np.flatnonzero(places[network.ends[0]] & places[network.ends[1]]).tolist()
    if network.origin == "auto" and len(targets) == 1:
        # Between two NPUs of the set a wire may still lead off the paths; a sketch allows that, as published.
        away = near[network.ends[0]] + 1 + distance[network.ends[1], targets[0]]
        inside = [wire for wire in inside if away[wire] <= near[targets[0]] + network.slack]
    home = {network.box[source] for source in sources}
    named = {sender for source in sources for sender in network.senders.get(source, ())}
    unnamed = any(source not in network.senders for source in sources)
    barred = set(sources)
    used = [wire for wire in inside if wires.dst[wire] not in barred]
    if network.relayed or not unnamed:
        used = [
            wire for wire in used
            if wire not in network.cross
            or ((not network.relayed or network.box[wires.src[wire]] in home) and (unnamed or wires.src[wire] in named))
        ]  # fmt: skip
    used = _leading_somewhere(network, used, sources, targets)
    reached = {*sources, *(wires.dst[wire] for wire in used)}
    for target in targets:
        if target not in reached:
            raise OptionError(_explained(network, sources[0], target, places))
    return used


def _leading_somewhere(
    network: Network, used: list[int], sources: tuple[int, ...], targets: tuple[int, ...]
) -> list[int]:
    """Return the wires that can be reached from a source and lead on to a target."""
    wires = np.array(used, np.int64)
    src, dst = network.ends[0][wires], network.ends[1][wires]
    forth, back = np.zeros((2, len(network.box)), bool)
    forth[list(sources)] = back[list(targets)] = True
    grown = -1
    while grown != (total := int(forth.sum() + back.sum())):
        grown = total
        forth[dst[forth[src]]] = True
        back[src[back[dst]]] = True
    return wires[forth[src] & back[dst]].tolist()


def _key(network: Network, source: int, target: int) -> str:
    """Return the key of the sketch that keeps two NPUs apart."""
    if network.origin == "auto":
        return "the derived sketch"
    part = "intranode_sketch" if network.box[source] == network.box[target] else "internode_sketch, internode_conn"
    return f"sketch, {part}"


def _explained(network: Network, source: int, target: int, places: np.ndarray) -> str:
    """Return why a chunk cannot get to a target although a way exists."""
    named = network.senders.get(source)
    if named:
        off = [sender for sender in named if not places[sender]]
        shown = ", ".join(map(str, named))
        on_path = sorted({network.wires.src[wire] for wire in network.cross if places[network.wires.src[wire]]
                          and places[network.wires.dst[wire]]
                          and network.box[network.wires.src[wire]] == network.box[source]})  # fmt: skip
        fault = f"sender {off[0]} is on none of its shortest paths" if off else f"sender {shown} does not lead there"
        return (
            f"sketch, internode_sketch, gpus_to_sender_rev_map: the chunks of GPU {source} must cross through "
            f"GPU {shown}, but on the way to GPU {target} {fault} (those cross at {', '.join(map(str, on_path))}); "
            "leave the map out for this collective, or allow longer paths with slack=1"
        )
    return (
        f"{_key(network, source, target)}: every way from GPU {source} to GPU {target} crosses more than one other "
        "box, which a relay does not; connect the two boxes"
    )
