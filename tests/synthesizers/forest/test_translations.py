"""Tests of networks that look the same from everywhere, and of their breadth-first trees."""

from __future__ import annotations

import pytest

from synthesizers.forest.spanning import spanning_trees
from synthesizers.forest.translations import translated_trees, translations
from topologies import parse_topology

# Shape of the group that is found first, and diameter.
INVARIANT = {
    "ring:9": ((9,), 4), "ring_one_way:4": ((4,), 3), "torus:4x6": ((4, 6), 5), "torus:3x3x2": ((3, 3, 2), 3),
    "hypercube:4": ((2, 2, 2, 2), 4), "fully_connected:6": ((6,), 1), "torus:8x8@50x75GB/s,0.5us": ((8, 8), 8),
}  # fmt: skip


class TestTranslations:
    @pytest.mark.parametrize("name", INVARIANT)
    def test_found(self, name):
        """Rings, tori, hypercubes and fully connected networks look the same from every NPU."""
        assert translations(parse_topology(name)).shape == INVARIANT[name][0]

    @pytest.mark.parametrize("name", ["mesh:3x3", "line:4", "star:5", "dgx1", "switch:4", "line:1"])
    def test_not_found(self, name):
        """Meshes, stars and networks with switches do not."""
        assert translations(parse_topology(name)) is None

    def test_a_failed_cable_ends_it(self):
        """Nor does a torus that has lost a cable, or whose cables differ."""
        torus = parse_topology("torus:4x4")
        assert translations(torus.without(links=[0])) is None


class TestTrees:
    @pytest.mark.parametrize("name", INVARIANT)
    def test_breadth_first(self, name):
        """Trees are as low as the network is wide, and fill all links alike."""
        topology = parse_topology(name)
        trees, unit = spanning_trees(topology, range(topology.num_npus))
        assert trees.depth().max() == INVARIANT[name][1]
        assert (trees.load(topology.num_links) == [unit * rate for rate in topology.bytes_per_s.tolist()]).all()

    def test_left_to_the_search(self):
        """Where a cut through slow cables binds, and not the links into an NPU, there are no such trees."""
        topology = parse_topology("torus:2x8@100x1GB/s,0.5us")
        assert translated_trees(topology, translations(topology), None) is None
        trees, _ = spanning_trees(topology, range(16))
        assert len(trees.root) % 16 == 0
