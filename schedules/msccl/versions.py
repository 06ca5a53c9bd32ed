"""From a GPU's memory to a schedule's: which message brings which version of a chunk, and which message takes it on.

A schedule has one place for each chunk on each NPU; an algorithm may keep several versions of a chunk at once, in the
input, the output and scratch. What matters is what is sent and what is there at the end. So the steps are carried out
on *contents*, sets of what has come together (an own contribution, messages), and the contents that are used on one
GPU are put in an order in which one place can have held them: by adding messages to it, or by overwriting it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from schedules.msccl.algorithm import READS, RECEIVES, SENDS, WRITES
from schedules.msccl.conditions import Conditions, Place
from schedules.msccl.step_graph import StepGraph
from topologies.exceptions import ScheduleError

#: In a content: the contribution that the GPU itself started with.
OWN = -1

Content = frozenset[int]


class Unit(NamedTuple):
    """One chunk of a message: the send that takes it along, its ends, and the version that it is."""

    send: int
    source: int
    target: int
    chunk: int
    content: Content


@dataclass
class Version:
    """A content that is used: the units that make it of the version before, and those that carry it on.

    `fresh`: the first of the units overwrites what was there; else all are added.
    """

    arrivals: list[int]
    fresh: bool
    readers: list[int] = field(default_factory=list)


def units_of(graph: StepGraph, conditions: Conditions) -> tuple[list[Unit], dict[tuple[int, int], list[Content]]]:
    """Return all units, and the contents that each (GPU, chunk) must end with.

    Units are numbered in the order in which the steps run.
    """
    algorithm = graph.algorithm
    units: list[Unit] = []
    sent: dict[int, list[tuple[int, Content]]] = {}
    memory: dict[Place, tuple[int, Content]] = {}

    def at(gpu: int, buffer: str, offset: int) -> tuple[int, Content]:
        """Return (chunk, content) of a place."""
        place = conditions.address(gpu, buffer, offset)
        if place not in memory:
            start = conditions.initial(*place)
            assert start is not None  # the judge has seen that nobody reads what is not there
            return start[0], frozenset((OWN,))
        return memory[place]

    for number in graph.order:
        gpu, block, index = graph.place[number]
        tb = algorithm.gpus[gpu].threadblocks[block]
        step = tb.steps[index]
        values = sent.pop(graph.send_of[number]) if step.kind in RECEIVES else []
        for position in range(step.cnt):
            parts = [values[position]] if step.kind in RECEIVES else []
            if step.kind in READS:
                parts.append(at(gpu, step.src_buffer, step.src_offset + position))
            if step.kind == "re":
                parts.append(at(gpu, step.dst_buffer, step.dst_offset + position))
            chunk, content = parts[0][0], frozenset().union(*(part[1] for part in parts))
            if step.kind in WRITES:
                memory[conditions.address(gpu, step.dst_buffer, step.dst_offset + position)] = chunk, content
            if step.kind in SENDS:
                # What the other end gets is this unit; what it is made of is this end's affair.
                sent.setdefault(number, []).append((chunk, frozenset((len(units),))))
                units.append(Unit(number, gpu, tb.send, chunk, content))
    ends: dict[tuple[int, int], list[Content]] = {}
    for place, chunk, _ in conditions.final():
        ends.setdefault((place[0], chunk), []).append(at(*place)[1])
    return units, ends


def versions_of(
    units: list[Unit], ends: dict[tuple[int, int], list[Content]], reduces: bool
) -> dict[tuple[int, int], list[Version]]:
    """Return the versions of each (GPU, chunk), in the order in which one place holds them.

    Raises
    ------
    ScheduleError
        Versions that one place cannot have held one after the other, or a message that is never used.
    """
    readers: dict[tuple[int, int], dict[Content, list[int]]] = {}
    for number, unit in enumerate(units):
        readers.setdefault((unit.source, unit.chunk), {}).setdefault(unit.content, []).append(number)
    for place, contents in ends.items():
        for content in contents:
            readers.setdefault(place, {}).setdefault(content, [])
    arrived: dict[tuple[int, int], list[int]] = {}
    for number, unit in enumerate(units):
        arrived.setdefault((unit.target, unit.chunk), []).append(number)
    found: dict[tuple[int, int], list[Version]] = {}
    for place in sorted({*readers, *arrived}):
        mine = readers.get(place, {})
        # Versions with the own contribution first: once it is overwritten it does not come back. Those that the place
        # ends with last, and else in the order of what came last into them.
        final = set(ends.get(place, ()))
        order = sorted(mine, key=lambda content: (OWN not in content, content in final, len(content) if OWN in content
                                                  else 0, max(content)))  # fmt: skip
        found[place] = _chain(place, [(content, mine[content]) for content in order])
        used = {unit for version in found[place] for unit in version.arrivals}
        idle = [number for number in arrived.get(place, []) if number not in used]
        if idle and reduces:
            raise _inexpressible(place, "a message with it is received and never used")
        if idle:  # one more copy of the same
            found[place].append(Version(idle, True))
    return found


def _chain(place: tuple[int, int], contents: list[tuple[Content, list[int]]]) -> list[Version]:
    """Return the versions of one place, each made of the one before."""
    versions: list[Version] = []
    now: Content = frozenset((OWN,)) if contents and OWN in contents[0][0] else frozenset()
    used: set[int] = set()
    for content, takers in contents:
        grows = bool(now) and now <= content
        if not grows and OWN in content:
            raise _inexpressible(place, "it is added to in two ways at once")
        arrivals = sorted(content - now if grows else content)
        if used & set(arrivals):
            raise _inexpressible(place, "a message with it goes into two versions")
        used |= set(arrivals)
        versions.append(Version(arrivals, not grows, takers))
        now = content
    return versions


def _inexpressible(place: tuple[int, int], why: str) -> ScheduleError:
    """Return the error for an algorithm that needs more than one place for a chunk."""
    return ScheduleError(
        f"gpu {place[0]} keeps several versions of chunk {place[1]} at once ({why}), which a schedule of collbench "
        "cannot say; the algorithm can be verified, not simulated"
    )
