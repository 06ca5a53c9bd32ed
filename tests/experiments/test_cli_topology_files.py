"""Topology files of other tools on the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.files.grid import expand
from experiments.files.reading import read_experiment
from tests.topologies.readers.samples import GML, SIMAI, TABLE, all_pairs, nccl, nvlink, smi
from topologies import TopologyWarning, dgx1, load_topology, parse_topology
from topologies.readers.gpus import GPUS
from topologies.readers.source import KEYS


def run(*args):
    """Run the program in this process."""
    return CliRunner().invoke(main, [str(arg) for arg in args])


def refused(status, *args):
    """Run the program, which must end with `status` and one line on standard error; return the line."""
    result = run(*args)
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a file and gives its path."""

    def write(text, name="topo.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


class TestShow:
    def test_json(self, files):
        """A direct mesh of four H100: 18 links each, 450 GB/s, and what was left out among the warnings."""
        result = run("topology", "show", files(smi(all_pairs(4, "NV6"))), "--gpu", "H100", "--json")
        found = json.loads(result.stdout)
        assert (found["num_npus"], found["num_links"], found["degree"], found["max_degree"]) == (4, 72, 18, 18)
        assert (found["bandwidth_per_npu_gbps"], found["diameter"], found["components"]) == (450, 1, 1)
        assert found["allgather_bound_gbps"] == pytest.approx(600)
        assert [text for text in found["warnings"] if "NIC0" in text]
        assert result.stderr == ""

    def test_text(self, files):
        """A reader sees links per NPU, and the same reading whether it is said by option or after the name."""
        path = files(smi(all_pairs(8, "NV12")))
        result = run("topology", "show", path, "--nvswitch", "--gpu", "a100", "--latency", "1us")
        assert "links per NPU      1\n" in result.stdout
        assert "bandwidth per NPU  300.000 GB/s" in result.stdout
        again = run("topology", "show", f"{path}@wiring=nvswitch,gpu=a100", "--latency", "1us")
        assert again.stdout == result.stdout

    def test_plot(self, files, tmp_path):
        """It is drawn as PNG or SVG."""
        for text, name in ((SIMAI, "t.png"), (TABLE, "t.svg")):
            assert run("topology", "show", files(text), "--plot", tmp_path / name).exit_code == 0
            assert (tmp_path / name).stat().st_size > 1000
        assert "ends in .png, .svg" in refused(2, "topology", "show", "ring:3", "--plot", "t.gif")

    def test_every_key_has_an_option(self):
        """What can be said after a file's name can be said by an option."""
        text = run("topology", "show", "--help").stdout
        for key in KEYS:
            assert all(f"--{word}" in text for word in (["nvswitch", "direct"] if key == "wiring" else [key]))

    def test_refusals(self, files):
        """What is missing is asked for in one line, with what had been left out before."""
        line = refused(1, "topology", "show", files(nccl({0: nvlink(0, 12), 1: nvlink(1, 12)})))
        assert "not connected" in line
        assert "left out links from a GPU to itself (2)" in line
        assert "--nvswitch" in refused(1, "topology", "show", files(smi(all_pairs(4, "NV6"))))
        assert "--bandwidth" in refused(1, "topology", "show", files(GML))
        assert "has no meaning" in refused(2, "topology", "show", files(SIMAI), "--gpu", "H100")
        assert "--gpu is for files" in refused(2, "topology", "show", "mesh:2x2", "--gpu", "H100")


class TestOtherCommands:
    def test_what_follows_the_name(self, files):
        """Every command takes what a file does not say after its name, and says on standard error what it left out."""
        path = files(smi([[" X ", "NV2"], ["NV2", " X "]]))
        result = run("bound", "-t", f"{path}@gpu=V100", "-c", "all_gather", "-s", "1MB", "--json")
        assert json.loads(result.stdout)["topology"] == "topo.txt"
        assert result.stderr.startswith("collbench: topo.txt: left out NICs")

    def test_experiment(self, files):
        """An experiment finds a file beside it, with what follows its name; a slip there is told with the line."""
        path = files(smi([[" X ", "NV2"], ["NV2", " X "]]))
        text = "problems: {topology: topo.txt@gpu=V100, collective: all_gather, size: 1MB}\nsynthesizers: [ring]\n"
        plan = files(text, "plan.yaml")
        with pytest.warns(TopologyWarning, match="left out NICs"):
            (only,) = expand(*read_experiment(str(plan)))
        assert only.topology == f"{path}@gpu=V100"
        assert (only.problem().topology.num_npus, only.problem().topology.name) == (2, "topo.txt")
        assert "plan.yaml:1: topology" in refused(2, "run", files(text.replace("V100", "V1"), "plan.yaml"))


class TestConvert:
    def test_formats(self, files, tmp_path):
        """A file becomes collbench's own, a table, GraphML, or ASTRA-sim's, and stays the same network."""
        path = files(SIMAI)
        for suffix in (".json", ".csv", ".graphml"):
            result = run("topology", "convert", path, tmp_path / f"out{suffix}", "--json")
            assert json.loads(result.stdout)["num_npus"] == 4
            assert parse_topology(str(tmp_path / f"out{suffix}")) == parse_topology(str(path))
        assert run("topology", "convert", "torus:4x4", tmp_path / "t.yml").exit_code == 0
        assert run("topology", "convert", "dgx1", tmp_path / "dgx1.json").exit_code == 0
        assert load_topology(tmp_path / "dgx1.json") == dgx1()

    def test_refusals(self, files, tmp_path):
        """What a format cannot say, an unknown ending, and the file itself are refused."""
        path = files(SIMAI)
        assert "products of rings" in refused(1, "topology", "convert", path, tmp_path / "t.yml")
        assert "ends in .json" in refused(2, "topology", "convert", path, tmp_path / "t.xml")
        own = files(TABLE, "t.csv")
        assert "would overwrite" in refused(2, "topology", "convert", own, own)
        assert own.read_text() == TABLE


class TestDocs:
    def test_table_of_defaults(self):
        """The page names every GPU model of the table, and every key."""
        from tests.test_docs import ROOT

        text = (ROOT / "docs" / "topology_files.md").read_text()
        assert all(name in text for name in GPUS)
        assert all(f"{key}=" in text for key in KEYS)
