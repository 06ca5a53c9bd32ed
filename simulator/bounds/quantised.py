"""The quantised bound: whole chunks over the links of one NPU, for schedules that keep the chunking and bundle nothing.

An in-link carries at most ⌊t/(α + wire(chunk))⌋ chunks by time t where it is taken for α + wire each (blocking), and
⌊(t − α)/wire(chunk)⌋ where it is not (pipelined). The bound is the least t at which some NPU's in-links (or out-links)
could have carried what must pass them. Only the NPU's own links are counted, and each is held for its own transfer in
either switching mode, so cut-through through a switch changes nothing. Every chunk counts as the smallest one, so
remainders leave it a bound. All known answers of TACOS (arXiv 2304.05301) on meshes and tori equal it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schedules import Collective
from simulator.bounds.demands import Demands
from simulator.bounds.ingress import all_reduce_links
from simulator.link_model import MAX_PS, LinkModel, wire_ps
from topologies import Topology
from topologies.exceptions import ScheduleError


def quantised_bound_ps(
    topology: Topology, collective: Collective, needed: Demands, size: int, model: LinkModel
) -> int | None:
    """Return the bound in picoseconds; None for chunks of unequal weight, or where a link is missing.

    Raises
    ------
    ScheduleError
        Times past 53 days.
    """
    if collective.weights is not None:
        return None
    nbytes = int(collective.chunk_bytes(size).min(initial=size))
    wire = wire_ps(np.full(topology.num_links, nbytes), topology.bytes_per_s)
    alpha = topology.latency_ps
    worst = 0
    for links, chunks in _crossings(topology, collective, needed):
        if not len(links):
            return None
        worst = max(worst, _least_time(alpha[links], wire[links], chunks, model.latency == "blocking", worst))
    return worst


def _crossings(topology: Topology, collective: Collective, needed: Demands) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (links, chunks that must cross them) for each NPU in and out, and for AllReduce's receipts in all."""
    for (start, links), chunks in (
        (topology.in_links, needed.into(needed.chunks)),
        (topology.out_links, needed.out_of(needed.chunks)),
    ):
        for npu in np.flatnonzero(chunks).tolist():
            yield links[start[npu] : start[npu + 1]], int(chunks[npu])
    if collective.kind == "all_reduce":
        per_group = [collective.shard_count(part) * collective.chunks for part in range(len(collective.groups))]
        receipts = sum(2 * (len(group) - 1) * count for group, count in zip(collective.groups, per_group, strict=True))
        if receipts:
            for mask, _ in all_reduce_links(topology, np.array(collective.members, np.int64)):
                yield np.flatnonzero(mask), receipts


def _least_time(alpha: np.ndarray, wire: np.ndarray, chunks: int, blocking: bool, floor: int) -> int:
    """Return the least t ≥ floor by which the links can carry so many chunks."""
    period, offset = (alpha + wire, np.zeros_like(alpha)) if blocking else (wire, alpha)
    instant = period == 0  # such a link carries any number, once its first chunk has arrived
    if instant.any():
        high = int(offset[instant].min())
    else:
        fastest = int(np.argmin(period))
        high = int(offset[fastest]) + int(period[fastest]) * chunks
    if high >= MAX_PS:
        raise ScheduleError("the quantised bound would be over 53 days; give a smaller size or a larger bandwidth")
    divisor = np.maximum(period, 1)

    def carried(time: int) -> int:
        """Return how many chunks have arrived by `time`, `chunks` at most from each link."""
        in_time = np.maximum(time - offset, 0)
        count = np.where(instant, np.where(time >= offset, chunks, 0), in_time // divisor)
        return int(np.minimum(count, chunks).sum())

    low, high = floor, max(high, floor)
    while low < high:
        middle = (low + high) // 2
        if carried(middle) >= chunks:
            high = middle
        else:
            low = middle + 1
    return high
