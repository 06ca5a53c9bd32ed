"""Circulants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import TopologyError, circulant, ring

# (n, jumps, links, diameter, hops from NPU 0 to all): distances counted by hand or exhaustively, for TopoOpt's facts
# that the union of coprime rings is a circulant of few hops.
KNOWN = [
    (8, [1, 3], 16, 3, 14), (12, [1, 5], 24, 5, 30), (12, [1, 5, 7], 36, 4, 24), (12, [1, 5, 11], 36, 4, 24),
    (12, [1, 5, 7, 11], 48, 3, 20), (16, [1, 3], 32, 6, 50), (16, [1, 7], 32, 5, 46), (16, [1, 3, 7], 48, 4, 34),
    (16, [1, 3, 5, 7], 64, 3, 30), (128, [1, 11], 256, 20, 1308), (128, [1, 5, 25], 384, 12, 768),
    (128, [1, 3, 11, 37], 512, 8, 574),
]  # fmt: skip


@st.composite
def shapes(draw):
    """Draw NPUs and different jumps."""
    n = draw(st.integers(2, 24))
    return n, draw(st.lists(st.integers(1, n - 1), min_size=1, max_size=4, unique=True))


def reached(n, jumps):
    """Return the NPUs that NPU 0 reaches, by following the jumps."""
    seen, ahead = {0}, [0]
    while ahead:
        npu = ahead.pop()
        ahead += [new for jump in jumps if (new := (npu + jump) % n) not in seen]
        seen.update((npu + jump) % n for jump in jumps)
    return seen


class TestCirculant:
    @pytest.mark.parametrize(("n", "jumps", "links", "diameter", "total"), KNOWN)
    def test_known_distances(self, hops, n, jumps, links, diameter, total):
        """Links, diameter and hops of circulants that are known."""
        network = circulant(n, jumps)
        distance = hops(network)
        assert (network.num_links, distance.max(), distance[0].sum()) == (links, diameter, total)

    def test_distances_of_16_with_1_3_7(self, hops):
        """Distances of the circulant that TopoOpt selects for 16 servers of 3 ports."""
        assert hops(circulant(16, [1, 3, 7]))[0].tolist() == [0, 1, 2, 1, 2, 3, 2, 1, 2, 3, 2, 3, 4, 3, 2, 3]

    def test_order_of_links(self):
        """Links come jump by jump as given, each a ring by ascending NPU."""
        network = circulant(5, [3, 1])
        assert network.src.tolist() == [0, 1, 2, 3, 4] * 2
        assert network.dst.tolist() == [3, 4, 0, 1, 2, 1, 2, 3, 4, 0]
        assert network.name == "circulant:5x3x1"

    @pytest.mark.parametrize("n", [2, 3, 8])
    def test_jump_1_is_a_ring(self, n):
        """One jump of 1 is the ring, link by link, one way and both ways."""
        assert circulant(n, [1]) == ring(n, one_way=True)
        assert circulant(n, [1], one_way=False) == ring(n)

    @settings(max_examples=80, deadline=None)
    @given(shapes())
    def test_is_connected_or_refused(self, shape):
        """What is built is connected and looks alike from each NPU; what is refused would not have been connected."""
        n, jumps = shape
        if len(reached(n, jumps)) < n:
            with pytest.raises(TopologyError, match="every jump, so the network falls into"):
                circulant(n, jumps)
            return
        network = circulant(n, jumps)
        assert len(network.components()) == 1
        assert sorted(((network.dst - network.src) % n).tolist()) == sorted(jumps * n)

    @settings(max_examples=60, deadline=None)
    @given(shapes())
    def test_two_way(self, shape):
        """Each cable is there once: two NPUs are joined where they differ by a jump, either way."""
        n, jumps = shape
        jumps = sorted({min(jump, n - jump) for jump in jumps} | {1})
        network = circulant(n, jumps, one_way=False)
        found = sorted(zip(network.src.tolist(), network.dst.tolist(), strict=True))
        assert found == [(a, b) for a in range(n) for b in range(n) if min((a - b) % n, (b - a) % n) in jumps]

    @pytest.mark.parametrize("n", [8, 12, 16])
    def test_parity_of_even_rings(self, hops, n):
        """Jumps that are coprime with an even n are odd, so an even number of hops leads to even differences only."""
        distance = hops(circulant(n, [jump for jump in range(1, n) if np.gcd(jump, n) == 1]))[0]
        assert (distance % 2 == np.arange(n) % 2).all()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((16, [1, 3, 1]), "circulant:16x1x3x1: jump 1 twice; expected different ones"),
            ((16, [1, 16]), "circulant:16x1x16: jump 16; expected jumps of 1 to 15"),
            ((16, [-1]), "expected 1 or more"),
            ((16, [1.5]), "expected a whole number"),
            ((16, []), "no jump"),
            ((16, 1), r"jumps 1; expected them together, as in circulant\(16, \[1, 3, 7\]\)"),
            ((12, [2, 4]), "circulant:12x2x4: 2 divides 12 and every jump, so the network falls into 2 parts; add"),
            ((15, [5]), "falls into 5 parts"),
            ((1, [1]), "jump 1; expected"),
            ((16, [1], -1.0), "circulant:16x1: bandwidth -1"),
            ((16, [1], 1.0, [1.0, 2.0]), "found 2 latencies, expected 1"),
        ],
    )
    def test_refusals(self, arguments, message):
        """Jumps that repeat, lie outside, or leave the network in parts are refused in a line."""
        with pytest.raises(TopologyError, match=message) as caught:
            circulant(*arguments)
        assert "\n" not in str(caught.value)

    def test_same_cables_are_refused(self):
        """Both ways, the jumps p and n − p are the same cables; one way they are two rings."""
        with pytest.raises(TopologyError, match="jumps 3 and 13, the same cables"):
            circulant(16, [3, 13], one_way=False)
        assert circulant(16, [3, 13]).num_links == 32
