"""Tests of `synthesizers.topoopt.coin_change`: circulants and the routes on them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from synthesizers.topoopt import GroupRings, Routing, coin_change, coin_routes, distances, find_topology
from synthesizers.topoopt.permutations import totient_perms
from topologies import Demand, Paths, SynthesisError, Topology, fabric

#: n, jumps, links, diameter and Σ of hops from one server: breadth-first search by hand and by program.
CIRCULANTS = [
    (8, (1, 3), 16, 3, 14),
    (12, (1, 5), 24, 5, 30),
    (12, (1, 5, 7), 36, 4, 24),
    (12, (1, 5, 11), 36, 4, 24),
    (12, (1, 5, 7, 11), 48, 3, 20),
    (16, (1, 3), 32, 6, 50),
    (16, (1, 7), 32, 5, 46),
    (16, (1, 3, 7), 48, 4, 34),
    (16, (1, 3, 5, 7), 64, 3, 30),
    (128, (1, 11), 256, 20, 1308),
    (128, (1, 5, 25), 384, 12, 768),
    (128, (1, 3, 11, 37), 512, 8, 574),
]


def circulant(n, jumps, members=None):
    """Return the network and the rings of some jumps."""
    members = tuple(range(n)) if members is None else tuple(members)
    rows = [(members[i], members[(i + p) % n], 1.0, 12.5) for p in jumps for i in range(n)]
    links = np.arange(len(rows)).reshape(len(jumps), n)
    return Topology.from_links(max(members) + 1, rows), GroupRings(members, tuple(jumps), links)


def everyone(n):
    """Return sources and targets of all pairs."""
    source, target = np.divmod(np.arange(n * n), n)
    return source[source != target], target[source != target]


class TestDistances:
    """The function `distances`."""

    @pytest.mark.parametrize(("n", "jumps", "links", "diameter", "hops"), CIRCULANTS)
    def test_known_circulants(self, n, jumps, links, diameter, hops):
        """The table of circulants holds: links, diameter and Σ of hops."""
        found = distances(n, jumps)
        assert circulant(n, jumps)[0].num_links == links
        assert (int(found.max()), int(found.sum())) == (diameter, hops)

    def test_of_16_with_1_3_7(self):
        """The distances of 16 {1, 3, 7}, and the tax of a uniform all-to-all, 34/15."""
        found = distances(16, (1, 3, 7))
        assert found.tolist() == [0, 1, 2, 1, 2, 3, 2, 1, 2, 3, 2, 3, 4, 3, 2, 3]
        assert Fraction(int(found.sum()), 15) == Fraction(34, 15)

    @pytest.mark.parametrize(("n", "jumps"), [(row[0], row[1]) for row in CIRCULANTS])
    def test_hops_are_those_of_the_network(self, n, jumps):
        """From every server, a breadth-first search of the circulant finds the distance of the offset alone."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import shortest_path

        network, _ = circulant(n, jumps)
        graph = coo_array((np.ones(network.num_links), (network.src, network.dst)), shape=(n, n)).tocsr()
        hops = shortest_path(graph, unweighted=True)
        offset = np.subtract.outer(np.arange(n), np.arange(n)).T % n
        assert (hops == distances(n, jumps)[offset]).all()

    @pytest.mark.parametrize("n", [8, 12, 16, 32, 64, 128])
    def test_even_servers_keep_parity(self, n):
        """On an even number of servers all jumps are odd, so hops are odd exactly where the offset is."""
        rng = np.random.default_rng(n)
        for _ in range(5):
            jumps = rng.choice(totient_perms(n), 2, replace=False).tolist()
            assert (distances(n, jumps) % 2 == np.arange(n) % 2).all()

    def test_distinct_jumps_share_no_arc(self):
        """Two different jumps have no arc in common, but as cables p and n − p are the same."""
        for n in (5, 9, 12, 16):
            arcs = {p: {(i, (i + p) % n) for i in range(n)} for p in totient_perms(n)}
            for p in arcs:
                assert all(not arcs[p] & arcs[q] for q in arcs if q != p)
                assert {(b, a) for a, b in arcs[p]} == arcs[n - p]

    def test_unreached(self):
        """Jumps with a common factor do not reach every offset."""
        assert distances(6, (2, 4)).tolist() == [0, -1, 1, -1, 1, -1]
        assert distances(3, ()).tolist() == [0, -1, -1]


