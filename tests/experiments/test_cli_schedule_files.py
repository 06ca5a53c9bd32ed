"""Schedule files on the command line: converted, verified, simulated and compared, MSCCL XML among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedules import load_schedule
from schedules.msccl import judge, load_msccl
from tests.experiments.test_cli import SMALL, refused, run, run_json
from tests.schedules.msccl.samples import BY_HAND, case
from tests.schedules.teccl.samples import ALL_GATHER, TEXT, flows_file
from tests.schedules.teccl.samples import RING as FLOWS

RING = ("-t", "ring:4", "-c", "all_reduce", "-s", "1MiB")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test has a folder with a schedule, the same as MSCCL XML, and a file by hand."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hand.xml").write_text(BY_HAND)
    assert run("synthesize", *RING, "-m", "ring", "--out", "a.json").exit_code == 0
    assert run("synthesize", *RING, "-m", "ring", "--out", "a.xml").exit_code == 0


class TestConvert:
    def test_own_files(self):
        """Between collbench's own files nothing is lost."""
        assert run("convert", "a.json", "b.parquet").exit_code == 0
        assert load_schedule("b.parquet").fingerprint == load_schedule("a.json").fingerprint
        assert load_schedule("b.parquet").notes == load_schedule("a.json").notes

    def test_out(self):
        """MSCCL XML is written in any number of instances, and what a GPU needs is said."""
        found = run_json("convert", "a.json", "b.xml", "--instances", 2, "--in-place", "--name", "mine")
        algorithm = load_msccl("b.xml")
        assert (algorithm.name, algorithm.channels, algorithm.in_place) == ("mine", 2, True)
        assert judge(algorithm).status == "valid"
        assert (found["channels"], found["threadblocks"], found["over"]) == (2, 8, "")

    def test_in(self):
        """MSCCL XML becomes a schedule on the network that is named, as fast as what it was made of."""
        assert run("convert", "a.xml", "b.json", "-t", "ring:4").exit_code == 0
        times = [run_json("simulate", name, "-s", "1MiB")["time_us"] for name in ("a.json", "b.json")]
        assert times[0] == times[1]

    def test_among_xml(self):
        """From MSCCL XML to MSCCL XML no network is needed; the name is kept."""
        assert run("convert", "hand.xml", "b.xml", "--instances", 3).exit_code == 0
        assert judge(load_msccl("b.xml")).status == "valid"
        assert (load_msccl("b.xml").name, load_msccl("b.xml").channels) == ("by_hand", 3)

    def test_calls(self, tmp_path):
        """For which calls a file is meant stays from XML to XML, also by way of a schedule, and can be said anew."""
        calls = 'inplace="1" proto="LL" minBytes="1024" maxBytes="4096"'
        (tmp_path / "hand.xml").write_text(BY_HAND.replace('inplace="1"', calls))
        before = load_msccl("hand.xml")
        assert (before.in_place, before.min_bytes, before.max_bytes, before.protocol) == (True, 1024, 4096, "LL")
        assert run("convert", "hand.xml", "b.json", "-t", "ring:3").exit_code == 0
        for source in ("hand.xml", "b.json"):
            assert run("convert", source, "c.xml").exit_code == 0
            after = load_msccl("c.xml")
            assert (after.in_place, after.out_of_place) == (True, False)
            assert (after.min_bytes, after.max_bytes, after.protocol) == (1024, 4096, "LL")
        other = ("--out-of-place", "--protocol", "Simple", "--min-bytes", "2KiB", "--max-bytes", "1MiB")
        assert run("convert", "hand.xml", "c.xml", *other).exit_code == 0
        after = load_msccl("c.xml")
        assert (after.in_place, after.min_bytes, after.max_bytes, after.protocol) == (False, 2048, 2**20, "Simple")
        assert judge(after).status == "valid"

    def test_past_the_limits(self):
        """What a runtime could not run is written, and said on standard error."""
        result = run("convert", "a.json", "b.xml", "--instances", 40)
        assert result.exit_code == 0
        assert "past the limits of MSCCL's runtime: 40 channels, at most 32 run" in result.stderr

    @pytest.mark.parametrize(
        ("status", "args", "says"),
        [
            (2, ("a.json", "b.txt"), "expected a name that ends in .xml, .parquet or .json"),
            (2, ("a.json", "b.json", "--in-place"), "of MSCCL XML only"),
            (2, ("a.json", "b.xml", "--min-bytes", "2KB", "--max-bytes", "1KB"), "expected more than --min-bytes"),
            (2, ("a.json", "./a.json"), "would overwrite"),
            (1, ("a.xml", "b.json"), "name the network"),
            (1, ("a.xml", "b.json", "-t", "ring:5"), "for 4 gpus, ring:5 has 5 NPUs"),
            (1, ("a.json", "b.xml", "-t", "ring:5"), "is for the network ring:4"),
            (1, ("nowhere.xml", "b.json"), "cannot read nowhere.xml"),
            (1, ("a.json", "no/b.xml"), "does not exist"),
        ],
    )
    def test_refused(self, status, args, says):
        """Each mistake is one line, and nothing is written."""
        assert says in refused(status, "convert", *args)


