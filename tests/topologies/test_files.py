"""Topologies in collbench's own JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import (
    CollbenchError,
    FormatError,
    Topology,
    dgx2,
    is_topology_file,
    load_topology,
    mesh,
    ring,
    save_topology,
    torus,
)


@pytest.fixture
def saved(tmp_path):
    """Give the path of a saved mesh."""
    save_topology(mesh((3, 2), (50.0, 75.0)), tmp_path / "mesh.json")
    return tmp_path / "mesh.json"


def changed(path, **fields):
    """Rewrite some fields of a file; None removes one."""
    content = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


class TestRoundTrip:
    @pytest.mark.parametrize("topology", [ring(1), torus((4, 3)), dgx2(3)], ids=lambda topology: topology.name)
    def test_everything_comes_back(self, topology, tmp_path):
        """Fingerprint, name and node names survive."""
        save_topology(topology, tmp_path / "t.json")
        again = load_topology(tmp_path / "t.json")
        assert again == topology
        assert (again.name, again.node_names) == (topology.name, topology.node_names)

    @settings(max_examples=30, deadline=None)
    @given(st.floats(1e-9, 1e9), st.floats(0, 1e12), st.text(max_size=5))
    def test_floats_and_text_are_exact(self, tmp_path_factory, bandwidth, latency, name):
        """Every bit of a float and every printable character of a name survives; the others were replaced before."""
        path = tmp_path_factory.mktemp("files") / "t.json"
        topology = Topology.from_links(2, [(0, 1, latency, bandwidth)], name=name, node_names=[name, "b"])
        save_topology(topology, path)
        again = load_topology(path)
        assert (again.bandwidth_gbps[0], again.latency_us[0]) == (bandwidth, latency)
        assert (again.name, again.node_names) == (topology.name, topology.node_names)
        if name.isprintable():
            assert again.node_names == (name, "b")


class TestSaveTopology:
    def test_missing_folder(self, tmp_path):
        """A missing folder is one clear line."""
        with pytest.raises(CollbenchError, match="does not exist; create it first"):
            save_topology(ring(3), tmp_path / "nowhere" / "t.json")

    def test_leaves_nothing_else_behind(self, saved):
        """Only the file itself is in the folder."""
        assert [path.name for path in saved.parent.iterdir()] == ["mesh.json"]


class TestIsTopologyFile:
    def test_tells_own_files(self, saved, tmp_path):
        """Own files are recognised by content; others, and missing ones, are not."""
        assert is_topology_file(saved)
        (tmp_path / "other.json").write_text('{"format": "other"}')
        assert not is_topology_file(tmp_path / "other.json")
        assert not is_topology_file(tmp_path / "missing.json")


class TestLoadTopology:
    def test_every_truncation_is_refused(self, saved):
        """Wherever the file is cut, the error says so and is no traceback of another kind."""
        text = saved.read_text().rstrip()
        for end in range(0, len(text), 7):
            saved.write_text(text[:end])
            with pytest.raises(FormatError, match="truncated or damaged|is not JSON"):
                load_topology(saved)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"format": "chakra"},
                "is not a topology of collbench: expected format 'collbench-topology', found 'chakra'",
            ),
            ({"version": 2}, "has version 2, expected 1; read it with the release"),
            ({"src": None}, "the field 'src' is missing"),
            ({"num_npus": "six"}, "field 'num_npus' is 'six'; expected a value of type int"),
            ({"num_npus": True}, "field 'num_npus' is True"),
            ({"name": 7}, "field 'name' is 7; expected a value of type str"),
            ({"dst": [0.5]}, "field 'dst' is not a list of int"),
            ({"bandwidth_gbps": 50}, "field 'bandwidth_gbps' is not a list of int or float"),
            ({"src": [0]}, "link columns differ in length"),
            ({"num_npus": 5}, "joins an unknown node"),
            ({"src": [2**80] * 14}, "mesh.json"),
            ({"bandwidth_gbps": [float("nan")] * 14}, "has a bandwidth that is not between"),
            ({"bandwidth_gbps": [10**400] * 14}, "mesh.json"),
        ],
    )
    def test_refusals(self, saved, fields, message):
        """A foreign, newer or inconsistent file is refused, naming the file and the fault."""
        changed(saved, **fields)
        with pytest.raises(FormatError, match=message):
            load_topology(saved)

    def test_unreadable(self, tmp_path):
        """A missing file, a list and bytes that are no text are refused."""
        with pytest.raises(FormatError, match="cannot read .*No such file"):
            load_topology(tmp_path / "missing.json")
        (tmp_path / "list.json").write_text("[1]")
        with pytest.raises(FormatError, match="is not a topology of collbench: .*found 'a list'"):
            load_topology(tmp_path / "list.json")
        (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(FormatError, match="is not text"):
            load_topology(tmp_path / "bytes.json")
        (tmp_path / "deep.json").write_text("[" * 100_000)
        with pytest.raises(FormatError, match="is not JSON"):
            load_topology(tmp_path / "deep.json")
