"""The schedule IR: an ordered, columnar list of hops. A hop is one crossing of one link by one chunk.

The list order is the program: a hop of chunk c out of NPU u carries what every earlier-listed delivery of c to u made
of it, and no later one. So no dependencies are stored, and memory is versioned by construction. The optional columns
exist only in schedules that need them; see `Schedule`.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from schedules.collective import Collective
from topologies import Topology
from topologies.exceptions import ScheduleError

if TYPE_CHECKING:
    from schedules.dataflow import Dataflow

ORDERS = ("program", "fifo")

#: Below this many hops, kernels get 32-bit columns whatever the stored type: one compiled variant instead of four.
_WIDEN_BELOW = 2**22

NO_IDS = np.zeros(0, np.int32)
NO_FLAGS = np.zeros(0, np.bool_)
# Read-only like real columns: numba compiles a variant of a kernel for each kind of array.
NO_IDS.setflags(write=False)
NO_FLAGS.setflags(write=False)


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """Which chunk crosses which link, in which order.

    Parameters
    ----------
    topology : Topology
        The network that the links belong to.
    collective : Collective
        What the schedule computes; its chunk numbers are the schedule's.
    chunk, link : (H,) int arrays
        The chunk and the link of each hop, stored in 16 bits where they fit, else in 32. An array of that type that
        owns its memory and is read-only is taken over; others are copied.
    reduce : (H,) bool array, optional
        The receiver adds instead of overwriting; absent: all hops copy.
    flow : (H,) int array, optional
        Hops of one route share an id and are listed in route order, not necessarily adjacent; only the last delivers
        to memory. −1: a route of one hop.
    step : (H,) int array, optional
        Non-decreasing; all hops of a step read the state before it. Absent: each hop is its own step.
    message : (H,) int array, optional
        Hops on one link, consecutive in its order, that go as one transfer: latency once, start when all are ready,
        arrive together. −1: alone.
    order : {"program", "fifo"}
        Whether each link carries its hops in list order, or as they become ready (ties in list order).
    notes : mapping
        What the synthesizer wants to tell, the same in every run; kept in files, not part of the identity.
    measured : mapping
        What was measured while it was made, another in every run; in no file, so that files repeat.

    Raises
    ------
    ScheduleError
        Columns of different length, a chunk or link that does not exist, a collective for another number of NPUs.
    """

    topology: Topology
    collective: Collective
    chunk: np.ndarray
    link: np.ndarray
    reduce: np.ndarray | None = None
    flow: np.ndarray | None = None
    step: np.ndarray | None = None
    message: np.ndarray | None = None
    order: str = "program"
    notes: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ScheduleError(f"schedule order {self.order!r}: expected one of {', '.join(ORDERS)}")
        if self.collective.num_npus != self.topology.num_npus:
            raise ScheduleError(
                f"the collective is for {self.collective.num_npus} NPUs, topology {self.topology.name} has "
                f"{self.topology.num_npus}; build both for the same network"
            )
        for name in ("link", "reduce", "flow", "step", "message"):
            column = getattr(self, name)
            if column is not None and np.size(column) != np.size(self.chunk):
                raise ScheduleError(
                    f"schedule column {name} has {np.size(column)} entries for {np.size(self.chunk)} hops"
                )
        limits = {"chunk": self.collective.num_chunks, "link": self.topology.num_links}
        for name, limit in limits.items():
            self._set(name, _narrowed(getattr(self, name), name, limit))
        for name in ("flow", "message", "step"):
            if getattr(self, name) is not None:
                self._set(name, _identifiers(getattr(self, name), name, sparse=name != "step"))
        if self.reduce is not None:
            flags = np.array(self.reduce).reshape(-1)  # a copy, as of the other columns
            if flags.size and flags.dtype != np.bool_:
                raise ScheduleError(f"schedule column reduce: expected booleans, found {flags.dtype}")
            self._set("reduce", flags if flags.any() else None)
        if self.step is not None:
            back = self.step[1:] < self.step[:-1]
            if back.any():
                hop = int(np.argmax(back)) + 1
                raise ScheduleError(f"hop {hop} goes back to step {self.step[hop]} after step {self.step[hop - 1]}")
            if (self.step[1:] > self.step[:-1]).all():
                self._set("step", None)  # each hop is its own step: what absence says
        if self.message is not None:
            named = np.flatnonzero(self.message >= 0)
            link_of = np.zeros(len(self.message), np.int64)
            link_of[self.message[named]] = self.link[named]
            apart = link_of[self.message[named]] != self.link[named]
            if apart.any():
                hop = int(named[np.argmax(apart)])
                raise ScheduleError(f"hop {hop} crosses another link than the rest of its message {self.message[hop]}")

    def _set(self, name: str, column: np.ndarray | None) -> None:
        """Store a column, read-only."""
        if column is not None:
            column.setflags(write=False)
        object.__setattr__(self, name, column)

    def __reduce__(self) -> tuple[type[Schedule], tuple]:
        # Pickled by its fields: what is cached follows, and columns come back read-only.
        return Schedule, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __repr__(self) -> str:
        return f"Schedule({self.collective.describe()} on {self.topology.name}, {self.num_hops} hops, {self.order})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def num_hops(self) -> int:
        """Hops in all."""
        return len(self.chunk)

    @property
    def nbytes(self) -> int:
        """Bytes that the columns take."""
        columns = (self.chunk, self.link, self.reduce, self.flow, self.step, self.message)
        return sum(column.nbytes for column in columns if column is not None)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that the schedule means: network, collective, order and every column."""
        digest = hashlib.sha256(f"{self.topology.fingerprint},{self.collective.fingerprint},{self.order}".encode())
        for name in ("chunk", "link", "reduce", "flow", "step", "message"):
            column = getattr(self, name)
            if column is not None:
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()[:32]

    @cached_property
    def kernel_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(chunk, link, reduce, flow, step, message) for compiled kernels; empty arrays stand for absent columns."""
        chunk, link = self.chunk, self.link
        if self.num_hops < _WIDEN_BELOW:
            chunk, link = chunk.astype(np.uint32), link.astype(np.uint32)
        reduce = NO_FLAGS if self.reduce is None else self.reduce
        flow, step, message = (NO_IDS if ids is None else ids for ids in (self.flow, self.step, self.message))
        return chunk, link, reduce, flow, step, message

    @cached_property
    def dataflow(self) -> Dataflow:
        """Which delivery each hop reads, and what each delivery follows; see `schedules.dataflow`."""
        from schedules.dataflow import analyse

        return analyse(self)

    def reverse(self) -> Schedule:
        """Return the reversed schedule on the reversed network; see `schedules.reversal.reverse`."""
        from schedules.reversal import reverse

        return reverse(self)

    def then(self, following: Schedule, chunk_map: np.ndarray | None = None) -> Schedule:
        """Return this schedule followed by another, without a barrier; see `schedules.composition.then`."""
        from schedules.composition import then

        return then(self, following, chunk_map)

    def selected(self, hops: np.ndarray | slice, **changes: Any) -> Schedule:
        """Return the schedule of the chosen hops (indices in the order given, or a slice), some fields changed."""
        columns = {
            name: None if getattr(self, name) is None else getattr(self, name)[hops]
            for name in ("chunk", "link", "reduce", "flow", "step", "message")
            if name not in changes
        }
        return self.replaced(**(columns | changes))

    def with_notes(self, **notes: Any) -> Schedule:
        """Return the same schedule with some notes added or changed; the columns are shared."""
        clone = copy.copy(self)
        object.__setattr__(clone, "notes", {**self.notes, **notes})
        return clone

    def with_measured(self, **figures: Any) -> Schedule:
        """Return the same schedule with some figures measured; the columns are shared."""
        clone = copy.copy(self)
        object.__setattr__(clone, "measured", {**self.measured, **figures})
        return clone

    def with_stages(self, stages: Sequence[Mapping[str, Any]]) -> Schedule:
        """Return the same schedule with what its stages came to: their ``seconds`` as measured, all else as notes."""
        alike = [{key: value for key, value in stage.items() if key != "seconds"} for stage in stages]
        return self.with_notes(stages=alike).with_measured(stages_s=[stage["seconds"] for stage in stages])

    def on(self, topology: Topology) -> Schedule:
        """Return the same hops on a network of the same shape, whose links may be slower or faster.

        Nothing is copied, and what is known of the dataflow stays.

        Raises
        ------
        ScheduleError
            A network with other nodes, or links between others.
        """
        old = self.topology
        same = (old.num_npus, old.num_switches) == (topology.num_npus, topology.num_switches)
        if not (same and np.array_equal(old.src, topology.src) and np.array_equal(old.dst, topology.dst)):
            raise ScheduleError(
                f"a schedule on {old.name} cannot be carried to {topology.name}: expected the same nodes, and links "
                "between the same ends in the same order"
            )
        clone = object.__new__(Schedule)
        clone.__dict__.update(self.__dict__, topology=topology)
        clone.__dict__.pop("fingerprint", None)  # it depends on the speed of links
        return clone

    def replaced(self, **changes: Any) -> Schedule:
        """Return a copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Schedule(**(fields | changes))


