"""Schedules that are right by construction, for tests: random trees, what follows from them, and exchanges."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from schedules import Collective, Schedule, collective
from topologies import Topology, fully_connected, hypercube, line, mesh, ring, star, switch

NETWORKS = (ring(4), mesh((3, 2)), line(3), star(4), fully_connected(4), hypercube(2), switch(4), ring(3))

#: Kinds whose chunks are only copied.
COPYING = ("all_gather", "broadcast", "gather", "scatter", "all_to_all")


def link_of(topology: Topology, source: int, target: int) -> int:
    """Return the first link from one node to another."""
    return int(np.flatnonzero((topology.src == source) & (topology.dst == target))[0])


def hops(topology: Topology, problem: Collective, rows, **fields) -> Schedule:
    """Return the schedule of (chunk, source, target) rows."""
    chunk = np.array([row[0] for row in rows], np.int64)
    link = np.array([link_of(topology, row[1], row[2]) for row in rows], np.int64)
    return Schedule(topology, problem, chunk, link, **fields)


def trees(topology: Topology, problem: Collective, random: np.random.Generator, forwarded: float = 0.0) -> Schedule:
    """Return a schedule of a copying collective: each chunk grows a random tree, all lists shuffled into each other.

    Through switches, and elsewhere with the probability `forwarded`, a chunk takes a route of two links.
    """
    starts, out = topology.out_links
    lists = []
    for c in range(problem.num_chunks):
        has = set(problem.set_of(problem.initial[c]).tolist())
        wanted = set(problem.set_of(problem.final[c]).tolist())
        grown: list[list[int]] = []
        while not wanted <= has:
            at = int(random.choice(sorted(has)))
            route = [int(random.choice(out[starts[at] : starts[at + 1]]))]
            middle = int(topology.dst[route[0]])
            if middle >= topology.num_npus or random.random() < forwarded:
                route.append(int(random.choice(out[starts[middle] : starts[middle + 1]])))
            if int(topology.dst[route[-1]]) not in has | {at}:
                grown.append(route)
                has.add(int(topology.dst[route[-1]]))
        lists.append(grown)
    return shuffled(topology, problem, lists, random)


def shuffled(topology: Topology, problem: Collective, lists, random: np.random.Generator) -> Schedule:
    """Return the lists of routes, one per chunk, merged at random; the hops of a route need not stay together."""
    waiting = [[(c, link, route) for route, links in enumerate(routes) for link in links]
               for c, routes in enumerate(lists)]  # fmt: skip
    several = {(c, route) for c, routes in enumerate(lists) for route, links in enumerate(routes) if len(links) > 1}
    number = {name: index for index, name in enumerate(sorted(several))}
    rows = []
    while any(waiting):
        c = int(random.choice([index for index, rest in enumerate(waiting) if rest]))
        _, link, route = waiting[c].pop(0)
        rows.append((c, link, number.get((c, route), -1)))
    chunk, link, flow = np.array(rows, np.int64).reshape(-1, 3).T
    return Schedule(topology, problem, chunk, link, flow=flow)


@st.composite
def copying(draw, kinds=COPYING, networks=NETWORKS) -> Schedule:
    """Draw a right schedule of a copying collective."""
    topology = draw(st.sampled_from(networks))
    kind = draw(st.sampled_from(kinds))
    npus = list(range(topology.num_npus))
    groups = draw(st.sampled_from([[npus], [npus[::-1]], [npus[1:]], [npus[:1], npus[1:]], [npus[2:], npus[:2]]]))
    chunks = draw(st.integers(1, 2))
    problem = collective(kind, len(npus), groups=groups, chunks=chunks)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    schedule = trees(topology, problem, random, draw(st.sampled_from([0.0, 0.3])))
    if draw(st.booleans()):
        schedule = schedule.replaced(order="fifo")
    return schedule


@st.composite
def exchanging(draw) -> Schedule:
    """Draw a right AllReduce of simultaneous exchanges."""
    return draw(st.sampled_from([one_shot(2), one_shot(3), one_shot(4), doubling(2), doubling(4), doubling(8)]))


@st.composite
def right(draw) -> Schedule:
    """Draw a right schedule: trees, trees reversed, both joined, or exchanges."""
    form = draw(st.sampled_from(["copies", "sums", "both", "exchanges"]))
    if form == "copies":
        return draw(copying())
    if form == "exchanges":
        return draw(exchanging())
    if form == "sums":
        return draw(copying(("all_gather", "broadcast"))).reverse()
    gathered = draw(copying(("all_gather",)))
    mirrored = trees(gathered.topology.reversed(), gathered.collective, np.random.default_rng(gathered.num_hops), 0.2)
    return mirrored.reverse().then(gathered)


def one_shot(ranks: int) -> Schedule:
    """Return the AllReduce in which everyone adds everyone's buffer at once."""
    topology = fully_connected(ranks) if ranks > 2 else line(2)
    rows = [(0, a, b) for a in range(ranks) for b in range(ranks) if a != b]
    return hops(topology, collective("all_reduce", ranks, shards=1), rows, reduce=np.ones(len(rows), bool),
                step=np.zeros(len(rows), int))  # fmt: skip


