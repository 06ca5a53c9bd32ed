"""Tests of `synthesizers.topoopt.paths`: k shortest paths and the choice among them."""

from __future__ import annotations

import time
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizers.topoopt import find_topology, k_shortest_paths, route_traffic
from topologies import Demand, SynthesisError, Topology, fabric, ring


def network(arcs, nodes):
    """Return the network of some (source, target) pairs."""
    return Topology.from_links(nodes, [(a, b, 1.0, 10.0) for a, b in arcs])


def uniform(n, nbytes=1):
    """Return the same bytes between all pairs."""
    traffic = np.full((n, n), nbytes)
    np.fill_diagonal(traffic, 0)
    return traffic


def wired(n, ports):
    """Return n servers with an AllReduce over all of them, wired by the paper's rule."""
    return find_topology(fabric(n, ports), Demand(n, [range(n)], [1000])).topology


class TestKShortestPaths:
    """The function `k_shortest_paths`."""

    @given(st.integers(2, 6), st.integers(0, 2**32), st.integers(1, 7), st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_against_all_paths(self, nodes, seed, k, turned):
        """They are the k shortest of all simple paths; in the order of link numbers also the first of equally long."""
        rng = np.random.default_rng(seed)
        arcs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.5]
        graph = nx.DiGraph(arcs)
        graph.add_nodes_from(range(nodes))
        found = k_shortest_paths(network(arcs, nodes), 0, nodes - 1, k, turned)
        every = [[arcs.index(step) for step in pairwise(path)]
                 for path in nx.all_simple_paths(graph, 0, nodes - 1)]  # fmt: skip
        every.sort(key=lambda path: (len(path), path))
        if not turned:
            assert found == every[:k]
        assert [len(path) for path in found] == [len(path) for path in every[:k]]
        assert len({tuple(path) for path in found}) == len(found)
        assert all(path in every for path in found)

    def test_parallel_links_count_once(self):
        """Paths that differ in parallel links only are one, over the lowest."""
        assert k_shortest_paths(network([(0, 1), (0, 1), (1, 2), (0, 2), (1, 2)], 3), 0, 2, 4) == [[3], [0, 2]]

    def test_no_path(self):
        """Where there is none, none is returned."""
        assert k_shortest_paths(network([(1, 0)], 3), 0, 1, 3) == []
        assert k_shortest_paths(network([(1, 0)], 3), 2, 1, 3) == []

    def test_turned_orders_differ(self):
        """Of equally long paths, pairs of one offset get the same jumps in plain order, and others if turned."""
        topology = wired(16, 3)

        def jumps(source, turned):
            (path,) = k_shortest_paths(topology, source, (source + 10) % 16, 1, turned)
            return [int(topology.dst[link] - topology.src[link]) % 16 for link in path]

        assert len({tuple(jumps(source, False)) for source in range(16)}) == 1
        assert len({tuple(jumps(source, True)) for source in range(16)}) > 1


