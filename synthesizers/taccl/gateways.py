"""Gateways: where GPUs of a box share a port to other boxes, such as a NIC, those that send and receive for all.

What goes between two boxes then goes over few wires, so that chunks for different NPUs can be one message
(`synthesizers.taccl.contiguity`), which the latency of a NIC is paid for once. In each set of GPUs that share a port
the second sends and the first receives, as published sketches have it: so gathering and scattering take different
links. Sets are joined each to each, or only those of the same place in their boxes.
"""

from __future__ import annotations

from collections import defaultdict

from synthesizers.taccl.wires import Wires


def gateway_wires(wires: Wires, box: tuple[int, ...], cross: list[int]) -> list[list[int]]:
    """Return choices among the wires between boxes, each a list of wires; none where no port is shared.

    Parameters
    ----------
    wires : Wires
    box : tuple of int
        The box of each NPU.
    cross : list of int
        The wires between boxes.
    """
    out = _sharing(wires, box, cross, wires.src)
    into = _sharing(wires, box, cross, wires.dst)
    sender = {members[min(1, len(members) - 1)]: place for place, members in out}
    receiver = {members[0]: place for place, members in into}
    each = [wire for wire in cross if wires.src[wire] in sender and wires.dst[wire] in receiver]
    same = [wire for wire in each if sender[wires.src[wire]] == receiver[wires.dst[wire]]]
    found = []
    for choice in (each, same):
        if choice and len(choice) < len(cross) and choice not in found:
            found.append(choice)
    return found


def _sharing(wires: Wires, box: tuple[int, ...], cross: list[int], end: tuple[int, ...]) -> list[tuple[int, list[int]]]:
    """Return (place in its box, NPUs) of the sets of NPUs that share a link on all their ways out, or in."""
    common: dict[int, set[int]] = {}
    for wire in cross:
        route = set(wires.routes[wire])
        common[end[wire]] = common.get(end[wire], route) & route
    sets: dict[int, list[tuple[set[int], list[int]]]] = defaultdict(list)
    for npu, links in sorted(common.items()):
        for shared, members in sets[box[npu]]:
            if shared & links:
                shared &= links
                members.append(npu)
                break
        else:
            sets[box[npu]].append((set(links), [npu]))
    return [(place, members) for of_box in sets.values() for place, (_, members) in enumerate(of_box)]
