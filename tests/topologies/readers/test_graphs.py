"""GraphML, GML and node-link JSON."""

from __future__ import annotations

import io
import json

import networkx as nx
import pytest

from tests.topologies.readers.samples import GML, GRAPHML, NODE_LINK
from topologies import FormatError, Topology, dgx2


def node_link(**entry):
    """Return two NPUs and one edge with the given attributes."""
    return json.dumps({"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1} | entry]})


class TestRead:
    def test_gml(self, reading):
        """Nodes keep the order of the file whatever their ids, switches follow, and an edge is a cable."""
        topology = reading(GML, bandwidth="10GB/s", latency="1us")
        assert topology.node_names == ("a [b]", "c", "s")
        assert (topology.num_npus, topology.num_switches) == (2, 1)
        assert list(zip(topology.src, topology.dst, topology.bandwidth_gbps, topology.latency_us, strict=True)) == [
            (0, 2, 12.5, 2), (2, 0, 12.5, 2), (1, 2, 10, 1), (2, 1, 10, 1)
        ]  # fmt: skip
        assert reading.said == []

    def test_graphml(self, reading):
        """LinkSpeedRaw is in bit/s, a key's default counts where an edge has no value of its own."""
        topology = reading(GRAPHML)
        assert topology.node_names == ("x", "y", "s")
        assert topology.bandwidth_gbps.tolist() == [1.25, 1.25, 5, 5]
        assert reading.said[0].startswith("file.txt: 2 edges without a latency have 0.5 us, the default")

    def test_node_link(self, reading):
        """A directed edge is one link; bare numbers have the unit that is given, and named ones their own."""
        topology = reading(NODE_LINK, unit="Gbps")
        assert (topology.bandwidth_gbps.tolist(), topology.latency_us.tolist()) == ([50, 25], [1.5, 0.5])

    @pytest.mark.parametrize("form", ["graphml", "gml", "node_link"])
    def test_written_by_networkx(self, reading, form):
        """What networkx writes of a topology is read back as the same network, name by name."""
        graph, file = dgx2(2).to_networkx(), io.BytesIO()
        if form == "graphml":
            nx.write_graphml(graph, file)
        elif form == "gml":
            nx.write_gml(nx.relabel_nodes(graph, str), file)
        else:
            file.write(json.dumps(nx.node_link_data(graph, edges="links")).encode())
        topology = reading(file.getvalue().decode())
        assert topology.node_names == dgx2(2).node_names
        rows = [sorted(zip(t.src, t.dst, t.latency_ps, t.bytes_per_s, strict=True)) for t in (topology, dgx2(2))]
        assert rows[0] == rows[1]

    def test_loops(self, reading):
        """An edge from a node to itself is left out and named."""
        text = json.loads(NODE_LINK)
        text["links"].append({"source": 4, "target": 4, "bandwidth_gbps": 1, "latency_us": 1})
        assert reading(json.dumps(text), unit="Gbps", latency="1us") == reading(NODE_LINK, unit="Gbps", latency="1us")
        reading(json.dumps(text), unit="Gbps", latency="1us")
        assert reading.said == ["file.txt: left out links from a node to itself (1): 4"]

    @pytest.mark.parametrize(("entry", "gbps", "us"), [
        ({"Bandwidth": "400Gbps", "Delay": "300ns"}, 50, 0.3),
        ({"speed": "1GiB/s", "latency_ns": 5}, 2**30 / 1e9, 0.005),
        ({"rate": "8Gbps", "latency_ms": 0.001}, 1, 1), ({"bandwidth_gbps": 1e-05, "latency_us": 0}, 1e-05, 0),
    ])  # fmt: skip
    def test_names_of_attributes(self, reading, entry, gbps, us):
        """Attributes are known by their names in any letter case, with their units."""
        topology = reading(node_link(**entry))
        assert (float(topology.bandwidth_gbps[0]), float(topology.latency_us[0])) == (gbps, us)
        assert isinstance(topology, Topology)

    @pytest.mark.parametrize(("text", "says"), [
        (node_link(), "edge 0 – 1 has no bandwidth; give one for all edges without.*--bandwidth"),
        (node_link(bandwidth=100), "bandwidth '100' has no unit.*--unit Gbps"),
        (node_link(bandwidth="1GB/s", latency=3), "time '3' has no unit"),
        (node_link(bandwidth_gbps="many"), "'many' is no number"),
        (node_link(bandwidth_gbps=0), "expected more than zero"),
        (node_link(source=[1]), "source is \\[1\\]"),
        (node_link(source=7, bandwidth="1GB/s"), "no node '7'"),
        (node_link().replace('{"id": 1}', '{"id": 0}'), "node '0' has no id or one that another has"),
        ('{"nodes": [], "links": [', "not JSON"),
        ('{"nodes": [], "links": []}', "the graph has no node"),
        ('{"nodes": [{"id": 1, "kind": "switch"}], "links": []}', "all 1 nodes are switches"),
        ('{"nodes": [NaN], "links": []}', "NaN is no number of JSON"),
        (GML.replace("id 3", "id 7"), "node '7' has no id or one"),
        (GML[:-3], "is cut off"), (GML.replace('"s"', '"s'), "quotes"), (GML + "]", "closes nothing"),
        (GRAPHML.replace("<edge ", "<hyperedge ", 1).replace('"s"/>', '"s"/>', 1), "hyperedges|malformed"),
        (GRAPHML.replace("<node id=\"x\"/>", "<node id=\"x\"><graph/></node>"), "2 graphs; expected one"),
        (GRAPHML.replace('target="s"', 'target="z"'), "line 7|no node 'z'"),
    ])  # fmt: skip
    def test_faults(self, reading, text, says):
        """What is missing is asked for, and what is damaged refused, with the edge or node."""
        with pytest.raises(FormatError, match=says):
            reading(text)
