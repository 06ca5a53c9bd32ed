"""Tests of `routed_ring`: as short as known, in a given order."""

from __future__ import annotations

import pytest

from synthesizers.rings import routed_ring
from tests.synthesizers.rings.checks import require_rings
from topologies import parse_topology


class TestRoutedRing:
    @pytest.mark.parametrize(
        ("name", "links"),
        [
            ("ring:8", 8),
            ("line:9", 16),  # there and back
            ("star:6", 10),
            ("mesh:3x3", 10),  # nine steps, one of them over two links: no closed walk of a bipartite graph is odd
            ("mesh:4x4", 16),
            ("switch:6", 12),
        ],
    )
    def test_is_shortest_on_small_networks(self, name: str, links: int):
        """The routes together take no more links than the shortest closed walk through all NPUs."""
        topology = parse_topology(name)
        there, back = routed_ring(topology, range(topology.num_npus))
        require_rings(topology, list(range(topology.num_npus)), [there, back])
        assert len(there.links) == len(back.links) == links

    def test_follows_a_given_order(self):
        """An order is kept, its reverse starts at the same NPU."""
        topology = parse_topology("fully_connected:5")
        there, back = routed_ring(topology, [4, 3, 2, 1, 0], [0, 2, 4, 1, 3])
        assert there.order.tolist() == [4, 2, 0, 3, 1]
        assert back.order.tolist() == [4, 1, 3, 0, 2]
