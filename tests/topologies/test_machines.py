"""Real machines, held to the published figures."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from topologies import Paths, TopologyError, dgx1, dgx2, dgx_a100, mi250, ndv2


def counts(topology, npus, unit):
    """Return the matrix of bandwidth / unit between the first NPUs."""
    matrix = np.zeros((npus, npus))
    np.add.at(matrix, (topology.src, topology.dst), topology.bandwidth_gbps / unit)
    return matrix


def latency_us(topology, source, target):
    """Return α along the shortest route of an empty message."""
    route = Paths(topology, [source], message_bytes=0).route(source, target)
    return float(topology.latency_us[route].sum())


class TestDgx1:
    def test_links_are_those_that_the_driver_prints(self, case_file):
        """NV1 and NV2 between GPUs agree with `nvidia-smi topo -m` of a DGX-1V."""
        rows = [line.split("\t") for line in case_file("21-smi-dgx1v-tabs.txt").read_text().splitlines()]
        printed = [row[1:9] for row in rows if row[0].startswith("GPU")]
        expected = [[int(cell[2:]) if cell.startswith("NV") else 0 for cell in row] for row in printed]
        assert counts(dgx1(), 8, 25.0).tolist() == expected

    def test_each_gpu_has_six_nvlinks(self):
        """A V100 has six NVLinks of 25 GB/s."""
        assert {dgx1().egress_gbps(gpu) for gpu in range(8)} == {150.0}

    def test_allgather_takes_seven_sixths_of_a_round(self, allgather_gbps):
        """A round is one shard over a 25 GB/s link; the optimum is 7/6 (SCCL, arXiv 2008.08708)."""
        assert 8 * 25.0 / allgather_gbps(dgx1()) == pytest.approx(7 / 6)


class TestNdv2:
    @pytest.mark.parametrize(("boxes", "gbps"), [(2, 25.0), (4, 16.667)])
    def test_allgather_optimum(self, allgather_gbps, boxes, gbps):
        """The AllGather optimum is the one of the known-answers table (bounds.md)."""
        assert allgather_gbps(ndv2(boxes)) == pytest.approx(gbps, abs=1e-3)

    def test_latency_across(self):
        """From box to box α is 1.3 µs in all, inside it is 0.7 µs."""
        assert latency_us(ndv2(2), 0, 8) == pytest.approx(1.3)
        assert latency_us(ndv2(2), 0, 1) == pytest.approx(0.7)

    def test_one_box_is_a_dgx1(self):
        """One box has no network."""
        assert ndv2(1) == dgx1()


class TestDgx2:
    def test_allgather_optimum(self, allgather_gbps):
        """Two boxes gather at 129.032 GB/s (TE-CCL, arXiv 2305.13479)."""
        assert allgather_gbps(dgx2(2)) == pytest.approx(129.032, abs=1e-3)

    def test_two_boxes_are_joined_odd_to_even(self):
        """Each way eight one-way links of 12.5 GB/s lead from an odd GPU to the even one below it."""
        network = dgx2(2)
        across = network.bandwidth_gbps == 12.5
        ends = sorted(zip(network.src[across].tolist(), network.dst[across].tolist(), strict=True))
        there = [(gpu, gpu + 15) for gpu in range(1, 16, 2)]
        back = [(gpu + 16, gpu - 1) for gpu in range(1, 16, 2)]
        assert ends == sorted(there + back)
        assert latency_us(network, 1, 16) == pytest.approx(2.6)

    @pytest.mark.parametrize("boxes", [3, 4])
    def test_more_boxes_keep_the_nic_bandwidth(self, boxes):
        """With more boxes an odd GPU still sends, and an even one receives, 12.5 GB/s beside its 125 GB/s."""
        network = dgx2(boxes)
        assert [network.egress_gbps(gpu) for gpu in (0, 1)] == [125.0, 137.5]
        assert [network.ingress_gbps(gpu) for gpu in (0, 1)] == [137.5, 125.0]
        assert len(network.components()) == 1
        assert latency_us(network, 1, 16 * (boxes - 1)) == pytest.approx(2.6)

    def test_one_box_has_no_network(self):
        """One box is 16 GPUs and an NVSwitch."""
        assert (dgx2(1).num_npus, dgx2(1).num_switches, dgx2(1).num_links) == (16, 1, 32)


class TestDgxA100:
    @pytest.mark.parametrize(("boxes", "gbps"), [(1, 342.857), (2, 346.667), (4, 266.667), (8, 228.571)])
    def test_allgather_optimum(self, allgather_gbps, boxes, gbps):
        """The AllGather optimum is the one of ForestColl (arXiv 2402.06787; bounds.md)."""
        assert allgather_gbps(dgx_a100(boxes)) == pytest.approx(gbps, abs=1e-3)

    def test_names_tell_boxes_apart(self):
        """Nodes are called what an engineer calls them."""
        network = dgx_a100(2)
        assert network.node_name(9) == "box 1 GPU 1"
        assert network.node_name(17) == "box 1 NVSwitch"
        assert network.node_name(18) == "IB switch"


class TestMi250:
    @pytest.mark.parametrize(("boxes", "gbps"), [(1, 342.857), (2, 354.133)])
    def test_allgather_optimum(self, allgather_gbps, boxes, gbps):
        """The AllGather optimum is the one of ForestColl (arXiv 2402.06787; bounds.md)."""
        assert allgather_gbps(mi250(boxes)) == pytest.approx(gbps, abs=1e-3)

    def test_link_counts(self, case_file):
        """The links between GCDs agree with ForestColl's matrix."""
        with case_file("38-forestcoll-mi250-16gcd-linkcount.csv").open() as file:
            expected = [[int(cell) for cell in row] for row in csv.reader(file)]
        assert counts(mi250(1), 16, 50.0).tolist() == expected


@pytest.mark.parametrize("machine", [ndv2, dgx2, dgx_a100, mi250])
class TestEveryMachine:
    def test_refuses_no_boxes(self, machine):
        """A machine has at least one box."""
        with pytest.raises(TopologyError, match=f"{machine.__name__}: the size is 0; expected 1 or more"):
            machine(0)

    def test_refuses_absurdly_many_boxes(self, machine):
        """Too many boxes are refused before any memory is taken."""
        with pytest.raises(TopologyError, match="links, expected at most"):
            machine(10**12)

    def test_link_count_is_what_the_limit_assumes(self, machine):
        """Each box adds the same number of links."""
        assert machine(5).num_links - machine(4).num_links == machine(4).num_links - machine(3).num_links
