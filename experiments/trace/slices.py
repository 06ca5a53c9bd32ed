"""Slices: the transfers of a simulated schedule, or of a list of transfers, as columns that a trace is written from.

A slice is the time for which a transfer holds its link. The members of a message cross it as one transfer, so they are
one slice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topologies import Topology
from topologies.exceptions import ScheduleError

if TYPE_CHECKING:
    from simulator import LinkModel, Timeline, TransferList

#: Traces of more hops (about 100 MB) are refused: no viewer opens them.
MAX_HOPS = 250_000


@dataclass(frozen=True, eq=False)
class Slices:
    """What a trace shows.

    Attributes
    ----------
    topology : Topology
    link : (S,) int array
        The link that each slice is of.
    start_ps, release_ps, arrival_ps : (S,) int64 arrays
        When it takes the link, when the link is free again, and when all bytes have come in.
    nbytes : (S,) int64 array
    describe : callable
        Gives the name of a slice, such as ``chunk 3``, and more that a viewer shows, by name.
    cause, effect : (A,) int arrays
        Arrows: the slice that brought what another one sends on, and that other one.
    about : mapping
        What the trace is of, for the file's header.
    """

    topology: Topology
    link: np.ndarray
    start_ps: np.ndarray
    release_ps: np.ndarray
    arrival_ps: np.ndarray
    nbytes: np.ndarray
    describe: Callable[[int], tuple[str, dict[str, object]]]
    cause: np.ndarray
    effect: np.ndarray
    about: dict[str, object]


def require_traceable(hops: int) -> None:
    """Refuse more hops than a viewer can open.

    Raises
    ------
    ScheduleError
        More than `MAX_HOPS`.
    """
    if hops > MAX_HOPS:
        raise ScheduleError(
            f"a trace of {hops:,} hops is too large for any viewer; expected at most {MAX_HOPS:,}: trace a schedule of "
            "fewer chunks, pieces or NPUs"
        )


def slices_of_schedule(times: Timeline) -> Slices:
    """Return the slices of a schedule; arrows lead from each delivery to the sends that read it, and along routes.

    Raises
    ------
    ScheduleError
        More than `MAX_HOPS` hops.
    """
    schedule, dataflow = times.schedule, times.schedule.dataflow
    require_traceable(schedule.num_hops)
    slice_of, first = _merged(schedule.message, schedule.num_hops)
    chunk, reduce = schedule.chunk.astype(np.int64), schedule.reduce
    nbytes = np.zeros(len(first), np.int64)
    np.add.at(nbytes, slice_of, times.durations.chunk_bytes[chunk])
    by_slice = np.argsort(slice_of, kind="stable")
    bounds = np.searchsorted(slice_of[by_slice], np.arange(len(first) + 1))

    def describe(index: int) -> tuple[str, dict[str, object]]:
        """Return the chunks of a slice."""
        hops = by_slice[bounds[index] : bounds[index + 1]]
        chunks = chunk[hops].tolist()
        name = f"chunk {chunks[0]}" if len(chunks) == 1 else f"{len(chunks)} chunks from {chunks[0]}"
        more: dict[str, object] = {"chunk": chunks[0]} if len(chunks) == 1 else {"chunks": chunks}
        return name, more | {"hop": int(hops[0]), "reduce": bool(reduce is not None and reduce[hops].any())}

    cause, effect = _joined((dataflow.reads, dataflow.before), slice_of)
    about = {
        "schedule": schedule.collective.describe(),
        "bytes": times.size,
        "synthesizer": str(schedule.notes.get("synthesizer", "")),
    } | _circumstances(schedule.topology, times.model, times.total_ps)
    return Slices(schedule.topology, schedule.link[first].astype(np.int64), times.start_ps[first],
                  times.release_ps[first], times.end_ps[first], nbytes, describe, cause, effect, about)  # fmt: skip


def slices_of_transfers(transfers: TransferList, model: LinkModel, start_ps: np.ndarray, end_ps: np.ndarray) -> Slices:
    """Return the slices of a list of transfers, from the start and end of its hops.

    Arrows lead along routes, and from each transfer to those that are `after` it.

    Raises
    ------
    ScheduleError
        More than `MAX_HOPS` hops.
    """
    hops, links, route_start = len(transfers.links), transfers.links, transfers.route_start
    require_traceable(hops)
    transfer = transfers.hop_transfer

    def describe(index: int) -> tuple[str, dict[str, object]]:
        """Return the transfer of a slice."""
        name = transfers.ids[int(transfer[index])]
        return f"transfer {name}", {"transfer": name, "hop": index}

    before = np.arange(-1, hops - 1)
    before[route_start[:-1]] = -1
    inner = np.flatnonzero(before >= 0)
    waiting = np.repeat(route_start[:-1], np.diff(transfers.after_start))
    cause = np.concatenate([before[inner], route_start[transfers.after + 1] - 1])
    latency = 0 if model.latency == "blocking" else transfers.topology.latency_ps[links]
    about = _circumstances(transfers.topology, model, int(end_ps.max(initial=0)))
    return Slices(transfers.topology, links, start_ps, end_ps - latency, end_ps, transfers.nbytes[transfer], describe,
                  cause, np.concatenate([inner, waiting]), about)  # fmt: skip


def _merged(message: np.ndarray | None, hops: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the slice of each hop, and the first hop of each slice, in list order."""
    if message is None:
        return np.arange(hops), np.arange(hops)
    alone = np.where(message >= 0, message, hops + np.arange(hops))
    _, first, inverse = np.unique(alone, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[inverse], np.sort(first)


def _joined(columns: tuple[np.ndarray, ...], slice_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each (cause, effect) of slices once, from columns that name an earlier hop, or −1, for each hop."""
    pairs = [np.zeros((0, 2), np.int64)]
    for column in columns:
        hop = np.flatnonzero(column >= 0)
        pairs.append(np.column_stack([slice_of[column[hop]], slice_of[hop]]))
    both = np.unique(np.concatenate(pairs), axis=0)
    return both[:, 0], both[:, 1]


def _circumstances(topology: Topology, model: LinkModel, total_ps: int) -> dict[str, object]:
    """Return network, link model and time, for the file's header."""
    return {
        "topology": topology.name,
        "latency": model.latency,
        "switching": model.switching,
        "time_us": total_ps / 1e6,
    }
