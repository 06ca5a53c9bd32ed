"""Public files of clusters, as found, with their right readings (skipped where the files are not)."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from simulator import allgather_bound_gbps
from tests.topologies.readers.samples import CASES
from topologies import FormatError, TopologyWarning, dgx1, mi250, parse_topology

pytestmark = [
    pytest.mark.skipif(not CASES.is_dir(), reason="the public files are not there"),
    pytest.mark.filterwarnings("ignore::topologies.TopologyWarning"),
]


def case(name, given=""):
    """Read the public file whose name begins so."""
    (path,) = CASES.glob(f"{name}*")
    return parse_topology(f"{path}@{given}" if given else str(path))


def rounds(topology, unit_gbps):
    """Return the least rounds of an AllGather: a round is the time of one shard over one link."""
    return topology.num_npus * unit_gbps / allgather_bound_gbps(topology)


class TestReadings:
    def test_04_loops(self):
        """GPUs whose links lead to themselves: dropped with a warning, then refused as unconnected, by name."""
        with (
            pytest.warns(
                TopologyWarning, match=r"left out links from a GPU to itself \(4\): GPU 0 \(0001:00:00.0\) ×12"
            ),
            pytest.raises(FormatError, match=r"not connected.*GPU 0 \(0001:00:00.0\).*GPU 3 \(0004:00:00.0\)"),
        ):
            case("04")

    def test_09_mi100(self):
        """Eight MI100 of six links each are K8 without a perfect matching; AllGather takes 7/6 rounds."""
        topology = case("09")
        assert (topology.num_npus, topology.num_links) == (8, 48)
        graph = nx.Graph(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
        assert [degree for _, degree in nx.complement(graph).degree] == [1] * 8
        assert rounds(topology, 46) == pytest.approx(7 / 6)

    def test_12_mi250(self):
        """Sixteen GCDs of seven links each; 342.857 GB/s of AllGather at 50 GB/s a link."""
        topology = case("12")
        assert (topology.num_npus, topology.num_links) == (16, 112)
        assert (np.bincount(topology.src) == 7).all()
        assert allgather_bound_gbps(topology) == pytest.approx(342.857, abs=1e-3)

    def test_21_dgx1(self):
        """A DGX-1V has 48 links one way; AllGather takes 7/6 rounds, and bonded links are the built-in machine."""
        topology = case("21")
        assert (topology.num_npus, topology.num_switches, topology.num_links) == (8, 0, 48)
        assert rounds(topology, 25) == pytest.approx(7 / 6)
        assert case("21", "gpu=V100,bonded=yes") == dgx1()

    def test_26_dgx_a100(self):
        """NV12 to all seven peers is one port of 300 GB/s into the NVSwitch, not 2,100 GB/s."""
        topology = case("26")
        assert (topology.num_npus, topology.num_switches) == (8, 1)
        assert topology.egress_gbps(0) == 300

    def test_27_h100(self):
        """NV6 to each of three peers is a direct mesh of 18 links per H100, and left open without the model."""
        topology = case("27", "gpu=H100")
        assert (topology.num_switches, topology.num_links) == (0, 72)
        assert rounds(topology, 25) == pytest.approx(1 / 6)
        assert case("27", "wiring=direct,bandwidth=25GB/s") == topology
        with pytest.raises(
            FormatError, match="18 direct links of each, or 6 into an NVSwitch.*gpu=.*--nvswitch.*--direct"
        ):
            case("27")

    def test_30_switch(self):
        """Eight NPUs on a switch, 400 GB/s of 2^30 B/s, 936.25 ns for each hop."""
        topology = case("30")
        assert (topology.num_npus, topology.num_switches) == (8, 1)
        assert set(topology.bytes_per_s.tolist()) == {400 * 2**30}
        assert set(topology.latency_ps.tolist()) == {936_250}

    def test_31_unfilled(self):
        """A value that is still to be filled in is refused with its key."""
        with pytest.raises(FormatError, match="bandwidth is 'tbd'"):
            case("31")

    def test_38_matrix(self):
        """ForestColl's matrix of link counts is the built-in machine."""
        assert case("38", "gpu=MI250,bonded=yes") == mi250()

    def test_40_simai(self):
        """Sixteen ranks below 2 NVSwitches and 10 switches, not 18 or 28, on 48 cables."""
        topology = case("40")
        assert (topology.num_npus, topology.num_switches, topology.num_links) == (16, 12, 96)
        assert topology.egress_gbps(0) == 360 + 25

    def test_46_abilene(self):
        """Twelve NPUs on fifteen cables, of a bandwidth that has to be given."""
        with pytest.raises(FormatError, match="edge 0 – 1 has no bandwidth; give one.*--bandwidth"):
            case("46")
        topology = case("46", "bandwidth=100Gbps")
        assert (topology.num_npus, topology.num_links, topology.node_name(0)) == (12, 30, "ATLAM5")
        assert set(topology.bandwidth_gbps.tolist()) == {12.5}
