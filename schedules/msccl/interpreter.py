"""The judge of MSCCL algorithms: carries the steps out and says whether the collective comes out, whatever the timing.

It shares no code with the writer nor with the verifier of schedules. Steps run in an order that the waits allow
(`schedules.msccl.step_graph`), each message carrying what was at its source when it was sent. Two steps that touch one
place, at least one of them writing, must be ordered by waits: each threadblock keeps a vector clock of what it knows to
have finished (Mattern 1988), so a race is found even where this order happens to give the right result.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from schedules.msccl.algorithm import READS, RECEIVES, SENDS, WRITES, Algorithm, Step
from schedules.msccl.conditions import Conditions, Place
from schedules.msccl.faults import MscclFault, step_fault, step_name
from schedules.msccl.step_graph import StepGraph
from topologies.memory import require_memory

#: Bytes of clocks after which the system is asked whether there is room for more.
_ASK_AGAIN = 2**28

UNKNOWN = "no known postcondition"


class Value(NamedTuple):
    """A version of a chunk: whose contributions are in it, and whose more than once. Chunk −1: several, added up."""

    chunk: int
    once: int
    twice: int


class Verdict(NamedTuple):
    """What the judge says: ``valid``, ``invalid`` or ``cannot verify``, and why.

    `root` is the rank whose data a Broadcast spreads or at which a Reduce ends, where the algorithm is valid.
    """

    status: str
    reason: str = ""
    fault: MscclFault | None = None
    root: int = 0


def judge(algorithm: Algorithm) -> Verdict:
    """Return whether an algorithm computes the collective that it names, in every way in which it may be called.

    Parameters
    ----------
    algorithm : Algorithm
        Of a ``custom`` collective nobody knows the postcondition; what can be said of it (that it ends, reads what is
        there, stays within its buffers and has no race) is said by a fault, and else `cannot verify`.
    """
    try:
        graph = StepGraph(algorithm)
        if not (algorithm.in_place or algorithm.out_of_place):
            raise MscclFault('has inplace="0" and outofplace="0": no call may use it', 1)
        root = _root(algorithm)
        for in_place in (False, True):
            if algorithm.in_place if in_place else algorithm.out_of_place:
                execute(graph, Conditions(algorithm, in_place, root))
    except MscclFault as fault:
        return Verdict("invalid", str(fault), fault)
    return Verdict("valid", root=root) if algorithm.collective != "custom" else Verdict("cannot verify", UNKNOWN)


def execute(graph: StepGraph, conditions: Conditions) -> None:
    """Carry an algorithm out and check races, what is read, and the postcondition.

    Raises
    ------
    MscclFault
        The first fault, in the order in which the steps run.
    """
    run = _Run(graph, conditions)
    for number in graph.order:
        run.step(number)
    run.check_end()


def _root(algorithm: Algorithm) -> int:
    """Return the root that the file names, else the only rank that receives (of a Reduce: sends) nothing."""
    if algorithm.root is not None and algorithm.root >= 0:
        return algorithm.root
    kinds = {"broadcast": RECEIVES, "reduce": SENDS}.get(algorithm.collective, frozenset())
    idle = [number for number, gpu in enumerate(algorithm.gpus)
            if not any(step.kind in kinds for block in gpu.threadblocks for step in block.steps)]  # fmt: skip
    return idle[0] if len(idle) == 1 else 0


class _Run:
    """The state of one run: memory, messages under way, clocks."""

    def __init__(self, graph: StepGraph, conditions: Conditions) -> None:
        self.graph, self.conditions, self.algorithm = graph, conditions, graph.algorithm
        threads = len(graph.first) - 1
        self._memory: dict[Place, Value] = {}
        self._writer: dict[Place, int] = {}  # the last step that wrote a place
        self._readers: dict[Place, dict[int, int]] = {}  # since then, the last step of each threadblock that read it
        self._sent: dict[int, list[Value]] = {}
        # Steps of each threadblock known to have finished. An array is never changed, so it may be shared; what nobody
        # will ask for again is given up, or an exchange of hundreds of GPUs would not fit in memory.
        self._nothing = np.zeros(threads, np.int32)
        self._clock = [self._nothing] * threads
        self._news: list[int] = []  # what the step at hand has waited for, and its threadblock did not know yet
        self._waiting = Counter(graph.send_of.values())
        self._waiting.update(graph.dependency(number) for number in range(len(graph.place)))
        self._known: dict[int, np.ndarray] = {}  # the clock of each awaited step as it finished
        self._made = 0

    def step(self, number: int) -> None:
        """Run one step."""
        gpu, block, index = self.graph.place[number]
        step = self.algorithm.step(gpu, block, index)
        thread = self.graph.block[number]
        send = self.graph.send_of.get(number, -1)
        for earlier in (self.graph.dependency(number), send):
            if earlier >= 0 and not self._before(earlier, thread):
                self._news.append(earlier)
        received = self._sent.pop(send) if send >= 0 else []
        values = self._read(number, step, gpu) if step.kind in READS else received
        if step.kind in READS and step.kind in RECEIVES:
            values = [_sum(a, b) for a, b in zip(values, received, strict=True)]
        if step.kind == "re":
            values = [_sum(a, b) for a, b in zip(values, self._read(number, step, gpu, target=True), strict=True)]
        if step.kind in WRITES:
            self._write(number, step, gpu, values)
            if step.kind in READS:
                self._require_apart(number, step, gpu)
        if step.kind in SENDS:
            self._sent[number] = values
        self._finish(number, thread)

    def check_end(self) -> None:
        """Refuse memory that is not as the postcondition says; the place named is the last that wrote it."""
        conditions = self.conditions
        for place, chunk, contributions in conditions.final():
            value = self._value(place)
            if value != (chunk, contributions, 0):
                raise self._wrong_end(place, value, chunk, contributions)
        if conditions.kind in ("reduce", "reduce_scatter") and conditions.ranks > 1 and all(
            self._value((gpu, "i" if conditions.in_place else "o", offset)) == (offset, conditions.everyone, 0)
            for gpu in range(conditions.ranks) for offset in range(self.algorithm.chunks)
        ):  # fmt: skip
            raise MscclFault(
                f"is labelled {conditions.kind}, but every gpu ends with the sum of all chunks: an allreduce", 1
            )

    def _finish(self, number: int, thread: int) -> None:
        """Let a threadblock keep what it has learned, if anybody can still ask for it, and forget what is done."""
        last = number + 1 == self.graph.first[thread + 1]
        if self._news and (self._waiting[number] or not last):
            joined = self._clock[thread].copy()
            for earlier in self._news:
                other = self.graph.block[earlier]
                np.maximum(joined, self._known[earlier], out=joined)
                joined[other] = max(int(joined[other]), earlier - self.graph.first[other] + 1)
            self._clock[thread] = joined
            self._made += joined.nbytes
            if self._made > _ASK_AGAIN:
                require_memory(2 * _ASK_AGAIN, f"what {len(joined)} threadblocks know of each other")
                self._made = 0
        self._news = []
        if self._waiting[number]:
            self._known[number] = self._clock[thread]
        if last:
            self._clock[thread] = self._nothing
        for earlier in (self.graph.dependency(number), self.graph.send_of.get(number, -1)):
            if earlier >= 0:
                self._waiting[earlier] -= 1
                if not self._waiting[earlier]:
                    del self._known[earlier]

    def _before(self, earlier: int, thread: int) -> bool:
        """Return whether a step has finished, in every run, before what a threadblock does now."""
        other = self.graph.block[earlier]
        index = earlier - self.graph.first[other]
        if other == thread or self._clock[thread][other] > index:
            return True
        return any(
            self._known[new][other] > index or (self.graph.block[new] == other and new >= earlier) for new in self._news
        )

    def _places(self, number: int, step: Step, gpu: int, target: bool) -> list[Place]:
        """Return the places of a step's source or target, which must lie within their buffer."""
        buffer, offset = (step.dst_buffer, step.dst_offset) if target else (step.src_buffer, step.src_offset)
        name = "dst" if target else "src"
        holds = self.algorithm.gpus[gpu]
        sizes = {"i": holds.input_chunks, "o": holds.output_chunks, "s": holds.scratch_chunks}
        if buffer not in sizes:
            raise self._fault(number, f"has {name}buf={buffer!r:.20}; expected i, o or s")
        if offset < 0 or offset + step.cnt > sizes[buffer]:
            raise self._fault(number, f"uses {buffer}[{offset}…{offset + step.cnt - 1}]; {buffer}_chunks of gpu {gpu} "
                              f"is {sizes[buffer]}")  # fmt: skip
        return [self.conditions.address(gpu, buffer, offset + position) for position in range(step.cnt)]

    def _require_apart(self, number: int, step: Step, gpu: int) -> None:
        """Refuse a step whose source and target share a part: a GPU copies all of it at once, in no order."""
        source = self.conditions.address(gpu, step.src_buffer, step.src_offset)
        target = self.conditions.address(gpu, step.dst_buffer, step.dst_offset)
        if source[:2] == target[:2] and 0 < abs(source[2] - target[2]) < step.cnt:
            raise self._fault(number, f"copies {step.cnt} chunks from {_name(source)} to {_name(target)}, which "
                                      "overlap: what they hold then depends on the order within the step")  # fmt: skip

    def _read(self, number: int, step: Step, gpu: int, target: bool = False) -> list[Value]:
        """Return what is at a step's source (or target); nothing may be writing there."""
        thread, values = self.graph.block[number], []
        for place in self._places(number, step, gpu, target):
            writer = self._writer.get(place, -1)
            if writer >= 0 and not self._before(writer, thread):
                raise self._race(number, "reads", place, writer, "writes")
            value = self._value(place)
            if value is None:
                raise self._fault(number, f"reads {_name(place)}, where nothing is yet")
            self._readers.setdefault(place, {})[thread] = number
            values.append(value)
        return values

    def _write(self, number: int, step: Step, gpu: int, values: list[Value]) -> None:
        """Put values at a step's target; nothing else may be reading or writing there."""
        thread = self.graph.block[number]
        for place, value in zip(self._places(number, step, gpu, target=True), values, strict=True):
            writer = self._writer.get(place, -1)
            if writer >= 0 and not self._before(writer, thread):
                raise self._race(number, "writes", place, writer, "writes")
            for reader in self._readers.pop(place, {}).values():
                if not self._before(reader, thread):
                    raise self._race(number, "writes", place, reader, "reads")
            self._memory[place] = value
            self._writer[place] = number

    def _value(self, place: Place) -> Value | None:
        """Return what is at a place now; None: nothing that anybody put there."""
        if place in self._memory:
            return self._memory[place]
        gpu, buffer, offset = place
        found = self.conditions.initial(gpu, buffer, offset)
        return None if found is None else Value(*found, 0)

    def _fault(self, number: int, message: str) -> MscclFault:
        """Return the fault of a step."""
        return step_fault(self.algorithm, *self.graph.place[number], message)

    def _race(self, number: int, verb: str, place: Place, other: int, other_verb: str) -> MscclFault:
        """Return the fault of two steps that nothing orders."""
        where = self.graph.place[other]
        name, line = step_name(self.algorithm, *where), self.algorithm.step(*where).line
        return self._fault(number, f"{verb} {_name(place)} while {name} of line {line} {other_verb} it: a race, no "
                           "dependency orders them")  # fmt: skip

    def _wrong_end(self, place: Place, value: Value | None, chunk: int, contributions: int) -> MscclFault:
        """Return the fault of a place that does not hold what it must."""
        writer = self._writer.get(place, -1)
        mode = "in place" if self.conditions.in_place else "out of place"
        told = f"gpu {place[0]} ends {self.algorithm.collective} {mode} with a wrong {_name(place)}: "
        if value is None:
            told += "nothing is there"
        elif value.chunk != chunk:
            told += f"it holds {'a sum of different chunks' if value.chunk < 0 else 'another chunk'}"
        else:
            missing = _ranks(contributions & ~value.once)
            extra = _ranks(value.once & ~contributions)
            parts = [f"lacks the contribution of {missing}"] if missing else []
            parts += [f"has that of {extra}"] if extra else []
            parts += [f"has that of {_ranks(value.twice)} more than once"] if value.twice else []
            told += f"it {' and '.join(parts)}"
        if writer < 0:
            return MscclFault(told, self.algorithm.gpus[place[0]].line, place[0])
        where = self.graph.place[writer]
        return step_fault(self.algorithm, *where, f"was the last to write it: {told}")


def _sum(a: Value, b: Value) -> Value:
    """Return two values added up."""
    if a.chunk != b.chunk:
        return Value(-1, 0, 0)
    return Value(a.chunk, a.once | b.once, a.twice | b.twice | (a.once & b.once))


def _name(place: Place) -> str:
    """Return a place for messages."""
    return f"{place[1]}[{place[2]}]"


def _ranks(mask: int) -> str:
    """Return up to four GPUs of a set."""
    found = [str(rank) for rank in range(mask.bit_length()) if mask >> rank & 1]
    return f"gpu {', '.join(found[:4])}{', …' if len(found) > 4 else ''}" if found else ""
