"""Sketch and profile files: read as published, and mistakes told with their key."""

from __future__ import annotations

import pytest

from synthesizers.taccl import profile_topology, read_profile, read_sketch
from topologies import OptionError

PROFILE = {"name": "x", "gpus_per_node": 2, "node_betas_list": [3], "node_invbws_list": [9]}


class TestReadSketch:
    def test_published(self, published):
        """The published sketches are read unchanged."""
        sketch = read_sketch(published("sk1-dgx2-n2.json"))
        assert sketch.nnodes == 2
        assert sketch.hyperparameters.input_chunkup == 2
        assert sketch.connections(16)[15] == (14,)
        assert sketch.senders()[3] == (2, 3)
        assert read_sketch(published("sk1-ndv2-n1.json")).internode_sketch is None

    @pytest.mark.parametrize(
        ("conn", "expected"),
        [
            ({"0": [1]}, {0: (1,)}),
            ("fully-connected", {0: (0, 1), 1: (0, 1)}),
            ("direct-map", {0: (0,), 1: (1,)}),
        ],
    )
    def test_connections(self, write, sketch_content, conn, expected):
        """All forms of internode_conn give the receivers of each sender."""
        assert read_sketch(write(sketch_content(conn=conn))).connections(2) == expected

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({"nnode": 2}, "unknown key 'nnode'; did you mean 'nnodes'"),
            ({"intranode_sketch": {"strategi": "none"}}, "intranode_sketch: unknown key 'strategi'.*'strategy'"),
            ({"intranode_sketch": {"strategy": "ring"}}, "ring.*intranode_sketch"),
            ({"nnodes": 0}, "nnodes"),
            ({"symmetry_offsets": [[1]]}, "symmetry_offsets"),
            ({"intranode_sketch": {"strategy": "rung"}}, "expected one of none, switch, minmax, maxmin"),
            ({"intranode_sketch": {"switch_hyperedge_strategy": ["uc"]}}, "expected one of uc-min, uc-max"),
            ({"internode_sketch": {"internode_conn": "all"}}, "expected one of fully-connected, direct-map"),
            ({"internode_sketch": {"strategy": "relay", "internode_conn": "half"}}, "half.*internode_conn"),
        ],
    )
    def test_mistakes(self, write, sketch_content, change, expected):
        """An unknown key or a wrong value is told in one line, with its place."""
        with pytest.raises(OptionError, match=expected) as error:
            read_sketch(write(sketch_content() | change))
        assert "\n" not in str(error.value)

    def test_files(self, write, tmp_path):
        """A file that is not there, or is no JSON, is told."""
        with pytest.raises(OptionError, match="cannot read the sketch"):
            read_sketch(tmp_path / "none.json")
        with pytest.raises(OptionError, match="is not JSON"):
            read_sketch(write("{"))
        with pytest.raises(OptionError, match="expected a mapping"):
            read_sketch(write("[]"))
        with pytest.raises(OptionError, match="the key '0' stands twice"):
            read_sketch(write('{"internode_sketch": {"internode_conn": {"0": [1], "0": [2]}}}'))
        for odd, expected in [("[" * 100_000, "nested too deeply"), ("9" * 5000, "not JSON"), ("NaN", "finite")]:
            with pytest.raises(OptionError, match=expected) as error:
                read_sketch(write(f'{{"nnodes": {odd}'))
            assert "\n" not in str(error.value)

    def test_reversed(self, write, sketch_content):
        """On the reversed network the receivers send, and forward the chunks that their senders did."""
        content = sketch_content(conn={"1": [0], "3": [2]}, gpus_to_sender_rev_map={"1": [0, 1], "3": [2, 3]})
        back = read_sketch(write(content)).reversed(4)
        assert back.connections(4) == {0: (1,), 2: (3,)}
        assert back.senders() == {0: (0, 1), 2: (2, 3)}
        assert back.reversed(4).connections(4) == {1: (0,), 3: (2,)}


class TestReadProfile:
    def test_published(self, published):
        """The published profiles are read unchanged."""
        assert read_profile(published("topo-ndv2-1MB.json")).node_betas_list == [23, 46]
        assert read_profile(published("topo-dgx2-1MB.json")).nics_per_node == 8

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({"node_betas_list": [3, 4]}, "2 node_betas_list for 1"),
            ({"node_betas_list": [], "node_invbws_list": []}, "no costs inside a node"),
            ({"node_betas_list": [-1]}, "a cost of -1"),
            ({"node_betas_list": [10]}, "node_invbws_list is α \\+ β, and 9 is less than the β of 10 beside it"),
            ({"remote_beta": 2, "remote_invbw": 1}, "remote_invbw is α \\+ β, and 1 is less than the β of 2"),
            ({"remote_invbw": 1e300}, r"a cost of 1e\+300; expected from 0 to 1e\+07"),
            ({"gpus_per_node": 0}, "gpus_per_node"),
            ({"links": [[0]], "betas": [[0]], "invbws": [[0]]}, "links is not a matrix of 2 × 2"),
            ({"gpus": 8}, "unknown key 'gpus'"),
        ],
    )
    def test_mistakes(self, write, change, expected):
        """Lists that do not fit together are told."""
        with pytest.raises(OptionError, match=expected):
            read_profile(write(PROFILE | change))


class TestProfileTopology:
    def test_hub(self, hub):
        """A chunk of 1 MB costs α + β over each link, and the NICs are shared."""
        topology = profile_topology(hub(2), "hub_and_spoke", 3)
        assert (topology.num_npus, topology.num_switches, topology.num_links) == (6, 4, 6 + 12 + 6)
        assert topology.latency_us[0] + 1e3 / topology.bandwidth_gbps[0] == pytest.approx(9)

    def test_custom(self):
        """The matrices of a custom node are [to][from]; parallel links are links of their own."""
        from synthesizers.taccl import Profile

        profile = Profile(name="c", gpus_per_node=2, links=[[0, 2], [1, 0]], betas=[[0, 4], [5, 0]],
                          invbws=[[0, 4], [6, 0]])  # fmt: skip
        topology = profile_topology(profile)
        ends = sorted(zip(topology.src.tolist(), topology.dst.tolist(), topology.latency_us.tolist(), strict=True))
        assert ends == [(0, 1, 1.0), (1, 0, 0.0), (1, 0, 0.0)]

    def test_does_not_fit(self, hub):
        """A profile with one sort of links makes no NVLink mesh, and an unknown machine is told."""
        with pytest.raises(OptionError, match="do not make a node of ndv2"):
            profile_topology(hub(8), "ndv2")
        with pytest.raises(OptionError, match="unknown machine"):
            profile_topology(hub(8), "dgx9")
        with pytest.raises(OptionError, match="needs the matrices"):
            profile_topology(hub(8))
