"""Networks with slower or faster links: exact integers, the same shape, and what makes no network."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topologies.test_topology import topologies
from topologies import Topology, TopologyError, dgx_a100, ring, scaled

FACTORS = st.integers(1, 4_000_000)


class TestScaled:
    @settings(max_examples=50, deadline=None)
    @given(topologies(), FACTORS, FACTORS)
    def test_nearest_integer(self, topology, latency, bandwidth):
        """Each latency and bandwidth is the nearest whole picosecond and byte per second, halves up."""
        found = scaled(topology, latency / 10**6, bandwidth / 10**6)
        for values, before, parts in (
            (found.latency_ps, topology.latency_ps, latency),
            (found.bytes_per_s, topology.bytes_per_s, bandwidth),
        ):
            exact = [Fraction(int(value) * parts, 10**6) + Fraction(1, 2) for value in before]
            assert values.tolist() == [value.numerator // value.denominator for value in exact]
        assert found.src.tolist() == topology.src.tolist()
        assert found.dst.tolist() == topology.dst.tolist()
        assert (found.num_npus, found.num_switches) == (topology.num_npus, topology.num_switches)

    def test_each_link_by_itself(self):
        """Factors may differ from link to link."""
        found = scaled(ring(2, 50.0, 0.5), np.array([0.8, 1.2]), np.array([1.2, 1.0]))
        assert found.latency_ps.tolist() == [400_000, 600_000]
        assert found.bytes_per_s.tolist() == [60 * 10**9, 50 * 10**9]

    def test_names(self):
        """The name says that it is scaled unless another is given; nodes keep theirs."""
        topology = dgx_a100(2)
        assert scaled(topology, 1.2).name == f"{topology.name}, scaled"
        assert scaled(topology, 1.2, name="slow").name == "slow"
        assert scaled(topology, 1.2).node_name(3) == topology.node_name(3)

    def test_nothing_changed(self):
        """Factors of 1 give the same network, as no latency at all does."""
        assert scaled(dgx_a100(2)) == dgx_a100(2)
        assert scaled(ring(4, 50.0, 0.5), 0.0) == ring(4, 50.0, 0.0)

    def test_large_values_do_not_overflow(self):
        """The largest bandwidth that there may be is scaled right, and past it refused."""
        topology = Topology.from_links(2, [(0, 1, 10.0**10, 5.0 * 10**8)])
        assert scaled(topology, 3.0, 2.0).bytes_per_s.tolist() == [10**18]
        with pytest.raises(TopologyError, match="bandwidth that is not between"):
            scaled(topology, 1.0, 2.1)

    @pytest.mark.parametrize("what", ["latency", "bandwidth"])
    @pytest.mark.parametrize("factor", [-0.1, float("nan"), float("inf"), 1e15])
    def test_factors_refused(self, what, factor):
        """A factor that makes no network is named."""
        with pytest.raises(TopologyError, match=rf"ring:3.*: cannot scale a {what} by {factor:g}".replace("+", r"\+")):
            scaled(ring(3), **{what: np.array([1.0, 1.0, 1.0, factor, 1.0, 1.0])})

    def test_other_refusals(self):
        """No bandwidth is refused with the link, and factors for another network with both numbers."""
        with pytest.raises(TopologyError, match="link 0 .* has a bandwidth that is not between"):
            scaled(ring(3), 1.0, 0.0)
        with pytest.raises(TopologyError, match="one for each of its 6 links, found 3"):
            scaled(ring(3), np.ones(3))
