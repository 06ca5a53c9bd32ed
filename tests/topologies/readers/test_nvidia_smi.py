"""``nvidia-smi topo -m``."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import all_pairs, smi
from topologies import FormatError, OptionError, dgx2, switch

CHAIN = [[" X ", "NV1", "SYS"], ["NV1", " X ", "NV2"], ["PHB", "NV2", " X "]]


class TestMatrix:
    @pytest.mark.parametrize("between", ["\t", "   "], ids=["tabs", "spaces"])
    def test_cells(self, reading, between):
        """NV# counts links, ways through PCIe are none, in tabs as in spaces."""
        topology = reading(smi(CHAIN, between), gpu="V100")
        assert list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)) == [(0, 1), (1, 0)] + [
            (1, 2), (1, 2), (2, 1), (2, 1)
        ]  # fmt: skip

    def test_numbers_and_colours(self, reading):
        """GPUs of other numbers are ranked by them, and a terminal's underlining is no part of the matrix."""
        text = smi(CHAIN, numbers=[5, 2, 3])
        topology = reading(text.replace("GPU5", "\x1b[4mGPU5", 1).replace("Affinity", "Affinity\x1b[0m"), gpu="V100")
        assert topology.num_links == 6
        assert set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)) == {(2, 0), (0, 2), (0, 1), (1, 0)}

    @pytest.mark.parametrize(("text", "says"), [
        (smi(CHAIN).replace("NV2", "NV3", 1), "GPU1 shows NV3 to GPU2, which shows NV2 back"),
        (smi(CHAIN).replace("NV1", "NVX"), "line 2: cell 'NVX'"),
        ("\n".join(smi(CHAIN).split("\n")[:3]), "1 GPUs of the header have no row: GPU2"),
        (smi(CHAIN).replace("\nGPU2", "\nGPU1"), "row GPU1 stands twice"),
        (smi(CHAIN).replace("\nGPU2", "\nGPU9"), "row GPU9 is not in the header"),
        (smi(CHAIN).replace(" X \tNV1", "NV1\t X "), "X in another column"),
        (smi([[" X ", "NV2", "SYS"], ["NV2", " X ", "SYS"], ["SYS", "SYS", " X "]]), "to another GPU has GPU2"),
        (smi(all_pairs(4, "PIX")), "no GPU has one"),
    ])  # fmt: skip
    def test_faults(self, reading, text, says):
        """A matrix that is damaged, or of GPUs without NVLink, is refused by name."""
        with pytest.raises(FormatError, match=says):
            reading(text)


class TestWiring:
    def test_more_than_any_gpu_has(self, reading):
        """A DGX-2's NV6 to fifteen peers can only be six links into the switch; the model follows from the number."""
        topology = reading(smi(all_pairs(16, "NV6")))
        assert topology == switch(16, 150.0, 0.35)
        assert "25 GB/s a link as of V100, the only GPU with 6 links" in reading.said[0]
        assert (topology.num_links, topology.num_switches) == (dgx2().num_links, dgx2().num_switches)

    def test_pairs(self, reading):
        """Pairs of GPUs that nothing joins are said, with what would join them; then they are one network."""
        cells = [[" X ", "NV4", "SYS", "SYS"], ["NV4", " X ", "SYS", "SYS"], ["SYS", "SYS", " X ", "NV4"],
                 ["SYS", "SYS", "NV4", " X "]]  # fmt: skip
        assert len(reading(smi(cells), gpu="A100").components()) == 2
        assert any("2 parts that no NVLink joins; PCIe does, @pcie=24GB/s" in said for said in reading.said)
        assert len(reading(smi(cells), gpu="A100", pcie="24GB/s").components()) == 1
        assert not any("parts" in said for said in reading.said)

    @pytest.mark.parametrize(("model", "says"), [
        ("V100", "a GPU of it has 12 NVLinks, V100 has 6; give another model"),
        ("MI300X", "its links are NVLinks, which MI300X does not have"),
    ])  # fmt: skip
    def test_a_model_that_cannot_be(self, reading, model, says):
        """A model with fewer links than the file shows, or with none of the kind, is refused."""
        with pytest.raises(OptionError, match=says):
            reading(smi(all_pairs(8, "NV12")), gpu=model)
        assert reading(smi(all_pairs(8, "NV12")), gpu="H100", wiring="nvswitch").num_switches == 1

    def test_the_model_decides(self, reading):
        """NV6 between four is a direct mesh of H100 (18 links), and a switch for V100 (6)."""
        text = smi(all_pairs(4, "NV6"))
        assert (reading(text, gpu="h100").num_links, reading(text, gpu="V100").num_switches) == (72, 1)
        assert reading(text, wiring="nvswitch", bandwidth="25GB/s") == switch(4, 150.0, 0.35)

    @pytest.mark.parametrize(("cells", "given", "says"), [
        (all_pairs(4, "NV6"), {}, "say which: @gpu=H100"),
        (all_pairs(4, "NV6"), {"wiring": "direct"}, "nor which GPU it is .18 links each"),
        (all_pairs(8, "NV12"), {"wiring": "direct"}, "84 NVLinks of a GPU in all; any GPU has at most 18"),
        (all_pairs(4, "NV12"), {"wiring": "nvswitch", "gpu": "V100"}, "12 NVLinks of each.*V100 has at most 6"),
        (CHAIN, {"wiring": "nvswitch"}, "not all GPUs show the same number"),
        ([[" X ", "NV18", "NV2"], ["NV18", " X ", "NV2"], ["NV2", "NV2", " X "]], {}, "20 NVLinks of a GPU in all"),
    ])  # fmt: skip
    def test_left_open(self, reading, cells, given, says):
        """What the matrix leaves open is asked for, and what cannot be is refused."""
        with pytest.raises(FormatError, match=says):
            reading(smi(cells), **given)
