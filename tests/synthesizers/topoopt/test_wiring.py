"""Tests of `synthesizers.topoopt.wiring`: what is wired fits the ports, and joins all servers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizers.topoopt import find_topology, route_traffic
from synthesizers.topoopt.permutations import totient_perms
from topologies import Demand, SynthesisError, fabric, require_connected


@st.composite
def demands(draw):
    """Return a demand of a few servers with groups that may overlap and traffic of some pairs."""
    servers = draw(st.integers(2, 10))
    one = st.lists(st.integers(0, servers - 1), min_size=2, unique=True)
    groups = draw(st.lists(one, max_size=4))
    sizes = [draw(st.integers(0, 1000)) for _ in groups]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    traffic = rng.integers(1, 1000, (servers, servers)) * (rng.random((servers, servers)) < draw(st.floats(0, 1)))
    np.fill_diagonal(traffic, 0)
    return Demand(servers, groups, sizes, traffic)


def check(wiring, demand):
    """Assert all that holds of every wiring."""
    topology, ports = wiring.topology, wiring.fabric.ports
    for ends in (topology.src, topology.dst):
        assert np.bincount(ends, minlength=demand.num_npus).max() <= ports
    assert wiring.fabric.fault(topology) is None
    require_connected(topology)
    every = [rings for rings in (*wiring.groups, wiring.connecting) if rings is not None]
    used = [link for rings in every for link in rings.links.ravel().tolist()] + wiring.cables.ravel().tolist()
    assert sorted(used) == list(range(topology.num_links))
    assert [rings.members for rings in wiring.groups] == list(demand.groups)
    for rings in every:
        k = len(rings.members)
        assert rings.links.shape == (len(rings.jumps), k)
        for p, links in zip(rings.jumps, rings.links, strict=True):
            assert p in totient_perms(k)
            assert topology.src[links].tolist() == list(rings.members)
            assert topology.dst[links].tolist() == [rings.members[(i + p) % k] for i in range(k)]
    pairs = [pair for each in wiring.matched for pair in each]
    for (a, b), (there, back) in zip(pairs, wiring.cables.tolist(), strict=True):
        assert (topology.src[there], topology.dst[there]) == (a, b)
        assert (topology.src[back], topology.dst[back]) == (b, a)
    for rings, size in zip(wiring.groups, demand.group_bytes, strict=True):
        assert size or not rings.jumps


class TestFindTopology:
    """The function `find_topology`."""

    @given(demands(), st.integers(1, 5), st.sampled_from(["paper", "released", "exhaustive"]))
    @settings(max_examples=150, deadline=None)
    def test_ports_and_connection(self, demand, ports, variant):
        """No server has more links than ports, every link is a ring's or a cable's, and all servers are joined."""
        if variant == "released":
            ports *= 2
        check(find_topology(fabric(demand.num_npus, ports), demand, variant), demand)

    @given(demands(), st.integers(2, 5))
    @settings(max_examples=40, deadline=None)
    def test_no_port_is_wasted(self, demand, ports):
        """No group with bytes could have another ring, and no pair with traffic another cable."""
        wiring = find_topology(fabric(demand.num_npus, ports), demand)
        left = ports - np.bincount(wiring.topology.src, minlength=demand.num_npus)
        assert all(left[list(group)].min() == 0
                   for group, size in zip(demand.groups, demand.group_bytes, strict=True) if size)  # fmt: skip
        assert not (demand.traffic * np.outer(left, left)).any()

    @pytest.mark.parametrize(
        ("n", "ports", "variant", "jumps"),
        [
            (16, 3, "paper", (1, 3, 7)),
            (12, 3, "paper", (1, 5, 11)),
            (128, 4, "paper", (1, 3, 11, 37)),
            (16, 2, "exhaustive", (1, 7)),
            (12, 4, "released", (1, 11, 5, 7)),
            (16, 6, "released", (1, 15, 3, 13, 7, 9)),
        ],
    )
    def test_all_reduce_alone(self, n, ports, variant, jumps):
        """Without model-parallel traffic all ports go to rings of the one group."""
        wiring = find_topology(fabric(n, ports), Demand(n, [range(n)], [2**30]), variant)
        assert wiring.groups[0].jumps == jumps
        assert wiring.degrees == (ports, 0)
        assert wiring.connecting is None
        assert wiring.topology.num_links == n * ports

    def test_name(self):
        """The network is named after its fabric."""
        demand = Demand(4, [range(4)], [1])
        assert find_topology(fabric(4, 2), demand).topology.name == "fabric:4x2, topoopt"
        assert find_topology(fabric(4, 2), demand, "released").topology.name == "fabric:4x2, topoopt (released)"

    def test_rings_and_cables(self):
        """With as much traffic as AllReduce two of four ports match, twice the same pairs if these are heavy."""
        traffic = np.zeros((4, 4), int)
        traffic[0, 1] = traffic[2, 3] = 800
        traffic[0, 2] = traffic[1, 3] = 300
        wiring = find_topology(fabric(4, 4), Demand(4, [range(4)], [2200], traffic))
        assert wiring.degrees == (2, 2)
        assert wiring.groups[0].jumps == (1, 3)
        assert wiring.matched == (((0, 1), (2, 3)), ((0, 1), (2, 3)))
        assert wiring.cables.tolist() == [[8, 9], [10, 11], [12, 13], [14, 15]]

    @pytest.mark.parametrize(
        ("reduced", "moved", "buffers", "sent"),
        [(3, 1, (3, 1), (4, 0)), (1, 1, (2, 2), (4, 0)), (1, 3, (1, 3), (4, 0)), (1, 100, (1, 3), (1, 3))],
    )  # fmt: skip
    def test_both_readings_of_the_split(self, reduced, moved, buffers, sent):
        """Ports are split by the bytes of buffers as in the paper, by those that rings send, or as told."""
        traffic = np.zeros((8, 8), int)
        traffic[0, 4] = moved * 10**6
        demand = Demand(8, [range(8)], [reduced * 10**6], traffic)
        assert find_topology(fabric(8, 4), demand).degrees == buffers
        assert find_topology(fabric(8, 4), demand, split="sent").degrees == sent
        assert find_topology(fabric(8, 4), demand, split=2).degrees == (2, 2)

    def test_group_in_another_order(self):
        """Rings follow the group's rank order, not the servers' numbers."""
        wiring = find_topology(fabric(5, 1), Demand(5, [(4, 2, 0, 1, 3)], [1]))
        assert wiring.topology.src.tolist() == [4, 2, 0, 1, 3]
        assert wiring.topology.dst.tolist() == [2, 0, 1, 3, 4]

    def test_ports_that_no_pair_wants(self):
        """Traffic of pairs that leave a server out cannot use its ports; a group without the pair gets them."""
        traffic = np.zeros((6, 6), int)
        traffic[4, 5] = 2520
        wiring = find_topology(fabric(6, 4), Demand(6, [range(6), range(4)], [60, 40], traffic))
        assert wiring.degrees == (1, 3)
        assert len(wiring.groups[0].jumps) == 1
        assert wiring.matched == (((4, 5),),) * 3
        assert len(wiring.groups[1].jumps) == 3

    def test_parallel_rings(self):
        """Two servers have one jump: four ports are four parallel links each way."""
        wiring = find_topology(fabric(2, 4), Demand(2, [(0, 1)], [1]))
        assert wiring.groups[0].jumps == (1, 1, 1, 1)
        check(wiring, Demand(2, [(0, 1)], [1]))

    def test_released_on_all_ports(self):
        """The released variant ignores model-parallel traffic: as many rings with it, and no cables."""
        traffic = np.full((8, 8), 10**6)
        np.fill_diagonal(traffic, 0)
        wiring = find_topology(fabric(8, 4), Demand(8, [range(8)], [1], traffic), "released")
        assert wiring.degrees == (4, 0)
        assert wiring.matched == ()
        assert wiring.groups[0].jumps == (1, 7, 3, 5)

    def test_light_traffic_still_finds_its_way(self):
        """On every wiring all model-parallel traffic can be routed."""
        traffic = np.full((12, 12), 5)
        np.fill_diagonal(traffic, 0)
        demand = Demand(12, [range(6), range(6, 12)], [10**6, 10**6], traffic)
        for variant in ("paper", "released", "exhaustive"):
            routing = route_traffic(find_topology(fabric(12, 4), demand, variant).topology, traffic)
            assert len(routing.source) == 132


class TestConnection:
    """What joins servers that groups and cables do not."""

    def test_ring_set_aside(self):
        """Two pods that would use all ports are joined by a ring on one port of each server."""
        wiring = find_topology(fabric(16, 4), Demand(16, [range(8), range(8, 16)], [1, 1]))
        assert [rings.jumps for rings in wiring.groups] == [(1, 3, 5), (1, 3, 5)]
        assert wiring.degrees == (3, 0)
        # Of the odd jumps 7 and 9 lead into the other pod most often, 14 times of 16.
        assert wiring.connecting.jumps == (7,)
        pod = np.arange(16) // 8
        ends = wiring.topology.src[wiring.connecting.links], wiring.topology.dst[wiring.connecting.links]
        assert (pod[ends[0]] != pod[ends[1]]).sum() == 14

    def test_crossing_more_often_saves_hops(self):
        """Traffic between two pods takes fewer hops than over a joining ring of jump 1, which crosses twice."""
        traffic = np.zeros((16, 16), int)
        traffic[:8, 8:] = traffic[8:, :8] = 1
        pods = [range(8), range(8, 16)]
        wiring = find_topology(fabric(16, 4), Demand(16, pods, [1, 1]))
        ours = route_traffic(wiring.topology, traffic)
        dst = wiring.topology.dst.copy()
        dst[wiring.connecting.links[0]] = (np.arange(16) + 1) % 16
        other = route_traffic(wiring.fabric.wired(wiring.topology.src, dst, "jump 1"), traffic)
        assert ours.bandwidth_tax < other.bandwidth_tax
        assert 3 * ours.link_bytes.max() <= other.link_bytes.max()

    def test_ring_on_ports_that_are_left(self):
        """Where every server has a port left after the matching, nothing is set aside."""
        traffic = np.zeros((4, 4), int)
        traffic[0, 1] = 3
        wiring = find_topology(fabric(4, 2), Demand(4, [(2, 3)], [1], traffic))
        assert wiring.connecting is not None
        check(wiring, Demand(4, [(2, 3)], [1], traffic))

    def test_cables_may_join(self):
        """Pods that cables join need no ring over all."""
        traffic = np.zeros((4, 4), int)
        traffic[0, 2] = traffic[1, 3] = 20
        wiring = find_topology(fabric(4, 2), Demand(4, [(0, 1), (2, 3)], [10, 10], traffic))
        assert wiring.connecting is None
        assert wiring.matched == (((0, 2), (1, 3)),)

    def test_one_port(self):
        """With one port all servers are on one ring, and pods have none of their own."""
        wiring = find_topology(fabric(4, 1), Demand(4, [(0, 1), (2, 3)], [10, 10]))
        assert wiring.connecting.jumps == (1,)
        assert [rings.jumps for rings in wiring.groups] == [(), ()]

    def test_group_of_all_servers_takes_the_ring(self):
        """A light group of all servers that pods left without a port is given the joining ring as its own."""
        wiring = find_topology(fabric(4, 2), Demand(4, [(0, 1), (2, 3), range(4)], [100, 100, 1]))
        assert wiring.connecting is None
        assert wiring.groups[2].jumps == (1,)
        assert [len(rings.jumps) for rings in wiring.groups[:2]] == [1, 1]

    def test_model_parallel_alone(self):
        """Without AllReduce d_A is 0; where the cables do not join all servers a ring does, else none is there."""
        traffic = np.zeros((6, 6), int)
        traffic[0, 1] = traffic[2, 3] = traffic[4, 5] = 7
        wiring = find_topology(fabric(6, 3), Demand(6, traffic=traffic))
        assert wiring.degrees == (0, 2)
        assert wiring.connecting.jumps == (1,)
        assert wiring.matched == (((0, 1), (2, 3), (4, 5)),) * 2
        full = np.full((4, 4), 3)
        np.fill_diagonal(full, 0)
        wiring = find_topology(fabric(4, 3), Demand(4, traffic=full))
        assert wiring.connecting is None
        assert sorted(pair for pairs in wiring.matched for pair in pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3),
                                                                              (2, 3)]  # fmt: skip

    def test_released_without_groups(self):
        """The released variant then lays its rings over all servers."""
        traffic = np.zeros((16, 16), int)
        traffic[0, 1] = 1
        wiring = find_topology(fabric(16, 4), Demand(16, traffic=traffic), "released")
        assert wiring.connecting.jumps == (1, 15, 5, 11)


class TestRefused:
    """What `find_topology` refuses."""

    def test_sizes(self):
        """A demand of other servers and a single server are refused."""
        with pytest.raises(SynthesisError, match="a demand of 3 servers; expected one of 4"):
            find_topology(fabric(4, 2), Demand(3))
        with pytest.raises(SynthesisError, match="one server has nobody to be wired to"):
            find_topology(fabric(1, 2), Demand(1))

    def test_variants(self):
        """An odd degree cannot be released, many jumps cannot be compared, and an unknown variant is named."""
        demand = Demand(128, [range(128)], [1])
        with pytest.raises(SynthesisError, match="on two ports each, and found 3; use an even number"):
            find_topology(fabric(128, 3), demand, "released")
        with pytest.raises(SynthesisError, match="exhaustive choice of 8 jumps on 128 servers"):
            find_topology(fabric(128, 8), demand, "exhaustive")
        with pytest.raises(SynthesisError, match="unknown variant 'best'; expected one of paper, released, exhaustive"):
            find_topology(fabric(128, 8), demand, "best")
