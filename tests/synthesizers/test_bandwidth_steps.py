"""Tests of `synthesizers.bandwidth_steps`."""

from __future__ import annotations

import pytest

from synthesizers.bandwidth_steps import parts_by_bandwidth
from topologies import mesh, parse_topology


def steps(topology):
    """Return (step, parts) of a network."""
    links = topology.src, topology.dst, topology.bandwidth_gbps
    return [(step, parts.tolist()) for step, parts in parts_by_bandwidth(topology.num_nodes, *links)]


@pytest.mark.parametrize("rates", [[50.0, 50.0], [50.0, 40.0]])
def test_no_step(rates):
    """Links alike, or nearly so, make no boxes."""
    assert steps(mesh([3, 3], rates)) == []


def test_one_step():
    """Rows are parts where columns are slower, and columns where rows are."""
    assert steps(mesh([3, 2], [100.0, 10.0])) == [(10.0, [0, 0, 0, 1, 1, 1])]
    assert steps(mesh([3, 2], [10.0, 100.0])) == [(10.0, [0, 1, 2, 0, 1, 2])]


def test_two_steps():
    """Three bandwidths make lines within planes, the fastest first."""
    found = steps(mesh([2, 2, 2], [100.0, 50.0, 10.0]))
    assert found == [(2.0, [0, 0, 1, 1, 2, 2, 3, 3]), (5.0, [0, 0, 0, 0, 1, 1, 1, 1])]


def test_switches():
    """A box is its NPUs with their switch; what joins boxes is by itself."""
    ((step, parts),) = steps(parse_topology("dgx_a100:2"))
    assert step == 12
    assert parts == [0] * 8 + [1] * 8 + [0, 1, 2]
