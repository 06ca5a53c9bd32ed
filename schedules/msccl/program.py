"""From a schedule to an algorithm: threadblocks for connections, steps for messages, dependencies for memory.

A schedule's memory is versioned, a GPU's is not. So what arrives waits for what was read there before, what leaves for
what has to be in it, and of several arrivals each for the one before: a step has one dependency, further ones stand on
``nop`` steps before it. Dependencies that others or messages imply are left out: every one that is there is needed.
What a chunk is added to, or must be at the end without ever being sent there, is first copied by a threadblock of its
own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from schedules.msccl.algorithm import Algorithm, Gpu, Step, Threadblock
from schedules.msccl.messages import Message, bundled, messages_of
from schedules.msccl.placement import Placement, Spot
from schedules.schedule import Schedule
from topologies.memory import require_memory

#: Most chunks in one step: the runtime takes fewer than 72.
MAX_COUNT = 71

#: A time after everything.
NEVER = 2**62

#: Of a GPU: "send" or "recv", the other end, the lane. ("copy", −1, 0) copies.
_Connection = tuple[str, int, int]


@dataclass
class _Action:
    """Something that a GPU does: one step, or several if many chunks are in it."""

    connection: _Connection
    kind: str
    source: Spot
    target: Spot
    count: int
    thread: int  # its threadblock, numbered through all GPUs
    rank: int  # its place in its threadblock
    waits: list[_Action]
    known: np.ndarray  # of each threadblock, how many actions are done before
    last_step: int = 0
    awaited: bool = False


@dataclass
class _Spots:
    """One chunk on one GPU: where it is, and who has used it since it was written."""

    home: Spot | None
    start: Spot | None
    arrives: int = NEVER  # when it first arrives
    added: bool = False  # and whether it is then added to what is there
    written: _Action | None = None
    read: list[_Action] = field(default_factory=list)

    def left_from(self, time: int) -> Spot:
        """Return where what is sent at some time is read: at the start, until something arrives."""
        found = self.home if self.arrives < time or self.start is None else self.start
        assert found is not None
        return found


def program_of(schedule: Schedule, name: str, in_place: bool = False, instances: int = 1) -> Algorithm:
    """Return a schedule as an algorithm of MSCCL; see `schedules.msccl.write_msccl`."""
    placement = Placement(schedule.collective, in_place, instances)
    messages = messages_of(schedule)
    builder = _Builder(schedule, placement, messages)
    builder.copy_first()
    messages = bundled(messages, builder.adjoins)
    for _, action, message in sorted(
        [(m.sent, 0, m) for m in messages] + [(m.received, 1, m) for m in messages], key=lambda event: event[:2]
    ):
        (builder.receive if action else builder.send)(message)
    return builder.algorithm(name, 1 + max((message.lane for message in messages), default=0))


class _Builder:
    """The actions of all GPUs, put together in the order in which things happen."""

    def __init__(self, schedule: Schedule, placement: Placement, messages: list[Message]) -> None:
        self.placement = placement
        self._schedule = schedule
        self._actions: dict[int, list[_Action]] = {npu: [] for npu in placement.gpu_of}
        self._last: dict[tuple[int, _Connection], _Action] = {}
        self._sent: dict[int, _Action] = {}
        self._threads: dict[tuple[int, _Connection], int] = {}
        ends = {(message.source, message.target, message.lane) for message in messages}
        threads = 2 * len(ends) + len(placement.gpu_of)
        require_memory(4 * threads * (threads + len(messages)), f"the order of {len(messages)} messages")
        self._nothing = np.zeros(threads, np.int32)
        self._scratch = dict.fromkeys(placement.gpu_of, 0)
        self._spots: dict[tuple[int, int], _Spots] = {}
        arrivals = sorted(messages, key=lambda message: message.received, reverse=True)
        first = {(message.target, message.chunks[0]): message for message in arrivals}
        final = ((npu, chunk) for npu in placement.gpu_of for chunk in placement.chunks(npu, end=True))
        senders = ((message.source, message.chunks[0]) for message in messages)
        for npu, chunk in sorted({*first, *final, *senders}):
            start = placement.input_spot(npu, chunk) if chunk in placement.chunks(npu, end=False) else None
            home = placement.output_spot(npu, chunk) if chunk in placement.chunks(npu, end=True) else None
            arrival = first.get((npu, chunk))
            if arrival is not None and home is None:
                # By ascending chunks, so that those of one message are often adjacent.
                home = Spot("s", self._scratch[npu])
                self._scratch[npu] += placement.width[chunk]
            spots = self._spots[npu, chunk] = _Spots(home, start)
            if arrival is not None:
                spots.arrives, spots.added = arrival.received, arrival.adds

    def adjoins(self, first: Message, second: Message) -> bool:
        """Return whether a message's chunk lies just behind another's last, where it leaves and where it arrives."""
        width = self.placement.width[first.chunks[-1]]
        ends = [
            (
                self._spots[each.source, each.chunks[-1]].left_from(each.sent),
                self._spots[each.target, each.chunks[-1]].home,
            )
            for each in (first, second)
        ]
        return self._empty(first) == self._empty(second) and all(
            before is not None and behind == Spot(before.buffer, before.offset + width)
            for before, behind in zip(*ends, strict=True)
        )

    def _empty(self, message: Message) -> bool:
        """Return whether the last chunk of a message arrives where nothing is: there it is stored, not added."""
        spots = self._spots[message.target, message.chunks[-1]]
        return spots.start is None and spots.arrives == message.received

    def copy_first(self) -> None:
        """Add the copies from input to home: of what is added to before it is overwritten, or has to be there."""
        pairs: dict[int, list[tuple[Spot, Spot, int]]] = {}
        for (npu, chunk), spots in self._spots.items():
            stays = spots.arrives == NEVER and spots.home is not None
            if (stays or spots.added) and None not in (spots.start, spots.home) and spots.start != spots.home:
                pairs.setdefault(npu, []).append((spots.start, spots.home, chunk))  # type: ignore[arg-type]
        for npu, mine in pairs.items():
            for source, target, chunks in _runs(mine, self.placement.width):
                count = sum(self.placement.width[chunk] for chunk in chunks)
                action = self._add(npu, ("copy", -1, 0), "cpy", source, target, count, [])
                for chunk in chunks:
                    self._spots[npu, chunk].written = action

    def send(self, message: Message) -> None:
        """Add the sending of a message."""
        spots = [self._spots[message.source, chunk] for chunk in message.chunks]
        leaves = [each.left_from(message.sent) for each in spots]
        at_home = [each for each, spot in zip(spots, leaves, strict=True) if spot == each.home]
        before = [each.written for each in at_home if each.written is not None]
        action = self._add(message.source, ("send", message.target, message.lane), "s", leaves[0], leaves[0],
                           self._count(message), before)  # fmt: skip
        self._sent[id(message)] = action
        for each in at_home:
            each.read.append(action)

    def receive(self, message: Message) -> None:
        """Add the arrival of a message."""
        spots = [self._spots[message.target, chunk] for chunk in message.chunks]
        before = []
        for each in spots:
            before += each.read + ([each.written] if each.written is not None else [])
        adds = message.adds and not self._empty(message)
        home = spots[0].home
        assert home is not None
        action = self._add(message.target, ("recv", message.source, message.lane), "rrc" if adds else "r", home, home,
                           self._count(message), before, self._sent.pop(id(message)))  # fmt: skip
        for each in spots:
            each.written, each.read = action, []

    def algorithm(self, name: str, lanes: int) -> Algorithm:
        """Return all instances of the actions as an algorithm."""
        placement = self.placement
        gpus = []
        for npu in placement.gpu_of:
            blocks = self._blocks(npu)
            spread = [
                _shifted(block, instance, instance * len(blocks), lanes,
                         {b: placement.shift(npu, b, self._scratch[npu]) for b in "ios"})
                for instance in range(placement.instances)
                for block in blocks
            ]  # fmt: skip
            scratch = self._scratch[npu] * placement.instances
            gpus.append(Gpu(*placement.sizes(npu), scratch_chunks=scratch, threadblocks=tuple(spread)))
        rooted = placement.name in ("broadcast", "reduce")
        return Algorithm(
            name, "Simple", placement.name, lanes * placement.instances, placement.total, placement.in_place,
            not placement.in_place, tuple(gpus), self._schedule.collective.root if rooted else None,
        )  # fmt: skip

    def _blocks(self, npu: int) -> list[Threadblock]:
        """Return the threadblocks of one instance on a GPU."""
        by_connection: dict[_Connection, list[_Action]] = {}
        for action in self._actions[npu]:
            by_connection.setdefault(action.connection, []).append(action)
        order = {connection: index for index, connection in enumerate(sorted(by_connection))}
        for actions in by_connection.values():
            step = 0
            for action in actions:
                step += max(len(action.waits) - 1, 0) + -(-action.count // MAX_COUNT)
                action.last_step = step - 1
        blocks = []
        for connection in order:
            side, peer, lane = connection
            gpu = self.placement.gpu_of.get(peer, -1)
            steps = [step for action in by_connection[connection] for step in _steps(action, order)]
            blocks.append(Threadblock(gpu if side == "send" else -1, gpu if side == "recv" else -1, lane, tuple(steps)))
        return blocks

    def _add(
        self,
        npu: int,
        connection: _Connection,
        kind: str,
        source: Spot,
        target: Spot,
        count: int,
        before: list[_Action],
        sent: _Action | None = None,
    ) -> _Action:
        """Add an action of a GPU, waiting for those before it that are not known to be done; `sent` sends to it."""
        key = npu, connection
        previous = self._last.get(key)
        thread = self._threads.setdefault(key, len(self._threads))
        known = self._nothing if previous is None else previous.known
        if sent is not None:
            known = _joined(known, sent)
        missing = {id(each): each for each in before if each.thread != thread and not _has(known, each)}.values()
        waits = [each for each in missing if not any(_follows(other, each) for other in missing)]
        for other in waits:
            other.awaited = True
            known = _joined(known, other)
        rank = 0 if previous is None else previous.rank + 1
        action = _Action(connection, kind, source, target, count, thread, rank, waits, known)
        self._actions[npu].append(action)
        self._last[key] = action
        return action

    def _count(self, message: Message) -> int:
        """Return the chunks of MSCCL in a message."""
        return sum(self.placement.width[chunk] for chunk in message.chunks)


def _has(known: np.ndarray, action: _Action) -> bool:
    """Return whether an action is among those that are known to be done."""
    return bool(known[action.thread] > action.rank)


def _follows(action: _Action, other: _Action) -> bool:
    """Return whether an action is done only after another."""
    return other.rank < action.rank if other.thread == action.thread else _has(action.known, other)


def _joined(known: np.ndarray, action: _Action) -> np.ndarray:
    """Return what is known once an action is done too; arrays are shared, never changed."""
    if _has(known, action):
        return known
    joined = np.maximum(known, action.known)
    joined[action.thread] = max(int(joined[action.thread]), action.rank + 1)
    return joined


def _runs(pairs: list[tuple], width: list[int]) -> list[tuple[Spot, Spot, list[int]]]:
    """Return copies of several chunks each, where these are adjacent at both ends."""
    runs: list[tuple[Spot, Spot, list[int]]] = []
    ends: tuple[Spot, Spot] | None = None
    for source, target, chunk in sorted(pairs):
        if ends == (source, target):
            runs[-1][2].append(chunk)
        else:
            runs.append((source, target, [chunk]))
        ends = Spot(source.buffer, source.offset + width[chunk]), Spot(target.buffer, target.offset + width[chunk])
    return runs


def _steps(action: _Action, order: dict[_Connection, int]) -> list[Step]:
    """Return the steps of an action: a nop for each dependency but the last, then a step for each so many chunks."""
    waits = [(order[other.connection], other.last_step) for other in action.waits] or [(-1, -1)]
    steps = [Step("nop", "i", -1, "o", -1, 0, block, index, False) for block, index in waits[:-1]]
    for done in range(0, action.count, MAX_COUNT):
        last = done + MAX_COUNT >= action.count
        block, index = waits[-1] if not done else (-1, -1)
        (from_, source), (into, target) = action.source, action.target
        steps.append(Step(action.kind, from_, source + done, into, target + done, min(MAX_COUNT, action.count - done),
                          block, index, last and action.awaited))  # fmt: skip
    return steps


def _shifted(block: Threadblock, instance: int, blocks: int, lanes: int, by: dict[str, int]) -> Threadblock:
    """Return an instance's copy of a threadblock: its own channels, threadblocks and parts of the buffers."""
    if not instance:
        return block
    steps = tuple(
        step._replace(
            src_offset=step.src_offset + instance * by[step.src_buffer] if step.cnt else -1,
            dst_offset=step.dst_offset + instance * by[step.dst_buffer] if step.cnt else -1,
            dep_block=step.dep_block + blocks if step.dep_block >= 0 else -1,
        )
        for step in block.steps
    )
    return block._replace(channel=block.channel + instance * lanes, steps=steps)
