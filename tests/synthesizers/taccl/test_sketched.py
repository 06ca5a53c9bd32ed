"""Sketches on topologies: what they leave, and that every fault names its key and GPUs before a solver starts."""

from __future__ import annotations

import itertools

import pytest

from schedules import collective
from synthesizers import Problem, parse_options
from synthesizers.taccl import Taccl, read_sketch
from synthesizers.taccl.sketched import sketched_network
from topologies import OptionError, parse_topology


def synthesize(topology, path, kind="all_gather", **options):
    """Return the schedule of a sketch."""
    network = parse_topology(topology)
    problem = Problem(network, collective(kind, network.num_npus), 10**6)
    return Taccl().synthesize(problem, parse_options(Taccl(), {"sketch": path} | options))


class TestSketchedNetwork:
    def test_relay(self, write, sketch_content):
        """Only the named wires cross, and inside a box no wire goes over the NIC."""
        network = sketched_network(parse_topology("ndv2:2"), read_sketch(write(sketch_content())), 10**6)
        ends = [(network.wires.src[wire], network.wires.dst[wire]) for wire in sorted(network.cross)]
        assert ends == [(0, 9), (8, 1)]
        assert len(network.wires) == 2 * 32 + 2

    def test_switch_ports(self, write, sketch_content):
        """A sketched switch adds a port out of and one into each GPU, but not where a real switch has them."""
        content = sketch_content(nodes=1)
        content["intranode_sketch"] = {"strategy": "switch", "switches": [[0, 1, 2, 3]],
                                       "switch_hyperedge_strategy": ["uc-max"]}  # fmt: skip
        sketch = read_sketch(write(content))
        drawn = sketched_network(parse_topology("fully_connected:4"), sketch, 10**6)
        assert {port for ports in drawn.extra_ports for port in ports} == set(range(12, 20))
        assert drawn.sparing == (-1,) * len(drawn.wires)
        assert not any(sketched_network(parse_topology("switch:4"), sketch, 10**6).extra_ports)

    def test_each_switch_has_its_strategy(self, write, sketch_content):
        """Round one switch few different wires are used, round the other many, and of others it is no matter."""
        content = sketch_content(nodes=1)
        content["intranode_sketch"] = {"strategy": "switch", "switches": [[3, 2], [0, 1]],
                                       "switch_hyperedge_strategy": ["uc-max", "uc-min"]}  # fmt: skip
        drawn = sketched_network(parse_topology("fully_connected:4"), read_sketch(write(content)), 10**6)
        found = {frozenset(ends): drawn.sparing[wire]
                 for wire, ends in enumerate(zip(drawn.wires.src, drawn.wires.dst, strict=True))}  # fmt: skip
        expected = {frozenset(ends): 0 for ends in itertools.combinations(range(4), 2)}
        assert found == expected | {frozenset((0, 1)): 1, frozenset((2, 3)): -1}


#: Change of the sketch of ndv2:2, and what the message must say.
FAULTS = [
    ({"nnodes": 3}, "nnodes: 3 nodes do not divide the 16 GPUs"),
    ({"internode_sketch": None}, "internode_sketch: missing, but nnodes is 2"),
    ({"conn": {"0": [8]}}, "internode_conn: names GPU 8; a node has 0…7"),
    ({"conn": {"zero": [1]}}, "internode_conn: 'zero' is no local GPU"),
    ({"gpus_to_sender_rev_map": {"2": [1]}}, "gpus_to_sender_rev_map: names sender 2, which .* no receiver"),
    ({"gpus_to_sender_rev_map": {"0": [9]}}, "gpus_to_sender_rev_map: names GPU 9"),
    ({"offsets": [[1, 5]]}, r"symmetry_offsets: \[1, 5\]: groups of 5 do not divide 16"),
    ({"offsets": [[16, 8]]}, r"symmetry_offsets: \[16, 8\]: leaves every GPU where it is; expected an offset of 1…7"),
    ({"offsets": [[8, 16], [24, 16]]}, r"symmetry_offsets: \[24, 16\]: stands twice"),
    ({"gpus_to_sender_rev_map": {}}, "gpus_to_sender_rev_map: names no sender; leave the key out"),
    ({"offsets": [[1, 8]]}, "symmetry_offsets: GPU 0 to GPU 1 is no symmetry.*connection"),
    ({"intranode_sketch": {"strategy": "switch"}}, "switches: missing"),
    ({"intranode_sketch": {"strategy": "none", "switches": [[0, 1]]}}, "switches: given, but the strategy is none"),
    ({"intranode_sketch": {"strategy": "switch", "switches": [[0, 1], [1, 2]]}}, "switches: GPU 1 is on two switches"),
    ({"intranode_sketch": {"strategy": "switch", "switches": [[0, 11]]}}, "switches: names GPU 11"),
    (
        {"intranode_sketch": {"strategy": "switch", "switches": [[0, 1]], "switch_hyperedge_strategy": ["uc-min"] * 2}},
        "switch_hyperedge_strategy: 2 for 1 switches",
    ),
    ({"nnodes": 4}, "nnodes: expected 2 for ndv2:2, which has 2 nodes of 8 GPUs; found 4"),
    ({"nnodes": 1, "internode_sketch": None}, "nnodes: expected 2 for ndv2:2, .*; found 1"),
    ({"nnodes": 1}, "internode_sketch: given, but nnodes is 1"),
    ({"conn": {"0": [1], "00": [2]}}, "internode_conn: '00' is no local GPU"),
    ({"conn": {" 0": [1]}}, "internode_conn: ' 0' is no local GPU"),
    ({"conn": {"1" * 5000: [1]}}, "internode_conn: '1111.* is no local GPU"),
    ({"conn": {"0": [1, 1]}}, "internode_conn: names GPU 1 twice"),
    ({"gpus_to_sender_rev_map": {"0": [2, 2]}}, "gpus_to_sender_rev_map: names GPU 2 twice"),
    ({"intranode_sketch": {"strategy": "switch", "switches": [[0, 0, 1]]}}, "switches: names GPU 0 twice"),
    ({"intranode_sketch": {"strategy": "switch", "switches": [[]]}}, r"switches: \[\] joins nothing"),
    (
        {
            "intranode_sketch": {
                "strategy": "switch",
                "switches": [[0, 1], [1, 0]],
                "switch_hyperedge_strategy": ["uc-min", "uc-max"],
            }
        },
        r"switch_hyperedge_strategy: uc-min and uc-max for switch \[1, 0\], which is listed twice",
    ),
    (
        {"intranode_sketch": {"strategy": "none", "switch_hyperedge_strategy": ["uc-min"]}},
        "switch_hyperedge_strategy: given, but the strategy is none",
    ),
    ({"hyperparameters": {"input_chunkup": 10**9}}, "input_chunkup: 1000000000 makes .* expected 781 at most"),
]


