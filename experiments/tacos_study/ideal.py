"""The paper's "ideal": the time of a network whose every NPU is kept busy, plus the way across it.

    ideal = f · size / (smallest NPU bandwidth) + diameter

f is what each NPU must at least receive of the size: (n−1)/n in an AllGather, and 2(n−1)/n in an AllReduce done as
ReduceScatter then AllGather (the factors of nccl-tests). An NPU's bandwidth is the lesser of the sums over its links in
and over its links out; the diameter is the largest sum of α along a shortest path between two NPUs, counted once. The
paper states this in words only (arXiv 2304.05301); f and "once" are this project's reading.

It is a yardstick, not a bound. An AllReduce that lets well-connected NPUs add up more than their share can be faster
than it on networks whose NPUs differ (a 4×4 mesh allows 80 GB/s, the ideal says 53.3), and a cut inside the network can
make it out of reach. What no schedule can beat is `simulator.bound`.
"""

from __future__ import annotations

from schedules import collective
from simulator import bound, busbw_factor
from topologies import Topology


def ideal_us(topology: Topology, kind: str, size: int) -> float:
    """Return the paper's ideal time in microseconds.

    Parameters
    ----------
    topology : Topology
    kind : str
        ``all_reduce`` or ``all_gather``, over all NPUs.
    size : int
        Bytes, by the rule of nccl-tests.
    """
    npus = topology.num_npus
    narrowest_gbps = min(min(topology.ingress_gbps(npu), topology.egress_gbps(npu)) for npu in range(npus))
    diameter_us = bound(topology, collective(kind, npus), 0).latency_us
    return busbw_factor(kind, npus) * size / narrowest_gbps / 1e3 + diameter_us
