"""Generalised Kautz digraphs: about the smallest diameter that any number of NPUs of a given degree can have.

M. Imase and M. Itoh, IEEE Transactions on Computers C-32(8), 1983: node i sends to −(d·i + a) mod n for a = 1…d, which
keeps the diameter within ⌈log_d n⌉. Kautz's own digraphs are those with n = d^k + d^(k−1).
"""

from __future__ import annotations

import numpy as np

from topologies.cables import Cables, wired
from topologies.exceptions import TopologyError
from topologies.shape import (
    DEFAULT_BANDWIDTH_GBPS,
    DEFAULT_LATENCY_US,
    PerDimension,
    checked_sizes,
    per_dimension,
    refuse_oversize,
    short_name,
)
from topologies.topology import Topology


def kautz(
    n: int,
    degree: int,
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
    regular: bool = False,
) -> Topology:
    """Return the generalised Kautz digraph: links one way, by ascending NPU, then by a.

    The `degree` links of an NPU lead to different NPUs, so that none are parallel. For most `n` some NPUs, `degree` of
    them at most, would send to themselves. That link is left out, and such an NPU has one link out and one link in less
    than `degree`: a collective in which all receive the same is bound by it, at 3/4 of the speed for degree 4.

    Parameters
    ----------
    n : int
        NPUs.
    degree : int
        Links out of an NPU, and into it, at most: 2…`n` − 1 (1 for two NPUs).
    bandwidth_gbps, latency_us : float
        Of each link.
    regular : bool
        Use those ports: the NPUs that would send to themselves send to each other instead, in a ring by ascending NPU,
        so that all have `degree` links. It is no longer the published digraph, and where `n` is no more than
        `degree`·(`degree` + 1) one such link may be parallel to another. Its short name is ``kautz_regular:128x4``.

    Raises
    ------
    TopologyError
        A size or degree out of range, or a bandwidth or latency that no link can have.
    """
    kind = "kautz_regular" if regular else "kautz"
    n, degree = checked_sizes(kind, (n, degree))
    title = f"{kind}:{n}x{degree}"
    if degree >= n:
        raise TopologyError(f"{title}: degree {degree}; expected less than the {n} NPUs")
    if degree == 1 and n > 2:
        raise TopologyError(f"{title}: with degree 1 the NPUs form pairs; expected 2 or more, or a ring_one_way:{n}")
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, 1)
    latencies = per_dimension(title, "latency", latency_us, 1)
    refuse_oversize(title, n * degree)
    src = np.repeat(np.arange(n), degree)
    dst = -(src * degree + np.tile(np.arange(1, degree + 1), n)) % n
    alone = src == dst
    if regular:
        dst[alone] = np.roll(src[alone], -1)
    else:
        src, dst = src[~alone], dst[~alone]
    links = Cables(src, dst, bandwidths[0], latencies[0], one_way=True)
    return wired(short_name(kind, (n, degree), bandwidths, latencies), n, [links])
