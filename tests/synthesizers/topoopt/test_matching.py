"""Tests of `synthesizers.topoopt.matching`: rounds of maximum-weight matching with halving."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizers.topoopt.matching import match_rounds

A, B = ((0, 1), (2, 3)), ((0, 2), (1, 3))


def square(heavy, light):
    """Return traffic with one weight on the pairs of A and another on those of B, one way only."""
    traffic = np.zeros((4, 4), int)
    traffic[0, 1] = traffic[3, 2] = heavy
    traffic[2, 0] = traffic[1, 3] = light
    return traffic


def heaviest(weight, servers):
    """Return the weight of the heaviest matching of some servers, by trying all."""
    if len(servers) < 2:
        return 0
    first, rest = servers[0], servers[1:]
    best = heaviest(weight, rest)
    for other in rest:
        best = max(best, weight[first, other] + heaviest(weight, [each for each in rest if each != other]))
    return best


class TestMatchRounds:
    """The function `match_rounds`."""

    @pytest.mark.parametrize(("light", "rounds"), [(3, (A, A, B)), (5, (A, B, A))])
    def test_halving(self, light, rounds):
        """What was matched counts half: 8, 4, 2 against 3 gives A, A, B; against 5 it gives A, B, A."""
        assert match_rounds(square(8, light), np.full(4, 3)) == rounds

    def test_both_directions_count(self):
        """A pair weighs the bytes of both directions: 3 + 3 there and back beats 5 one way."""
        traffic = np.zeros((3, 3), int)
        traffic[0, 1], traffic[1, 2], traffic[2, 1] = 5, 3, 3
        assert match_rounds(traffic, np.ones(3, int)) == (((1, 2),),)

    def test_halves_are_exact(self):
        """An odd weight is not rounded: 3 halved is more than 1 and, halved once more, less."""
        traffic = np.zeros((3, 3), int)
        traffic[0, 1], traffic[1, 2] = 3, 1
        assert match_rounds(traffic, np.array([9, 3, 9])) == (((0, 1),), ((0, 1),), ((1, 2),))

    def test_server_without_port(self):
        """A server without a port takes no part; the others go on as long as two of them have traffic."""
        traffic = np.triu(np.ones((4, 4), int), 1)
        rounds = match_rounds(traffic, np.array([0, 1, 1, 2]))
        assert sorted(pair for pairs in rounds for pair in pairs) in ([(1, 2)], [(1, 3), (2, 3)])
        assert match_rounds(traffic, np.array([0, 0, 0, 5])) == ()
        assert match_rounds(traffic, np.zeros(4, int)) == ()

    def test_ends_when_nothing_is_left(self):
        """One pair with traffic gets all its ports' cables, and other ports stay free."""
        traffic = np.zeros((5, 5), int)
        traffic[3, 1] = 1
        assert match_rounds(traffic, np.array([2, 2, 2, 3, 2])) == (((1, 3),), ((1, 3),))
        assert match_rounds(np.zeros((3, 3), int), np.full(3, 2)) == ()

    def test_more_pairs_of_equal_weight(self):
        """Of {0-1} with 2 and {0-2, 1-3} with 1 each, the two cables are taken."""
        traffic = np.zeros((4, 4), int)
        traffic[0, 1], traffic[0, 2], traffic[1, 3] = 2, 1, 1
        assert match_rounds(traffic, np.ones(4, int)) == (B,)

    @given(st.integers(2, 7), st.integers(0, 2**32), st.integers(1, 3))
    @settings(max_examples=40, deadline=None)
    def test_first_round_is_the_heaviest(self, servers, seed, ports):
        """The first round weighs as much as any matching; no server is in more rounds than it has ports."""
        traffic = np.random.default_rng(seed).integers(0, 5, (servers, servers))
        np.fill_diagonal(traffic, 0)
        rounds = match_rounds(traffic, np.full(servers, ports))
        both = traffic + traffic.T
        weight = sum(both[pair] for pair in rounds[0]) if rounds else 0
        assert weight == heaviest(both, list(range(servers)))
        ends = np.bincount([end for pairs in rounds for pair in pairs for end in pair], minlength=servers)
        assert ends.max() <= ports
        # Nothing is left to match: of two servers with traffic one has no port left.
        assert all(max(ends[a], ends[b]) == ports for a, b in combinations(range(servers), 2) if both[a, b])

    def test_deterministic(self):
        """The same traffic gives the same rounds."""
        traffic = np.random.default_rng(3).integers(0, 3, (12, 12))
        np.fill_diagonal(traffic, 0)
        assert match_rounds(traffic, np.full(12, 3)) == match_rounds(traffic.copy(), np.full(12, 3))


def test_equals_make_no_clusters():
    """Where all pairs weigh the same, four rounds over 128 servers join all, and any two by at most seven cables."""
    traffic = np.ones((128, 128), int)
    np.fill_diagonal(traffic, 0)
    rounds = match_rounds(traffic, np.full(128, 4))
    graph = nx.Graph([pair for pairs in rounds for pair in pairs])
    assert [len(pairs) for pairs in rounds] == [64] * 4
    assert nx.diameter(graph) <= 7
