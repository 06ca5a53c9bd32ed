"""Translations: networks in which every node sees the same links, so that what is worked out for one holds for all.

Rings, circulants, tori and hypercubes are Cayley graphs of sums of cyclic groups: with nodes numbered in mixed radix,
adding one node's digits to all of them carries every link to a link as fast. `translations_of` looks for such a
numbering among those that a network's own links suggest, and takes one only after every link has been compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topologies import Topology

#: Numberings that are tried.
_MOST_TRIED = 64


@dataclass(frozen=True)
class Translations:
    """How a network is moved onto itself: node w by node v is node ``add(w, v)``.

    Attributes
    ----------
    shape : tuple of int
        The radices of the digits of a node, the fastest first.
    links : (nodes, degree) int64 array
        The links out of each node; those of one column are each other's images.
    """

    shape: tuple[int, ...]
    links: np.ndarray

    def add(self, nodes: np.ndarray, by: np.ndarray) -> np.ndarray:
        """Return nodes moved by others, digit by digit; the arrays are broadcast."""
        return _combined(self.shape, nodes, by, 1)

    def column_of(self, num_links: int) -> np.ndarray:
        """Return (num_links,) int64: the column of each link."""
        column = np.zeros(num_links, np.int64)
        column[self.links] = np.arange(self.links.shape[1])
        return column


def translations_of(topology: Topology) -> Translations | None:
    """Return the translations of a direct network; None if it has none of those looked for.

    Parameters
    ----------
    topology : Topology
        One with switches has none.
    """
    nodes = topology.num_npus
    if topology.num_switches or nodes < 2 or topology.num_links % nodes:
        return None
    degree = topology.num_links // nodes
    if (np.bincount(topology.src, minlength=nodes) != degree).any():
        return None
    for tried, shape in enumerate(_shapes(topology)):
        if tried == _MOST_TRIED:
            break
        offset = _combined(shape, topology.dst, topology.src, -1)
        what = topology.bytes_per_s, topology.latency_ps, offset
        links = np.lexsort((*what, topology.src)).reshape(nodes, degree)
        if all((column[links] == column[links[0]]).all() for column in what):
            return Translations(shape, links)
    return None


def _shapes(topology: Topology) -> Iterator[tuple[int, ...]]:
    """Give the radices of numberings in which a step in each digit is a link out of node 0; one digit first."""
    nodes = topology.num_npus
    steps = [int(node) for node in np.unique(topology.dst[topology.src == 0]) if nodes % int(node) == 0]
    yield (nodes,)

    def longer(strides: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Give the shapes whose first strides are these."""
        for stride in steps:
            if stride > strides[-1] and stride % strides[-1] == 0:
                further = (*strides, stride)
                yield tuple(b // a for a, b in zip(further, (*further[1:], nodes), strict=True))
                yield from longer(further)

    yield from longer((1,))


def _combined(shape: tuple[int, ...], nodes: np.ndarray, by: np.ndarray, sign: int) -> np.ndarray:
    """Return node + sign · by, digit by digit."""
    nodes, by = np.asarray(nodes, np.int64), np.asarray(by, np.int64)
    result, stride = np.zeros(np.broadcast_shapes(nodes.shape, by.shape), np.int64), 1
    for radix in shape:
        result += (nodes // stride + sign * (by // stride)) % radix * stride
        stride *= radix
    return result
