"""A demand as one schedule: AllReduce groups on rings of their own, and one-to-one traffic along given routes.

A buffer that a group adds up is cut into shards, a shard into parts, one for each of the group's rings; part j goes
once round ring j to be added up and once more to be handed out, 2(m−1) steps in all (Patarasuk and Yuan, JPDC 69,
2009), and the shards begin at different places so that every link of a ring is busy in every step. What goes from one
NPU to one other takes its route as a flow: NICs on the way forward it, nobody stores it (TopoOpt, NSDI 2023, section
5). All of it is one ``fifo`` schedule, since nobody plans when a link carries what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedules import Collective, Schedule
from synthesizers.rings import Circuit, going_round
from synthesizers.sends import on_routes
from topologies import Topology
from topologies.exceptions import SynthesisError


@dataclass(frozen=True)
class Routes:
    """A route for each of some pairs of NPUs.

    Attributes
    ----------
    pairs : (P,) int64 array
        ``source · num_npus + target``, ascending.
    start : (P + 1,) int64 array
    links : int64 array
        Pair i takes ``links[start[i]:start[i + 1]]``.
    """

    pairs: np.ndarray
    start: np.ndarray
    links: np.ndarray


def exchange(
    topology: Topology,
    collective: Collective,
    rings: Mapping[tuple[int, ...], Sequence[Circuit]],
    routes: Routes,
    pieces: int = 1,
    notes: Mapping[str, Any] | None = None,
) -> Schedule:
    """Return the schedule of AllReduce shards and one-to-one chunks.

    Parameters
    ----------
    topology : Topology
    collective : Collective
        AllReduce, AllToAll, SendRecv, or a custom one as `schedules.demanded` makes it.
    rings : mapping
        For each AllReduce group, its NPUs in ascending order, the rings over it.
    routes : Routes
        Of every pair that talks.
    pieces : int
        Pieces for each ring of a group; one-to-one chunks are cut as often as shards are.
    notes : mapping, optional
        For the schedule.

    Raises
    ------
    SynthesisError
        A part that is neither, a group without rings, a pair without a route.
    """
    before, after = (sets[:: collective.chunks] for sets in (collective.initial, collective.final))
    alone = np.diff(collective.set_start)
    _require_all(collective, before, after, alone)
    groups = {}
    for index in np.unique(before[(before == after) & (alone[before] > 1)]).tolist():
        members = (*collective.set_of(index).tolist(),)
        if not rings.get(members):
            raise SynthesisError(f"exchange: no ring is given for the group {members}")
        groups[index] = rings[members]
    cut = collective.refined(math.lcm(*map(len, groups.values())) * pieces)
    columns = []
    for index, of_group in groups.items():
        shards = np.flatnonzero((before == index) & (after == index))
        columns += [_once_round(cut, shards, ring, number, len(of_group)) for number, ring in enumerate(of_group)]
    moves = np.flatnonzero((alone[before] == 1) & (alone[after] == 1) & (before != after))
    columns.append(_sent(cut, moves, before, after, routes))
    starts = [np.zeros(1, np.int64)]
    first = num_links = 0
    for each in columns:  # routes of all parts, one after another
        starts.append(each.start[1:] + num_links)
        each.route = each.route + first
        first += len(each.start) - 1
        num_links += len(each.links)
    step, chunk, route, reduces = (
        np.concatenate([getattr(each, name) for each in columns]) for name in ("step", "chunk", "route", "reduces")
    )
    links = np.concatenate([each.links for each in columns])
    listed = np.argsort(step, kind="stable")
    return on_routes(
        topology, cut, chunk[listed], route[listed], np.concatenate(starts), links,
        reduce=reduces[listed] if cut.reduces else None, notes={**(notes or {}), "pieces": pieces},
    )  # fmt: skip


@dataclass
class _Sends:
    """Sends in columns, and the routes that they take."""

    step: np.ndarray
    chunk: np.ndarray
    route: np.ndarray
    reduces: np.ndarray
    start: np.ndarray
    links: np.ndarray


def _once_round(cut: Collective, shards: np.ndarray, ring: Circuit, number: int, rings: int) -> _Sends:
    """Return the sends of the parts of a group's shards that belong to ring `number` of `rings`."""
    ranks = len(ring.order)
    chunks = (shards[:, None] * cut.chunks + np.arange(number, cut.chunks, rings)).T  # (parts, shards)
    step, chunk, place = going_round(chunks, np.arange(len(shards)), ranks, 2 * (ranks - 1))
    return _Sends(step, chunk, place, step < ranks - 1, ring.start, ring.links)


def _sent(cut: Collective, moves: np.ndarray, before: np.ndarray, after: np.ndarray, routes: Routes) -> _Sends:
    """Return the sends of what goes from one NPU to one other."""
    source, target = (cut.set_member[cut.set_start[sets[moves]]].astype(np.int64) for sets in (before, after))
    pair = source * cut.num_npus + target
    at = np.minimum(np.searchsorted(routes.pairs, pair), max(len(routes.pairs) - 1, 0))
    if len(pair) and (not len(routes.pairs) or (routes.pairs[at] != pair).any()):
        missing = int(pair[0] if not len(routes.pairs) else pair[np.argmax(routes.pairs[at] != pair)])
        raise SynthesisError(f"exchange: no route from NPU {missing // cut.num_npus} to NPU {missing % cut.num_npus}")
    # Everybody's next, then everybody's second next: were they in the order of targets, all would send to one at once.
    turn = np.lexsort((source, (target - source) % cut.num_npus))
    moves, at = moves[turn], at[turn]
    chunk = (moves[:, None] * cut.chunks + np.arange(cut.chunks)).ravel()
    count = len(chunk)
    return _Sends(np.zeros(count, np.int64), chunk, np.repeat(at, cut.chunks), np.zeros(count, bool), routes.start,
                  routes.links)  # fmt: skip


def _require_all(cut: Collective, before: np.ndarray, after: np.ndarray, alone: np.ndarray) -> None:
    """Refuse parts that are neither added up by those who hold them nor sent from one NPU to one other."""
    summed = (before == after) & ((alone[before] == 1) | cut.reduces)
    other = np.flatnonzero(~(summed | ((alone[before] == 1) & (alone[after] == 1)) | (alone[after] == 0)))
    if len(other):
        raise SynthesisError(f"exchange: part {int(other[0])} of the {cut.kind} is neither an AllReduce nor from one "
                             "NPU to one other")  # fmt: skip
