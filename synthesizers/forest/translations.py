"""Networks that look the same from every NPU: one root's trees, moved to all roots, are everybody's.

Rings, tori, hypercubes, circulants and fully connected networks are invariant under a group of translations. There the
links into one NPU bind, and a root's k trees fill them exactly where they use each direction as often as its share of
k(N−1) receipts. So no max-flow through the network is needed: breadth-first trees are chosen whose edges are dealt to
the directions by a small flow, if possible evenly in each layer (compare BFB, arXiv 2202.03356), which makes the trees
as low as can be, and packing a matter of counting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthesizers.forest.capacities import MAX_TREES, arcs_of, least_unit
from synthesizers.forest.splitting import Route
from topologies import Topology


@dataclass(frozen=True)
class Translations:
    """A group of translations of a network, a product of cyclic groups; NPU 0 goes to each NPU once.

    Attributes
    ----------
    shape : tuple of int
        The cyclic groups, the first varying fastest.
    """

    shape: tuple[int, ...]

    def moved(self, npus: np.ndarray, by: int) -> np.ndarray:
        """Return where the translation that brings NPU 0 to NPU `by` brings others."""
        result, stride = np.zeros_like(npus), 1
        for size in self.shape:
            result += (npus // stride + by // stride) % size * stride
            stride *= size
        return result

    def back(self, by: int) -> int:
        """Return where NPU 0 goes under the inverse."""
        result, stride = 0, 1
        for size in self.shape:
            result += -(by // stride) % size * stride
            stride *= size
        return result


def translations(topology: Topology) -> Translations | None:
    """Return translations that leave a network as it is; None where none are found.

    None too where there are switches or parallel links.
    """
    if topology.num_switches or topology.num_npus < 2:
        return None
    arcs, npus = arcs_of(topology), topology.num_npus
    if len(arcs.room) < topology.num_links:
        return None
    degree = np.bincount(arcs.src, minlength=npus)
    if (degree != degree[0]).any():
        return None
    key = arcs.src * npus + arcs.dst
    for shape in _shapes(npus):
        group, stride = Translations(shape), 1
        for size in shape:
            moved = group.moved(np.arange(npus), stride)
            now = moved[arcs.src] * npus + moved[arcs.dst]
            order = np.argsort(now)
            if not (np.array_equal(now[order], key) and (arcs.room[order] == arcs.room).all()):
                break
            stride *= size
        else:
            return group
    return None


def _shapes(count: int) -> Iterator[tuple[int, ...]]:
    """Give the ordered factorisations of a number, those of few factors first."""
    found: list[tuple[tuple[int, ...], int]] = [((), count)]
    while found:
        longer: list[tuple[tuple[int, ...], int]] = []
        for shape, rest in found:
            if rest == 1:
                yield shape
            longer += [((*shape, size), rest // size) for size in range(2, rest + 1) if rest % size == 0]
        found = longer


def translated_trees(
    topology: Topology, group: Translations, trees: int | None
) -> tuple[int, Fraction, list[list[Route]]] | None:
    """Return breadth-first trees of every root that reach the bound of the links into one NPU.

    Parameters
    ----------
    topology : Topology
    group : Translations
    trees : int, optional
        Trees of each root; by default as many as fill all links.

    Returns
    -------
    (trees, unit, edges) or None
        How many each root has; the unit in trees per byte per second; the edges of the trees of NPU 0, then of NPU 1,
        … None where breadth-first trees do not reach the bound.
    """
    arcs, npus = arcs_of(topology), topology.num_npus
    away = arcs.src == 0
    steps, rates = arcs.dst[away].tolist(), [int(rate) for rate in arcs.room[away]]
    whole = sum(rates) // math.gcd(sum(rates), *((npus - 1) * rate for rate in rates))
    count = trees or whole
    if count > MAX_TREES and trees is None:
        return None
    layers = _layers(group, steps)
    bound = Fraction(count * (npus - 1), sum(rates))
    unit = least_unit(rates, bound, lambda unit: _dealt([_joined(layers)], count, rates, [unit]) is not None)
    if unit != bound and trees is None:
        return None
    even = [_even_unit(layer, count, rates) for layer in layers]
    chosen = _dealt(layers, count, rates, even)
    if chosen is None or max(Fraction(chosen.count(step), rate) for step, rate in enumerate(rates)) > unit:
        chosen = _dealt([_joined(layers)], count, rates, [unit])
    assert chosen is not None
    nodes = [node for layer in layers for node in layer]
    mine: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for place, node in enumerate(nodes):
        for tree, step in enumerate(chosen[place * count : (place + 1) * count]):
            before = int(group.moved(np.array([node]), group.back(steps[step]))[0])
            mine[tree].append((before, node))
    edges: list[list[Route]] = []
    for root in range(npus):
        for pairs in mine:
            ends = group.moved(np.array(pairs, np.int64).reshape(-1, 2), root)
            edges.append([(before, after) for before, after in ends.tolist()])
    return count, unit, edges


_Layer = dict[int, list[int]]  # of each node the directions from which a shortest path comes


def _layers(group: Translations, steps: list[int]) -> list[_Layer]:
    """Return the nodes by their distance from NPU 0, each with the directions that lead to it from the last layer."""
    reached, layers = {0}, []
    layer: _Layer = {0: []}
    while layer:
        following: _Layer = {}
        for direction, step in enumerate(steps):
            for node in group.moved(np.array(list(layer)), step).tolist():
                if node not in reached:
                    following.setdefault(node, []).append(direction)
        reached |= following.keys()
        if following:
            layers.append(dict(sorted(following.items())))
        layer = following
    return layers


def _even_unit(layer: _Layer, count: int, rates: list[int]) -> Fraction:
    """Return the least unit in which the directions do for a layer by itself."""
    bound = Fraction(count * len(layer), sum(rates))
    return least_unit(rates, bound, lambda unit: _dealt([layer], count, rates, [unit]) is not None)


def _joined(layers: list[_Layer]) -> _Layer:
    """Return all layers as one."""
    return {node: directions for layer in layers for node, directions in layer.items()}


def _dealt(layers: list[_Layer], count: int, rates: list[int], units: list[Fraction]) -> list[int] | None:
    """Return the direction of each node's edge in each of `count` trees, or None where ⌊U · rate⌋ edges do not do.

    Each layer is dealt by itself, in its unit.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    dealt: list[int] = []
    for layer, unit in zip(layers, units, strict=True):
        nodes, directions = len(layer), len(rates)
        flow = SimpleMaxFlow()
        for place, allowed in enumerate(layer.values()):
            flow.add_arc_with_capacity(nodes + directions, place, count)
            for direction in allowed:
                flow.add_arc_with_capacity(place, nodes + direction, count)
        for direction, rate in enumerate(rates):
            room = unit.numerator * rate // unit.denominator
            flow.add_arc_with_capacity(nodes + direction, nodes + directions + 1, room)
        flow.solve(nodes + directions, nodes + directions + 1)
        if flow.optimal_flow() < count * nodes:
            return None
        arc = 0
        for place, allowed in enumerate(layer.values()):
            mine: list[int] = []
            for offset, direction in enumerate(allowed, arc + 1):
                mine += [direction] * flow.flow(offset)
            arc += 1 + len(allowed)
            turn = place % count
            dealt += mine[turn:] + mine[:turn]
    return dealt
