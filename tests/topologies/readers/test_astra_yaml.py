"""Network files of ASTRA-sim's analytical back end."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import ASTRA
from topologies import FormatError, fully_connected, product, ring

GIB = 2**30 / 1e9


class TestRead:
    def test_dimensions(self, reading):
        """Each dimension has its block, size, bandwidth in GiB/s and latency in ns; comments do not count."""
        expected = product("rfs", (2, 3, 4), (200 * GIB, 100 * GIB, 50 * GIB), (0.05, 0.5005, 2))
        assert reading(ASTRA) == expected
        assert reading(ASTRA.replace("Ring", "ring")) == expected

    def test_scalars(self, reading):
        """One dimension needs no brackets, and a ring of 2 is one cable."""
        text = "topology: Ring\nnpus_count: 2\nbandwidth: 50\nlatency: 500\n"
        assert reading(text) == ring(2, 50 * GIB, 0.5)
        block = "topology:\n- FullyConnected\nnpus_count:\n- 4\nbandwidth:\n- 50\nlatency:\n- 500\nextra: [1, 2]\n"
        assert reading(block) == fully_connected(4, 50 * GIB, 0.5)
        assert reading.said == ["file.txt: left out keys that say nothing of a network (1): extra"]

    @pytest.mark.parametrize(("old", "new", "says"), [
        ("2, 3, 4", "65536, 3, 4", "4718592 links; expected at most"),
        ("200.0, 100.0, 50.0", "200.0, tbd, 50.0", "bandwidth is 'tbd'"),
        ("2, 3, 4", "2, 3", "npus_count has 2 values, topology 3"),
        ("2, 3, 4", "2, 3.5, 4", "npus_count is '3.5'; expected a whole number"),
        ("2, 3, 4", "2, 0, 4", "size 1 of 3 is 0"),
        ("Switch", "Torus", "topology is 'Torus'; expected Ring, FullyConnected or Switch"),
        ("latency", "latencies", "has no latency"),
        ("200.0", "-200.0", "bandwidth is '-200.0'"),
        ("200.0", "0", "bandwidth 0"),
        ("200.0", ".inf", "bandwidth is '.inf'"),
        ("npus_count", "bandwidth", "'bandwidth' stands twice"),
        ("npus_count: [", "npus_count: [[", "nested otherwise"),
        ("npus_count: [", "npus_count: {", "nested otherwise"),
        (" ]  # GB/s", "", "not YAML"),
    ])  # fmt: skip
    def test_faults(self, reading, old, new, says):
        """A value that is none, or does not fit, is refused with its key."""
        with pytest.raises(FormatError, match=says):
            reading(ASTRA.replace(old, new, 1))