class TestRouteTraffic:
    """The function `route_traffic`."""

    def test_routes_connect(self):
        """Every pair with traffic has a route from its source to its target, in the order of the matrix."""
        topology = wired(12, 2)
        traffic = np.random.default_rng(1).integers(0, 3, (12, 12))
        np.fill_diagonal(traffic, 0)
        routing = route_traffic(topology, traffic)
        assert [*zip(routing.source, routing.target, strict=True)] == [*map(tuple, np.argwhere(traffic))]
        assert routing.nbytes.tolist() == traffic[traffic > 0].tolist()
        for transfer in range(len(routing.source)):
            route = routing.route(transfer)
            assert topology.src[route].tolist() == [routing.source[transfer], *topology.dst[route[:-1]].tolist()]
            assert topology.dst[route[-1]] == routing.target[transfer]

    def test_one_breadth_first_path(self):
        """With k = 1 hops are distances, so that a uniform all-to-all on 16 {1, 3, 7} is taxed 34/15."""
        routing = route_traffic(wired(16, 3), uniform(16), k=1, turned=False)
        assert routing.bandwidth_tax == 34 / 15
        assert routing.link_bytes.max() == 13  # as the coins in fixed order: by link numbers, ring by ring

    def test_choice_by_load(self):
        """Two pairs that share a link take different paths of three hops, where one path each would share it."""
        arcs = [(0, 1), (1, 3), (0, 2), (2, 3), (4, 0), (3, 5)]
        traffic = np.zeros((6, 6), int)
        traffic[0, 3], traffic[4, 5] = 10, 10
        routing = route_traffic(network(arcs, 6), traffic, k=2)
        assert routing.link_bytes[:4].tolist() == [10, 10, 10, 10]
        assert route_traffic(network(arcs, 6), traffic, k=1, turned=False).link_bytes[:4].tolist() == [20, 20, 0, 0]

    def test_longer_path_where_it_lowers_the_maximum(self):
        """A detour is taken only if the most loaded link of the network would carry more without it."""
        arcs = [(0, 1), (0, 2), (2, 1), (3, 0)]
        traffic = np.zeros((4, 4), int)
        traffic[0, 1], traffic[3, 1] = 10, 4
        routing = route_traffic(network(arcs, 4), traffic)
        assert [len(routing.route(each)) for each in range(2)] == [1, 3]
        traffic[3, 0] = 20  # now 3 -> 0 carries more than either path would
        routing = route_traffic(network(arcs, 4), traffic)
        assert [len(routing.route(each)) for each in range(3)] == [1, 1, 2]

    def test_parallel_links_share(self):
        """Pairs spread over parallel links, and away from the load that is there."""
        topology = network([(0, 1), (0, 1), (1, 2), (1, 2)], 3)
        traffic = np.zeros((3, 3), int)
        traffic[0, 1], traffic[0, 2] = 3, 2
        assert route_traffic(topology, traffic).link_bytes.tolist() in ([3, 2, 2, 0], [2, 3, 2, 0])
        loaded = route_traffic(topology, traffic, load=np.array([9, 0, 9, 0]))
        assert loaded.link_bytes.tolist() == [0, 5, 0, 2]

    def test_more_paths_spread_better(self):
        """On 16 {1, 3, 7} four paths bring the most loaded link from 13 to 12, which is the mean rounded up."""
        routing = route_traffic(wired(16, 3), uniform(16))
        assert routing.link_bytes.max() == 12
        assert 34 / 15 <= routing.bandwidth_tax < 1.02 * 34 / 15

    def test_one_ring_leaves_no_choice(self):
        """On a directed ring every pair goes round."""
        routing = route_traffic(ring(5, one_way=True), uniform(5, 2))
        assert routing.link_bytes.tolist() == [2 * (1 + 2 + 3 + 4)] * 5
        assert routing.bandwidth_tax == 2.5

    def test_deterministic(self):
        """The same traffic takes the same links."""
        topology = wired(32, 4)
        traffic = np.random.default_rng(5).integers(0, 100, (32, 32))
        np.fill_diagonal(traffic, 0)
        first, second = (route_traffic(topology, traffic) for _ in range(2))
        assert first.links.tolist() == second.links.tolist()

    def test_128_servers_in_seconds(self):
        """All pairs of 128 servers with 4 ports and k = 4 take seconds, and spread to within 15 % of the mean."""
        topology = wired(128, 4)
        route_traffic(wired(8, 2), uniform(8))  # compiled
        begun = time.perf_counter()
        routing = route_traffic(topology, uniform(128))
        assert time.perf_counter() - begun < 5  # 0.15 s on a quiet machine
        assert routing.bandwidth_tax == pytest.approx(574 / 127, rel=1e-3)
        assert routing.link_bytes.max() <= 1.15 * 143.5

    def test_nothing_to_route(self):
        """Without traffic there are no routes."""
        assert len(route_traffic(wired(4, 1), np.zeros((4, 4), int)).source) == 0

    def test_refused(self):
        """A pair that no path joins is named with its bytes, as is a k below 1."""
        with pytest.raises(SynthesisError, match="no path from NPU 0 to NPU 2, but 1 bytes to carry"):
            route_traffic(network([(0, 1), (1, 0), (2, 0)], 3), uniform(3))
        with pytest.raises(SynthesisError, match="0 shortest paths; expected 1 or more"):
            route_traffic(wired(4, 1), uniform(4), k=0)
