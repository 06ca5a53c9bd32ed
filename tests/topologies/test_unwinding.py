"""Switches turned into point-to-point wires."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import Topology, TopologyError, dgx2, dgx_a100, mesh, ndv2, product, ring, switch
from topologies.unwinding import unwind

SWITCHED = [switch(5), product("rs", (3, 4)), product("ss", (3, 3)), ndv2(3), dgx2(3), dgx_a100(2)]


@st.composite
def switched_networks(draw):
    """Draw a strongly connected network with switches: a closed walk over all nodes and some more links."""
    npus, switches = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    walk = draw(st.permutations(range(npus + switches)))
    extra = draw(
        st.lists(st.tuples(*[st.integers(0, npus + switches - 1)] * 2).filter(lambda e: e[0] != e[1]), max_size=8)
    )
    ends = [*zip(walk, [*walk[1:], walk[0]], strict=True), *extra]
    links = [(a, b, 0.5, float(draw(st.integers(1, 100)))) for a, b in ends]
    return Topology.from_links(npus, links, num_switches=switches)


def check(topology, degree):
    """Assert what holds for every unwound network: connected, within port bandwidths, along real routes."""
    unwound, routes = unwind(topology, degree)
    assert (unwound.num_npus, unwound.num_switches) == (topology.num_npus, 0)
    assert len(unwound.components()) == 1
    load = np.zeros(topology.num_links)
    for wire, route in enumerate(routes):
        assert topology.src[route[0]] == unwound.src[wire]
        assert topology.dst[route[-1]] == unwound.dst[wire]
        assert all(topology.dst[a] == topology.src[b] for a, b in pairwise(route))
        assert unwound.latency_us[wire] == pytest.approx(topology.latency_us[list(route)].sum())
        load[list(route)] += unwound.bandwidth_gbps[wire]
    assert (load <= topology.bandwidth_gbps * (1 + 1e-9)).all()


class TestUnwind:
    def test_degree_one_is_a_ring(self):
        """A switch unwound by 1 is a one-way ring of twice the hop latency (TACOS, MICRO'24)."""
        assert switch(4, 50.0, 0.5).unwind_switches() == ring(4, 50.0, 1.0, one_way=True)

    def test_bandwidth_is_divided_by_the_degree(self):
        """Unwound by 2, port i is wired to i+1 and i+2 at half the bandwidth."""
        unwound = switch(4).unwind_switches(2)
        ends = sorted(zip(unwound.src.tolist(), unwound.dst.tolist(), strict=True))
        assert ends == sorted((i, (i + ahead) % 4) for i in range(4) for ahead in (1, 2))
        assert set(unwound.bandwidth_gbps) == {25.0}

    def test_without_switches_nothing_changes(self):
        """A mesh is returned as it is, each link its own route."""
        unwound, routes = unwind(mesh(3))
        assert unwound == mesh(3)
        assert routes == [(0,), (1,), (2,), (3,)]

    @pytest.mark.parametrize("degree", [1, 2, 100])
    @pytest.mark.parametrize("topology", SWITCHED, ids=lambda topology: topology.name)
    def test_known_networks(self, topology, degree):
        """Products and machines stay connected and within their ports, through chains of switches too."""
        check(topology, degree)

    @settings(max_examples=60, deadline=None)
    @given(switched_networks(), st.integers(1, 3))
    def test_any_connected_network(self, topology, degree):
        """One-way ports, parallel cables and chains of switches keep the NPUs connected."""
        check(topology, degree)

    def test_order_of_ports(self):
        """Ports are wired in the order that is given: 0 → 2 → 1 → 3 → 0."""
        unwound, routes = unwind(switch(4, 50.0, 0.5), 1, [0, 2, 1, 3, 4])
        ends = dict(zip(unwound.src.tolist(), unwound.dst.tolist(), strict=True))
        assert ends == {0: 2, 2: 1, 1: 3, 3: 0}
        assert [len(route) for route in routes] == [2, 2, 2, 2]

    def test_refuses_degree_zero(self):
        """The message says what is expected."""
        with pytest.raises(TopologyError, match="degree 0: expected 1 or more"):
            switch(4).unwind_switches(0)