class TestCoinChange:
    """The function `coin_change`."""

    @pytest.mark.parametrize(("n", "jumps"), [(row[0], row[1]) for row in CIRCULANTS])
    def test_coins_add_up(self, n, jumps):
        """The coins of each offset add up to it, and there are as few as the distance says."""
        counts = coin_change(n, jumps)
        assert (counts @ np.array(jumps) % n == np.arange(n)).all()
        assert (counts.sum(axis=1) == distances(n, jumps)).all()

    def test_nine_on_1_3_7(self):
        """9 is paid as 1 + 1 + 7 and not as 3 + 3 + 3, in whatever order jumps are given."""
        assert coin_change(16, (1, 3, 7))[9].tolist() == [2, 0, 1]
        assert coin_change(16, (7, 1, 3))[9].tolist() == [1, 2, 0]

    @pytest.mark.parametrize(("n", "jumps"), [(12, (1, 5)), (16, (1, 3, 7)), (15, (2, 7, 11))])
    def test_first_of_the_fewest(self, n, jumps):
        """No ascending list of as few coins that adds up to the same comes before."""
        counts = coin_change(n, jumps)
        for offset, coins in enumerate(distances(n, jumps).tolist()):
            first = next(each for each in combinations_with_replacement(jumps, coins) if sum(each) % n == offset)
            assert [first.count(p) for p in jumps] == counts[offset].tolist()

    def test_refused(self):
        """Coins that do not reach everything are refused with the first offset that they miss."""
        with pytest.raises(SynthesisError, match=r"jumps \[2, 4\] on 6 servers: no sum of them is 1 \(mod 6\)"):
            coin_change(6, (2, 4))


