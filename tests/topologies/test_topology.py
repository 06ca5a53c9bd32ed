"""The Topology type."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import Topology, TopologyError, dgx_a100, mesh, require_connected, ring, switch

LINKS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0, 100), st.floats(0.001, 1000)).filter(
        lambda row: row[0] != row[1]
    ),
    max_size=20,
)


@st.composite
def topologies(draw):
    """Draw a network of 7 nodes, some of them switches, with any links between them."""
    switches = draw(st.integers(0, 3))
    return Topology.from_links(7 - switches, draw(LINKS), num_switches=switches, name="drawn")


def rows(topology):
    """Return the links as tuples, in order."""
    columns = (topology.src, topology.dst, topology.latency_us, topology.bandwidth_gbps)
    return list(zip(*(column.tolist() for column in columns), strict=True))


class TestConstruction:
    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ((1, 1, 0.5, 50.0), r"link 1 \(NPU 1 -> NPU 1, 50 GB/s, 0.5 us\) is a self-loop"),
            ((0, 9, 0.5, 50.0), r"link 1 .* joins an unknown node"),
            ((-1, 0, 0.5, 50.0), r"link 1 .* joins an unknown node"),
            ((0, 1, 0.5, 0.0), "link 1 .* has a bandwidth that is not between"),
            ((0, 1, 0.5, -3.0), "link 1 .* has a bandwidth"),
            ((0, 1, 0.5, float("nan")), "link 1 .* has a bandwidth"),
            ((0, 1, 0.5, float("inf")), "link 1 .* has a bandwidth"),
            ((0, 1, -0.5, 50.0), "link 1 .* has a latency that is not between 0"),
            ((0, 1, float("nan"), 50.0), "link 1 .* has a latency"),
        ],
    )
    def test_refuses_a_bad_link(self, row, message):
        """The message names the link at fault."""
        with pytest.raises(TopologyError, match=message):
            Topology.from_links(2, [(0, 1, 0.5, 50.0), row], name="bad")

    def test_refuses_wrong_counts(self):
        """No NPU, columns of different lengths, names for other nodes and fractional nodes are refused."""
        with pytest.raises(TopologyError, match="expected at least one NPU"):
            Topology.from_links(0, [])
        with pytest.raises(TopologyError, match="link columns differ in length"):
            Topology(2, np.array([0]), np.array([1]), np.array([0.5, 1]), np.array([50.0]))
        with pytest.raises(TopologyError, match="1 node names for 2 nodes"):
            Topology.from_links(2, [], node_names=["a"])
        with pytest.raises(TopologyError, match="column src holds float64, expected node numbers"):
            Topology(2, np.array([0.5]), np.array([1]), np.array([0.5]), np.array([50.0]))

    def test_is_frozen_and_hashable(self):
        """Columns cannot be written, the caller's arrays stay his, and equal networks are one dictionary key."""
        source = np.array([0, 1])
        topology = Topology(2, source, np.array([1, 0]), np.array([0.5, 0.5]), np.array([50.0, 50.0]), name="a")
        source[0] = 1
        assert topology.src.tolist() == [0, 1]
        with pytest.raises(ValueError, match="read-only"):
            topology.src[0] = 1
        assert len({topology, ring(2)}) == 1
        assert topology != ring(2, 51.0)

    def test_stays_frozen_in_another_process(self):
        """A network that was pickled is equal and still cannot be written."""
        again = pickle.loads(pickle.dumps(dgx_a100(2)))
        assert again == dgx_a100(2)
        assert again.node_names == dgx_a100(2).node_names
        assert not again.src.flags.writeable


