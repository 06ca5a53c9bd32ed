"""Symmetries: permutations of the NPUs under which a network stays itself, and what they make of a routing problem.

A sketch gives rotations, ``[offset, group]``: r ↦ (r mod group + offset) mod group + ⌊r / group⌋ · group. Without a
sketch those that fit are looked for, among them and the exchanges r ↦ r XOR mask, and only such are taken together that
leave no NPU in place: then nothing is asked of a chunk that it could not keep. Variables of one orbit are one
variable (`synthesizers.taccl.orbits`).
"""

from __future__ import annotations

from collections import defaultdict

from synthesizers.taccl.budget import in_time
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.wires import Wires

Permutation = tuple[int, ...]


def rotation(npus: int, offset: int, group: int) -> Permutation:
    """Return the permutation of a sketch's ``[offset, group]``."""
    return tuple((npu % group + offset) % group + npu // group * group for npu in range(npus))


class WireMaps:
    """How permutations of NPUs carry the wires of a network: to wires of the same cost, ports to ports.

    Parameters
    ----------
    wires : Wires
    costs : Costs
    nbytes : int
        Size for which costs are compared.
    last : float, optional
        When `time.perf_counter` says so, it gives up.

    Raises
    ------
    OutOfTime
    """

    def __init__(self, wires: Wires, costs: Costs, nbytes: int, last: float | None = None) -> None:
        self.wires = wires
        self._between: dict[tuple[int, int], list[int]] = defaultdict(list)
        for wire, ends in enumerate(zip(wires.src, wires.dst, strict=True)):
            self._between[ends].append(wire)
        self._cost = []
        for wire in range(len(wires)):
            if wire % 1000 == 0:
                in_time(last)
            self._cost.append(costs.of(wire, nbytes))

    def image(self, permutation: Permutation) -> tuple[list[int] | None, int]:
        """Return (the wire that each wire becomes, −1), or (None, a wire that becomes none)."""
        wires, ports = self.wires, dict[int, int]()
        result = []
        for wire in range(len(wires)):
            ends = wires.src[wire], wires.dst[wire]
            others = self._between.get((permutation[ends[0]], permutation[ends[1]]), [])
            twins = self._between[ends]
            if len(others) != len(twins):
                return None, wire
            other = others[twins.index(wire)]
            mine, theirs = self._cost[wire], self._cost[other]
            if mine.time != theirs.time or len(mine.holds) != len(theirs.holds):
                return None, wire
            for (port, *spans), (becomes, *others_spans) in zip(mine.holds, theirs.holds, strict=True):
                if spans != others_spans or ports.setdefault(port, becomes) != becomes:
                    return None, wire
            result.append(other)
        return result, -1


def chunk_image(demand: Demand, permutation: Permutation) -> list[int] | None:
    """Return the chunk that each chunk becomes; None where some chunk becomes none: the collective has a root, say."""
    alike: dict[tuple, list[int]] = defaultdict(list)
    # A remainder of one byte is no difference.
    even = max(demand.nbytes, default=0) - min(demand.nbytes, default=0) <= 1
    sizes = [0 if even else nbytes for nbytes in demand.nbytes]
    for chunk, key in enumerate(zip(demand.sources, demand.targets, sizes, strict=True)):
        alike[key].append(chunk)
    result = [-1] * len(demand.sources)
    for (sources, targets, nbytes), chunks in alike.items():
        moved = tuple(sorted(permutation[npu] for npu in sources)), tuple(sorted(permutation[npu] for npu in targets))
        others = alike.get((*moved, nbytes), [])
        if len(others) != len(chunks):
            return None
        for chunk, other in zip(chunks, others, strict=True):
            result[chunk] = other
    return result


def free_symmetries(maps: WireMaps, npus: int, last: float | None = None) -> tuple[Permutation, ...]:
    """Return generators of a group of symmetries that leaves no NPU in place, as large as is easily found.

    Raises
    ------
    OutOfTime
        `time.perf_counter` passed `last`.
    """
    chosen: list[Permutation] = []
    group = {tuple(range(npus))}
    for permutation in _candidates(npus):
        if len(group) == npus:
            break
        in_time(last)
        if permutation in group or maps.image(permutation)[0] is None:
            continue
        larger = _generated([*chosen, permutation], npus)
        if larger is not None:
            chosen.append(permutation)
            group = larger
    return tuple(chosen)


def _candidates(npus: int) -> list[Permutation]:
    """Return rotations by every divisor of every group size, smallest steps first, then exchanges by XOR."""
    found: dict[Permutation, None] = {}
    divisors = [d for d in range(1, npus + 1) if npus % d == 0]
    for group in reversed(divisors):
        for offset in divisors:
            if offset < group:
                found[rotation(npus, offset, group)] = None
    masks = range(1, npus) if npus & (npus - 1) == 0 else range(0)
    for mask in masks:
        found[tuple(npu ^ mask for npu in range(npus))] = None
    found[tuple(range(npus - 1, -1, -1))] = None
    return list(found)


def _generated(generators: list[Permutation], npus: int) -> set[Permutation] | None:
    """Return the group of some permutations; None where one of it leaves an NPU in place and another not."""
    identity = tuple(range(npus))
    group, todo = {identity}, [identity]
    for known in todo:
        for generator in generators:
            product = tuple(generator[npu] for npu in known)
            if product in group:
                continue
            if any(product[npu] == npu for npu in range(npus)):
                return None
            group.add(product)
            todo.append(product)
            if len(group) > npus:
                return None
    return group
