"""Which step waits for which: the steps of an algorithm as a graph, put in an order in which all can run.

A step waits for the one before it in its threadblock, for the step of its GPU that it names as its dependency, and a
receive for its send. Sends and receives of a connection (source, destination, channel) match in order, whatever the
timing, for each end is one threadblock; sends wait for nobody, since many messages may be under way. So the graph says
all about every run, and an algorithm that has a cycle, or a receive without a send, stops in every run.
"""

from __future__ import annotations

from collections import deque

from schedules.msccl.algorithm import RECEIVES, SENDS, Algorithm
from schedules.msccl.faults import MscclFault, step_fault, step_name


class StepGraph:
    """The steps of an algorithm, numbered GPU by GPU and threadblock by threadblock.

    Parameters
    ----------
    algorithm : Algorithm

    Attributes
    ----------
    place : list of (int, int, int)
        GPU, threadblock and step of each number.
    block : list of int
        The threadblock of each step, numbered through all GPUs.
    first : list of int
        The number of each threadblock's first step; one entry more than threadblocks.
    send_of : dict of int to int
        The send that each receive takes.
    order : list of int
        All steps, none before one that it waits for.

    Raises
    ------
    MscclFault
        A dependency that leads nowhere, two threadblocks at one end of a connection, a send without a receive or the
        other way round, counts that differ, a step that waits for itself through others.
    """

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm
        self.place: list[tuple[int, int, int]] = []
        self.block: list[int] = []
        self.first: list[int] = []
        self._blocks_of: list[int] = []  # the first threadblock of each GPU
        for number, gpu in enumerate(algorithm.gpus):
            self._blocks_of.append(len(self.first))
            for index, block in enumerate(gpu.threadblocks):
                self.block += [len(self.first)] * len(block.steps)
                self.first.append(len(self.place))
                self.place += [(number, index, position) for position in range(len(block.steps))]
        self.first.append(len(self.place))
        self._waits = [self._dependency(step) for step in range(len(self.place))]
        self.send_of = self._matched()
        self.order = self._ordered()

    def dependency(self, step: int) -> int:
        """Return the step that a step names as its dependency; −1: none."""
        return self._waits[step]

    def _dependency(self, number: int) -> int:
        """Return the step that a step names, checked."""
        gpu, block, index = self.place[number]
        algorithm = self.algorithm
        step = algorithm.step(gpu, block, index)
        if step.dep_block < 0:
            return -1
        blocks = algorithm.gpus[gpu].threadblocks
        asked = f"depends on tb {step.dep_block} step {step.dep_step} of its gpu"
        if step.dep_block >= len(blocks) or not 0 <= step.dep_step < len(blocks[step.dep_block].steps):
            raise step_fault(algorithm, gpu, block, index, f"{asked}, which does not exist")
        target = blocks[step.dep_block].steps[step.dep_step]
        if target.kind == "nop":
            raise step_fault(algorithm, gpu, block, index, f"{asked}, which is a nop: nobody can wait for one")
        if not target.has_dependents:
            raise step_fault(algorithm, gpu, block, index, f"{asked}, which has hasdep=\"0\" and so never says that it "
                             "has finished")  # fmt: skip
        return self.first[self._blocks_of[gpu] + step.dep_block] + step.dep_step

    def _matched(self) -> dict[int, int]:
        """Return the send of each receive."""
        algorithm = self.algorithm
        ends: tuple[dict, dict] = ({}, {})
        owner: tuple[dict, dict] = ({}, {})
        for number, (gpu, block, index) in enumerate(self.place):
            tb = algorithm.gpus[gpu].threadblocks[block]
            for side, (kinds, peer, verb) in enumerate(
                ((SENDS, tb.send, "send to"), (RECEIVES, tb.recv, "receive from"))
            ):
                if tb.steps[index].kind in kinds:
                    ahead = (gpu, peer, tb.channel) if side == 0 else (peer, gpu, tb.channel)
                    other = owner[side].setdefault(ahead, block)
                    if other != block:
                        raise step_fault(algorithm, gpu, block, index, f"and tb {other} of its gpu both {verb} gpu "
                                         f"{peer} on channel {tb.channel}, in no order")  # fmt: skip
                    ends[side].setdefault(ahead, []).append(number)
        return {receive: send for ahead in {**ends[0], **ends[1]}
                for receive, send in self._pairs(ahead, ends[0].get(ahead, []), ends[1].get(ahead, []))}  # fmt: skip

    def _pairs(self, connection: tuple[int, int, int], sends: list[int], receives: list[int]) -> list[tuple[int, int]]:
        """Return (receive, send) of one connection."""
        algorithm = self.algorithm
        source, target, channel = connection
        for send, receive in zip(sends, receives, strict=False):
            sent, taken = (algorithm.step(*self.place[number]) for number in (send, receive))
            if sent.cnt != taken.cnt:
                raise step_fault(
                    algorithm, *self.place[receive],
                    f"takes {taken.cnt} chunks where {step_name(algorithm, *self.place[send])} of line {sent.line} "
                    f"sends {sent.cnt}",
                )  # fmt: skip
        way = f"{len(sends)} sends and {len(receives)} receives from gpu {source} to gpu {target} on channel {channel}"
        if len(sends) > len(receives):
            raise step_fault(algorithm, *self.place[sends[len(receives)]],
                             f"is never received: {way}")  # fmt: skip
        if len(receives) > len(sends):
            raise step_fault(algorithm, *self.place[receives[len(sends)]],
                             f"waits for ever: {way}")  # fmt: skip
        return list(zip(receives, sends, strict=True))

    def _ordered(self) -> list[int]:
        """Return all steps in an order in which they can run: first ready, first run."""
        count = len(self.place)
        missing = [0] * count
        then: list[list[int]] = [[] for _ in range(count)]
        for number in range(count):
            before = [self._waits[number], self.send_of.get(number, -1)]
            if number > self.first[self.block[number]]:
                before.append(number - 1)
            for earlier in before:
                if earlier >= 0:
                    then[earlier].append(number)
                    missing[number] += 1
        ready = deque(number for number in range(count) if not missing[number])
        order = []
        while ready:
            number = ready.popleft()
            order.append(number)
            for later in then[number]:
                missing[later] -= 1
                if not missing[later]:
                    ready.append(later)
        if len(order) < count:
            raise self._circle(missing)
        return order

    def _circle(self, missing: list[int]) -> MscclFault:
        """Return the fault of steps that wait for each other: a walk backwards from any of them ends in a circle."""
        algorithm = self.algorithm
        number = next(number for number, left in enumerate(missing) if left)
        walked: dict[int, int] = {}
        while number not in walked:
            walked[number] = len(walked)
            before = [self._waits[number], self.send_of.get(number, -1)]
            if number > self.first[self.block[number]]:
                before.append(number - 1)
            number = next(earlier for earlier in before if earlier >= 0 and missing[earlier])
        circle = [step for step, position in walked.items() if position >= walked[number]]
        start = min(circle)
        circle = circle[circle.index(start) :] + circle[: circle.index(start)]
        names = [step_name(algorithm, *self.place[step]) for step in circle[1:4]]
        chain = " and that for ".join(names + (["others"] if len(circle) > 4 else []) + ["itself"])
        return step_fault(algorithm, *self.place[start], f"waits for {chain}: a deadlock")
