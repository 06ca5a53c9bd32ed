"""``ibnetdiscover``."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import IBNET
from topologies import FormatError


class TestRead:
    def test_fabric(self, reading):
        """Each cable counts once, parallel uplinks add up, 4xNDR is 400 Gb/s, and an open port is no link."""
        topology = reading(IBNET, latency="0.3us")
        assert topology.node_names == ("host a HCA-1", "host b HCA-1", "leaf 1", "leaf 2")
        assert (topology.num_npus, topology.num_switches, topology.num_links) == (2, 2, 8)
        assert (topology.egress_gbps(0), topology.egress_gbps(1), topology.egress_gbps(2)) == (50, 25, 150)
        assert reading.said == ["file.txt: left out ports that lead nowhere (1): leaf 1 port 4"]

    def test_one_end_only(self, reading):
        """A cable that only one of its ends tells is taken, and said."""
        text = IBNET.replace('[1](1) \t"S-0000000000000010"[1]\t\t# lid 3 lmc 0 "leaf 1" lid 1 4xNDR\n', "")
        assert reading(text, latency="1us").num_links == 8
        assert "file.txt: 1 cables stand at one end only: leaf 1 port 1" in reading.said

    def test_routers(self, reading):
        """A router and its cables are left out and named."""
        text = IBNET.replace('Ca\t1 "H-0000000000000002"', 'Rt\t1 "H-0000000000000002"')
        assert (reading(text, latency="1us").num_npus, reading(text, latency="1us").num_links) == (1, 6)
        assert "file.txt: left out routers, with their cables (1): host b HCA-1" in reading.said

    @pytest.mark.parametrize(("old", "new", "says"), [
        ('[1]\t"S-0000000000000010"[2]', '[1]\t"S-0000000000000010"[1]', "which says otherwise"),
        ("4xHDR\n\nCa", "4xNDR\n\nCa", "which says otherwise"),
        ('[2]\t"S-0000000000000010"[3]', '[1]\t"S-0000000000000010"[3]', "port 1 of S-0000000000000020 is there twice"),
        ('Switch\t4 "S-0000000000000020"', 'Swytch\t4 "S-0000000000000020"', "line 11: a node of the kind 'Swytch'"),
        ("Ca\t", "Cb\t", "a node of the kind 'Cb'; expected Switch, Ca or Rt"),
        ('Ca\t1 "H-0000000000000002"', 'Ca\t1 "H-0000000000000001"', "is there twice"),
    ])  # fmt: skip
    def test_faults(self, reading, old, new, says):
        """Ends that disagree, nodes that nobody describes and doubles are refused with the line."""
        with pytest.raises(FormatError, match=says):
            reading(IBNET.replace(old, new))

    def test_no_speed(self, reading):
        """A cable without width and speed asks for its bandwidth."""
        text = IBNET.replace(" 4xNDR", "").replace(" 4xHDR", "")
        with pytest.raises(FormatError, match="without width and speed.*--bandwidth 400Gbps"):
            reading(text)
        assert set(reading(text, bandwidth="200Gbps").bandwidth_gbps) == {25}
