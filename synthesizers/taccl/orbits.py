"""Orbits: which variables of a model are one under the symmetries of its network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.network import Network
from synthesizers.taccl.symmetry import WireMaps, chunk_image

Pair = tuple[int, int]


@dataclass(frozen=True)
class Orbits:
    """What stands for what.

    Attributes
    ----------
    pair : dict of (chunk, wire) to (chunk, wire)
        The pair that stands for each; missing where the image of a pair may not be used.
    place : dict of (chunk, npu) to (chunk, npu)
    leaders : list of int
        The chunks that stand for the others: what holds for them holds for all.
    joined : bool
        Whether any symmetry applied.
    """

    pair: dict[Pair, Pair]
    place: dict[Pair, Pair]
    leaders: list[int]
    joined: bool


def orbits_of(
    network: Network, demand: Demand, costs: Costs, allowed: Mapping[int, Sequence[int]], symmetric: bool
) -> Orbits:
    """Return the orbits of a problem; without symmetries everything stands for itself.

    Parameters
    ----------
    network : Network
    demand : Demand
    costs : Costs
    allowed : mapping of int to sequence of int
        The wires that each chunk may take.
    symmetric : bool
        Whether to use the network's symmetries; one that the collective does not share is left out.
    """
    pairs = _Union([(chunk, wire) for chunk, wires in allowed.items() for wire in wires])
    places = _Union([(chunk, npu) for chunk in allowed for npu in range(network.wires.topology.num_npus)])
    chunks = _Union([(chunk, 0) for chunk in allowed])
    out: list[Pair] = []
    joined = False
    maps = WireMaps(network.wires, costs, max(demand.nbytes, default=0))
    for permutation in network.symmetries if symmetric else ():
        wire_image, _ = maps.image(permutation)
        image = chunk_image(demand, permutation)
        if wire_image is None or image is None:
            continue
        joined = True
        for chunk, wire in list(pairs.parent):
            other = image[chunk], wire_image[wire]
            if other in pairs.parent:
                pairs.join((chunk, wire), other)
            else:
                out.append((chunk, wire))
        for chunk, npu in list(places.parent):
            places.join((chunk, npu), (image[chunk], permutation[npu]))
        for chunk in allowed:
            chunks.join((chunk, 0), (image[chunk], 0))
    barred = {pairs.root(pair) for pair in out}
    roots = {pair: pairs.root(pair) for pair in pairs.parent}
    return Orbits(
        {pair: root for pair, root in roots.items() if root not in barred},
        {place: places.root(place) for place in places.parent},
        sorted({chunks.root((chunk, 0))[0] for chunk in allowed}),
        joined,
    )


class _Union:
    """Union-find over pairs; the least of an orbit stands for it."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.parent = {pair: pair for pair in pairs}

    def root(self, pair: Pair) -> Pair:
        """Return what stands for a pair."""
        path = []
        while self.parent[pair] != pair:
            path.append(pair)
            pair = self.parent[pair]
        for step in path:
            self.parent[step] = pair
        return pair

    def join(self, a: Pair, b: Pair) -> None:
        """Make two pairs one."""
        a, b = self.root(a), self.root(b)
        if a != b:
            self.parent[max(a, b)] = min(a, b)
