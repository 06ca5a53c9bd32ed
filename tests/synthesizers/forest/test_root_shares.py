"""Tests of AllReduce over trees of any roots: what the linear program reaches, and its whole trees."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizers.forest.root_shares import RootShares, root_share_trees
from topologies import parse_topology

# GB/s that no AllReduce without in-network reduction exceeds, from the links into NPUs: 2(N−1) receipts of each byte.
ATTAINED = {"mesh:3x3": 75.0, "mesh:4x4": 80.0, "mesh:8x8": 88.889, "ring:8": 57.143, "dgx1": 85.714,
            "dgx_a100:2": 173.333}  # fmt: skip


@pytest.mark.parametrize("name", ATTAINED)
def test_program(name):
    """The program's solution reaches the bound; ReduceScatter then AllGather stops at 53.333 on the 4×4 mesh."""
    topology = parse_topology(name)
    load, share, *_ = RootShares(topology, range(topology.num_npus)).solve()
    assert topology.bandwidth_gbps.max() / load == pytest.approx(ATTAINED[name], abs=1e-3)
    assert share.sum() == pytest.approx(1)


@pytest.mark.parametrize(("name", "trees"), [("mesh:4x4", None), ("mesh:3x3", 5), ("switch:5", 7), ("mesh:2x3", None)])
def test_trees(name, trees):
    """Trees go in pairs with one root, span all NPUs, and load the links as the rounding says."""
    topology = parse_topology(name)
    npus = topology.num_npus
    down, up = root_share_trees(topology, range(npus), trees, np.inf)
    assert np.array_equal(down.root, up.root)
    assert trees is None or len(down.root) == trees
    for way, ends in ((down, down.target), (up, up.source)):
        assert len(way.tree) == len(way.root) * (npus - 1)
        assert (np.bincount(way.tree) == npus - 1).all()
        assert len(np.unique(way.tree * npus + ends)) == len(ends)  # each NPU gets, or gives, each tree's part once


def test_whole_trees_of_the_mesh():
    """On the 4×4 mesh eight trees take five units of every cable both ways: 80 GB/s."""
    topology = parse_topology("mesh:4x4")
    down, up = root_share_trees(topology, range(16), None, np.inf)
    assert len(down.root) == 8
    assert (down.load(48) + up.load(48) == 5).all()


def test_nothing_to_gain():
    """Where other trees load the links as little already, none are made."""
    topology = parse_topology("ring:8")
    load, *_ = RootShares(topology, range(8)).solve()
    assert root_share_trees(topology, range(8), None, load / 50e9) == []
