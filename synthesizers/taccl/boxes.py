"""Boxes: what hangs together by the faster connections of a network, where a step in bandwidth leaves equal ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from synthesizers.taccl.wires import Wires, shared_fabric

#: The least step in bandwidth that tells the inside of a box from the outside.
_STEP = 1.5


def boxes_of(wires: Wires) -> tuple[int, ...]:
    """Return the box of each NPU: all in one where no step in bandwidth leaves several equal boxes of two or more."""
    return next(divisions(wires), (0,) * wires.topology.num_npus)


def divisions(wires: Wires) -> Iterator[tuple[int, ...]]:
    """Give the box of each NPU for every step in bandwidth that leaves several equal boxes, the largest step first."""
    npus = wires.topology.num_npus
    speeds = sorted(set(wires.bandwidth_gbps), reverse=True)
    steps = sorted(
        ((fast / slow, fast) for fast, slow in itertools.pairwise(speeds) if fast >= _STEP * slow),
        reverse=True,
    )
    for _, least in steps:
        box = list(range(npus))
        for _ in range(npus):
            before = list(box)
            for wire, speed in enumerate(wires.bandwidth_gbps):
                if speed >= least:
                    low = min(box[wires.src[wire]], box[wires.dst[wire]])
                    box[wires.src[wire]] = box[wires.dst[wire]] = low
            if box == before:
                break
        names = sorted(set(box))
        sizes = {box.count(name) for name in names}
        if len(names) > 1 and len(sizes) == 1 and min(sizes) > 1:
            yield tuple(names.index(name) for name in box)


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