class TestVerify:
    def test_verdicts(self, tmp_path):
        """Valid, invalid with the line, and cannot verify, each with its exit status."""
        lost = BY_HAND.replace('type="rcs"', 'type="r"', 1)
        texts = {"valid": BY_HAND, "invalid: line ": lost, "cannot verify: no known postcondition":
                 BY_HAND.replace("allgather", "custom")}  # fmt: skip
        for says, text in texts.items():
            (tmp_path / "x.xml").write_text(text)
            result = run("verify", "x.xml")
            assert result.stdout.startswith(says)
            assert result.stdout.count("\n") == 1
            assert result.exit_code == (0 if says == "valid" else 1)
            found = json.loads(run("verify", "x.xml", "--json").stdout)
            assert found["verified"] is (says == "valid")
            assert says.startswith(found["verdict"])

    @pytest.mark.parametrize("name", ["01", "05", "07", "15", "18", "21"])
    def test_public(self, name):
        """Five public files are valid, the sixth has a second root at line 21 (cases/README.md)."""
        result = run("verify", case(name))
        assert result.exit_code == (name == "21")
        assert result.stdout.startswith("invalid: line 21: " if name == "21" else "valid")

    def test_on_a_network(self):
        """On a network it is verified as a schedule too."""
        assert run_json("verify", "a.xml", "-t", "ring:4")["transfers"] == 48
        assert "4 gpus" in refused(1, "verify", "a.xml", "-t", "ring:5")


class TestCompare:
    def test_files_take_part(self):
        """An algorithm and a saved schedule stand in the table under their names; a file that cannot is told why."""
        choices = ("-m", "file:a.xml", "-m", "file:a.json", "-m", "file:hand.xml")
        found = run_json("compare", *RING, *choices)["records"]
        by_label = {record["label"]: record for record in found}
        assert by_label["file:a.xml"]["time_us"] == by_label["file:a.json"]["time_us"]
        assert by_label["file:a.xml"]["verified"] is True
        assert by_label["file:hand.xml"]["status"] == "unsupported"
        assert "the file computes all_gather" in by_label["file:hand.xml"]["reason"]

    def test_apart(self):
        """With a limit that kills, the file's run is in a process of its own."""
        found = run_json("compare", *RING, "-m", "file:a.xml", "--kill-after", 60)["records"]
        assert found[0]["status"] == "ok"

    def test_wrong_algorithm(self, tmp_path):
        """An algorithm that is wrong is invalid with the place, and never timed."""
        (tmp_path / "a.xml").write_text((tmp_path / "a.xml").read_text().replace('type="rrc"', 'type="r"', 1))
        result = run("compare", *RING, "-m", "file:a.xml", "-m", "ring")
        assert result.exit_code == 0
        assert "invalid: line" in " ".join(result.stdout.split())

    def test_no_file(self):
        """A file that is not there, or is something else, is refused before anything is run."""
        assert "cannot read nowhere.xml" in refused(1, "compare", *RING, "-m", "file:nowhere.xml")
        assert "computes all_reduce" in refused_reason("compare", *SMALL, "-m", "file:a.json")

    def test_deployability(self):
        """Records say what a GPU would need: what convert would write of a schedule, and what a file has."""
        run("convert", "a.json", "b.xml", "--instances", 40)
        found = run_json("compare", *RING, "-m", "ring:pieces=1", "-m", "file:b.xml")["records"]
        needs = {record["label"]: [record[name] for name in ("channels", "threadblocks", "steps", "scratch")]
                 for record in found}  # fmt: skip
        assert needs == {"ring:pieces=1": [1, 5, 6, 0], "file:b.xml": [40, 200, 6, 0]}
        over = {record["label"]: record["over_limits"] for record in found}
        assert over == {"ring:pieces=1": "", "file:b.xml": "40 channels, at most 32 run"}
        assert "* file:b.xml is past the limits" in run("compare", *RING, "-m", "file:b.xml").stdout


