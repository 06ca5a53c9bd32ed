"""Tests of `synthesizers.balanced_routes`: routes stay shortest and share the load."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizers.balanced_routes import ShortestLinks, balanced_routes
from topologies import ScheduleError, Topology, fully_connected, hypercube, ring


class TestBalancedRoutes:
    """The function `balanced_routes`."""

    def test_parallel_links_share(self):
        """Sends between one pair are spread over parallel links."""
        network = Topology.from_links(2, [(0, 1, 0.5, 50.0), (1, 0, 0.5, 50.0), (0, 1, 0.5, 50.0)])
        allowed = ShortestLinks(network, np.array([0]), 10)
        start, links = balanced_routes(allowed, np.zeros(4, np.int64), np.ones(4, np.int64))
        assert start.tolist() == [0, 1, 2, 3, 4]
        assert links.tolist() == [0, 2, 0, 2]
        assert not allowed.unique

    def test_routes_are_shortest(self):
        """Every route in a hypercube has as many links as its ends differ in bits, and connects them."""
        network = hypercube(4)
        shift, source = np.divmod(np.arange(16, 256), 16)
        target = (source + shift) % 16
        start, links = balanced_routes(ShortestLinks(network, np.arange(16), 2**20), source, target)
        for send in range(len(source)):
            route = links[start[send] : start[send + 1]]
            assert len(route) == int(source[send] ^ target[send]).bit_count()
            assert network.src[route].tolist() == [source[send], *network.dst[route][:-1].tolist()]
            assert network.dst[route[-1]] == target[send]
        # 16·32 hops, so 8 on each of the 64 links at best; Dijkstra's ties put 27 on one.
        assert np.bincount(links, minlength=64).max() <= 10

    def test_slow_links_count_more(self):
        """A link of half the bandwidth is taken half as often where both are on shortest routes."""
        rows = [(0, 1, 0.0, 50.0), (1, 3, 0.0, 25.0), (0, 2, 0.0, 25.0), (2, 3, 0.0, 50.0)]
        network = Topology.from_links(4, rows)
        _, links = balanced_routes(ShortestLinks(network, np.array([0]), 100), np.zeros(4, np.int64), np.full(4, 3))
        assert np.bincount(links).tolist() == [2, 2, 2, 2]

    def test_unique_routes_are_known(self):
        """A fully connected network leaves no choice."""
        assert ShortestLinks(fully_connected(4), np.arange(4), 2**20).unique

    @pytest.mark.parametrize(("nbytes", "message"), [(2**52, "give a smaller size"), (2**62, "53 days")])
    def test_sizes_past_exact_distances_are_refused(self, nbytes, message):
        """Where sums of weights are not exact, no link would count as on a shortest route."""
        with pytest.raises(ScheduleError, match=message):
            ShortestLinks(ring(4), np.arange(4), nbytes)
