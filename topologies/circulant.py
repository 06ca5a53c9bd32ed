"""Circulants: NPU i sends to i + p (mod n) for each of a few jumps p, the fabrics that TopoOpt builds for AllReduce.

A jump coprime with n is one ring through all NPUs, and different jumps share no link, so that d of them are d rings
(TopoOpt, NSDI 2023, arXiv 2202.00433, section 4). The distance between two NPUs depends on the difference of their
numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    shortened,
)
from topologies.topology import Topology


def circulant(
    n: int,
    jumps: Sequence[int],
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
    one_way: bool = True,
) -> Topology:
    """Return the circulant of `n` NPUs: the links i → i + p (mod `n`), jump by jump in the order given.

    Parameters
    ----------
    n : int
        NPUs, two or more.
    jumps : sequence of int
        Different numbers of 1…`n` − 1; without a common divisor with `n`, or some NPUs could not reach others.
    bandwidth_gbps, latency_us : float
        Of each link.
    one_way : bool
        Only the links i → i + p, so that p and `n` − p are different jumps. Otherwise each is a cable, p and `n` − p
        are the same cables, and the jump `n`/2 gives an NPU one cable and not two.

    Raises
    ------
    TopologyError
        A jump out of range or given twice, jumps that leave the network in parts, or a bandwidth or latency that no
        link can have.
    """
    kind = "circulant" if one_way else "circulant_two_way"
    sizes = _checked(kind, n, jumps, one_way)
    n = sizes[0]
    title = shortened(f"{kind}:{'x'.join(map(str, sizes))}")
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, 1)
    latencies = per_dimension(title, "latency", latency_us, 1)
    refuse_oversize(title, n * (len(sizes) - 1) * (1 if one_way else 2))
    runs = []
    for jump in sizes[1:]:
        npu = np.arange(n // 2 if not one_way and 2 * jump == n else n)
        runs.append(Cables(npu, (npu + jump) % n, bandwidths[0], latencies[0], one_way))
    return wired(short_name(kind, sizes, bandwidths, latencies), n, runs)


def _checked(kind: str, n: int, jumps: Sequence[int], one_way: bool) -> tuple[int, ...]:
    """Return the sizes of the short name, n and then the jumps."""
    example = f"{kind}(16, [1, 3, 7])"
    if not np.iterable(jumps):
        raise TopologyError(f"{kind}: jumps {jumps!r}; expected them together, as in {example}")
    if not len(jumps):
        raise TopologyError(f"{kind}: no jump; expected NPUs and then one or more, as in {kind}:16x1x3x7")
    sizes = checked_sizes(kind, (n, *jumps))
    title = shortened(f"{kind}:{'x'.join(map(str, sizes))}")
    n, seen = sizes[0], dict[int, int]()
    for jump in sizes[1:]:
        if jump >= n:
            raise TopologyError(f"{title}: jump {jump}; expected jumps of 1 to {n - 1}, the NPUs less one")
        same = jump if one_way else min(jump, n - jump)
        if same in seen:
            twice = f"jump {jump} twice" if seen[same] == jump else f"jumps {seen[same]} and {jump}, the same cables"
            raise TopologyError(f"{title}: {twice}; expected different ones, such as {example}")
        seen[same] = jump
    common = math.gcd(*sizes)
    if common > 1:
        raise TopologyError(
            f"{title}: {common} divides {n} and every jump, so the network falls into {common} parts; add a jump that "
            f"is not a multiple of {common}"
        )
    return sizes
