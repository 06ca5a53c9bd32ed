"""A demand as one schedule: AllReduce groups on rings of their own, and one-to-one traffic along given routes.

A buffer that a group adds up is cut into shards, a shard into parts, one for each of the group's rings; part j goes
once round ring j to be added up and once more to be handed out, 2(m−1) steps in all (Patarasuk and Yuan, JPDC 69,
2009), and the shards begin at different places so that every link of a ring is busy in every step. What goes from one
NPU to one other takes its route as a flow: NICs on the way forward it, nobody stores it (TopoOpt, NSDI 2023, section
5). A group may also go without rings: all send each shard straight to the NPU that adds it up, and that one hands it
out, two steps instead of 2(m−1), each of which would wait behind what else its link carries. All of it is one
``fifo`` schedule, since nobody plans when a link carries what.
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
        For each AllReduce group, its NPUs in ascending order, the rings over it; none: its NPUs send straight.
    routes : Routes
        Of every pair that talks, those of groups without rings among them.
    pieces : int
        Pieces for each ring of a group; one-to-one chunks are cut into as many messages.
    notes : mapping, optional
        For the schedule.

    Raises
    ------
    SynthesisError
        A part that is neither, a group that is not in `rings`, a pair without a route.
    """
    before, after = (sets[:: collective.chunks] for sets in (collective.initial, collective.final))
    alone = np.diff(collective.set_start)
    _require_all(collective, before, after, alone)
    groups = {}
    for index in np.unique(before[(before == after) & (alone[before] > 1)]).tolist():
        members = (*collective.set_of(index).tolist(),)
        if members not in rings:
            raise SynthesisError(f"exchange: no ring is given for the group {members}")
        groups[index] = rings[members]
    parts = math.lcm(*(len(each) or 1 for each in groups.values()))
    cut = collective.refined(parts * pieces)
    columns = []
    for index, of_group in groups.items():
        shards = np.flatnonzero((before == index) & (after == index))
        columns += [_once_round(cut, shards, ring, number, len(of_group)) for number, ring in enumerate(of_group)]
        if not of_group:
            columns.append(_straight(cut, shards, cut.set_of(index).astype(np.int64), routes))
    moves = np.flatnonzero((alone[before] == 1) & (alone[after] == 1) & (before != after))
    columns.append(_sent(cut, moves, before, after, routes, parts))
    starts = [np.zeros(1, np.int64)]
    first = num_links = bundles = 0
    for each in columns:  # routes of all parts, one after another
        starts.append(each.start[1:] + num_links)
        each.route = each.route + first
        first += len(each.start) - 1
        num_links += len(each.links)
        each.bundle = np.where(each.bundle < 0, -1, each.bundle + bundles)
        bundles = max(bundles, int(each.bundle.max(initial=-1)) + 1)
    step, chunk, route, reduces, bundle = (
        np.concatenate([getattr(each, name) for each in columns])
        for name in ("step", "chunk", "route", "reduces", "bundle")
    )
    links = np.concatenate([each.links for each in columns])
    listed = np.argsort(step, kind="stable")
    return on_routes(
        topology, cut, chunk[listed], route[listed], np.concatenate(starts), links,
        reduce=reduces[listed] if cut.reduces else None, bundle=bundle[listed] if bundles else None,
        notes={**(notes or {}), "pieces": pieces},
    )  # fmt: skip


@dataclass
class _Sends:
    """Sends in columns, and the routes that they take; those of one bundle go as one message, those of −1 alone."""

    step: np.ndarray
    chunk: np.ndarray
    route: np.ndarray
    reduces: np.ndarray
    bundle: np.ndarray
    start: np.ndarray
    links: np.ndarray


def _once_round(cut: Collective, shards: np.ndarray, ring: Circuit, number: int, rings: int) -> _Sends:
    """Return the sends of the parts of a group's shards that belong to ring `number` of `rings`."""
    ranks = len(ring.order)
    chunks = (shards[:, None] * cut.chunks + np.arange(number, cut.chunks, rings)).T  # (parts, shards)
    step, chunk, place = going_round(chunks, np.arange(len(shards)), ranks, 2 * (ranks - 1))
    return _Sends(step, chunk, place, step < ranks - 1, np.full(len(step), -1), ring.start, ring.links)


def _straight(cut: Collective, shards: np.ndarray, members: np.ndarray, routes: Routes) -> _Sends:
    """Return the sends of a group's shards: shard i is added up by member i (mod m), and handed out by it."""
    owner = np.arange(len(shards)) % len(members)
    # Everybody's next, then everybody's second next, as in `_sent`.
    turn, shard, piece = (
        each.ravel() for each in np.meshgrid(np.arange(1, len(members)), np.arange(len(shards)), np.arange(cut.chunks),
                                             indexing="ij")
    )  # fmt: skip
    home, other = members[owner[shard]], members[(owner[shard] + turn) % len(members)]
    out, back = _routes_of(cut, other, home, routes), _routes_of(cut, home, other, routes)
    step = np.repeat(np.arange(2), len(turn))
    bundle = np.arange(len(step)) // cut.chunks if cut.chunks > 1 else np.full(len(step), -1)
    return _Sends(step, np.tile(shards[shard] * cut.chunks + piece, 2), np.concatenate([out, back]), step == 0,
                  bundle, routes.start, routes.links)  # fmt: skip


def _sent(
    cut: Collective, moves: np.ndarray, before: np.ndarray, after: np.ndarray, routes: Routes, together: int
) -> _Sends:
    """Return the sends of what goes from one NPU to one other, so many chunks in a message."""
    source, target = (cut.set_member[cut.set_start[sets[moves]]].astype(np.int64) for sets in (before, after))
    at = _routes_of(cut, source, target, routes)
    # Everybody's next, then everybody's second next: were they in the order of targets, all would send to one at once.
    turn = np.lexsort((source, (target - source) % cut.num_npus))
    moves, at = moves[turn], at[turn]
    chunk = (moves[:, None] * cut.chunks + np.arange(cut.chunks)).ravel()
    count = len(chunk)
    # It is cut for the sake of rings; each part would wait out a latency on each link.
    bundle = np.arange(count) // together if together > 1 else np.full(count, -1)
    return _Sends(np.zeros(count, np.int64), chunk, np.repeat(at, cut.chunks), np.zeros(count, bool), bundle,
                  routes.start, routes.links)  # fmt: skip


def _routes_of(cut: Collective, source: np.ndarray, target: np.ndarray, routes: Routes) -> np.ndarray:
    """Return which route leads from each source to its target."""
    pair = source * cut.num_npus + target
    at = np.minimum(np.searchsorted(routes.pairs, pair), max(len(routes.pairs) - 1, 0))
    if len(pair) and (not len(routes.pairs) or (routes.pairs[at] != pair).any()):
        missing = int(pair[0] if not len(routes.pairs) else pair[np.argmax(routes.pairs[at] != pair)])
        raise SynthesisError(f"exchange: no route from NPU {missing // cut.num_npus} to NPU {missing % cut.num_npus}")
    return at


def _require_all(cut: Collective, before: np.ndarray, after: np.ndarray, alone: np.ndarray) -> None:
    """Refuse parts that are neither added up by those who hold them nor sent from one NPU to one other."""
    summed = (before == after) & ((alone[before] == 1) | cut.reduces)
    other = np.flatnonzero(~(summed | ((alone[before] == 1) & (alone[after] == 1)) | (alone[after] == 0)))
    if len(other):
        raise SynthesisError(f"exchange: part {int(other[0])} of the {cut.kind} is neither an AllReduce nor from one "
                             "NPU to one other")  # fmt: skip
