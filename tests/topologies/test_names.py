"""Short names of topologies."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import (
    KINDS,
    FormatError,
    TopologyError,
    UnitError,
    circulant,
    dgx_a100,
    dragonfly,
    fat_tree,
    fully_connected,
    hypercube,
    kautz,
    line,
    mesh,
    ndv2,
    parse_topology,
    product,
    random_regular,
    ring,
    save_topology,
    star,
    switch,
    torus,
)

VALUES = st.floats(1e-3, 1e4, allow_nan=False)

REFUSED = [
    ("", TopologyError, "topology name is empty; expected KIND:SHAPE"),
    ("mehs:8x8", TopologyError, "unknown kind 'mehs'; did you mean mesh, as in mesh:8x8"),
    ("dgx-a100:2", TopologyError, "unknown kind 'dgx-a100'; did you mean dgx_a100"),
    ("quux:4", TopologyError, "unknown kind 'quux'; expected KIND:SHAPE.*such as mesh:8x8"),
    ("mesh", TopologyError, "the shape is missing; expected KIND:SHAPE.*such as mesh:8x8"),
    ("mesh:", TopologyError, "the shape is missing"),
    ("mesh:@50GB/s,0.5us", TopologyError, "the shape is missing"),
    ("mesh:8x0", TopologyError, "size 0; expected 1 or more"),
    ("mesh:-8x8", TopologyError, "size -8; expected 1 or more"),
    ("mesh:8x", TopologyError, "the part ''; expected whole numbers joined by x"),
    ("mesh:8x8foo", TopologyError, "the part '8foo'; expected whole numbers joined by x"),
    ("mesh:8.5x8", TopologyError, "the part '8.5'"),
    ("mesh:8x8,50GB/s", TopologyError, "values follow an @"),
    ("ring:8x8", TopologyError, "found 2 sizes, expected 1, such as ring:8"),
    ("rfs:2x4", TopologyError, "found 2 sizes, expected 3, such as rfs:2x4x8"),
    ("rr:4", TopologyError, "found 1 sizes, expected 2, such as rr:4x4"),
    ("mesh:8x8@50,0.5us", UnitError, "topology 'mesh:8x8@50,0.5us': bandwidth '50' has no unit"),
    ("mesh:8x8@50GB/s,0.5", UnitError, "time '0.5' has no unit: expected one such as 0.5us"),
    ("mesh:8x8@0.5us,50GB/s", UnitError, "unknown unit 'us'; expected one of B/s"),
    ("mesh:8x8@", UnitError, "bandwidth '': expected numbers joined by x with a unit"),
    ("mesh:8x8@50GB/s,", UnitError, "latency '': expected numbers joined by x with a unit, such as 0.5x1us"),
    ("mesh:8x8@0GB/s", UnitError, "expected more than zero"),
    ("mesh:8x8@50GB/s,-1us", UnitError, "is negative: expected 0us or more"),
    ("mesh:8x8@50GB/s,0.5us please", UnitError, "unknown unit 'us please'"),
    ("mesh:8x8@50GB/s,0.5us,7", TopologyError, "found 3 values after @, expected BANDWIDTH,LATENCY"),
    ("mesh:8x8@1x2x3GB/s,0.5us", TopologyError, "mesh:8x8: found 3 bandwidths, expected 1 .for all. or 2"),
    ("mesh:8x8@1GB/s,1x2x3us", TopologyError, "mesh:8x8: found 3 latencies"),
    ("ring:8@1x2GB/s", TopologyError, "ring:8: found 2 bandwidths, expected 1"),
    ("mesh:100000x100000", TopologyError, "39,999,600,000 links, expected at most"),
    ("fully_connected:999999999999", TopologyError, "about 2.79 links"),
    ("mesh:" + "9" * 5000, TopologyError, "absurdly large"),
    ("hypercube:999999999999", TopologyError, "2.999999999999 NPUs"),
    ("dgx1:2", TopologyError, "dgx1 is one box and takes no shape; several are ndv2:2"),
    ("ndv2:2@50GB/s", TopologyError, "the figures of ndv2 are fixed"),
    ("dgx2:0", TopologyError, "size 0; expected 1 or more, such as dgx2:2"),
    ("fabric:128", TopologyError, "found 1 sizes, expected 2"),
    ("circulant:16", TopologyError, "circulant: no jump; expected NPUs and then one or more"),
    ("circulant:16x0", TopologyError, "size 0; expected 1 or more, such as circulant:16x1x3x7"),
    ("fat_tree:128x2x2", TopologyError, "found 3 sizes, expected 1 or 2, such as fat_tree:128"),
    ("fat_tree:99999999999", TopologyError, "fat_tree:99999999999: it would have 199,999,999,998 links"),
    ("jellyfish:128", TopologyError, "found 1 sizes, expected 2 or 3, such as jellyfish:128x4x0"),
    ("jellyfish:128x0", TopologyError, "size 0; expected 1 or more"),
    ("jellyfish:128x4x-1", TopologyError, "size -1; expected 0 or more"),
    ("jellyfish:128x4x0x9", TopologyError, "found 4 sizes, expected 2 or 3"),
    ("kautz:128", TopologyError, "found 1 sizes, expected 2, such as kautz:128x4"),
    ("no\0path", TopologyError, "no such file, and unknown kind"),
    ("q" * 10000, TopologyError, "no such file, and unknown kind"),
]


class TestParseTopology:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("mesh:8x8@50GB/s,0.5us", mesh((8, 8))),
            ("mesh:8x4@50x75GiB/s,0.5us", mesh((8, 4), (53.6870912, 80.5306368))),
            ("torus:4x4x4", torus((4, 4, 4))),
            ("torus:4x3@400Gbps,500x1000ns", torus((4, 3), 50.0, (0.5, 1.0))),
            ("ring:8@75GB/s", ring(8, 75.0)),
            ("ring_one_way:8", ring(8, one_way=True)),
            ("line:8", line(8)),
            ("star:8", star(8)),
            ("fully_connected:8", fully_connected(8)),
            ("hypercube:6", hypercube(6)),
            ("switch:16", switch(16)),
            ("dragonfly:4x5@400x200GB/s,0.5us", dragonfly(4, 5, (400.0, 200.0))),
            ("rfs:2x4x8@200x100x50GB/s,0.5us", product("rfs", (2, 4, 8), (200.0, 100.0, 50.0))),
            ("sr:2x4", product("sr", (2, 4))),
            ("switch2d:8x4@300x25GB/s", product("ss", (8, 4), (300.0, 25.0))),
            ("ss:8x4", product("ss", (8, 4))),
            ("circulant:16x1x3x7@12.5GB/s,1us", circulant(16, [1, 3, 7], 12.5, 1.0)),
            ("circulant_two_way:16x1x3", circulant(16, [1, 3], one_way=False)),
            ("fat_tree:20x1", fat_tree(20)),
            ("fat_tree:20x2@100Gbps", fat_tree(20, 12.5, oversubscription=2)),
            ("jellyfish:16x3", random_regular(16, 3)),
            ("jellyfish:16x3x5@100Gbps,1us", random_regular(16, 3, 12.5, 1.0, seed=5)),
            ("kautz:12x2@100Gbps", kautz(12, 2, 12.5)),
            ("kautz_regular:13x2@100Gbps", kautz(13, 2, 12.5, regular=True)),
            ("ndv2", ndv2(1)),
            ("  dgx_a100:2 ", dgx_a100(2)),
        ],
    )
    def test_short_names(self, text, expected):
        """A short name gives what the generator builds, under its canonical name."""
        assert parse_topology(text) == expected
        assert parse_topology(text).name == expected.name

    @pytest.mark.parametrize("kind", list(KINDS))
    def test_canonical_name_of_each_example(self, kind):
        """The example of each kind parses, is called what was typed, and is connected (a fabric is not)."""
        example, description = KINDS[kind]
        topology = parse_topology(example)
        assert topology.name == example
        assert parse_topology(topology.name) == topology
        assert kind == "fabric" or len(topology.components()) == 1
        assert description
        assert "\n" not in description

    @settings(max_examples=40, deadline=None)
    @given(
        st.sampled_from(["mesh", "torus", "rf", "ss", "dragonfly"]),
        st.tuples(st.integers(1, 4), st.integers(1, 4)),
        st.tuples(VALUES, VALUES),
        st.tuples(VALUES, VALUES),
    )
    def test_canonical_name_round_trip(self, kind, shape, bandwidths, latencies):
        """Whatever the values, the canonical name parses back to an equal topology of the same name."""
        generators = {"mesh": mesh, "torus": torus}
        if kind in generators:
            topology = generators[kind](shape, bandwidths, latencies)
        elif kind == "dragonfly":
            topology = dragonfly(*shape, bandwidths, latencies)
        else:
            topology = product(kind, shape, bandwidths, latencies)
        again = parse_topology(topology.name)
        assert again == topology
        assert again.name == topology.name

    @pytest.mark.parametrize(
        "topology",
        [circulant(9, [2, 5], 37.3, 0.77), circulant(9, [2, 5], 37.3, 0.77, one_way=False), kautz(9, 2, 37.3, 0.77),
         fat_tree(21, 37.3, 0.77, oversubscription=3), random_regular(9, 4, 37.3, 0.77, seed=123),
         kautz(9, 2, 37.3, 0.77, regular=True)],
    )  # fmt: skip
    def test_canonical_name_of_fabrics(self, topology):
        """The options of a generator are in the canonical name too."""
        again = parse_topology(topology.name)
        assert again == topology
        assert again.name == topology.name

    @pytest.mark.parametrize(("text", "error", "message"), REFUSED, ids=[text[:40] for text, _, _ in REFUSED])
    def test_refusals(self, text, error, message):
        """A name that cannot be read is refused in one line that says what was found and expected."""
        with pytest.raises(error, match=message) as caught:
            parse_topology(text)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 600

    def test_own_file_is_read_by_content(self, tmp_path):
        """A file of collbench is recognised whatever it is called."""
        save_topology(mesh((3, 2)), tmp_path / "cluster.txt")
        assert parse_topology(str(tmp_path / "cluster.txt")) == mesh((3, 2))

    def test_damaged_own_file(self, tmp_path):
        """A truncated file of collbench is a FormatError, not an unknown kind."""
        save_topology(mesh((3, 2)), tmp_path / "a.json")
        text = (tmp_path / "a.json").read_text()
        (tmp_path / "a.json").write_text(text[: len(text) // 2])
        with pytest.raises(FormatError, match="truncated or damaged"):
            parse_topology(str(tmp_path / "a.json"))

    def test_foreign_file_and_folder(self, tmp_path):
        """A file that no reader knows, and a folder, are refused with what there is."""
        (tmp_path / "topology.xml").write_text("<html/>")
        with pytest.raises(FormatError, match="no topology file that collbench reads.*mesh:8x8"):
            parse_topology(str(tmp_path / "topology.xml"))
        with pytest.raises(TopologyError, match="is a folder"):
            parse_topology(str(tmp_path))

    def test_short_name_goes_before_a_file(self, tmp_path, monkeypatch):
        """A file called like a short name is reached through its folder."""
        monkeypatch.chdir(tmp_path)
        save_topology(ring(3), "dgx1")
        assert parse_topology("dgx1").name == "dgx1"
        assert parse_topology("./dgx1") == ring(3)
