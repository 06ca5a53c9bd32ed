"""The dimensions of a network, read off its links: how many NPUs lie along each, the first varying fastest.

Grids, products and machines of boxes number their NPUs alike: the first t NPUs are a line, a plane, a box, and so are
the next t. Such a t is a boundary between dimensions if every block of t NPUs is connected by itself, and whatever
joins two blocks joins NPUs at the same place in each; or if every block is what one switch joins, as GPUs around an
NVSwitch, whatever is between the blocks (Won et al., ASTRA-sim 2.0, ISPASS'23, describes networks by such dimensions).
"""

from __future__ import annotations

import numpy as np

from topologies.topology import Topology


def dimensions(topology: Topology) -> tuple[int, ...]:
    """Return the NPUs along each dimension, as ``(4, 4)`` for a 4×4 mesh or torus and ``(8, 2)`` for two boxes of 8.

    A network that shows none has one dimension; so has a switch for all, which says nothing of who is near whom. The
    NPU at coordinates x, y, z … is x + X·(y + Y·(z + …)).
    """
    npus = topology.num_npus
    links = topology.src, topology.dst
    direct = (links[0] < npus) & (links[1] < npus)
    pairs = np.stack([end[direct] for end in links]).astype(np.int64)
    ports = _ports(topology)
    shape, inner = [], 1
    for block in range(2, npus):
        if npus % block == 0 and block % inner == 0 and _is_boundary(npus, block, pairs, ports):
            shape.append(block // inner)
            inner = block
    return (*shape, npus // inner)


def _ports(topology: Topology) -> np.ndarray:
    """Return (switch, NPU) of all NPUs at switches that do not join all of them, (2, P), sorted."""
    npus = topology.num_npus
    up, down = ((a >= npus) & (b < npus) for a, b in ((topology.dst, topology.src), (topology.src, topology.dst)))
    switch = np.concatenate([topology.dst[up], topology.src[down]]).astype(np.int64)
    npu = np.concatenate([topology.src[up], topology.dst[down]])
    ports = np.stack(np.divmod(np.unique(switch * npus + npu), npus))
    count = np.bincount(ports[0], minlength=topology.num_nodes)
    return ports[:, count[ports[0]] < npus]


def _is_boundary(npus: int, block: int, pairs: np.ndarray, ports: np.ndarray) -> bool:
    """Return whether blocks of so many NPUs are lines of the dimensions up to there."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    switch, npu = ports
    first = np.flatnonzero(np.diff(switch, prepend=-1))
    owner = np.cumsum(np.diff(switch, prepend=-1) > 0) - 1  # of each port, the place of its switch
    inside = _alike(npu // block, first)
    boxes = inside & (np.diff(first, append=len(switch)) == block)
    if len(np.unique(npu[first[boxes]] // block)) == npus // block:
        return True
    near, straight = (pairs[0] // block == pairs[1] // block), (pairs[0] % block == pairs[1] % block)
    if not (near | straight).all() or not (inside | _alike(npu % block, first)).all():
        return False
    a = np.concatenate([pairs[0][near], npu[inside[owner]]])
    b = np.concatenate([pairs[1][near], npus + owner[inside[owner]]])
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(npus + len(first),) * 2)
    return len(np.unique(connected_components(graph, directed=False)[1][:npus])) == npus // block


def _alike(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return for each run of values, which begin at `first`, whether they are all the same."""
    return np.minimum.reduceat(values, first) == np.maximum.reduceat(values, first) if len(first) else first == first
