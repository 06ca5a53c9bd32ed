"""Products of building blocks."""

from __future__ import annotations

import numpy as np
import pytest

from topologies import TopologyError, fully_connected, product, ring, switch, torus


class TestProduct:
    def test_three_dimensional_rfs(self):
        """3D-RFS 2×4×8 of the TACOS paper has a switch for each of its 8 lines along z, and 64 NPUs."""
        network = product("rfs", (2, 4, 8), (200.0, 100.0, 50.0))
        assert (network.num_npus, network.num_switches) == (64, 8)
        by_bandwidth = {gbps: int((network.bandwidth_gbps == gbps).sum()) for gbps in (200.0, 100.0, 50.0)}
        assert by_bandwidth == {200.0: 64, 100.0: 192, 50.0: 128}
        assert {network.egress_gbps(npu) for npu in range(64)} == {200.0 + 3 * 100.0 + 50.0}

    def test_two_dimensional_switch(self):
        """Switch 8×4 has one switch for each of 4 rows and 8 columns, rows first."""
        network = product(("switch", "switch"), (8, 4), (300.0, 25.0))
        assert network.name == "switch2d:8x4@300x25GB/s,0.5us"
        assert network.num_switches == 12
        row = np.unique(network.src[network.dst == 32])
        column = np.unique(network.src[network.dst == 32 + 4])
        assert row.tolist() == list(range(8))
        assert column.tolist() == [0, 8, 16, 24]

    def test_one_block_is_the_network_of_one_size(self):
        """A product of one block is the block."""
        assert product("r", 5) == ring(5)
        assert product("fully_connected", 5) == fully_connected(5)
        assert product("s", 5) == switch(5)

    def test_rings_make_a_torus(self):
        """Ring × ring × ring is a torus."""
        assert product("rrr", (4, 3, 2)) == torus((4, 3, 2))

    def test_every_line_is_fully_connected(self):
        """In f × f NPUs are joined when they share a row or a column."""
        network = product("ff", (3, 4))
        joined = set(zip(network.src.tolist(), network.dst.tolist(), strict=True))
        assert joined == {
            (a, b) for a in range(12) for b in range(12) if a != b and (a % 3 == b % 3 or a // 3 == b // 3)
        }

    def test_dimension_of_one_has_no_switch(self):
        """A line of one NPU needs neither a link nor a switch."""
        assert product("sr", (1, 4)) == ring(4)

    def test_refuses_unknown_blocks_and_wrong_counts(self):
        """The message names the blocks that there are."""
        with pytest.raises(TopologyError, match="unknown building block 'mesh'; expected ring"):
            product(("mesh", "ring"), (2, 2))
        with pytest.raises(TopologyError, match=r"rf:8: found 1 sizes, expected 2 \(one for each of ring x fully"):
            product("rf", 8)
        with pytest.raises(TopologyError, match="no building block"):
            product((), (2, 2))