class TestExperiment:
    """Files take part in an experiment, as in a comparison."""

    TEXT = """
    problems: {topology: 'ring:4', collective: all_reduce, size: 1MiB}
    synthesizers: [{synthesizer: ring, options: {pieces: 1}}, 'file:a.xml', {synthesizer: 'file:a.json', label: saved}]
    """

    def test_run(self, tmp_path, monkeypatch):
        """They are found beside the experiment file, are rows like others, and kept until their content changes."""
        import pandas as pd

        (tmp_path / "study.yaml").write_text(self.TEXT)
        (elsewhere := tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(elsewhere)
        assert run("run", "../study.yaml", "--out", "out", "--jobs", 1).exit_code == 0
        frame = pd.read_csv("out/results.csv").set_index("label")
        assert list(frame.index) == ["ring:pieces=1", "file:a.xml", "saved"]
        assert set(frame["status"]) == {"ok"}
        assert frame["time_us"].nunique() == 1
        assert frame["threadblocks"].notna().all()
        damaged = (tmp_path / "a.xml").read_text().replace('type="rrc"', 'type="r"', 1)
        (tmp_path / "a.xml").write_text(damaged)
        run("run", "../study.yaml", "--out", "out", "--jobs", 1)
        frame = pd.read_csv("out/results.csv").set_index("label")
        assert frame["status"].tolist() == ["ok", "invalid", "ok"]
        assert "line" in frame["reason"]["file:a.xml"]

    def test_no_file(self, tmp_path):
        """One that is not there is a mistake in the experiment file, with its line."""
        (tmp_path / "study.yaml").write_text(self.TEXT.replace("a.xml", "b.xml"))
        told = refused(2, "run", "study.yaml", "--out", "out")
        assert "study.yaml:3" in told
        assert "b.xml" in told


class TestChakra:
    """Execution traces for ASTRA-sim, from files of any kind."""

    def test_convert(self):
        """A folder has a trace for each NPU and what runs them, of the size that the file says or another."""
        found = run_json("convert", "a.json", "out", "--to", "chakra")
        assert (found["size"], found["num_npus"], found["caveat"]) == (2**20, 4, "")
        names = {path.name for path in Path("out").iterdir()}
        assert names == {"system.json", "memory.json", "network.yml"} | {
            f"{kind}.{npu}.et" for kind in ("trace", "workload") for npu in range(4)
        }
        assert run_json("convert", "a.xml", "out2", "--to", "chakra", "-t", "ring:4", "-s", "1MB")["size"] == 10**6

    def test_unequal_links(self):
        """Where ASTRA-sim's network file cannot say the network, that is said on standard error."""
        run("synthesize", "-t", "dgx1", "-c", "all_gather", "-s", "1MB", "-m", "ring", "--out", "d.json")
        result = run("convert", "d.json", "out", "--to", "chakra")
        assert result.exit_code == 0
        assert "out: no network.yml: dgx1 is no product" in " ".join(result.stderr.split())

    @pytest.mark.parametrize(
        ("status", "args", "says"),
        [
            (2, ("a.json", "out", "--to", "chakra", "--in-place"), "of MSCCL XML only"),
            (2, ("a.json", "b.xml", "-s", "1MB"), "--size is for --to chakra"),
            (2, ("a.xml", "out", "--to", "chakra", "-t", "ring:4"), "give --size"),
            (1, ("a.json", ".", "--to", "chakra"), "has files in it"),
            (1, ("a.json", "out", "--to", "chakra", "-s", "1B"), "some chunks have none"),
        ],
    )
    def test_refused(self, status, args, says):
        """Each mistake is one line."""
        assert says in refused(status, "convert", *args)


class TestTeccl:
    """Flows of TE-CCL where MSCCL XML can stand."""

    def test_verify(self, tmp_path):
        """Valid, invalid with the flow, and cannot verify, each with its exit status."""
        texts = {"valid": TEXT, "invalid: chunk 0 from 1 over 2->3": flows_file(FLOWS[1:], ALL_GATHER),
                 "invalid: not TE-CCL's": '{"1-Epoch_Duration": 1}', "cannot verify": flows_file(FLOWS)}  # fmt: skip
        for says, text in texts.items():
            (tmp_path / "x.json").write_text(text)
            result = run("verify", "x.json")
            assert result.stdout.startswith(says)
            assert result.exit_code == (0 if says == "valid" else 1)

    def test_convert(self, tmp_path):
        """It becomes a schedule on a network, and MSCCL XML without one."""
        (tmp_path / "x.json").write_text(TEXT)
        assert run("convert", "x.json", "y.parquet", "-t", "ring:3").exit_code == 0
        assert load_schedule("y.parquet").num_hops == 6
        assert run("convert", "x.json", "y.xml").exit_code == 0
        assert judge(load_msccl("y.xml")).status == "valid"
        assert "x.json is TE-CCL's output, which says nothing of links" in refused(1, "convert", "x.json", "z.json")
        assert "for 3 GPUs, ring:4 has 4 NPUs" in refused(1, "convert", "x.json", "z.json", "-t", "ring:4")

    def test_compare(self, tmp_path):
        """It stands in the table beside synthesizers, or the reason why it does not."""
        (tmp_path / "x.json").write_text(TEXT)
        choices = ("-s", "30MB", "-m", "file:x.json", "-m", "ring:pieces=1,rings=1")
        found = run_json("compare", "-t", "ring:3", "-c", "all_gather", *choices)["records"]
        assert {record["label"]: record["status"] for record in found} == dict.fromkeys(choices[3::2], "ok")
        assert found[0]["verified"] is True
        assert "for 3 gpus" in refused_reason("compare", *SMALL, "-m", "file:x.json")


def refused_reason(*args):
    """Return why nothing worked."""
    result = run(*args, "--json")
    assert result.exit_code == 1
    return json.loads(result.stdout)["records"][0]["reason"]


def test_plot_needs_a_network():
    """MSCCL XML is not plotted, as nobody says on what it runs; the line says what to do."""
    assert "collbench convert a.xml" in refused(1, "plot", "a.xml")
