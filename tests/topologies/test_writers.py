"""Topology files that are written: what is read back is the same network."""

from __future__ import annotations

import pytest

from topologies import (
    Topology,
    TopologyError,
    dgx1,
    dgx2,
    fabric,
    fully_connected,
    hypercube,
    mesh,
    mi250,
    parse_topology,
    product,
    ring,
    star,
    switch,
    torus,
)
from topologies.writers import SUFFIXES, write_topology

ALL = [ring(5, 1 / 3, 0.1), ring(4, one_way=True), dgx1(), dgx2(3), mi250(2), star(4), mesh((3, 2), (50.0, 75.0))]
PRODUCTS = [ring(2), ring(7, 1 / 3, 0.1), fully_connected(5), switch(8, 400.0, 0.93625), torus((4, 4, 4)),
            hypercube(5), product("rfs", (2, 4, 8), (200.0, 100.0, 50.0)), product("sr", (3, 4)),
            product("ss", (8, 4), (300.0, 25.0)), parse_topology("dgx_a100:1")]  # fmt: skip


@pytest.mark.filterwarnings("error")
class TestRoundTrip:
    @pytest.mark.parametrize("suffix", [".json", ".csv", ".graphml"])
    @pytest.mark.parametrize("topology", ALL, ids=lambda topology: topology.name)
    def test_everything_comes_back(self, topology, suffix, tmp_path):
        """Links come back in their order, bit by bit; names of nodes too, where the format has them."""
        write_topology(topology, path := tmp_path / f"t{suffix}")
        again = parse_topology(str(path))
        assert again == topology
        if suffix != ".csv":
            assert [again.node_name(node) for node in range(again.num_nodes)] == [
                topology.node_name(node) for node in range(topology.num_nodes)
            ]

    @pytest.mark.parametrize("topology", PRODUCTS, ids=lambda topology: topology.name)
    def test_astra_sim(self, topology, tmp_path):
        """Products of rings, fully connected and switched dimensions are known as such and come back."""
        write_topology(topology, path := tmp_path / "t.yml")
        again = parse_topology(str(path))
        assert (again.num_npus, again.num_switches) == (topology.num_npus, topology.num_switches)
        rows = [
            sorted(zip(t.src.tolist(), t.dst.tolist(), t.latency_ps.tolist(), t.bytes_per_s.tolist(), strict=True))
            for t in (again, topology)
        ]
        assert rows[0] == rows[1]

    def test_names_that_xml_would_read(self, tmp_path):
        """Names with angle brackets survive."""
        topology = Topology.from_links(2, [(0, 1, 1, 1), (1, 0, 1, 1)], node_names=["<a & b>", '"c"'])
        write_topology(topology, path := tmp_path / "t.graphml")
        assert parse_topology(str(path)).node_names == topology.node_names


class TestRefused:
    @pytest.mark.parametrize("topology", [mesh((3, 2)), star(4), dgx1(), ring(4, one_way=True), ring(1), dgx2(2)],
                             ids=lambda topology: topology.name)  # fmt: skip
    def test_what_astra_sim_cannot_say(self, topology, tmp_path):
        """A network that is no such product is refused, and no file is left."""
        with pytest.raises(TopologyError, match="products of rings.*write .json"):
            write_topology(topology, tmp_path / "t.yaml")
        assert not list(tmp_path.iterdir())

    def test_others(self, tmp_path):
        """An unknown ending, a network without links and one that is not wired yet are refused."""
        with pytest.raises(TopologyError, match="ends in .json, .csv"):
            write_topology(ring(3), tmp_path / "t.xml")
        with pytest.raises(TopologyError, match="NPU 0 has none; write .json"):
            write_topology(ring(1), tmp_path / "t.csv")
        for suffix in SUFFIXES:
            with pytest.raises(TopologyError, match="not wired yet"):
                write_topology(fabric(8, 2), tmp_path / f"t{suffix}")
