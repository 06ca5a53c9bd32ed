"""Brute-force twins for the schedule tests: dataflow, meaning and messages of a schedule in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import networkx as nx

from schedules import Schedule


def columns(schedule: Schedule) -> tuple[list, list, list, list, list, list]:
    """Return (chunk, source, target, adds, flow, step) as lists, what is absent spelt out."""
    count, link, topology = schedule.num_hops, schedule.link, schedule.topology
    return (
        schedule.chunk.tolist(),
        topology.src[link].tolist(),
        topology.dst[link].tolist(),
        [False] * count if schedule.reduce is None else schedule.reduce.tolist(),
        [-1] * count if schedule.flow is None else schedule.flow.tolist(),
        list(range(count)) if schedule.step is None else schedule.step.tolist(),
    )


def routes_of(flow: list[int]) -> list[list[int]]:
    """Return the hops of each route, in order."""
    routes: dict[tuple[str, int], list[int]] = {}
    for hop, name in enumerate(flow):
        routes.setdefault(("flow", name) if name >= 0 else ("hop", hop), []).append(hop)
    return list(routes.values())


def judge(schedule: Schedule) -> tuple[str, int | None]:
    """Return what is wrong with a schedule and the hop: `route`, `empty` or `end`; `right` where nothing is.

    Each place holds a multiset of contributions, spelt out.
    """
    chunk, source, target, adds, flow, step = columns(schedule)
    problem, npus = schedule.collective, schedule.topology.num_npus
    routes = routes_of(flow)
    for route in routes:
        joined = all(target[a] == source[b] and chunk[a] == chunk[b] for a, b in pairwise(route))
        if not joined or source[route[0]] >= npus or target[route[-1]] >= npus:
            return "route", None
    last_of = {route[0]: route[-1] for route in routes}
    first_of = {route[-1]: route[0] for route in routes}
    places, wanted = {}, {}
    for c in range(problem.num_chunks):
        holders = problem.set_of(problem.initial[c]).tolist()
        wanted[c] = Counter(holders) if problem.reduces else Counter(["the chunk"])
        places.update({(npu, c): Counter([npu]) if problem.reduces else wanted[c] for npu in holders})
    carried, writer = {}, {}
    for now in sorted(set(step)):
        hops = [hop for hop, when in enumerate(step) if when == now]
        for hop in hops:
            if hop in last_of:
                if (source[hop], chunk[hop]) not in places:
                    return "empty", hop
                carried[hop] = places[source[hop], chunk[hop]]
        for hop in hops:
            if hop in first_of:
                place, value = (target[hop], chunk[hop]), carried[first_of[hop]]
                places[place] = places[place] + value if adds[hop] and place in places else value
                writer[place] = hop
    for c in range(problem.num_chunks):
        for npu in problem.set_of(problem.final[c]).tolist():
            if places.get((npu, c)) != wanted[c]:
                return "end", writer.get((npu, c))
    return "right", None


def dataflow(schedule: Schedule) -> tuple[list[int], list[int], list[int], list[bool]]:
    """Return (reads, follows, before, delivers) by looking back from each hop over all that are listed before it."""
    chunk, source, target, _, flow, step = columns(schedule)
    count = schedule.num_hops
    before, delivers = [-1] * count, [True] * count
    for route in routes_of(flow):
        for a, b in pairwise(route):
            before[b], delivers[a] = a, False
    reads, follows = [-1] * count, [-1] * count
    for hop in range(count):
        for earlier in range(hop):
            if delivers[earlier] and chunk[earlier] == chunk[hop]:
                if before[hop] < 0 and target[earlier] == source[hop] and step[earlier] < step[hop]:
                    reads[hop] = earlier
                if delivers[hop] and target[earlier] == target[hop]:
                    follows[hop] = earlier
    return reads, follows, before, delivers


def message_fault(schedule: Schedule) -> tuple[str, set[int]]:
    """Return `torn`, `circle` or `` and, of a circle, the hops of the messages on circles."""
    message, link = schedule.message.tolist(), schedule.link.tolist()
    reads, follows, before, _ = dataflow(schedule)
    unit = [("message", name) if name >= 0 else ("hop", hop) for hop, name in enumerate(message)]
    graph = nx.DiGraph()
    graph.add_nodes_from(unit)
    for hop in range(schedule.num_hops):
        needed = [before[hop]] if before[hop] >= 0 else []
        delivery = reads[hop]
        while delivery >= 0:
            needed.append(delivery)
            delivery = follows[delivery]
        graph.add_edges_from((unit[other], unit[hop]) for other in needed)
    if schedule.order == "program":
        for one in set(link):
            on_link = [unit[hop] for hop in range(schedule.num_hops) if link[hop] == one]
            order = [a for a, b in pairwise([*on_link, None]) if a != b]
            if len(order) != len(set(order)):
                return "torn", set()
            graph.add_edges_from(pairwise(order))
    circles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
    circles += [{node} for node in nx.nodes_with_selfloops(graph)]
    units = set().union(*circles)
    return ("circle" if units else ""), {hop for hop, name in enumerate(message) if name >= 0 and unit[hop] in units}
