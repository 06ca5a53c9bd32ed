"""TopoOpt: the network and the routes for a training job's traffic, chosen together (arXiv 2202.00433, NSDI 2023)."""

from synthesizers.topoopt.coin_change import coin_change, coin_routes, distances
from synthesizers.topoopt.degrees import split_degree
from synthesizers.topoopt.estimate import Estimator
from synthesizers.topoopt.matching import match_rounds
from synthesizers.topoopt.paths import k_shortest_paths, route_traffic
from synthesizers.topoopt.permutations import select_permutations, totient_perms
from synthesizers.topoopt.random_wiring import random_wiring
from synthesizers.topoopt.ring_circuits import circuits, rings_on
from synthesizers.topoopt.routing import Routing
from synthesizers.topoopt.search import Found, Placement, alternate, random_search, search_on
from synthesizers.topoopt.synthesizer import TopoOpt, TopoOptOptions
from synthesizers.topoopt.traffic_routes import routes_on
from synthesizers.topoopt.wiring import GroupRings, Wiring, find_topology

__all__ = [
    "Estimator",
    "Found",
    "GroupRings",
    "Placement",
    "Routing",
    "TopoOpt",
    "TopoOptOptions",
    "Wiring",
    "alternate",
    "circuits",
    "coin_change",
    "coin_routes",
    "distances",
    "find_topology",
    "k_shortest_paths",
    "match_rounds",
    "random_search",
    "random_wiring",
    "rings_on",
    "route_traffic",
    "routes_on",
    "search_on",
    "select_permutations",
    "split_degree",
    "totient_perms",
]
