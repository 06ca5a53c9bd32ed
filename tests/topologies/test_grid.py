"""Meshes and tori."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import TopologyError, mesh, torus

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda shape: math.prod(shape) <= 60)


def place(npu, shape):
    """Return the coordinates of an NPU, x first."""
    coordinates = []
    for size in shape:
        npu, coordinate = divmod(npu, size)
        coordinates.append(coordinate)
    return coordinates


def distance(a, b, size, wrap):
    """Return how far apart two coordinates of one dimension are."""
    return min(abs(a - b), size - abs(a - b)) if wrap else abs(a - b)


@pytest.mark.parametrize(("generate", "wrap"), [(mesh, False), (torus, True)])
class TestBoth:
    @settings(max_examples=25, deadline=None)
    @given(shape=SHAPES)
    def test_links_join_exactly_the_neighbours(self, generate, wrap, shape):
        """The links are the ordered pairs of NPUs that are one step apart, each once."""
        network = generate(shape)
        found = sorted(zip(network.src.tolist(), network.dst.tolist(), strict=True))
        places = [place(npu, shape) for npu in range(math.prod(shape))]
        expected = [
            (a, b)
            for a, here in enumerate(places)
            for b, there in enumerate(places)
            if sum(distance(i, j, size, wrap) for i, j, size in zip(here, there, shape, strict=True)) == 1
        ]
        assert found == expected

    @settings(max_examples=25, deadline=None)
    @given(shape=SHAPES)
    def test_cables_are_adjacent_and_dimensions_in_order(self, generate, wrap, shape):
        """Links 2i and 2i+1 are one cable; cables go by dimension, then by NPU."""
        values = [float(10 + dimension) for dimension in range(len(shape))]
        network = generate(shape, values, [value / 8 for value in values])
        assert (network.src[::2] == network.dst[1::2]).all()
        assert (network.dst[::2] == network.src[1::2]).all()
        order = list(zip(network.bandwidth_gbps[::2].tolist(), network.src[::2].tolist(), strict=True))
        assert order == sorted(order)
        assert np.array_equal(network.latency_us, network.bandwidth_gbps / 8)

    @settings(max_examples=25, deadline=None)
    @given(shape=SHAPES)
    def test_degrees(self, generate, wrap, shape):
        """An NPU has as many links in as out, at most two for each dimension, in a torus the same for all."""
        network = generate(shape)
        out = np.bincount(network.src, minlength=network.num_npus)
        assert np.array_equal(out, np.bincount(network.dst, minlength=network.num_npus))
        full = sum(min(size - 1, 2) for size in shape)
        assert out.max() == full
        if wrap:
            assert out.min() == full

    def test_large_one_builds_quickly(self, generate, wrap):
        """A 200×200 network takes well under a second."""
        start = time.perf_counter()
        network = generate((200, 200))
        assert time.perf_counter() - start < 1.0
        assert network.num_links == (160000 if wrap else 159200)


class TestMesh:
    def test_x_varies_fastest(self):
        """In a 3×2 mesh NPU 4 is at x 1, y 1."""
        network = mesh((3, 2))
        assert sorted(network.dst[network.src == 4].tolist()) == [1, 3, 5]

    @pytest.mark.parametrize(("side", "gbps"), [(4, 106.667), (8, 101.587), (10, 101.010)])
    def test_allgather_optimum(self, allgather_gbps, side, gbps):
        """The AllGather optimum is the one of the known-answers table (bounds.md)."""
        assert allgather_gbps(mesh((side, side))) == pytest.approx(gbps, abs=1e-3)

    def test_refuses_a_wrong_number_of_values(self):
        """The message counts what it found and what it expected."""
        with pytest.raises(TopologyError, match=r"mesh:4x4: found 3 bandwidths, expected 1 \(for all\) or 2"):
            mesh((4, 4), [1.0, 2.0, 3.0])
        with pytest.raises(TopologyError, match="mesh:4x4: found 3 latencies"):
            mesh((4, 4), 50.0, [1.0, 2.0, 3.0])

    def test_refuses_bad_sizes(self):
        """The message names the size at fault."""
        with pytest.raises(TopologyError, match="mesh: size 1 of 2 is 0; expected 1 or more"):
            mesh((4, 0))
        with pytest.raises(TopologyError, match="mesh: the shape has no dimension"):
            mesh(())

    def test_refuses_an_absurd_size_with_its_count(self):
        """100,000 × 100,000 is refused before any memory is taken."""
        with pytest.raises(TopologyError, match="39,999,600,000 links"):
            mesh((100_000, 100_000))


class TestTorus:
    def test_dimension_of_two_is_one_cable(self):
        """A 2×2 torus is a 2×2 mesh, and a dimension of 1 has no cable."""
        assert torus((2, 2)) == mesh((2, 2))
        assert torus((1, 3)) == torus((3,))

    @pytest.mark.parametrize(("side", "gbps"), [(4, 213.333), (8, 203.175), (10, 202.020), (16, 200.784)])
    def test_allgather_optimum(self, allgather_gbps, side, gbps):
        """The AllGather optimum is the one of the known-answers table (bounds.md)."""
        assert allgather_gbps(torus((side, side))) == pytest.approx(gbps, abs=1e-3)


class TestSeparateSizes:
    @pytest.mark.parametrize("build", [mesh, torus])
    def test_separate_sizes_are_refused(self, build):
        """Sizes given one by one would be read as a bandwidth: a line of three NPUs at 3 GB/s, which nobody means."""
        with pytest.raises(TopologyError, match=r"give the sizes together, as in \w+\(\[3, 4\]\)"):
            build(3, 4)
        assert build(3, 4.0).num_npus == 3
