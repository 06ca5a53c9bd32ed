"""Networks of one size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import TopologyError, fully_connected, hypercube, line, mesh, ring, star, switch, torus


def pairs(topology):
    """Return the (src, dst) pairs in link order."""
    return list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))


class TestRing:
    def test_links_lie_cable_by_cable(self):
        """A ring of 3 lists both directions of each cable together, by ascending NPU."""
        assert pairs(ring(3)) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)]

    def test_one_way_has_one_link_out_of_each_npu(self):
        """A one-way ring of 4 leads round once."""
        assert pairs(ring(4, one_way=True)) == [(0, 1), (1, 2), (2, 3), (3, 0)]

    @pytest.mark.parametrize(("one_way", "name"), [(False, "ring:2"), (True, "ring_one_way:2")])
    def test_ring_of_two_is_one_cable(self, one_way, name):
        """Two NPUs are joined by two links, not four, and one NPU by none."""
        assert pairs(ring(2, one_way=one_way)) == [(0, 1), (1, 0)]
        assert ring(2, one_way=one_way).name == name
        assert ring(1, one_way=one_way).num_links == 0

    def test_equals_the_torus_of_one_dimension(self):
        """A ring and a one-dimensional torus are the same network."""
        assert ring(7, 25.0, 1.0) == torus(7, 25.0, 1.0)

    @pytest.mark.parametrize(("n", "gbps"), [(8, 114.286), (64, 101.587)])
    def test_allgather_optimum(self, allgather_gbps, n, gbps):
        """The AllGather optimum is the one of the known-answers table (bounds.md)."""
        assert allgather_gbps(ring(n)) == pytest.approx(gbps, abs=1e-3)

    @pytest.mark.parametrize("n", [0, -1])
    def test_refuses_a_size_below_one(self, n):
        """The message says what was found and expected."""
        with pytest.raises(TopologyError, match=f"ring: the size is {n}; expected 1 or more"):
            ring(n)

    def test_refuses_what_is_no_whole_number(self):
        """2.5 NPUs and several sizes are refused, numpy integers are taken."""
        with pytest.raises(TopologyError, match=r"ring: the size is 2\.5; expected a whole number"):
            ring(2.5)
        with pytest.raises(TopologyError, match="ring: found 2 sizes, expected 1"):
            ring((2, 2))
        assert ring(np.int32(3)).num_npus == 3

    @pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf")])
    def test_refuses_an_impossible_bandwidth_even_without_links(self, bandwidth):
        """A ring of 1 has no link, and its bandwidth is checked all the same."""
        with pytest.raises(TopologyError, match="ring:1: bandwidth .*expected a finite value of more than 0 GB/s"):
            ring(1, bandwidth)

    def test_refuses_text_for_a_bandwidth(self):
        """Generators take numbers; text belongs to parse_topology."""
        with pytest.raises(TopologyError, match="ring:4: bandwidth '50GB/s'; expected a number of GB/s"):
            ring(4, "50GB/s")


class TestLine:
    def test_is_a_mesh_of_one_dimension(self):
        """A line of 5 has four cables."""
        assert line(5) == mesh(5)
        assert line(5).num_links == 8


class TestStar:
    def test_hub_reaches_every_leaf(self):
        """NPU 0 has a cable to each other NPU, and there is no switch."""
        assert pairs(star(3)) == [(0, 1), (1, 0), (0, 2), (2, 0)]
        assert star(3).num_switches == 0
        assert star(1).num_links == 0


class TestFullyConnected:
    def test_every_ordered_pair_once(self):
        """K5 has each of the 20 ordered pairs once."""
        assert sorted(pairs(fully_connected(5))) == [(a, b) for a in range(5) for b in range(5) if a != b]

    def test_absurd_size_is_refused_with_its_count(self):
        """A million NPUs are refused before any memory is taken."""
        with pytest.raises(TopologyError, match=r"999,999,000,000 links, expected at most 134,217,728"):
            fully_connected(10**6)


class TestHypercube:
    @settings(max_examples=10, deadline=None)
    @given(st.integers(1, 7))
    def test_neighbours_differ_in_one_bit(self, dimensions):
        """Each NPU has one link for each bit."""
        cube = hypercube(dimensions)
        assert all(int(a ^ b).bit_count() == 1 for a, b in pairs(cube))
        assert np.bincount(cube.src).tolist() == [dimensions] * 2**dimensions

    @pytest.mark.parametrize(("dimensions", "gbps"), [(3, 171.429), (6, 304.762)])
    def test_allgather_optimum(self, allgather_gbps, dimensions, gbps):
        """The AllGather optimum is the one of the known-answers table (bounds.md)."""
        assert allgather_gbps(hypercube(dimensions)) == pytest.approx(gbps, abs=1e-3)

    @pytest.mark.parametrize("dimensions", [23, 10**12])
    def test_too_many_dimensions_are_refused_at_once(self, dimensions):
        """2^(10^12) is refused without being computed."""
        with pytest.raises(TopologyError, match="it would have .*expected at most"):
            hypercube(dimensions)


class TestSwitch:
    def test_each_npu_has_a_port(self):
        """Two NPUs are two hops of the given latency apart."""
        network = switch(3, 25.0, 1.0)
        assert pairs(network) == [(0, 3), (3, 0), (1, 3), (3, 1), (2, 3), (3, 2)]
        assert network.num_switches == 1
        assert set(network.latency_us) == {1.0}

    def test_one_npu_needs_no_switch(self):
        """A switch of one NPU has no node and no link besides it."""
        assert (switch(1).num_nodes, switch(1).num_links) == (1, 0)
