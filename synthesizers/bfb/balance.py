"""Balance: what an NPU gets in a step of a breadth-first broadcast, spread so that its last link is done early.

In step t NPU u gets the shards of the sources at distance t, each from neighbours at distance t − 1, in any parts
(Zhao et al., arXiv 2202.03356, the linear program of BFB). The least time is the greatest ratio of sources to the
bandwidth of the links that they can come over, a fraction, found by Newton steps over min cuts as in
`simulator.bounds.cuts`. With shards in P equal pieces a flow of whole pieces takes as long if P is a multiple of the
fraction's denominator; for other P the least time in whole pieces is found the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topologies import Topology

#: Products of rates and sources stay below this, so that no flow overflows.
_MAX_FLOW = 2**61


@dataclass(frozen=True)
class Need:
    """What an NPU must get in one step.

    Attributes
    ----------
    links : (d,) int64 array
        The links into the NPU.
    sources : (n,) int64 array
        Those whose shards it gets, class by class.
    count : (C,) int64 array
        Sources of each class: those whose shards come over the same links.
    usable : (C, d) bool array
        Which links those are; at least one for each class.
    """

    links: np.ndarray
    sources: np.ndarray
    count: np.ndarray
    usable: np.ndarray


def needs_of(topology: Topology, distance: np.ndarray, npu: int) -> list[Need]:
    """Return what an NPU must get in steps 1, 2, …

    Parameters
    ----------
    topology : Topology
        Without switches.
    distance : (num_npus, num_npus) int array
        Links from each NPU to each other, all finite.
    npu : int
    """
    start, into = topology.in_links
    links = into[start[npu] : start[npu + 1]].astype(np.int64)
    away = distance[:, npu]
    usable = distance[:, topology.src[links]] + 1 == away[:, None]
    found = []
    for step in range(1, int(away.max(initial=0)) + 1):
        sources = np.flatnonzero(away == step)
        classes, member, count = np.unique(usable[sources], axis=0, return_inverse=True, return_counts=True)
        by_class = np.argsort(member.reshape(-1), kind="stable")
        found.append(Need(links, sources[by_class], count.astype(np.int64), classes))
    return found


def rates_of(topology: Topology) -> np.ndarray:
    """Return (L,) int64: the bandwidth of each link in the largest unit that divides all, or rounded where huge."""
    rate = topology.bytes_per_s
    unit = int(np.gcd.reduce(rate)) if len(rate) else 1
    # Capacities are p · rate with p ≤ sources, and supplies sources · q with q ≤ the sum of rates into an NPU.
    total = sum(rate.tolist()) * topology.num_npus
    unit = max(unit, -(-total // _MAX_FLOW))
    return np.maximum(rate // unit, 1)


def least_time(needs: Iterable[Need], rates: np.ndarray, pieces: int | None = None) -> Fraction:
    """Return the least time in which every one of some NPUs gets what it must in one step.

    Parameters
    ----------
    needs : iterable of Need
        One for each NPU.
    rates : (L,) int64 array
        As of `rates_of`.
    pieces : int, optional
        Shards are cut into as many equal pieces, which stay whole; any parts by default.

    Returns
    -------
    Fraction
        In shards over a link of rate 1.
    """
    time = Fraction(0)
    for need in needs:
        rate = rates[need.links].astype(object)
        time = max(time, Fraction(int(need.count.sum()), int(rate[need.usable.any(axis=0)].sum())))
        while True:
            supply, room = _capacities(need, rate, time, pieces)
            late = _spread(need, supply, room)[1]
            if not late.any():
                break
            over = need.usable[late].any(axis=0)
            time = _later(time, int(need.count[late].sum()), rate[over].tolist(), pieces)
    return time


def shares(need: Need, rates: np.ndarray, time: Fraction, pieces: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (source, piece, link): over which link an NPU gets each piece, in a time that `least_time` allows."""
    supply, room = _capacities(need, rates[need.links].astype(object), time, pieces)
    flow, late = _spread(need, supply, room)
    assert not late.any(), "least_time() allows for this"
    place = np.tile(np.arange(len(need.links)), len(need.count))
    return (
        np.repeat(need.sources, pieces),
        np.tile(np.arange(pieces), len(need.sources)),
        need.links[np.repeat(place, flow.ravel())],
    )


def _capacities(need: Need, rate: np.ndarray, time: Fraction, pieces: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers for what the classes supply and the links carry in a time, in one unit."""
    if pieces is None:
        return need.count * time.denominator, rate * time.numerator
    return need.count * pieces, rate * pieces * time.numerator // time.denominator


def _later(time: Fraction, sources: int, rates: list[int], pieces: int | None) -> Fraction:
    """Return the least time in which links of some rates carry the shards of so many sources."""
    if pieces is None:
        return Fraction(sources, sum(rates))
    while True:
        room = [math.floor(pieces * time * rate) for rate in rates]
        if sum(room) >= sources * pieces:
            return time
        time = min(Fraction(full + 1, pieces * rate) for full, rate in zip(room, rates, strict=True))


def _spread(need: Need, supply: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a flow (C, d) of what classes supply over links with room, and the classes that have too little."""
    flow = np.where(need.usable, supply[:, None], 0)
    if (need.usable.sum(axis=1) == 1).all():  # nothing to choose
        return flow, (need.usable & (flow.sum(axis=0) > room)).any(axis=1)
    from ortools.graph.python.max_flow import SimpleMaxFlow

    classes, links = need.usable.shape
    source, sink = classes + links, classes + links + 1
    tail, head = np.nonzero(need.usable)
    most = supply.sum()
    flows = SimpleMaxFlow()
    arcs = flows.add_arcs_with_capacity(
        np.concatenate([tail, np.full(classes, source), classes + np.arange(links)]).astype(np.int32),
        np.concatenate([classes + head, np.arange(classes), np.full(links, sink)]).astype(np.int32),
        np.concatenate([supply[tail], supply, np.minimum(room, most)]).astype(np.int64),
    )
    if flows.solve(source, sink) != SimpleMaxFlow.OPTIMAL:
        raise ArithmeticError("max-flow failed")
    late = np.zeros(classes, bool)
    if flows.optimal_flow() < most:
        late[[node for node in flows.get_source_side_min_cut() if node < classes]] = True
    flow[tail, head] = flows.flows(arcs[: len(tail)])
    return flow, late
