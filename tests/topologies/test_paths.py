"""Shortest routes."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import Paths, Topology, TopologyError, line, mesh, switch


class TestPaths:
    @settings(max_examples=20, deadline=None)
    @given(st.integers(1, 5), st.integers(1, 5), st.floats(1, 100), st.floats(1, 100))
    def test_costs_agree_with_networkx(self, width, height, x_gbps, y_gbps):
        """On a mesh with different dimensions each route is connected and as short as networkx finds."""
        topology = mesh((width, height), (x_gbps, y_gbps))
        paths = Paths(topology)
        graph = nx.DiGraph()
        graph.add_nodes_from(range(topology.num_npus))
        for link in range(topology.num_links):
            us = topology.latency_us[link] + 2**20 / topology.bandwidth_gbps[link] / 1e3
            graph.add_edge(int(topology.src[link]), int(topology.dst[link]), weight=us)
        lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
        for source in range(topology.num_npus):
            for target in range(topology.num_npus):
                route = paths.route(source, target)
                ends = [source, *topology.dst[route].tolist()]
                assert topology.src[route].tolist() == ends[:-1]
                assert ends[-1] == target
                assert paths.cost[source, target] / 1e6 == pytest.approx(lengths[source][target], rel=1e-6)

    def test_fastest_of_parallel_links(self):
        """Of parallel links the fastest carries the route, of equal ones the first."""
        topology = Topology.from_links(2, [(0, 1, 0.5, 10.0), (0, 1, 0.5, 50.0), (0, 1, 0.5, 50.0)])
        assert Paths(topology).route(0, 1) == [1]

    def test_through_a_switch(self):
        """A route crosses the switch node."""
        assert Paths(switch(3)).route(0, 2) == [0, 5]

    def test_refusals(self):
        """An unreachable target, and a source that was not asked for, are named."""
        with pytest.raises(TopologyError, match="NPU 1 cannot reach NPU 0"):
            Paths(Topology.from_links(2, [(0, 1, 0.5, 50.0)])).route(1, 0)
        with pytest.raises(TopologyError, match="no routes were computed from node 2"):
            Paths(line(4), sources=[0]).route(2, 3)
