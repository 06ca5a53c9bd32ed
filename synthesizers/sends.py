"""From sends between NPUs to hops over links: how every baseline puts its exchanges on any network.

A baseline says which chunk goes from which NPU to which. Here each send is routed on a shortest path (a flow where it
takes several links: forwarded by the NPUs between, not stored), bundled sends become messages, and the result is a
``fifo`` schedule: baselines plan no link times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedules import Collective, Schedule
from topologies import Paths, Topology
from topologies.memory import require_memory

#: Bytes that a hop takes at the peak, from listing the sends to simulating them first come, first served.
BYTES_PER_HOP = 150


def routed(
    topology: Topology,
    collective: Collective,
    chunk: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    *,
    reduce: np.ndarray | None = None,
    step: np.ndarray | None = None,
    bundle: np.ndarray | None = None,
    paths: Paths | None = None,
    notes: Mapping[str, Any] | None = None,
) -> Schedule:
    """Return the fifo schedule of sends, each on its shortest route, in the order given.

    Parameters
    ----------
    topology : Topology
        Any network in which the routes exist.
    collective : Collective
        What the sends compute; `chunk` uses its numbers.
    chunk, source, target : (K,) int arrays
        Chunk and NPUs of each send.
    reduce : (K,) bool array, optional
        The target adds.
    step : (K,) int array, optional
        Non-decreasing; see `Schedule`.
    bundle : (K,) int array, optional
        Sends with one id share source and target and go as one message on every link of their route; −1: alone.
    paths : Paths, optional
        Routes already computed for this topology.
    notes : mapping, optional
        For the schedule.

    Raises
    ------
    TopologyError
        A target that cannot be reached.
    """
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    if paths is None:
        paths = Paths(topology, sources=np.unique(source).tolist())
    pairs, pair = np.unique(source * topology.num_nodes + target, return_inverse=True)
    route_start, route_links = paths.routes(pairs // topology.num_nodes, pairs % topology.num_nodes)
    return on_routes(topology, collective, chunk, pair, route_start, route_links, reduce=reduce, step=step,
                     bundle=bundle, notes=notes)  # fmt: skip


def exchanged(
    topology: Topology,
    collective: Collective,
    step: np.ndarray,
    chunk: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    *,
    reduce: np.ndarray | None = None,
    paths: Paths | None = None,
    notes: Mapping[str, Any] | None = None,
) -> Schedule:
    """Return the fifo schedule of exchanges: all that goes from one NPU to another in a step is one message.

    Parameters
    ----------
    step : (K,) int array
        In any order; the sends of a step read what was there before it.

    The others are those of `routed`, which says what is raised too.
    """
    order = np.lexsort((chunk, target, source, step))
    step, chunk, source, target = (np.asarray(column, np.int64)[order] for column in (step, chunk, source, target))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(step) != 0) | (np.diff(source) != 0) | (np.diff(target) != 0)
    message = np.cumsum(first) - 1
    alone = np.bincount(message, minlength=1)[message] == 1
    return routed(topology, collective, chunk, source, target, step=step, bundle=np.where(alone, -1, message),
                  reduce=None if reduce is None else np.asarray(reduce)[order], paths=paths, notes=notes)  # fmt: skip


def on_routes(
    topology: Topology,
    collective: Collective,
    chunk: np.ndarray,
    route: np.ndarray,
    route_start: np.ndarray,
    route_links: np.ndarray,
    *,
    reduce: np.ndarray | None = None,
    step: np.ndarray | None = None,
    bundle: np.ndarray | None = None,
    order: str = "fifo",
    notes: Mapping[str, Any] | None = None,
) -> Schedule:
    """Return the schedule of sends along given routes: send i takes the links of route ``route[i]``.

    Route r is ``route_links[route_start[r]:route_start[r + 1]]``; the other parameters are those of `routed`.
    """
    route = np.asarray(route, np.int64).reshape(-1)
    length = np.diff(route_start)[route]
    hops = int(length.sum())
    require_memory(hops * BYTES_PER_HOP, f"{collective.kind} as {hops} hops")
    send = np.repeat(np.arange(len(route)), length)
    place = np.arange(len(send)) - np.repeat(np.cumsum(length) - length, length)  # position within the route
    several = length > 1
    message = None
    if bundle is not None:
        bundle = np.asarray(bundle, np.int64)[send]
        message = np.where(bundle >= 0, bundle * (int(length.max(initial=1)) + 1) + place, -1)
    return Schedule(
        topology,
        collective,
        chunk=np.asarray(chunk)[send],
        link=np.asarray(route_links)[np.asarray(route_start)[route][send] + place],
        reduce=None if reduce is None else np.asarray(reduce, bool)[send],
        flow=np.where(several[send], send, -1) if several.any() else None,
        step=None if step is None else np.asarray(step)[send],
        message=message,
        order=order,
        notes=dict(notes or {}),
    )