class TestOperations:
    @settings(max_examples=30, deadline=None)
    @given(topologies())
    def test_reversed_twice_is_the_identity(self, topology):
        """Turning every link round twice changes nothing, not even the name."""
        turned = topology.reversed()
        assert rows(turned) == [(dst, src, *rest) for src, dst, *rest in rows(topology)]
        assert turned.reversed() == topology
        assert turned.reversed().name == topology.name

    @settings(max_examples=30, deadline=None)
    @given(topologies(), st.data())
    def test_without_keeps_the_rest_in_order(self, topology, data):
        """Links that did not fail, between nodes that did not, stay in order; nodes move up."""
        gone_links = data.draw(
            st.sets(st.integers(0, topology.num_links - 1)) if topology.num_links else st.just(set())
        )
        gone_nodes = data.draw(st.sets(st.integers(1, 6), max_size=3))
        left = topology.without(links=gone_links, nodes=gone_nodes)
        kept = [node for node in range(7) if node not in gone_nodes]
        assert left.num_nodes == len(kept)
        assert left.num_npus == sum(node < topology.num_npus for node in kept)
        assert rows(left) == [
            (kept.index(src), kept.index(dst), *rest)
            for link, (src, dst, *rest) in enumerate(rows(topology))
            if link not in gone_links and src in kept and dst in kept
        ]
        assert [left.node_name(node) for node in range(left.num_nodes)] == [topology.node_name(node) for node in kept]

    def test_without_refuses_the_unknown(self):
        """An unknown link or node is named."""
        with pytest.raises(TopologyError, match="topology ring:3 has no link 6"):
            ring(3).without(links=[6])
        with pytest.raises(TopologyError, match="topology ring:3 has no node -1"):
            ring(3).without(nodes=[-1])
        with pytest.raises(TopologyError, match="expected at least one NPU"):
            ring(3).without(nodes=[0, 1, 2])

    @settings(max_examples=30, deadline=None)
    @given(topologies(), st.data())
    def test_subset_is_the_network_between_its_members(self, topology, data):
        """Members get the numbers of their order, and `subset_links` tells where the links come from."""
        members = data.draw(
            st.lists(st.integers(0, topology.num_npus - 1), min_size=1, max_size=topology.num_npus, unique=True)
        )
        part = topology.subset(members)
        links = topology.subset_links(members)
        assert rows(part) == [
            (members.index(src), members.index(dst), *rest)
            for src, dst, *rest in (rows(topology)[link] for link in links)
        ]
        assert part.num_nodes == len(members)

    def test_subset_refuses_strangers_and_twins(self):
        """Unknown and repeated NPUs are refused."""
        for members in ([0, 3], [0, 0]):
            with pytest.raises(TopologyError, match="expected different NPUs of 0…2"):
                ring(3).subset(members)

    @settings(max_examples=30, deadline=None)
    @given(topologies())
    def test_in_and_out_links_partition_the_links(self, topology):
        """Each link is listed once at its source and once at its destination, ascending."""
        for (start, links), ends in ((topology.out_links, topology.src), (topology.in_links, topology.dst)):
            for node in range(7):
                assert links[start[node] : start[node + 1]].tolist() == np.flatnonzero(ends == node).tolist()


class TestNetworkx:
    @settings(max_examples=30, deadline=None)
    @given(topologies())
    def test_round_trip(self, topology):
        """Links, their order, kinds and names survive the way through networkx."""
        again = Topology.from_networkx(topology.to_networkx())
        assert again == topology
        assert again.name == topology.name
        assert [again.node_name(node) for node in range(7)] == [topology.node_name(node) for node in range(7)]

    def test_undirected_edge_is_a_cable(self):
        """An undirected path is a line of cables; node labels become names."""
        graph = nx.relabel_nodes(nx.path_graph(3), dict(enumerate("abc")))
        for _, _, attributes in graph.edges(data=True):
            attributes |= {"bandwidth_gbps": 50.0, "latency_us": 0.5}
        topology = Topology.from_networkx(graph, name="path")
        assert topology == mesh(3)
        assert topology.node_names == ("a", "b", "c")

    def test_refuses_an_edge_without_values(self):
        """The edge and the attribute are named."""
        with pytest.raises(TopologyError, match="graph edge 0 -> 1 has no bandwidth_gbps; set it on every edge"):
            Topology.from_networkx(nx.path_graph(2))


class TestComponents:
    def test_agree_with_networkx(self):
        """Strong components are those of networkx, ordered by their least node."""
        topology = Topology.from_links(6, [(0, 3, 0, 1), (3, 0, 0, 1), (0, 1, 0, 1), (4, 5, 0, 1), (5, 4, 0, 1)])
        assert [part.tolist() for part in topology.components()] == [[0, 3], [1], [2], [4, 5]]

    def test_many_parallel_links_count_as_connected(self):
        """256 parallel links do not cancel out."""
        topology = Topology.from_links(2, [(0, 1, 0, 1.0)] * 256 + [(1, 0, 0, 1.0)] * 256)
        assert len(topology.components()) == 1


class TestRequireConnected:
    def test_names_both_parts(self):
        """A broken ring is refused with the NPUs of two parts; a group inside one part is fine."""
        broken = mesh((6,)).without(links=[4, 5])
        with pytest.raises(TopologyError, match="is not connected: {NPU 0, NPU 1, NPU 2} and {NPU 3, NPU 4, NPU 5}"):
            require_connected(broken)
        require_connected(broken, [3, 5])
        require_connected(dgx_a100(2))

    def test_a_dead_switch_does_not_matter(self):
        """A switch that leads nowhere does not make its network disconnected."""
        require_connected(Topology.from_links(2, rows(ring(2)) + [(0, 2, 0.5, 50.0)], num_switches=1))
        require_connected(switch(4))