class TestCoinRoutes:
    """The function `coin_routes`."""

    @pytest.mark.parametrize("spread", [True, False])
    @pytest.mark.parametrize(("n", "jumps"), [(12, (1, 5, 11, 7)), (16, (1, 3, 7)), (5, (2, 2))])
    def test_routes_connect_in_fewest_hops(self, n, jumps, spread):
        """Each route leads from its source to its target over the rings' links, in as many hops as the distance."""
        members = [3 * each + 1 for each in np.random.default_rng(n).permutation(n).tolist()]
        network, rings = circulant(n, jumps, members)
        ranks = everyone(n)
        source, target = (np.array(members)[each] for each in ranks)
        nbytes = np.random.default_rng(0).integers(0, 9, len(source))
        routing = coin_routes(rings, network.num_links, source, target, nbytes, spread)
        assert routing.source.tolist() == source.tolist()
        assert routing.nbytes.tolist() == nbytes.tolist()
        for transfer in range(len(source)):
            route = routing.route(transfer)
            assert network.src[route].tolist() == [source[transfer], *network.dst[route[:-1]].tolist()]
            assert network.dst[route[-1]] == target[transfer]
        offset = (ranks[1] - ranks[0]) % n
        assert (routing.hops == distances(n, jumps)[offset]).all()

    def test_uniform_tax(self):
        """A uniform all-to-all on 16 {1, 3, 7} has the bandwidth tax 34/15 and hops 1 to 4 as the distances say."""
        network, rings = circulant(16, (1, 3, 7))
        source, target = everyone(16)
        routing = coin_routes(rings, network.num_links, source, target, np.full(240, 7))
        assert routing.bandwidth_tax == 34 / 15
        assert routing.path_lengths.tolist() == [0, 48, 96, 80, 16]
        assert routing.link_bytes.sum() == 7 * 16 * 34

    @pytest.mark.parametrize(
        ("n", "jumps", "fixed", "spread"), [(16, (1, 3, 7), 13, 12), (128, (1, 3, 11, 37), 162, 158)]
    )
    def test_spread_of_uniform_traffic(self, n, jumps, fixed, spread):
        """The most loaded link of a uniform all-to-all: with fixed order as the coins say, and less when spread."""
        network, rings = circulant(n, jumps)
        source, target = everyone(n)
        ones = np.ones(len(source), int)
        plain = coin_routes(rings, network.num_links, source, target, ones, spread=False).link_bytes
        # A fixed order loads all links of a ring alike: as often as all offsets together take the coin.
        assert plain.reshape(len(jumps), n).tolist() == [[each] * n for each in coin_change(n, jumps).sum(axis=0)]
        assert plain.max() == fixed
        assert coin_routes(rings, network.num_links, source, target, ones).link_bytes.max() == spread
        assert spread >= distances(n, jumps).sum() / len(jumps)  # no order gets below the mean

    def test_a_ring_of_jump_9(self):
        """An AllReduce ring of jump 9 carried as 1 + 1 + 7 puts twice its bytes on links of jump 1: 48 ms at 100 Gb/s.

        No spreading helps, as 3 + 3 + 3 is the only other way: at one transfer a link 16 links of jump 1 carry eight
        transfers and 16 of jump 3 carry five, and these are not 16.
        """
        network, rings = circulant(16, (1, 3, 7))
        source = np.arange(16)
        nbytes = np.full(16, 2 * 15 * 160_000_000 // 16)
        fixed = coin_routes(rings, network.num_links, source, (source + 9) % 16, nbytes, spread=False)
        assert fixed.link_bytes.max() / 12.5e9 == pytest.approx(48e-3)
        spread = coin_routes(rings, network.num_links, source, (source + 9) % 16, nbytes)
        assert spread.hops.tolist() == fixed.hops.tolist() == [3] * 16
        assert spread.link_bytes.max() == fixed.link_bytes.max()

    def test_load_that_is_there(self):
        """Links that carry bytes already are avoided where another order is as short."""
        network, rings = circulant(8, (1, 3))
        load = np.zeros(16, int)
        load[0] = 100  # 0 -> 1
        routing = coin_routes(rings, 16, np.array([0]), np.array([4]), np.array([1]), load=load)
        assert network.dst[routing.route(0)].tolist() == [3, 4]
        assert load[0] == 100
        free = coin_routes(rings, 16, np.array([0]), np.array([4]), np.array([1]))
        assert network.dst[free.route(0)].tolist() == [1, 4]

    def test_refused(self):
        """A group without rings and a server that is not in the group are named."""
        network, rings = circulant(4, (1,))
        one = np.array([0])
        with pytest.raises(SynthesisError, match="server 7 is not one of them"):
            coin_routes(rings, network.num_links, one, np.array([7]), one)
        with pytest.raises(SynthesisError, match="the group has no ring"):
            coin_routes(GroupRings((0, 1), (), np.zeros((0, 2), int)), 0, one, np.array([1]), one)


class TestMutability:
    """AllReduce time does not depend on which coprime jumps are taken; hops of other traffic do."""

    @pytest.mark.parametrize(
        ("n", "ports", "variant", "jumps", "ms"),
        [
            (16, 1, "paper", (1,), 24.0),
            (16, 2, "released", (1, 15), 12.0),
            (16, 3, "paper", (1, 3, 7), 8.0),
            (16, 4, "released", (1, 15, 5, 11), 6.0),
            (12, 2, "paper", (1, 5), 11.7333333),
        ],
    )
    def test_allreduce_of_160_mb(self, n, ports, variant, jumps, ms):
        """At 100 Gb/s, 2(n − 1)·S/(nRB) of the wired rings gives the published times."""
        size = 160_000_000
        wiring = find_topology(fabric(n, ports, 12.5), Demand(n, [range(n)], [size]), variant)
        (rings,) = wiring.groups
        assert rings.jumps == jumps
        # Every ring has its own links, so that each carries its ring's share of the bytes and nothing else.
        assert len(np.unique(rings.links)) == n * len(jumps) == wiring.topology.num_links
        carried = 2 * (n - 1) * size / (n * len(jumps))
        assert carried / 12.5e9 * 1e3 == pytest.approx(ms)

    def test_hops_depend_on_jumps(self):
        """On 16 servers all sets of two jumps have 32 links of one ring each, but Σ of hops from 46 to 64."""
        found = set()
        for p in totient_perms(16):
            for q in totient_perms(16):
                if p < q:
                    network, rings = circulant(16, (p, q))
                    assert len(np.unique(rings.links)) == network.num_links == 32
                    found.add(int(distances(16, (p, q)).sum()))
        assert (min(found), max(found)) == (46, 64)


class TestRouting:
    """The class `Routing`."""

    def test_measures(self):
        """Tax, loads and lengths of two transfers worked out by hand."""
        routing = Routing(3, np.array([0, 1]), np.array([2, 2]), np.array([10, 30]), np.array([0, 2, 3]),
                          np.array([0, 1, 1], np.int32))  # fmt: skip
        assert routing.bandwidth_tax == (10 * 2 + 30 * 1) / 40
        assert routing.link_bytes.tolist() == [10, 40, 0]
        assert routing.path_lengths.tolist() == [0, 1, 1]
        assert routing.of(np.array([1, 0, 1])).link_bytes.tolist() == [10, 70, 0]
        both = Routing.joined([routing, routing.of(np.array([1]))])
        assert both.link_bytes.tolist() == [10, 70, 0]
        assert [both.route(each) for each in range(3)] == [[0, 1], [1], [1]]

    def test_nothing(self):
        """Without transfers the tax is 0, and no link is loaded."""
        none = np.zeros(0, np.int64)
        routing = Routing(2, none, none, none, np.zeros(1, np.int64), none.astype(np.int32))
        assert routing.bandwidth_tax == 0
        assert routing.link_bytes.tolist() == [0, 0]


def test_hops_agree_with_paths():
    """`Paths`, which weighs links, finds the same hops on the circulant 16 {1, 3, 7}."""
    network, _ = circulant(16, (1, 3, 7))
    paths = Paths(network, message_bytes=1)
    hops = paths.cost[0] / paths.weight[0]
    assert hops.tolist() == distances(16, (1, 3, 7)).tolist()
