"""Random regular networks (Jellyfish)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import TopologyError, fully_connected, random_regular

# Drawn when the generator was written.
GOLDEN_8_3 = ((0, 2), (0, 3), (0, 7), (1, 2), (1, 4), (1, 5), (2, 5), (3, 5), (3, 6), (4, 6), (4, 7), (6, 7))
GOLDEN_6_2 = ((0, 1), (0, 4), (1, 2), (2, 5), (3, 4), (3, 5))
GOLDEN_6_4 = ((0, 1), (0, 3), (0, 4), (0, 5), (1, 2), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5), (3, 4), (3, 5))


def cables(network):
    """Return the cables as (lower NPU, other NPU)."""
    return tuple(zip(network.src[::2].tolist(), network.dst[::2].tolist(), strict=True))


class TestRandomRegular:
    @pytest.mark.parametrize("n", range(2, 14))
    def test_every_degree(self, n):
        """For every degree there is: regular, no cable twice, connected, by ascending NPUs, both ways."""
        for degree in range(1 if n == 2 else 2, n):
            if n * degree % 2:
                continue
            network = random_regular(n, degree)
            assert (np.bincount(network.src, minlength=n) == degree).all()
            found = cables(network)
            assert list(found) == sorted(set(found))
            assert all(a < b for a, b in found)
            assert (network.src[::2] == network.dst[1::2]).all()
            assert (network.dst[::2] == network.src[1::2]).all()
            assert len(network.components()) == 1

    @settings(max_examples=25, deadline=None)
    @given(st.integers(14, 90), st.integers(2, 40), st.integers(0, 10**17))
    def test_larger(self, n, degree, seed):
        """Larger ones too are regular, simple and connected, and the same for the same seed."""
        degree = min(degree, n - 1)
        degree -= n * degree % 2
        network = random_regular(n, degree, seed=seed)
        assert (np.bincount(network.src, minlength=n) == degree).all()
        assert len(set(cables(network))) == n * degree // 2
        assert len(network.components()) == 1
        assert network == random_regular(n, degree, seed=seed)

    def test_same_everywhere(self):
        """A seed gives the same network in every version."""
        assert cables(random_regular(8, 3)) == GOLDEN_8_3
        assert cables(random_regular(6, 2, seed=1)) == GOLDEN_6_2
        assert cables(random_regular(6, 4, seed=1)) == GOLDEN_6_4

    def test_complete(self):
        """Where each must be joined to all, it is."""
        assert cables(random_regular(7, 6)) == cables(fully_connected(7))

    def test_every_graph_is_drawn(self):
        """Of the 70 labelled 3-regular graphs on 6 nodes each is drawn; 10 of them are K3,3, the others prisms."""
        drawn = Counter(cables(random_regular(6, 3, seed=seed)) for seed in range(1000))
        assert len(drawn) == 70
        bipartite = sum(times for found, times in drawn.items() if not _has_triangle(found))
        # 143 are expected of 1000 if all are as likely; four standard deviations are 44.
        assert 99 <= bipartite <= 187

    def test_triangles(self):
        """Large random graphs of degree 4 have (4 − 1)³/6 triangles (Bollobás 1980), not the 128 of the circulant."""
        found = []
        for seed in range(40):
            network = random_regular(128, 4, seed=seed)
            joined = np.zeros((128, 128))
            joined[network.src, network.dst] = 1
            found.append(np.trace(joined @ joined @ joined) / 6)
        # Their number is Poisson's: four standard deviations of the mean.
        assert abs(np.mean(found) - 4.5) < 4 * np.sqrt(4.5 / 40)

    def test_hops_of_another_generator(self, hops):
        """128 servers of 4 cables are as near each other as in the random regular graphs of networkx."""
        import networkx as nx

        ours = [hops(random_regular(128, 4, seed=seed)).sum() / (128 * 127) for seed in range(10)]
        theirs = [nx.average_shortest_path_length(nx.random_regular_graph(4, 128, seed=seed)) for seed in range(10)]
        assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.01)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [((5, 3), "jellyfish:5x3: an odd number of ports, 5 x 3; make one of the two even"),
         ((4, 4), "jellyfish:4x4: degree 4; expected less than the 4 NPUs"), ((1, 1), "degree 1; expected less"),
         ((10**6, 8), "jellyfish:1000000x8: 4,000,000 cables; expected at most 1,048,576"),
         ((4, 1), "with degree 1 the NPUs form pairs"), ((0, 1), "expected 1 or more"),
         ((4, 2, 1.0, 1.0, -1), "seed -1; expected a whole number of 0 or more"),
         ((4, 2, 1.0, 1.0, 0.5), "seed 0.5; expected a whole number"),
         ((4, 2, [1.0, 2.0]), "jellyfish:4x2: found 2 bandwidths, expected 1")],
    )  # fmt: skip
    def test_refusals(self, arguments, message):
        """Sizes of which there is no connected graph, and seeds that are none, are refused."""
        with pytest.raises(TopologyError, match=message):
            random_regular(*arguments)


def _has_triangle(found):
    """Return whether three NPUs are joined to each other."""
    return any((a, c) in found and (b, c) in found for a, b in found for c in range(6))
