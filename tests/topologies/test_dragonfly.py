"""Dragonfly networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import TopologyError, dragonfly, fully_connected


class TestDragonfly:
    def test_paper_shape(self):
        """DragonFly 4×5 at 400 and 200 GB/s (TACOS) has 5 groups of 4, each NPU with 3 local and 1 global cable."""
        network = dragonfly(4, 5, (400.0, 200.0))
        assert network.num_npus == 20
        assert {network.egress_gbps(npu) for npu in range(20)} == {3 * 400.0 + 200.0}

    @settings(max_examples=25, deadline=None)
    @given(st.integers(1, 5), st.integers(1, 8))
    def test_structure(self, size, groups):
        """Groups are complete, every two groups share one cable, and global cables are spread evenly."""
        network = dragonfly(size, groups)
        group_of = np.arange(network.num_npus) // size
        a, b = group_of[network.src], group_of[network.dst]
        between = sorted(zip(a[a != b].tolist(), b[a != b].tolist(), strict=True))
        assert between == [(i, j) for i in range(groups) for j in range(groups) if i != j]
        assert (a == b).sum() == groups * size * (size - 1)
        load = np.bincount(network.src[a != b], minlength=network.num_npus).reshape(groups, size)
        assert (load.max(axis=1) - load.min(axis=1)).max() <= 1
        assert len(network.components()) == 1

    def test_one_group_is_fully_connected(self):
        """One group has no global cable."""
        assert dragonfly(4, 1) == fully_connected(4)

    def test_refuses_three_values(self):
        """Values are local and global."""
        with pytest.raises(TopologyError, match="dragonfly:4x5: found 3 bandwidths"):
            dragonfly(4, 5, (1.0, 2.0, 3.0))
