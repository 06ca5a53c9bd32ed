"""Orders that often fit: rank order, strides, Walecki's zigzags [1]_, rank order turned box by box as NCCL does.

References
----------
.. [1] B. Alspach, The wonderful Walecki construction, Bull. ICA 52, 2008.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from synthesizers.rings.arcs import Arcs, with_reverses


def fitting(arcs: Arcs, count: int, two_way: bool) -> list[np.ndarray]:
    """Return orders of one well-known family that fit beside each other: the first `count`, or as many as do.

    Parameters
    ----------
    arcs : Arcs
    count : int
        Rings wanted; if two-way, both ways counted as one.
    two_way : bool
        Whether each must fit beside its reverse too.

    Returns
    -------
    orders : list of (p,) int arrays
        Places of the group.
    """
    most: list[np.ndarray] = []
    for family in _families(arcs):
        left = arcs.units
        found: list[np.ndarray] = []
        for order in family:
            loads = [arcs.load(each) for each in (with_reverses([order]) if two_way else [order])]
            load = sum(each for each in loads if each is not None)
            if all(each is not None for each in loads) and (load <= left).all():
                left = left - load
                found.append(order)
                if len(found) == count:
                    return found
        most = max(most, found, key=len)
    return most


def _families(arcs: Arcs) -> Iterator[Iterable[np.ndarray]]:
    """Yield families of orders: rank order and that turned within each box, zigzags both ways, strides."""
    places = np.arange(len(arcs.members))
    turned = [
        np.concatenate([np.roll(part[::down], -turn) for part in box])
        for box in _boxes(arcs)
        for down in (1, -1)
        for turn in range(len(box[0]))
    ]
    yield [places, *turned]
    if len(places) > 3 and len(arcs.tail) == len(places) * (len(places) - 1):
        zigzags = list(_zigzags(len(places)))
        yield [*zigzags, *with_reverses(zigzags)[1::2]]
    yield (places * stride % len(places) for stride in places[1:] if np.gcd(stride, len(places)) == 1)


def _boxes(arcs: Arcs) -> Iterator[list[np.ndarray]]:
    """Yield the group cut into equal parts that only narrow links join, if it is: the boxes of a machine."""
    topology = arcs.topology
    joined = topology.without(links=np.flatnonzero(topology.bandwidth_gbps <= arcs.unit).tolist())
    place = np.full(topology.num_nodes, -1, np.int64)
    place[arcs.members] = np.arange(len(arcs.members))
    parts = [np.sort(place[part][place[part] >= 0]) for part in joined.components()]
    parts = [part for part in parts if len(part)]
    if len(parts) > 1 and len({len(part) for part in parts}) == 1:
        yield parts


def _zigzags(count: int) -> Iterator[np.ndarray]:
    """Yield ⌊(n−1)/2⌋ rings that share no edge of the complete graph (Walecki); an even n has one more hub."""
    half = (count - 1) // 2
    steps = np.arange(1, 2 * half + 1)
    path = np.where(steps % 2 == 0, steps // 2, -(steps // 2))  # 0, 1, −1, 2, −2, …
    for turn in range(half):
        ring = (path + turn) % (2 * half)
        if count % 2 == 0:  # the middle step is a diameter, another one in each ring, so the second hub fits there
            ring = np.insert(ring, half, count - 2)
        yield np.append(ring, count - 1)
