"""Generalised Kautz digraphs."""

from __future__ import annotations

import numpy as np
import pytest

from topologies import TopologyError, kautz


class TestKautz:
    @pytest.mark.parametrize("degree", [2, 3, 4, 6])
    def test_diameter(self, hops, degree):
        """The diameter is at most ⌈log_d n⌉ (Imase and Itoh 1983), for every number of NPUs."""
        for n in range(degree + 1, 151):
            rounds = next(k for k in range(1, n) if degree**k >= n)
            assert hops(kautz(n, degree)).max() <= rounds, n
            assert hops(kautz(n, degree, regular=True)).max() <= rounds, n

    @pytest.mark.parametrize(("degree", "k"), [(2, 2), (2, 3), (2, 5), (3, 3), (4, 3)])
    def test_kautz_proper(self, hops, degree, k):
        """With n = d^k + d^(k−1) it is a Kautz digraph: all links are there, and the diameter is k."""
        network = kautz(degree**k + degree ** (k - 1), degree)
        assert network.num_links == degree * network.num_npus
        assert hops(network).max() == k

    @pytest.mark.parametrize("n", [3, 4, 7, 12, 13, 30, 128])
    def test_degrees(self, n):
        """An NPU has d links out and d in, to and from different ones, but for the link to itself that is left out."""
        for degree in range(2, min(n, 8)):
            network = kautz(n, degree)
            alone = [i for i in range(n) if any((i * (degree + 1) + a) % n == 0 for a in range(1, degree + 1))]
            expected = np.full(n, degree)
            expected[alone] -= 1
            assert (np.bincount(network.src, minlength=n) == expected).all()
            assert (np.bincount(network.dst, minlength=n) == expected).all()
            assert len(set(zip(network.src.tolist(), network.dst.tolist(), strict=True))) == network.num_links

    def test_links_left_out(self):
        """The 128 servers of degree 4 lack four links; those of 12 and degree 2 have all, in order."""
        assert kautz(128, 4).num_links == 128 * 4 - 4
        assert kautz(12, 2).dst.tolist()[:6] == [11, 10, 9, 8, 7, 6]

    @pytest.mark.parametrize("n", [3, 4, 7, 12, 13, 30, 128])
    def test_regular(self, n):
        """Regular, all NPUs have d links out and in; where none would send to itself nothing changes."""
        for degree in range(2, min(n, 8)):
            network, published = kautz(n, degree, regular=True), kautz(n, degree)
            assert (np.bincount(network.src, minlength=n) == degree).all()
            assert (np.bincount(network.dst, minlength=n) == degree).all()
            pairs = [list(zip(one.src.tolist(), one.dst.tolist(), strict=True)) for one in (network, published)]
            assert set(pairs[1]) <= set(pairs[0])
            assert (network == published) == (published.num_links == n * degree)

    def test_allgather(self, allgather_gbps):
        """A link left out costs an AllGather that share of its speed; joined, all of it is there."""
        assert allgather_gbps(kautz(28, 4, 10.0)) == pytest.approx(30.0 * 28 / 27)
        assert allgather_gbps(kautz(28, 4, 10.0, regular=True)) == pytest.approx(40.0 * 28 / 27)
        assert allgather_gbps(kautz(20, 4, 10.0)) == pytest.approx(40.0 * 20 / 19)

    def test_two(self):
        """Two NPUs are a pair."""
        assert kautz(2, 1).dst.tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [((4, 4), "kautz:4x4: degree 4; expected less than the 4 NPUs"), ((1, 1), "degree 1; expected less"),
         ((4, 1), "with degree 1 the NPUs form pairs; expected 2 or more, or a ring_one_way:4"),
         ((4, 0), "expected 1 or more"), ((4, 2, [1.0, 2.0]), "kautz:4x2: found 2 bandwidths, expected 1")],
    )  # fmt: skip
    def test_refusals(self, arguments, message):
        """Degrees that do not fit are refused."""
        with pytest.raises(TopologyError, match=message):
            kautz(*arguments)
