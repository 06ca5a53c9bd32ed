"""Boxes: what hangs together by the faster connections of a network, where a step in bandwidth leaves equal ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthesizers.bandwidth_steps import parts_by_bandwidth
from synthesizers.taccl.wires import Wires, shared_fabric


def boxes_of(wires: Wires) -> tuple[int, ...]:
    """Return the box of each NPU: all in one where no step in bandwidth leaves several equal boxes of two or more."""
    return next(divisions(wires), (0,) * wires.topology.num_npus)


def divisions(wires: Wires) -> Iterator[tuple[int, ...]]:
    """Give the box of each NPU for every step in bandwidth that leaves several equal boxes, the largest step first."""
    steps = parts_by_bandwidth(wires.topology.num_npus, wires.src, wires.dst, wires.bandwidth_gbps)
    for _, box in sorted(steps, key=lambda step: -step[0]):
        sizes = set(np.bincount(box).tolist())
        if len(sizes) == 1 and min(sizes) > 1:
            yield tuple(box.tolist())


def local_wires(wires: Wires, box: tuple[int, ...]) -> list[int]:
    """Return the wires inside boxes: not over the fabric between them, unless a box hangs together by nothing else."""
    fabric = shared_fabric(wires.topology, box)
    inside = [wire for wire in range(len(wires)) if box[wires.src[wire]] == box[wires.dst[wire]]]
    own = [wire for wire in inside if not any(int(wires.topology.dst[link]) in fabric for link in wires.routes[wire])]
    own_hops, all_hops = wires.kept(own).hops(), wires.kept(inside).hops()
    npus = len(box)
    torn = {box[a] for a in range(npus) for b in range(npus)
            if box[a] == box[b] and own_hops[a, b] > npus >= all_hops[a, b]}  # fmt: skip
    kept = set(own)
    return [wire for wire in inside if wire in kept or box[wires.src[wire]] in torn]
