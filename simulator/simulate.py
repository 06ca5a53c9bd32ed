"""The alpha-beta simulator: one time for a schedule, or the start and end of each of its hops."""

from __future__ import annotations

import numpy as np

from schedules import Schedule
from simulator.link_model import Durations, LinkModel
from topologies.exceptions import ScheduleError
from topologies.memory import require_memory

#: The bare pass keeps a word per (node, chunk); past this many words per hop (and over this many) the sparse pass runs.
_DENSE_PER_HOP, _DENSE_ALWAYS = 16, 2**22

#: From this many words on the bare pass tries narrow ones first.
_NARROW_FROM, _NARROW = 2**22, (np.dtype(np.uint16), np.dtype(np.uint32))


def simulate_ps(schedule: Schedule, size: int, model: LinkModel | None = None) -> int:
    """Return the completion time of a schedule in picoseconds.

    Parameters
    ----------
    schedule : Schedule
        Any schedule; it need not have been made for this size.
    size : int
        Bytes, by the rule of nccl-tests for its collective.
    model : LinkModel, optional
        ``blocking``, ``cut_through`` by default.

    Raises
    ------
    ScheduleError
        Messages that wait for each other, or times past 53 days.
    """
    model = model or LinkModel()
    topology = schedule.topology
    plain = schedule.flow is None and schedule.step is None and schedule.message is None
    words = topology.num_nodes * schedule.collective.num_chunks
    if schedule.order == "program" and plain and words <= max(_DENSE_PER_HOP * schedule.num_hops, _DENSE_ALWAYS):
        times = Durations(schedule, size)
        if not len(times.per_hop):
            times.require_finite()
            if not schedule.num_hops:
                return 0  # without chunks there are no durations to look up
            return _completion_ps(schedule, times, model.latency == "blocking")
    return int(hop_times(schedule, size, model)[1].max(initial=0))


def _completion_ps(schedule: Schedule, times: Durations, blocking: bool) -> int:
    """Return the completion time by the bare pass, its state in the narrowest type that holds the times."""
    from simulator.in_order import completion

    topology = schedule.topology
    chunk, link, *_ = schedule.kernel_columns
    link_class, arrives, busy = bare_tables(times, blocking)
    words = topology.num_nodes * schedule.collective.num_chunks
    unit = 1
    types: list[np.dtype] = [np.dtype(np.int64)]
    if words >= _NARROW_FROM:
        # In the largest unit that divides all durations, times are small numbers: steps, where all links are alike.
        unit = max(int(np.gcd(np.gcd.reduce(arrives, axis=None), np.gcd.reduce(busy, axis=None))), 1)
        # A link has at least its share of the hops, and each takes as long as the shortest.
        least = int(busy.min()) * (schedule.num_hops // topology.num_links) // unit
        types = [narrow for narrow in _NARROW if least <= np.iinfo(narrow).max] + types
    done = -1
    for of_type in types:
        require_memory(words * of_type.itemsize, f"simulating {schedule.num_hops:,} hops")
        ready = np.zeros(words, of_type)
        done = completion(chunk, link, topology.src, topology.dst, times.size_class, link_class, arrives // unit,
                          busy // unit, ready)  # fmt: skip
        if done >= 0:
            break
    return int(done) * unit


def bare_tables(times: Durations, blocking: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (link_class, arrives, busy) for `simulator.in_order.completion`, in picoseconds."""
    kinds = np.stack([times.alpha, times.rate_class])
    distinct, link_class = np.unique(kinds, axis=1, return_inverse=True)
    wire = np.ascontiguousarray(times.table[:, distinct[1]])  # of one layout: each is a kernel of its own
    arrives = wire + distinct[0]
    return link_class.reshape(-1).astype(np.int32), arrives, arrives if blocking else wire


def simulate_us(schedule: Schedule, size: int, model: LinkModel | None = None) -> float:
    """Return the completion time of a schedule in microseconds; see `simulate_ps`."""
    return simulate_ps(schedule, size, model) / 1e6


def hop_times(schedule: Schedule, size: int, model: LinkModel | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (start, end) of each hop in picoseconds, (H,) int64 each.

    Raises
    ------
    ScheduleError
        Messages that wait for each other, or times past 53 days.
    """
    model = model or LinkModel()
    times = Durations(schedule, size)
    times.require_finite()
    chunk, link, _, _, _, message = schedule.kernel_columns
    dataflow = schedule.dataflow
    blocking, cut_through = model.latency == "blocking", model.switching == "cut_through"
    if schedule.order == "program" and _contiguous(message):
        from simulator.in_order import in_order

        return in_order(
            chunk, link, message, dataflow.reads, dataflow.follows, dataflow.before, times.alpha, times.size_class,
            times.rate_class, times.table, times.per_hop, times.per_message, blocking, cut_through,
        )  # fmt: skip
    from simulator.events import dependents, run

    edge_start, edges = dependents(dataflow.reads)
    start, end, served = run(
        link, hop_wires(times), message, (dataflow.reads >= 0).astype(np.int32), edge_start, edges, dataflow.follows,
        dataflow.before, times.alpha, blocking, cut_through, schedule.order == "program",
    )  # fmt: skip
    if served < schedule.num_hops:
        hop = int(np.argmax(start < 0))
        raise ScheduleError(f"hop {hop} never starts: its message waits, through others, for itself")
    return start, end


def hop_wires(times: Durations) -> np.ndarray:
    """Return (H,) int64: time on the wire of each hop; members of a message all get the message's."""
    schedule = times.schedule
    if not schedule.num_hops:
        return np.zeros(0, np.int64)
    if len(times.per_hop):
        wires = times.per_hop
    else:
        wires = times.table[times.size_class[schedule.chunk], times.rate_class[schedule.link]]
    if schedule.message is not None:
        wires = np.where(schedule.message >= 0, times.per_message[schedule.message], wires)
    return wires


def _contiguous(message: np.ndarray) -> bool:
    """Return whether the members of each message stand together in the list."""
    if not len(message):
        return True
    opens = message[np.flatnonzero(np.diff(message, prepend=-1))]
    opens = opens[opens >= 0]
    return len(np.unique(opens)) == len(opens)
