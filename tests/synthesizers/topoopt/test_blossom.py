"""Tests of `synthesizers.topoopt.blossom` against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from synthesizers.topoopt.blossom import heaviest_matching


def weights(servers, highest, density, rng):
    """Return random symmetric weights; 0 where there is no edge."""
    upper = np.triu(rng.integers(1, highest + 1, (servers, servers)) * (rng.random((servers, servers)) < density), 1)
    return upper + upper.T


class TestHeaviestMatching:
    """The function `heaviest_matching`."""

    @pytest.mark.parametrize("highest", [1, 3, 10, 2**40])
    def test_weighs_what_that_of_networkx_does(self, highest):
        """On 300 random graphs of up to 14 nodes, dense and sparse, it is a matching and as heavy as networkx's."""
        rng = np.random.default_rng(highest)
        for _ in range(300):
            weight = weights(int(rng.integers(1, 15)), highest, rng.random(), rng)
            partner = heaviest_matching(weight)
            pairs = [(a, b) for a, b in enumerate(partner.tolist()) if b >= 0]
            assert all(partner[b] == a and weight[a, b] > 0 for a, b in pairs)
            graph = nx.Graph()
            graph.add_weighted_edges_from((a, b, int(weight[a, b])) for a, b in np.argwhere(np.triu(weight)))
            best = sum(int(weight[pair]) for pair in nx.max_weight_matching(graph))
            assert sum(int(weight[pair]) for pair in pairs) == 2 * best

    def test_larger(self):
        """Also of 60 nodes with blossoms within blossoms, as small weights make them."""
        rng = np.random.default_rng(1)
        weight = weights(60, 5, 0.1, rng)
        graph = nx.from_numpy_array(weight)
        best = sum(int(weight[pair]) for pair in nx.max_weight_matching(graph))
        partner = heaviest_matching(weight)
        assert sum(int(weight[a, b]) for a, b in enumerate(partner.tolist()) if b >= 0) == 2 * best

    def test_of_nothing(self):
        """Without nodes or edges nobody has a partner."""
        assert heaviest_matching(np.zeros((0, 0), np.int64)).tolist() == []
        assert heaviest_matching(np.zeros((3, 3), np.int64)).tolist() == [-1, -1, -1]
