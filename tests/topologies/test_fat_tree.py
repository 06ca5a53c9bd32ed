"""Fat-trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import collective
from simulator.bounds import allgather_bound_gbps, bound
from topologies import TopologyError, fat_tree, switch


def leaves(network):
    """Return the number of hosts at each leaf."""
    hosts = network.num_npus
    return np.unique(network.dst[network.src < hosts], return_counts=True)[1]


def up(network, layer):
    """Return the bandwidths of the links up from the switches of a layer, in order."""
    names = network.node_names
    return [
        float(gbps)
        for a, b, gbps in zip(network.src.tolist(), network.dst.tolist(), network.bandwidth_gbps, strict=True)
        if names[a].startswith(layer) and b > a
    ]


class TestFatTree:
    def test_128_hosts(self, hops):
        """128 = 8³/4 hosts fill the 8-ary tree: 4 at a leaf, 4 leaves in a pod, 8 pods."""
        network = fat_tree(128, 12.5, 1.0)
        assert (network.num_switches, network.num_links) == (32 + 8 + 1, 2 * (128 + 32 + 8))
        assert leaves(network).tolist() == [4] * 32
        assert up(network, "leaf") == [4 * 12.5] * 32
        assert up(network, "pod") == [16 * 12.5] * 8
        assert hops(network)[0, [1, 3, 4, 15, 16, 127]].tolist() == [2, 2, 4, 4, 6, 6]
        assert [network.node_name(node) for node in (0, 128, 160, 168)] == ["NPU 0", "leaf 0", "pod 0", "core"]

    def test_half(self):
        """2:1 halves the links up from leaves and pods, and no host's."""
        network = fat_tree(128, 12.5, oversubscription=2)
        assert {network.egress_gbps(npu) for npu in range(128)} == {12.5}
        assert up(network, "leaf") == [2 * 12.5] * 32
        assert up(network, "pod") == [8 * 12.5] * 8

    @settings(max_examples=60, deadline=None)
    @given(st.integers(2, 700), st.integers(1, 4))
    def test_structure(self, hosts, ratio):
        """Any number of hosts spreads evenly over leaves that a k-ary tree has, with the bandwidth below them above."""
        network = fat_tree(hosts, 8.0, oversubscription=ratio)
        half = next(half for half in range(2, 100) if 2 * half**3 >= hosts)
        shares = leaves(network)
        assert shares.sum() == hosts
        assert shares.max() <= half
        assert shares.max() - shares.min() <= 1
        assert shares.min() > 1 or (hosts < 16 and hosts % 2)
        assert len(network.components()) == 1
        if len(shares) > 1:
            assert up(network, "leaf") == [8.0 * share / ratio for share in shares.tolist()]
            pods = up(network, "pod")
            assert len(pods) <= 2 * half
            assert not pods or sum(pods) == pytest.approx(8.0 * hosts / ratio)
        gbps = dict(
            zip(zip(network.src.tolist(), network.dst.tolist(), strict=True), network.bandwidth_gbps, strict=True)
        )
        assert all(gbps[b, a] == value for (a, b), value in gbps.items())

    @pytest.mark.parametrize("hosts", [2, 3, 5, 16, 19, 54])
    @pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"])
    def test_full_bisection_is_an_ideal_switch(self, hosts, kind):
        """At full bisection bandwidth no cut binds but the hosts' own: the bounds are those of one switch."""
        problem, size = collective(kind, hosts), hosts * 10**6
        found = bound(fat_tree(hosts, 12.5), problem, size).bandwidth_us
        assert found == pytest.approx(bound(switch(hosts, 12.5), problem, size).bandwidth_us, rel=1e-9)

    @pytest.mark.parametrize("hosts", [2, 16, 54, 128])
    def test_allgather(self, hosts, allgather_gbps):
        """The AllGather optimum is that of one switch, n/(n−1) of a host's bandwidth; so it is at 2:1."""
        expected = 12.5 * hosts / (hosts - 1)
        assert allgather_gbps(fat_tree(hosts, 12.5)) == pytest.approx(expected)
        # A leaf of two hosts or more takes in each chunk once, and its hosts hand it on to each other.
        assert allgather_bound_gbps(fat_tree(hosts, 12.5, oversubscription=2)) == pytest.approx(expected)

    @pytest.mark.parametrize("hosts", [8, 16, 19, 54])
    @pytest.mark.parametrize("ratio", [2, 3])
    def test_oversubscribed_alltoall(self, hosts, ratio):
        """What leaves the smallest leaf, m·(n − m) chunks over m/r links, takes longer than a host's n − 1 over one."""
        problem, size = collective("all_to_all", hosts), hosts * 10**6
        network = fat_tree(hosts, 12.5, oversubscription=ratio)
        slower = ratio * (hosts - int(leaves(network).min())) / (hosts - 1)
        ideal = bound(switch(hosts, 12.5), problem, size).bandwidth_us
        assert bound(network, problem, size).bandwidth_us == pytest.approx(slower * ideal, rel=1e-6)

    def test_lone_host(self):
        """The one host of a leaf has half of its bandwidth at 2:1, and slows an AllGather so."""
        network = fat_tree(5, 12.5, oversubscription=2)
        assert leaves(network).tolist() == [2, 2, 1]
        assert allgather_bound_gbps(network) == pytest.approx(12.5 / 2 * 5 / 4)

    def test_small(self):
        """Two hosts share a leaf, which is one switch; four have a pod above two leaves, and no core."""
        assert fat_tree(2) == switch(2)
        assert [fat_tree(4).node_name(node) for node in range(4, 7)] == ["leaf 0", "leaf 1", "pod 0"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [((1,), "fat_tree:1: found 1 host, expected 2 or more"), ((0,), "expected 1 or more"),
         ((8, 1.0, 1.0, 0), "expected 1 or more"), ((8, 1.0, 1.0, 1.5), "expected a whole number"),
         ((8, [1.0, 2.0]), "fat_tree:8: found 2 bandwidths, expected 1"),
         ((8, 1.0, -1.0, 2), "fat_tree:8x2: latency -1")],
    )  # fmt: skip
    def test_refusals(self, arguments, message):
        """A tree of one host, and an oversubscription that is none, are refused."""
        with pytest.raises(TopologyError, match=message):
            fat_tree(*arguments)
