"""TopoOpt: the network and the routes for a training job's traffic, chosen together (arXiv 2202.00433, NSDI 2023)."""

from synthesizers.topoopt.coin_change import coin_change, coin_routes, distances
from synthesizers.topoopt.paths import k_shortest_paths, route_traffic
from synthesizers.topoopt.routing import Routing
from synthesizers.topoopt.wiring import GroupRings, Wiring, find_topology

__all__ = [
    "GroupRings",
    "Routing",
    "Wiring",
    "coin_change",
    "coin_routes",
    "distances",
    "find_topology",
    "k_shortest_paths",
    "route_traffic",
]