class TestFaults:
    @pytest.mark.parametrize(("change", "expected"), FAULTS)
    def test_told(self, write, sketch_content, change, expected, monkeypatch):
        """Each mistake is told with the key and the GPUs, and no solver is asked."""
        monkeypatch.setattr("synthesizers.taccl.stages._solved", lambda *_: pytest.fail("a solver was asked"))
        inner = ("conn", "offsets", "gpus_to_sender_rev_map")
        content = sketch_content(**{key: value for key, value in change.items() if key in inner})
        content |= {key: value for key, value in change.items() if key not in inner}
        with pytest.raises(OptionError, match=expected) as error:
            synthesize("ndv2:2", write(content))
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter"])
    def test_told_backwards_too(self, write, sketch_content, kind):
        """What is wrong with a sketch is told before it is reversed, in its own words."""
        with pytest.raises(OptionError, match="gpus_to_sender_rev_map: names sender 2, which .* no receiver"):
            synthesize("ndv2:2", write(sketch_content(gpus_to_sender_rev_map={"2": [1]})), kind)

    def test_no_wire(self, write, sketch_content):
        """A connection that the topology does not have is told with those that it has."""
        with pytest.raises(
            OptionError, match="internode_conn: GPU 0 of node 0 has no wire to GPU 1 of node 1, only to: none"
        ):
            synthesize("dgx2:2", write(sketch_content(conn={"0": [1]})))

    def test_sender_off_the_path(self, write, sketch_content):
        """A sender on no shortest path is told with the GPUs; longer paths make the sketch usable."""
        conn = {str(gpu): [gpu - 1] for gpu in range(1, 16, 2)}
        senders = {str(gpu): [gpu - 1, gpu] for gpu in range(1, 16, 2)}
        path = write(sketch_content(conn=conn, gpus_to_sender_rev_map=senders))
        expected = "gpus_to_sender_rev_map: the chunks of GPU 0 .* GPU 1, .* to GPU 18 sender 1 is on none .*slack=1"
        with pytest.raises(OptionError, match=expected):
            synthesize("dgx2:2", path, "all_to_all")
        schedule = synthesize("dgx2:2", path, "scatter", slack=1)
        assert schedule.num_hops > 0

    def test_published_dgx2(self, published):
        """The published DGX-2 AllToAll, which cannot be, says why."""
        with pytest.raises(OptionError, match=r"gpus_to_sender_rev_map: the chunks of GPU 0 .* GPU 1, .* GPU 18"):
            synthesize("dgx2:2", published("sk1-dgx2-n2.json"), "all_to_all")

    def test_torn(self, write, sketch_content):
        """A relay between two nodes only leaves the way back out; the first GPUs apart are named."""
        content = sketch_content(nodes=3, conn={"0": [1]})
        content["internode_sketch"]["gpus_to_sender_rev_map"] = {"0": [0]}
        assert synthesize("ndv2:3", write(content)).num_hops > 0
        with pytest.raises(OptionError, match="internode_conn: no way from GPU 0 to GPU 8"):
            synthesize("ndv2:2", write(sketch_content(conn={"0": []})))
