"""Tests of `synthesizers.topoopt.degrees`: whole ports, split by bytes and counted at each server."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesizers.topoopt.degrees import further_shares, shares_of_groups, split_degree


class TestSplitDegree:
    """The function `split_degree`."""

    @pytest.mark.parametrize(
        ("reduced", "mp", "degrees"),
        [(1, 0, (4, 0)), (3, 1, (3, 1)), (1, 1, (2, 2)), (1, 3, (1, 3)), (1, 100, (1, 3))],
    )
    def test_four_ports(self, reduced, mp, degrees):
        """Four ports are split as worked out by hand from TopologyFinder's first line (arXiv 2202.00433)."""
        assert split_degree(4, reduced, mp) == degrees

    @given(st.integers(1, 64), st.integers(0, 10**18), st.integers(0, 10**18))
    def test_ports_add_up(self, ports, reduced, mp):
        """All ports are given, and d_A is the exact ceiling, 1 at least where there is AllReduce and else 0."""
        d_a, d_mp = split_degree(ports, reduced, mp)
        assert d_a + d_mp == ports
        if reduced:
            assert d_a == max(1, ceil(Fraction(ports * reduced, reduced + mp)))
        else:
            assert d_a == 0

    def test_edges(self):
        """One port is for rings if there is any AllReduce; no traffic, or no ports, needs no rings."""
        assert split_degree(1, 1, 10**15) == (1, 0)
        assert split_degree(1, 0, 5) == (0, 1)
        assert split_degree(3, 0, 0) == (0, 3)
        assert split_degree(0, 1, 1) == (0, 0)

    def test_large_numbers_do_not_round(self):
        """One byte of model-parallel traffic beside 2^60 of AllReduce rounds d_A up, and the other way round too."""
        assert split_degree(4, 2**60, 1) == (4, 0)
        assert split_degree(4, 1, 2**60) == (1, 3)


class TestSharesOfGroups:
    """The function `shares_of_groups`."""

    def test_overlapping_groups_share(self):
        """Groups of the same servers with bytes 3 and 1 get three rings and one of four, whatever their order."""
        assert shares_of_groups(4, [range(4), range(4)], [3, 1], 4) == (3, 1)
        assert shares_of_groups(4, [range(4), range(4)], [1, 3], 4) == (1, 3)

    def test_lighter_group_takes_what_is_left(self):
        """Ceilings of 2.67 and 1.33 rings are 3 and 2; the second is capped at the one port left."""
        assert shares_of_groups(4, [range(4), range(4)], [2, 1], 4) == (3, 1)

    def test_no_ports_left(self):
        """Of five equal groups on two ports the first two get a ring, and the others none."""
        assert shares_of_groups(2, [range(3)] * 5, [7] * 5, 3) == (1, 1, 0, 0, 0)

    def test_disjoint_groups_do_not_compete(self):
        """Each of two groups without a common server gets all ports of its own servers."""
        assert shares_of_groups(4, [(0, 1, 2), (3, 4, 5)], [9, 1], 6) == (4, 4)

    def test_least_left_among_members_counts(self):
        """A group with one member in a heavier group gets what that member has left."""
        assert shares_of_groups(4, [(0, 1), (1, 2)], [3, 1], 3) == (3, 1)

    def test_without_bytes(self):
        """A group of no bytes gets no ring."""
        assert shares_of_groups(3, [(0, 1), (0, 1)], [0, 5], 2) == (0, 3)
        assert shares_of_groups(3, [(0, 1)], [0], 2) == (0,)
        assert shares_of_groups(3, [], [], 2) == ()

    @given(st.data())
    def test_never_more_than_the_ports(self, data):
        """No server is in more rings than ports, and no group with bytes could have one more."""
        servers, d_a = data.draw(st.integers(2, 9)), data.draw(st.integers(0, 6))
        one = st.sets(st.integers(0, servers - 1), min_size=2).map(sorted)
        groups = data.draw(st.lists(one, max_size=5))
        sizes = [data.draw(st.integers(0, 20)) for _ in groups]
        used = np.zeros(servers, int)
        rings = shares_of_groups(d_a, groups, sizes, servers)
        for group, count in zip(groups, rings, strict=True):
            used[group] += count
        assert used.max() <= d_a
        assert all(used[group].max() == d_a for group, size in zip(groups, sizes, strict=True) if size)


class TestFurtherShares:
    """The function `further_shares`."""

    def test_most_bytes_for_each_ring(self):
        """Of groups with 6 bytes on two rings and 4 on one, the second is the slower and gets the port."""
        left = np.ones(3, int)
        assert further_shares(left, [range(3), range(3)], [6, 4], [2, 1]) == (2, 2)
        assert left.tolist() == [1, 1, 1]

    def test_one_without_ring_comes_first(self):
        """A light group without any ring comes before a heavy one that has one."""
        assert further_shares(np.ones(2, int), [(0, 1), (0, 1)], [100, 1], [1, 0]) == (1, 1)

    def test_level(self):
        """Where a group without ring counts four times, halves of 100 bytes take all ports before all with 1 byte."""
        halves = [(0, 1), (2, 3)]
        assert further_shares(np.full(4, 3), [range(4), *halves], [1, 100, 100], [0, 0, 0], 4) == (0, 3, 3)
        assert further_shares(np.full(4, 3), [range(4), *halves], [30, 100, 100], [0, 0, 0], 4) == (1, 2, 2)

    def test_every_member_needs_a_port(self):
        """A group gets nothing if one member has no port left."""
        assert further_shares(np.array([3, 3, 0]), [range(3)], [5], [1]) == (1,)