def _narrowed(column: np.ndarray, name: str, limit: int) -> np.ndarray:
    """Return the column in 16 or 32 bits, whichever holds ids below `limit`; refuse ids out of range."""
    array = np.asarray(column)
    if array.ndim != 1:
        array = array.reshape(-1)
    if array.size and array.dtype.kind not in "iu":
        raise ScheduleError(f"schedule column {name}: expected integers, found {array.dtype}")
    signed = array.dtype.kind == "i"
    if array.size and (int(array.max()) >= limit or (signed and int(array.min()) < 0)):
        hop = int(np.argmax((array >= limit) | (array < 0)))
        raise ScheduleError(f"hop {hop} names {name} {array[hop]}; there are {name}s 0…{limit - 1}")
    narrow = np.dtype(np.uint16 if limit <= 2**16 else np.uint32)
    flags = array.flags
    if array is column and array.dtype == narrow and flags.c_contiguous and flags.owndata and not flags.writeable:
        return array
    # A copy even where the type fits: the caller's array must not be frozen or change under the schedule.
    return array.astype(narrow, order="C")


def _identifiers(column: np.ndarray, name: str, sparse: bool) -> np.ndarray | None:
    """Return ids as int32, renumbered where they are wide; None where a sparse column joins no hops."""
    array = np.asarray(column).reshape(-1)
    if array.size and array.dtype.kind not in "iu":
        raise ScheduleError(f"schedule column {name}: expected integers, found {array.dtype}")
    if not sparse:
        if array.size and not -(2**31) <= int(array.min()) <= int(array.max()) < 2**31:
            raise ScheduleError(f"schedule column {name}: expected 32-bit values")
        return array.astype(np.int32, order="C")
    named = array >= 0
    if not named.any():
        return None
    if int(array.max()) >= array.size:
        dense = np.full(array.shape, -1, np.int32)
        dense[named] = np.unique(array[named], return_inverse=True)[1]
    else:
        dense = np.where(named, array, -1).astype(np.int32)
    return dense if (np.bincount(dense[named]) > 1).any() else None  # an id of one hop is as good as none
