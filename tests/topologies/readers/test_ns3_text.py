"""Topology text of ASTRA-sim/ns-3 and SimAI."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import NS3, SIMAI
from topologies import FormatError


class TestRead:
    def test_ns3(self, reading):
        """Each line is a cable, in bits and decimal prefixes; a switch is no rank."""
        topology = reading(NS3)
        assert (topology.num_npus, topology.num_switches, topology.num_links) == (3, 1, 6)
        assert topology.bandwidth_gbps.tolist() == [12.5] * 4 + [6.25] * 2
        assert topology.latency_us.tolist() == [0.5] * 4 + [1] * 2

    def test_simai(self, reading):
        """NVSwitches and switches are both no ranks: 7 nodes, 2 NVSwitches and a switch are 4."""
        topology = reading(SIMAI)
        assert (topology.num_npus, topology.num_switches) == (4, 3)
        assert (topology.egress_gbps(0), float(topology.latency_us[0])) == (360, 0.025)

    def test_switches_first(self, reading):
        """Ranks are the nodes that are no switch, in their order, wherever switches stand; lists may take lines."""
        topology = reading("4 2 3\n0\n2\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n2 3 1Gbps 1us 0\n")
        assert topology.node_names == ("NPU 1", "NPU 3", "switch 0", "switch 2")
        assert list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))[::2] == [(2, 0), (2, 3), (3, 1)]

    def test_twice(self, reading):
        """A cable that stands twice is two; with other values it is refused, whichever way round it stands."""
        text = NS3.replace("4 1 3", "4 1 4")
        assert reading(text + "3 0 100Gbps 0.5us 0\n").num_links == 8
        assert reading.said == ["file.txt: 1 links stand more than once and are taken as parallel ones: 3 – 0"]
        with pytest.raises(FormatError, match="line 6: the link 3 – 0 stands twice with different values"):
            reading(text + "3 0 200Gbps 0.5us 0\n")

    def test_dropped(self, reading):
        """A cable from a node to itself, and error rates, are left out and named."""
        topology = reading(NS3.replace("4 1 3", "4 1 4").replace("1us 0\n", "1us 0.01\n") + "1 1 1Gb/s 1us 0\n")
        assert topology.num_links == 6
        assert reading.said == [
            "file.txt: left out links from a node to itself (1): 1",
            "file.txt: the error rates of 1 links are left out: 2 – 3",
        ]

    @pytest.mark.parametrize(("old", "new", "says"), [
        ("4 1 3", "4 1 4", "has 3 lines of links, the header says 4"),
        ("4 1 3\n3\n", "4 1 3\n3 2\n", "names 2 switches, the header 1"),
        ("4 1 3", "1 5 3", "no more switches than nodes"),
        ("4 1 3\n3\n", "4 3 3\n3\n", "line 3: switch 3 is named twice"),
        ("\n3\n", "\n7\n", "line 2: node '7'; expected a number from 0 to 3"),
        ("0 3 100Gbps", "0 8 100Gbps", "line 3: node '8'"),
        ("0 3 100Gbps", "0 3 100", "line 3: bandwidth '100' has no unit"),
        ("500ns", "500", "line 4: time '500' has no unit"),
        ("100Gbps", "0Gbps", "expected more than zero"),
        ("0.0005ms 0", "", "line 3: found 3 words"),
        ("4 1 3\n3\n", "2 2 3\n0 1\n", "all 2 nodes are switches"),
    ])  # fmt: skip
    def test_faults(self, reading, old, new, says):
        """Counts that do not fit and values without a unit are refused with the line."""
        with pytest.raises(FormatError, match=says):
            reading(NS3.replace(old, new, 1))
