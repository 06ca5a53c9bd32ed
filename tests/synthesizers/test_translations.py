"""Tests of `synthesizers.translations`."""

from __future__ import annotations

import pytest

from synthesizers.translations import translations_of
from topologies import Topology, circulant, fully_connected, hypercube, mesh, ring, switch, torus


def slowed(topology, link=0):
    """Return the network with one link at half its bandwidth."""
    rate = topology.bandwidth_gbps.copy()
    rate[link] /= 2
    return Topology(topology.num_npus, topology.src, topology.dst, topology.latency_us, rate)


@pytest.mark.parametrize(
    ("topology", "shape"),
    [(ring(7), (7,)), (torus((3, 4)), (3, 4)), (torus((4, 4, 4)), (4, 4, 4)), (torus((4, 2)), (4, 2)),
     (torus((4, 6), [50.0, 75.0]), (4, 6)), (hypercube(4), (2, 2, 2, 2)), (circulant(12, [2, 3], one_way=False), (12,)),
     (circulant(9, [2, 5]), (9,)), (fully_connected(6), (6,))],
    ids=lambda value: getattr(value, "name", str(value)),
)  # fmt: skip
def test_images_are_links(topology, shape):
    """A translation carries each link to one with the ends moved, of the same column, bandwidth and latency."""
    moves = translations_of(topology)
    assert moves.shape == shape
    assert sorted(moves.links.ravel()) == list(range(topology.num_links))
    column = moves.column_of(topology.num_links)
    for by in range(topology.num_npus):
        image = moves.links[moves.add(topology.src, by), column]
        assert (topology.src[image] == moves.add(topology.src, by)).all()
        assert (topology.dst[image] == moves.add(topology.dst, by)).all()
        assert (topology.bytes_per_s[image] == topology.bytes_per_s).all()
        assert (topology.latency_ps[image] == topology.latency_ps).all()


@pytest.mark.parametrize(
    "topology",
    [mesh((3, 3)), mesh((2, 3)), switch(4), slowed(ring(6)), slowed(hypercube(3), 5)],
    ids=lambda topology: topology.name,
)
def test_none(topology):
    """Networks with an edge, with switches or with one slow link have none."""
    assert translations_of(topology) is None


def test_parallel_links():
    """Parallel links are told apart by their bandwidth, however they are listed."""
    rows = [(a, (a + 1) % 4, 0.5, rate) for a in range(4) for rate in ((50.0, 25.0) if a % 2 else (25.0, 50.0))]
    moves = translations_of(Topology.from_links(4, rows))
    assert {rows[link][3] for link in moves.links[:, 0]} == {25.0}
