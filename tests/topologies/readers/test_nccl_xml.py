"""NCCL and RCCL topology XML."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import nccl, nvlink
from topologies import FormatError, OptionError, dgx_a100, ring, switch

SWITCH = "".join(f'<nvlink target="0000:c{number}:00.0" count="6" tclass="0x068000"/>' for number in range(2))
UNSEEN = '<nvlink target="fffffff:ff:ff.0" count="12" tclass="0xffffff"/>'
PAIR = {0: nvlink(1), 1: nvlink(0)}


class TestLinks:
    @pytest.mark.parametrize("links", [SWITCH, UNSEEN], ids=["switches", "unseen"])
    def test_nvswitch(self, reading, links):
        """NVSwitches, declared by nobody or not even visible, are one switch that takes all links of each GPU."""
        assert reading(nccl(dict.fromkeys(range(8), links), 'sm="80"'), gpu="A100") == dgx_a100(1)

    def test_another_model(self, reading):
        """A model that is told goes before the one that the file shows, which is said where it matters."""
        text = nccl(PAIR, 'sm="80"')
        reading(text, gpu="H100")
        assert not any("taken as" in said for said in reading.said)
        reading(text, gpu="B200")
        assert any(
            "the GPUs are A100 by what the file says, and taken as B200 as told" in said for said in reading.said
        )

    def test_rank_order(self, reading):
        """NPU r is the GPU of rank r, wherever it stands in the file and whatever its bus."""
        text = nccl({0: nvlink(1), 1: nvlink(0) + nvlink(2), 2: nvlink(1)})
        text = text.replace('rank="0"', 'rank="x"').replace('rank="1"', 'rank="0"').replace('rank="x"', 'rank="1"')
        topology = reading(text)
        assert set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)) == {(0, 1), (1, 0), (0, 2), (2, 0)}

    def test_device_order(self, reading):
        """Where there are no ranks the device numbers count; they may be hexadecimal."""
        text = nccl(PAIR).replace(' rank="0"', "").replace(' rank="1"', "").replace('dev="1"', 'dev="0x1f"')
        assert reading(text).num_npus == 2

    def test_parallel_links(self, reading):
        """Parallel links stay separate unless they are bonded."""
        text = nccl({0: nvlink(1, 3), 1: nvlink(0, 3)})
        assert reading(text, gpu="V100").num_links == 6
        assert reading(text, gpu="V100", bonded="yes") == ring(2, 75.0, 0.7)

    def test_one_gpu(self, reading):
        """A single GPU needs no link."""
        assert reading(nccl({0: ""})).num_npus == 1


class TestMoreThanLinks:
    def test_machines(self, reading):
        """Several machines of one dump, with a NIC for each GPU, are the built-in ones."""
        text = nccl(dict.fromkeys(range(8), SWITCH), 'sm="80"')
        topology = reading(text, gpu="A100", boxes="3", nic="25GB/s")
        assert topology == dgx_a100(3)
        assert topology.node_names[-3:] == ("box 1 NVSwitch", "box 2 NVSwitch", "network switch")

    def test_pcie(self, reading):
        """GPUs whose links lead nowhere are joined by PCIe where its bandwidth is given."""
        text = nccl({gpu: nvlink(gpu, 12) for gpu in range(4)})
        assert reading(text, pcie="24GB/s") == switch(4, 24.0, 0.35)
        topology = reading(nccl(PAIR), gpu="V100", pcie="12GB/s", boxes="2", nic="100Gbps")
        assert topology.node_names[4:] == ("box 0 PCIe", "box 1 PCIe", "network switch")
        assert [topology.egress_gbps(node) for node in range(7)] == [49.5] * 4 + [24, 24, 50]

    @pytest.mark.parametrize("given", [{"boxes": "2"}, {"nic": "25GB/s"}, {"boxes": "1", "nic": "25GB/s"}])
    def test_boxes_and_nic(self, reading, given):
        """Several machines need to be told what joins them, and one has no use for it."""
        with pytest.raises(OptionError, match="boxes and nic go together"):
            reading(nccl(PAIR), **given)


class TestDropped:
    def test_loops_and_unknown_targets(self, reading):
        """Links to oneself and to what nobody declares are left out, counted and named."""
        topology = reading(nccl({0: nvlink(0, 4) + nvlink(1), 1: nvlink(0) + nvlink(9, 2)}), gpu="V100")
        assert topology.num_links == 2
        assert reading.said == [
            "file.txt: left out links from a GPU to itself (1): GPU 0 (0000:00:00.0) ×4",
            "file.txt: left out links to what the file does not declare (1): GPU 1 (0000:01:00.0) -> 0000:09:00.0 ×2",
        ]

    def test_same_bus_twice(self, reading):
        """Of two GPUs on one bus the first counts."""
        again = '<pci busid="0000:01:00.0"><gpu dev="7" rank="7" sm="70"/></pci>'
        assert reading(nccl(PAIR, more=again), gpu="V100").num_npus == 2
        assert reading.said == ["file.txt: left out GPUs whose busid another one has (1): 0000:01:00.0 (rank 7)"]

    def test_nics(self, reading):
        """NICs are left out, however often one is listed and however fast it claims to be."""
        nics = '<nic><net name="m0" speed="200000000"/></nic><nic><net name="m0" speed="-1"/></nic>'
        reading(nccl(PAIR, more=nics), gpu="V100")
        assert "NICs" in reading.said[0]
        assert "(2): m0, m0" in reading.said[0]

    def test_defaults_are_told(self, reading):
        """What the GPU model stands for is said, and taken over by what the user says."""
        assert set(reading(nccl(PAIR, 'sm="100"')).bandwidth_gbps) == {50}
        assert reading.said == ["file.txt: not in the file, from the table of defaults: 50 GB/s a link as of B200, "
                                "0.7 us a link"]  # fmt: skip
        assert set(reading(nccl(PAIR, 'sm="100"'), bandwidth="10GB/s", latency="2us").latency_us) == {2}
        assert reading.said == []


class TestRefused:
    @pytest.mark.parametrize(("text", "says"), [
        ("<graphs><graph/></graphs>", "graph dump.*NCCL_TOPO_DUMP_FILE"),
        ('<system><cpu><pci busid="1"/></cpu></system>', "lists no <gpu>: it is a hint file"),
        (nccl({0: nvlink(1), 1: nvlink(0), 2: ""}), r"no NVLink to another GPU has GPU 2 \(0000:02:00.0\), the others"),
        (nccl(PAIR).replace('rank="1"', 'rank="0"'), "two GPUs are of rank .* 0"),
        (nccl(PAIR).replace('busid="0000:01:00.0"', ""), "has no busid"),
        (nccl(PAIR).replace('count="1"', 'count="-3"'), "line 3: count of <nvlink> is '-3'"),
        (nccl(PAIR).replace('count="1"', ""), "count of <nvlink> is ''"),
        (nccl(PAIR, 'sm="42"'), "does not say what a link carries.*--gpu H100.*--bandwidth"),
        (nccl(PAIR)[:-12], "malformed XML"),
        (nccl(PAIR) + "<system/>", "malformed XML: junk"),
    ])  # fmt: skip
    def test_faults(self, reading, text, says):
        """What is no topology, or has a fault, is refused with what and where."""
        with pytest.raises(FormatError, match=says):
            reading(text)
