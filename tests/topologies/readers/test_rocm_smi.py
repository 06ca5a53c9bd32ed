"""``rocm-smi --showtopo``."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import RING_WEIGHTS, rocm
from topologies import FormatError

RING = {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (0, 3), (3, 0)}
BANDWIDTHS = [["N/A", "50000-200000", "0-0", "50000-100000"], ["50000-200000", "N/A", "50000-50000", "0-0"],
              ["0-0", "50000-50000", "N/A", "50000-50000"], ["50000-100000", "0-0", "50000-50000", "N/A"]]  # fmt: skip


class TestRead:
    def test_one_hop_is_no_link(self, reading):
        """All GPUs of a hive are one hop apart; only those of weight 15 have a link."""
        topology = reading(rocm(RING_WEIGHTS), gpu="MI250")
        assert set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)) == RING
        assert reading.said == [
            "file.txt: does not say how many links join two GPUs: one is taken where there are some"
        ]

    def test_bandwidths(self, reading):
        """The matrix of bandwidths says what one link carries and how many there are; what is given goes before it."""
        text = rocm(RING_WEIGHTS, bandwidths=BANDWIDTHS)
        topology = reading(text)
        assert [len(topology.dst[(topology.src == 0) & (topology.dst == peer)]) for peer in (1, 2, 3)] == [4, 0, 2]
        assert set(topology.bandwidth_gbps) == {50}
        assert reading.said == ["file.txt: not in the file, from the table of defaults: 0.7 us a link"]
        assert set(reading(text, bandwidth="10GB/s").bandwidth_gbps) == {10}

    @pytest.mark.parametrize(("text", "says"), [
        (rocm(RING_WEIGHTS, "PCIE"), "no xGMI link to another GPU has GPU0"),
        (rocm([[0, 15, 30], [15, 0, 30], [30, 30, 0]]), "no xGMI link to another GPU has GPU2, the others"),
        (rocm(RING_WEIGHTS), "does not say what a link carries.*--gpu MI250"),
        (rocm(RING_WEIGHTS).replace("Weight between", "Something of"), "no matrix of weight"),
        (rocm([[0, 15], [30, 0]]), "a link one way only"),
        (rocm(RING_WEIGHTS).replace("\nGPU2   30", "\nGPU7   30"), "matrix of weight is cut off or damaged"),
        (rocm([[0, 15], [15, 0]]).replace("15", "x5"), "weight 'x5'"),
        (rocm(RING_WEIGHTS, bandwidths=[["N/A"] * 4] * 4), "bandwidth 'N/A' from GPU0 to GPU1"),
        (rocm(RING_WEIGHTS, bandwidths=[["50-70"] * 4] * 4), "bandwidth '50-70'"),
        (rocm([[0, 15], [15, 0]], bandwidths=[["-", "50-50"], ["60-60", "-"]]), "links of 50 and 60 MB/s"),
    ])  # fmt: skip
    def test_faults(self, reading, text, says):
        """What is damaged, or has no links, is refused with what is wrong."""
        with pytest.raises(FormatError, match=says):
            reading(text)
