"""Where the nodes and links of a topology are drawn.

Meshes, tori and binary hypercubes lie on their coordinates (a third dimension goes aslant); what closes a torus is two
stubs that leave the grid. Rings and complete graphs lie on a circle, other networks where Kamada and Kawai's springs
come to rest. The typical distance between neighbours is 1.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from topologies import Topology

#: Above this many nodes springs take too long.
_SPRINGS = 300

#: How a step in each dimension of a binary hypercube is drawn: cubes beside cubes. The y axis points down.
_CUBE = np.array([(1.5, 0.0), (0.0, 1.5), (0.65, 0.5), (3.3, 0.25), (0.25, 3.3), (1.7, 1.35)])

#: Length of a stub.
_STUB = 0.5


@dataclass(frozen=True)
class Layout:
    """The drawing of a topology.

    Attributes
    ----------
    xy : (V, 2) float array
        Places of the nodes; y points down.
    lines : (K, 2, 2) float array
        From and to of every line, between the middles of nodes or at the far end of a stub.
    link : (K,) int array
        The link of each line.
    lane : (K,) int array
        0 for the first of parallel links, 1 for the next, …
    from_node, to_node : (K,) bool arrays
        Whether each end is at a node.
    """

    xy: np.ndarray
    lines: np.ndarray
    link: np.ndarray
    lane: np.ndarray
    from_node: np.ndarray
    to_node: np.ndarray


def layout(topology: Topology) -> Layout:
    """Return the drawing of a topology, the same on every run."""
    shape = _shape(topology)
    if shape is None:
        xy = _free(topology)
        closing = np.zeros((topology.num_links, 2))
    else:
        at = np.stack(np.unravel_index(np.arange(topology.num_npus), shape, order="F"), axis=1)
        steps = _steps(shape)
        xy = at @ steps
        apart = at[topology.dst] - at[topology.src]
        closing = -np.sign(np.where(np.abs(apart) > 1, apart, 0)) @ steps
    return _with_lines(topology, xy, closing)


def _shape(topology: Topology) -> tuple[int, ...] | None:
    """Return the shape of a mesh or torus of up to three dimensions that is named as one; None for other networks."""
    named = re.match(r"(?:mesh|torus|line):(\d+(?:x\d+)*)", topology.name)
    if named is None or topology.num_switches:
        return None
    shape = tuple(map(int, named[1].split("x")))
    shape = tuple(size for size in shape if size > 1) or (1,)
    if len(shape) > 3 or math.prod(shape) != topology.num_npus or (len(shape) == 1 and "torus" in topology.name):
        return None
    at = np.stack(np.unravel_index(np.arange(topology.num_npus), shape, order="F"), axis=1)
    apart = np.abs(at[topology.dst] - at[topology.src])
    # A network may be named after a grid and be another one: each link must be a step, or close a dimension.
    is_step = (apart == 0) | (apart == 1) | (apart == np.array(shape) - 1)
    return shape if ((apart > 0).sum(axis=1) == 1).all() and is_step.all() else None


def _steps(shape: tuple[int, ...]) -> np.ndarray:
    """Return (D, 2): how a step in each dimension is drawn."""
    if len(shape) < 3:
        return np.eye(2)[: len(shape)]
    # The layers stay within one cell of the grid, so that nodes do not fall on each other.
    return 1.9 * np.array([(1.0, 0.0), (0.0, 1.0), (0.8 / shape[2], 0.6 / shape[2])])


def _free(topology: Topology) -> np.ndarray:
    """Return places of the nodes of a network that is no grid, (V, 2)."""
    import networkx as nx
    from scipy.spatial import cKDTree

    nodes = topology.num_nodes
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    complete = graph.number_of_edges() == nodes * (nodes - 1) // 2
    ring = all(degree == 2 for _, degree in graph.degree) and nx.is_connected(graph)
    if re.match(r"hypercube:[2-6]\b", topology.name) and nodes <= 2 ** len(_CUBE):
        bits = np.arange(nodes)[:, None] >> np.arange(len(_CUBE)) & 1
        xy = bits @ _CUBE
    elif nodes > _SPRINGS or complete or ring or not nx.is_connected(graph):
        angle = 2 * np.pi * np.arange(nodes) / max(nodes, 1) - np.pi / 2
        xy = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    else:
        found = nx.kamada_kawai_layout(graph)
        xy = np.array([found[node] for node in range(nodes)])
    if nodes < 2:
        return xy
    gaps = cKDTree(xy).query(xy, k=2)[0][:, 1]  # to the nearest other node
    return np.round(xy / max(float(np.median(gaps)), 1e-9), 6)


def _with_lines(topology: Topology, xy: np.ndarray, closing: np.ndarray) -> Layout:
    """Return the layout with a line for each link, or two stubs for one that closes a dimension."""
    lane = np.zeros(topology.num_links, np.int64)
    seen: dict[tuple[int, int], int] = {}
    for link, ends in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        seen[ends] = seen.get(ends, -1) + 1
        lane[link] = seen[ends]
    length = np.linalg.norm(closing, axis=1, keepdims=True)
    out = np.divide(closing, length, where=length > 0, out=np.zeros_like(closing)) * _STUB
    start, end = xy[topology.src], xy[topology.dst]
    stubs = length[:, 0] > 0
    links = np.arange(topology.num_links)
    lines = np.concatenate(
        [
            np.stack([start, end], axis=1)[~stubs],
            np.stack([start, start + out], axis=1)[stubs],
            np.stack([end - out, end], axis=1)[stubs],
        ]
    )
    of_line = np.concatenate([links[~stubs], links[stubs], links[stubs]])
    whole, half = int((~stubs).sum()), int(stubs.sum())
    from_node = np.repeat([True, True, False], [whole, half, half])
    to_node = np.repeat([True, False, True], [whole, half, half])
    return Layout(xy, lines, of_line, lane[of_line], from_node, to_node)
