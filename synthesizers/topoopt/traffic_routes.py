"""The routes of what one NPU sends to one other, around what the rings of AllReduce put on the links.

TopoOpt (arXiv 2202.00433, section 4.3) has two ways: the k shortest paths of the whole network (`paths`), and, between
members of a group, sums of the jumps of its rings (CoinChangeMod, `coin_change`), which leave all other cables alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizers.exchange import Routes
from synthesizers.topoopt.coin_change import coin_routes
from synthesizers.topoopt.paths import route_traffic
from synthesizers.topoopt.ring_circuits import Rings, straight_traffic
from synthesizers.topoopt.routing import Routing
from synthesizers.topoopt.wiring import GroupRings
from topologies import Demand, Paths, Topology


def routes_on(topology: Topology, demand: Demand, rings: Rings, paths: int, over: Sequence[GroupRings] = ()) -> Routes:
    """Return a route for each pair that talks: of its shortest paths the one that loads links least, rings counted.

    Members of a group without rings talk too. Where links differ in bandwidth, the fastest path.

    Parameters
    ----------
    topology : Topology
    demand : Demand
    rings : mapping
        Of each AllReduce group.
    paths : int
        Paths to choose from; 0: the first that a breadth-first search finds, as in the released code.
    over : sequence of GroupRings
        What both ends of a pair belong to carries it, the first such rings alone; none: all pairs take `paths`.
    """
    traffic = demand.traffic.copy()
    load = np.zeros(topology.num_links, np.int64)
    for group, nbytes in zip(demand.groups, demand.group_bytes, strict=True):
        of_group = rings[(*sorted(group),)]
        if not of_group:
            one, other, each = straight_traffic(group, nbytes)
            traffic[one, other] += each
        for ring in of_group:
            np.add.at(load, ring.links, 2 * (len(group) - 1) * nbytes // (len(group) * len(of_group)))
    if len(np.unique(topology.bytes_per_s)) > 1:
        pairs = np.flatnonzero(traffic)
        return Routes(pairs, *Paths(topology, sources=np.unique(pairs // topology.num_npus)).routes(
            *np.divmod(pairs, topology.num_npus)))  # fmt: skip
    placed: list[Routing] = []
    for group_rings in over:
        if group_rings.jumps:
            inside = np.zeros(topology.num_npus, bool)
            inside[list(group_rings.members)] = True
            source, target = np.nonzero(traffic * np.outer(inside, inside))
            placed.append(coin_routes(group_rings, topology.num_links, source, target, traffic[source, target],
                                      load=load))  # fmt: skip
            traffic[source, target] = 0
            load = load + placed[-1].link_bytes
    placed.append(route_traffic(topology, traffic, max(paths, 1), turned=paths > 0, load=load))
    routing = Routing.joined(placed)
    pairs = routing.source * topology.num_npus + routing.target
    order = np.argsort(pairs, kind="stable")
    routing = routing.of(order)
    return Routes(pairs[order], routing.start, routing.links)
