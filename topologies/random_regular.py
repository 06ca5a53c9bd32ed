"""Random regular networks: Jellyfish (A. Singla et al., NSDI 2012), here with the NPUs as its switches.

Such graphs are expanders with high probability, and the usual answer to which network of a given degree serves traffic
that nobody knows. One is drawn by exchanging the ends of a circulant's cables many times at random, which makes every
regular graph as likely as any other in the long run, and soon (C. Cooper, M. Dyer, C. Greenhill, Combinatorics,
Probability and Computing 16(4), 2007). A graph in parts is drawn anew.

Python promises the same `random.Random.random()` for a seed in all versions, and nothing else is drawn from, so that a
seed is the same network everywhere.
"""

from __future__ import annotations

import random

import numpy as np

from topologies.cables import Cables, wired
from topologies.exceptions import TopologyError
from topologies.shape import (
    DEFAULT_BANDWIDTH_GBPS,
    DEFAULT_LATENCY_US,
    PerDimension,
    checked_sizes,
    per_dimension,
    short_name,
)
from topologies.topology import Topology

#: Exchanges tried for each cable, and the most cables that are drawn: a million takes about a minute.
_EXCHANGES, _MOST_CABLES = 20, 2**20


def random_regular(
    n: int,
    degree: int,
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
    seed: int = 0,
) -> Topology:
    """Return a connected random network in which every NPU has `degree` cables to different NPUs.

    Parameters
    ----------
    n, degree : int
        NPUs, and cables of each: below `n`, and one of the two even.
    bandwidth_gbps, latency_us : float
        Of each link.
    seed : int
        Zero or more. Cables come by ascending lower NPU, then by the other one.

    Raises
    ------
    TopologyError
        No connected graph of that size and degree, more than a million cables, a negative seed, or a bandwidth or
        latency that no link can have.
    """
    n, degree = checked_sizes("jellyfish", (n, degree))
    title = f"jellyfish:{n}x{degree}"
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise TopologyError(f"{title}: seed {seed!r}; expected a whole number of 0 or more")
    if degree >= n:
        raise TopologyError(f"{title}: degree {degree}; expected less than the {n} NPUs")
    if n * degree % 2:
        raise TopologyError(f"{title}: an odd number of ports, {n} x {degree}; make one of the two even")
    if degree == 1 and n > 2:
        raise TopologyError(f"{title}: with degree 1 the NPUs form pairs; expected 2 or more")
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, 1)
    latencies = per_dimension(title, "latency", latency_us, 1)
    if n * degree > 2 * _MOST_CABLES:
        raise TopologyError(f"{title}: {n * degree // 2:,} cables; expected at most {_MOST_CABLES:,}")
    name, rng = short_name("jellyfish", (n, degree, int(seed)), bandwidths, latencies), random.Random(int(seed))
    while True:
        ends = np.array(sorted(_drawn(n, degree, rng)), np.int64).reshape(-1, 2)
        network = wired(name, n, [Cables(ends[:, 0], ends[:, 1], bandwidths[0], latencies[0])])
        if len(network.components()) == 1:
            return network


def _drawn(n: int, degree: int, rng: random.Random) -> list[tuple[int, int]]:
    """Return the cables of a random regular graph, the lower NPU first; it may be in parts."""
    if 2 * degree > n - 1:  # most pairs are joined: draw those that are not
        apart = set(_switched(n, n - 1 - degree, rng))
        return [(a, b) for a in range(n) for b in range(a + 1, n) if (a, b) not in apart]
    if degree == 2:  # in one part this is a ring through all NPUs, which few graphs of degree 2 are
        ring = _shuffled(n, rng)
        return [_ordered(a, b) for a, b in zip(ring, ring[1:] + ring[:1], strict=True)]
    return _switched(n, degree, rng)


def _switched(n: int, degree: int, rng: random.Random) -> list[tuple[int, int]]:
    """Return the cables of a circulant after many exchanges of ends: any regular graph, about as likely as any other.

    An exchange replaces a–b and c–d by a–c and b–d where those are new cables; it is as likely as its undoing.
    """
    jumps = [*range(1, degree // 2 + 1)]
    cables = [_ordered(npu, (npu + jump) % n) for jump in jumps for npu in range(n)]
    cables += [(npu, npu + n // 2) for npu in range(n // 2)] if degree % 2 else []
    there = set(cables)
    for _ in range(_EXCHANGES * len(cables)):
        one, other = int(rng.random() * len(cables)), int(rng.random() * len(cables))
        (a, b), (c, d) = cables[one], cables[other]
        if rng.random() < 0.5:
            c, d = d, c
        first, second = _ordered(a, c), _ordered(b, d)
        if a != c and b != d and first not in there and second not in there and first != second:
            there -= {cables[one], cables[other]}
            there |= {first, second}
            cables[one], cables[other] = first, second
    return cables


def _ordered(a: int, b: int) -> tuple[int, int]:
    """Return two NPUs, the lower one first."""
    return (a, b) if a < b else (b, a)


def _shuffled(n: int, rng: random.Random) -> list[int]:
    """Return 0…n−1 in a random order (D. E. Knuth's Algorithm P)."""
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        place = int(rng.random() * (last + 1))
        order[last], order[place] = order[place], order[last]
    return order