def doubling(ranks: int) -> Schedule:
    """Return the AllReduce by recursive doubling: in step k, partners 2^k apart add each other's sum."""
    rounds = ranks.bit_length() - 1
    rows = [(0, a, a ^ (1 << k)) for k in range(rounds) for a in range(ranks)]
    return hops(hypercube(rounds), collective("all_reduce", ranks, shards=1), rows, reduce=np.ones(len(rows), bool),
                step=np.repeat(np.arange(rounds), ranks))  # fmt: skip


@st.composite
def mutated(draw, schedule: Schedule) -> Schedule:
    """Draw the schedule with one to three random faults, which may happen to do no harm."""
    for _ in range(draw(st.integers(1, 3))):
        count = schedule.num_hops
        if count == 0:
            return schedule
        hop, other = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
        order = np.arange(count)
        what = draw(st.sampled_from(["drop", "swap", "repeat", "move", "link", "chunk", "reduce", "flow", "step"]))
        if what == "drop":
            schedule = schedule.selected(np.delete(order, hop))
        elif what == "swap":
            order[[hop, other]] = order[[other, hop]]
            schedule = selected(schedule, order)
        elif what == "repeat":
            schedule = selected(schedule, np.insert(order, other, hop))
        elif what == "move":
            schedule = selected(schedule, np.insert(np.delete(order, hop), min(other, count - 1), hop))
        else:
            schedule = schedule.replaced(**{what: _changed(draw, schedule, what, hop)})
    return schedule


def selected(schedule: Schedule, order: np.ndarray) -> Schedule:
    """Return the hops in another order; the steps stay where they are, as far as there are enough."""
    step = schedule.step
    if step is not None:
        step = np.concatenate([step, step[-1:]])[: len(order)]
    return schedule.selected(order, step=step)


def _changed(draw, schedule: Schedule, name: str, hop: int) -> np.ndarray:
    """Draw the column with another entry for one hop."""
    if name in ("chunk", "link"):
        limit = schedule.topology.num_links if name == "link" else schedule.collective.num_chunks
        column = getattr(schedule, name).astype(np.int64)
        column[hop] = draw(st.integers(0, limit - 1))
        return column
    column = getattr(schedule, name)
    if name == "reduce":
        column = np.zeros(schedule.num_hops, bool) if column is None else column.copy()
        column[hop] = ~column[hop]
    elif name == "flow":
        column = np.full(schedule.num_hops, -1) if column is None else column.copy()
        column[hop] = draw(st.integers(-1, schedule.num_hops - 1))
    else:
        column = np.arange(schedule.num_hops) if column is None else column.copy()
        column[hop] = column[hop - 1] if hop else column[hop]
    return column
