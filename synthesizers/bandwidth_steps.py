"""Steps in bandwidth: what hangs together by the faster links of a network, at each step down to slower ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

#: The least step in bandwidth that tells the inside of a box from the outside.
STEP = 1.5


def parts_by_bandwidth(
    num_nodes: int,
    src: Sequence[int] | np.ndarray,
    dst: Sequence[int] | np.ndarray,
    speed: Sequence[float] | np.ndarray,
) -> Iterator[tuple[float, np.ndarray]]:
    """Give (step, parts) for each step in bandwidth that leaves several parts, not all of one node: the fastest first.

    Parameters
    ----------
    num_nodes : int
    src, dst : (L,) int arrays
        Ends of each link; links count in both directions.
    speed : (L,) float array
        Bandwidth of each link.

    Yields
    ------
    step : float
        How many times faster the links inside parts are than the fastest of the others.
    parts : (num_nodes,) int array
        The part of each node, numbered by their first nodes.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    src, dst, speed = np.asarray(src), np.asarray(dst), np.asarray(speed)
    for fast, slow in pairwise(np.unique(speed)[::-1].tolist()):
        if fast < STEP * slow:
            continue
        inside = speed >= fast
        graph = coo_array((np.ones(int(inside.sum())), (src[inside], dst[inside])), shape=(num_nodes, num_nodes))
        count, parts = connected_components(graph, directed=False)
        if 1 < count < num_nodes:
            yield fast / slow, parts
