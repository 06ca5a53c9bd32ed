"""Fabrics before they are wired, and demands."""

import numpy as np
import pytest

from topologies import CollectiveError, Demand, Fabric, TopologyError, fabric, parse_topology


class TestFabric:
    def test_short_name(self):
        """A fabric is called what a user would type for it, and has servers but no links."""
        found = parse_topology("fabric:128x4@100Gbps,1us")
        assert isinstance(found, Fabric)
        assert (found.num_npus, found.ports, found.port_gbps, found.port_latency_us) == (128, 4, 12.5, 1.0)
        assert (found.name, found.num_links) == ("fabric:128x4@12.5GB/s,1us", 0)
        assert found == fabric(128, 4, 12.5, 1.0) != fabric(128, 5, 12.5, 1.0)
        assert found != fabric(128, 4, 12.5, 1.0, "optical_switch")

    def test_reconfiguration(self):
        """A patch panel is rewired by hand, an optical switch in ten milliseconds."""
        assert fabric(4, 2).reconfiguration_us > fabric(4, 2, switching="optical_switch").reconfiguration_us == 10e3

    def test_wired(self):
        """A wiring has the ports' links, and is one."""
        found = fabric(3, 2, 5.0, 2.0).wired(np.array([0, 1, 2, 0]), np.array([1, 2, 0, 1]), "three")
        assert (found.name, found.num_links, set(found.bandwidth_gbps), set(found.latency_us)) == ("three", 4, {5}, {2})
        assert fabric(3, 2, 5.0, 2.0).fault(found) is None

    @pytest.mark.parametrize(
        ("other", "fault"),
        [(fabric(3, 1, 5.0, 2.0), "2 links out of NPU 0, but 1 ports"), (fabric(4, 2, 5.0, 2.0), "has 3 servers"),
         (fabric(3, 2, 6.0, 2.0), "another bandwidth than a port"), (fabric(3, 2, 5.0, 1.0), "another latency")],
    )  # fmt: skip
    def test_faults(self, other, fault):
        """Too many links, other servers, other links."""
        wired = fabric(3, 2, 5.0, 2.0).wired(np.array([0, 1, 2, 0]), np.array([1, 2, 0, 1]), "three")
        assert fault in other.fault(wired)

    def test_too_many_links_are_refused(self):
        """More links than ports are refused, with the server."""
        with pytest.raises(TopologyError, match="2 links into NPU 1, but 1 ports"):
            fabric(3, 1).wired(np.array([0, 2]), np.array([1, 1]), "bad")

    @pytest.mark.parametrize(("sizes", "message"), [((0, 4), "expected 1 or more"), ((4, 0), "expected 1 or more")])
    def test_refusals(self, sizes, message):
        """No servers, no ports, a switching that is unknown, a bandwidth that no link has."""
        with pytest.raises(TopologyError, match=message):
            fabric(*sizes)
        with pytest.raises(TopologyError, match="unknown switching"):
            fabric(4, 2, switching="robot")
        with pytest.raises(TopologyError, match="bandwidth"):
            fabric(4, 2, -1.0)


class TestDemand:
    @pytest.mark.parametrize(
        ("given", "message"),
        [({"groups": [[0, 1]]}, "1 groups but 0 sizes"), ({"groups": [[0]], "group_bytes": [3]}, "two or more"),
         ({"groups": [[0, 9]], "group_bytes": [3]}, "outside 0…2"),
         ({"groups": [[0, 1]], "group_bytes": [-1]}, "expected a whole number from 0"),
         ({"groups": [[0, 1]], "group_bytes": [1.7]}, "expected a whole number from 0"),
         ({"groups": [[0, 1]], "group_bytes": [10**19]}, "expected a whole number from 0"),
         ({"traffic": np.array([[0, 2**63 + 5, 0], [0, 0, 0], [0, 0, 0]], np.uint64)}, r"expected under 2\^50"),
         ({"traffic": np.ones((3, 3), int)}, "zero on the diagonal"), ({"traffic": np.zeros((3, 3))}, "whole bytes")],
    )  # fmt: skip
    def test_refusals(self, given, message):
        """Groups and traffic that make no sense."""
        with pytest.raises(CollectiveError, match=message):
            Demand(3, **given)
