"""The command line as a user meets it: what it prints where, and how it ends."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import synthesizers
from experiments.cli import main
from experiments.cli.parameters import LATENCIES, ROOTED, SWITCHINGS
from experiments.record import Record
from schedules import KINDS, Schedule, collective, load_schedule, save_schedule
from simulator import LATENCIES as MODEL_LATENCIES
from simulator import SWITCHINGS as MODEL_SWITCHINGS
from synthesizers import OptionsBase, Synthesizer, registry
from topologies import Topology, TopologyError, ring, save_topology

ROOT = Path(__file__).parents[2]
ASTRA = sorted((ROOT.parent / "shared" / "cases" / "astra").glob("*.json"))
SMALL = ("-t", "ring:4", "-c", "all_gather", "-s", "1MiB")


def run(*args):
    """Run the program in this process."""
    return CliRunner().invoke(main, [str(arg) for arg in args])


def run_json(*args):
    """Run the program with --json and return its object, which must be all that is on standard output."""
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def refused(status, *args):
    """Run the program, which must end with `status`, silent but for one line on standard error; return the line."""
    result = run(*args)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


class Plain(Synthesizer):
    """Whatever a test wants of a synthesizer."""

    name = "plain"
    reference = "this test"

    class Options(OptionsBase, frozen=True):
        """Pieces without an automatic choice."""

        pieces: int = 3

    def __init__(self, act):
        self.act = act

    def synthesize(self, problem, options):
        """Do what the test wants."""
        return self.act(problem)


@pytest.fixture
def plugged(monkeypatch):
    """Return a function that makes a synthesizer, or a broken plugin, the only one there is."""

    def plug(act=None, error=None):
        plugin = registry.Plugin("plain", registry.OURS, None if error else Plain(act), error)
        for module in (registry, synthesizers):
            monkeypatch.setattr(module, "discover", lambda: {"plain": plugin})

    return plug


@pytest.fixture
def disconnected(tmp_path):
    """Return the file of a network of two parts."""
    path = tmp_path / "two.json"
    save_topology(Topology(4, [0, 1, 2, 3], [1, 0, 3, 2], [0.5] * 4, [50] * 4, name="two"), path)
    return path


@pytest.fixture
def wrong(tmp_path):
    """Return the file of a schedule that does not compute its collective."""
    path = tmp_path / "wrong.json"
    network = ring(4)
    save_schedule(Schedule(network, collective("all_gather", 4), np.array([0]), np.array([0])), path)
    return path


class TestProgram:
    def test_version(self):
        """--version prints name and version."""
        assert run("--version").stdout.startswith("collbench ")

    def test_help_is_wrong_usage_without_a_command(self):
        """Without a command the help is shown on standard error."""
        for args in ([], ["list"], ["topology"]):
            result = run(*args)
            assert (result.exit_code, result.stdout) == (2, "")
            assert "Commands:" in result.stderr

    def test_nearest_command(self):
        """An unknown command is answered with the nearest one."""
        assert "did you mean 'compare'?" in refused(2, "comprae")
        assert "expected one of" in refused(2, "xyz")

    def test_defect_is_one_line(self, plugged, monkeypatch):
        """A defect is told in one line; the traceback is there for the asking."""
        monkeypatch.setattr("topologies.parse_topology", lambda text: 1 / 0)
        assert "ZeroDivisionError" in refused(1, "topology", "show", "ring:4")
        monkeypatch.setenv("COLLBENCH_TRACEBACK", "1")
        assert isinstance(run("topology", "show", "ring:4").exception, ZeroDivisionError)

    def test_traceback_of_expected_errors(self, disconnected, monkeypatch):
        """COLLBENCH_TRACEBACK lets expected errors through too."""
        monkeypatch.setenv("COLLBENCH_TRACEBACK", "1")
        result = run("bound", "-t", disconnected, "-c", "all_gather", "-s", "1MiB")
        assert isinstance(result.exception, TopologyError)

    def test_words_equal_those_of_the_simulator(self):
        """The words written out for --help are those of the packages that own them."""
        assert (LATENCIES, SWITCHINGS) == (MODEL_LATENCIES, MODEL_SWITCHINGS)
        assert all(collective(kind, 4, root=2).root == 2 for kind in ROOTED)

    def test_nothing_heavy_for_help(self):
        """The program is imported without numpy, rich or any package of its own but this one."""
        code = "import sys, experiments.cli; print([m for m in ('numpy', 'rich', 'topologies') if m in sys.modules])"
        found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "[]"


class TestProcess:
    """As a process of its own."""

    command = (sys.executable, "-c", "from experiments.cli import main; main()")

    def test_streams(self):
        """The answer is on standard output and nothing on standard error."""
        done = subprocess.run([*self.command, "synthesize", *SMALL, "-m", "ring", "--json"], cwd=ROOT,
                              capture_output=True, text=True, check=True)  # fmt: skip
        assert json.loads(done.stdout)["verified"] is True
        assert done.stderr == ""

    def test_wrong_usage(self):
        """Wrong usage is one line on standard error and status 2."""
        done = subprocess.run([*self.command, "bound", *SMALL[:-1], "5"], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)

    def test_broken_pipe(self):
        """A reader that goes away is no reason for noise."""
        with subprocess.Popen([*self.command, "list", "topologies"], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:  # fmt: skip
            process.stdout.close()
            assert process.stderr.read() == b""

    def test_closed_standard_output(self):
        """A closed standard output is no defect."""
        done = subprocess.run([*self.command, "list", "collectives"], cwd=ROOT, stderr=subprocess.PIPE,
                              preexec_fn=lambda: os.close(1))  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")

    def test_terminal_of_few_letters(self):
        """What the terminal's encoding lacks is written as its code."""
        done = subprocess.run([*self.command, "topology", "show", "ring:1"], cwd=ROOT, capture_output=True,
                              env=os.environ | {"PYTHONIOENCODING": "latin-1"})  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        assert rb"\u221e GB/s" in done.stdout

    def test_interrupt(self):
        """Ctrl-C ends with status 130 and one line."""
        code = (
            "import time, topologies; topologies.parse_topology = lambda text: print(1, flush=True) or time.sleep(60)"
        )
        process = subprocess.Popen([*self.command[:2], f"{code}; {self.command[2]}", "topology", "show", "ring:4"],
                                   cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == b"collbench: interrupted; nothing was written\n"
        assert process.returncode == 130


class TestList:
    def test_synthesizers(self):
        """Names, references, and options with defaults."""
        entries = {entry["name"]: entry for entry in run_json("list", "synthesizers")["synthesizers"]}
        assert entries["ring"]["options"]["pieces"] == "auto"
        assert all(entry["reference"] and entry["error"] is None for entry in entries.values())
        assert "pieces=auto" in run("list", "synthesizers").stdout

    def test_broken_plugin(self, plugged):
        """A broken plugin is listed with its error."""
        plugged(error="ImportError: no module named [nowhere]")
        assert "no module named [nowhere]" in run("list", "synthesizers").stdout
        assert run_json("list", "synthesizers")["synthesizers"][0]["error"].startswith("ImportError")
        assert "cannot be used: ImportError" in refused(1, "synthesize", *SMALL, "-m", "plain")

    def test_topologies_and_collectives(self):
        """Kinds with examples, and collectives."""
        assert {"kind": "ring", "example": "ring:8"}.items() <= run_json("list", "topologies")["topologies"][2].items()
        assert run_json("list", "collectives")["collectives"][0]["name"] == "all_gather"
        assert "torus:4x4x4" in run("list", "topologies").stdout
        assert "--root" in run("list", "collectives").stdout

    def test_experiments(self):
        """A list, even where there are none."""
        assert isinstance(run_json("list", "experiments")["experiments"], list)
        assert run("list", "experiments").exit_code == 0


class TestSynthesize:
    def test_record(self):
        """The JSON object is a record, all of it."""
        record = run_json("synthesize", *SMALL, "-m", "ring", "-o", "pieces=2", "--seed", 3, "--latency", "pipelined")
        assert set(record) == set(Record.__struct_fields__)
        assert (record["verified"], record["status"], record["seed"]) == (True, "ok", 3)
        assert (record["latency"], record["options"]["pieces"]) == ("pipelined", 2)
        assert record["bound_us"] <= record["time_us"]

    def test_text(self):
        """A reader gets time, bound and efficiency."""
        text = run("synthesize", *SMALL, "-m", "tacos").stdout
        for word in ("time", "bound", "efficiency", "busbw", "verified"):
            assert f"\n{word} " in text

    def test_league(self):
        """The best of all has its league below: what was timed, then the others, each with its reason."""
        problem = ("-t", "mesh:3x3", "-c", "all_reduce", "-s", "1MB", "-m", "auto")
        text = run("synthesize", *problem).stdout
        found = run_json("synthesize", *problem)
        timed = [line["name"] for line in found["league"] if line["time_us"] is not None]
        assert f"chosen: {timed[0]}" in text
        positions = [text.index(f"\n {line['name']} ") for line in found["league"]]
        assert positions == sorted(positions)
        assert found["time_us"] == found["league"][0]["time_us"]
        assert re.search(r"taccl +not tried: +estimated at 15 s", text)

    def test_nan_is_null(self):
        """Where there is no bandwidth to speak of, JSON has null."""
        record = run_json("synthesize", *SMALL, "-m", "tacos", "--group", 2)
        assert (record["time_us"], record["algbw_gbps"]) == (0, None)

    @pytest.mark.parametrize("suffix", ["json", "parquet"])
    def test_out_is_simulated_without_being_told(self, tmp_path, suffix):
        """The file says size and link model, so its simulation gives the same time."""
        path = tmp_path / f"a.{suffix}"
        record = run_json("synthesize", *SMALL, "-m", "tacos", "--latency", "pipelined", "--out", path)
        again = run_json("simulate", path)
        for name in ("time_us", "planned_us", "bound_us", "efficiency", "size", "latency", "transfers", "verified"):
            assert again[name] == record[name], name
        assert load_schedule(path).notes["synthesizer"] == "tacos"
        assert [path] == list(tmp_path.iterdir())

    def test_groups_root_and_pairs(self):
        """Groups are given again and again, a root by its rank, SendRecv by its pairs."""
        two = run_json("synthesize", *SMALL, "-m", "ring", "--group", "0,1", "--group", "3,2")
        assert (two["groups"], two["ranks"]) == (2, 2)
        rooted = ("-t", "ring:4", "-s", "1MiB", "-m", "direct")
        assert run_json("synthesize", *rooted, "-c", "gather", "--root", 3)["verified"]
        assert run_json("synthesize", *rooted, "-c", "send_recv", "--pairs", "0-2,3-1")["ranks"] == 4

    @pytest.mark.parametrize(("args", "says"), [
        (("-s", "1024"), "has no unit: expected one such as 1GiB"),
        (("-s", "1XB"), "unknown unit 'XB'"),
        (("-t", "rung:4"), "did you mean ring"),
        (("-t", "ring:4@50"), "has no unit"),
        (("-t", "nowhere.json"), "no such file"),
        (("-c", "AllGather"), "did you mean 'all_gather'?"),
        (("-c", "custom"), "schedules.custom"),
        (("-c", "nothing"), "expected one of all_gather"),
        (("-m", "rings"), "did you mean 'ring'?"),
        (("-o", "piece=2"), "did you mean 'pieces'?"),
        (("-o", "pieces=many"), "pieces"),
        (("-o", "pieces"), "expected key=value"),
        (("-o", "pieces=1", "-o", "pieces=2"), "given twice"),
        (("--group", "0,99"), "group member 99 is out of range"),
        (("--group", "0;1"), "joined by commas"),
        (("--group", "0,1", "--group", "1,2"), "twice"),
        (("--root", "1"), "has no root"),
        (("-c", "reduce", "--root", "7"), "root 7 is out of range"),
        (("-c", "send_recv"), "needs --pairs"),
        (("-c", "send_recv", "--pairs", "01"), "such as 0-1,2-3"),
        (("-c", "send_recv", "--pairs", "0-9"), "not two NPUs"),
        (("-c", "send_recv", "--pairs", "0-1", "--group", "0,1"), "takes no --group"),
        (("--pairs", "0-1"), "takes no --pairs"),
        (("--chunks", "0"), "--chunks"),
        (("--latency", "none"), "blocking"),
        (("--time-limit", "0"), "more than 0 seconds"),
        (("--out", "a.txt"), ".parquet or .json"),
        (("--what",), "--what"),
    ])  # fmt: skip
    def test_wrong_usage(self, args, says):
        """Wrong usage has status 2 and says what is expected."""
        assert says in refused(2, "synthesize", *SMALL, "-m", "ring", *args)

    def test_out_is_refused_before_any_work(self, plugged, tmp_path):
        """A file that cannot be written is refused before the synthesizer runs."""
        plugged(lambda problem: pytest.fail("it ran"))
        assert "does not exist" in refused(1, "synthesize", *SMALL, "-m", "plain", "--out", tmp_path / "no" / "a.json")
        (tmp_path / "b.json").mkdir()
        assert "found a folder" in refused(1, "synthesize", *SMALL, "-m", "plain", "--out", tmp_path / "b.json")

    def test_failures(self, plugged, disconnected, tmp_path):
        """Unsupported, failed and invalid end with status 1, and write nothing."""
        out = tmp_path / "a.json"
        arguments = ("synthesize", *SMALL, "-m", "plain", "--out", out)
        assert "all_to_all" in refused(1, "synthesize", *SMALL, "-m", "ring", "-c", "all_to_all")
        assert "not connected" in refused(1, "synthesize", *SMALL, "-m", "ring", "-t", disconnected)
        plugged(lambda problem: 1 / 0)
        assert "failed: ZeroDivisionError" in refused(1, *arguments)
        plugged(lambda problem: Schedule(problem.topology, problem.collective, np.array([0]), np.array([0])))
        assert "invalid: " in refused(1, *arguments)
        assert not out.exists()
        result = run(*arguments, "--json")
        assert (result.exit_code, json.loads(result.stdout)["status"]) == (1, "invalid")

    def test_bad_files(self, tmp_path):
        """A topology file that cannot be used is work that failed."""
        path = tmp_path / "t.json"
        path.write_text('{"format": "collbench-topology", "ver')
        assert "truncated" in refused(1, "synthesize", *SMALL, "-m", "ring", "-t", path)
        path.write_text("what is this")
        assert str(path) in refused(1, "synthesize", *SMALL, "-m", "ring", "-t", path)

    def test_chatter_of_synthesizers(self, plugged, capfd):
        """What a synthesizer prints, in Python or beneath, never reaches standard output."""

        def chatty(problem):
            print("hello from Python")
            os.write(1, b"hello from C\n")
            raise ValueError("enough")

        plugged(chatty)
        result = run("synthesize", *SMALL, "-m", "plain", "--json")
        assert json.loads(result.stdout)["reason"] == "ValueError: enough"
        captured = capfd.readouterr()
        assert ("hello from C" in captured.out, "hello from C" in captured.err) == (False, True)


class TestSimulate:
    @pytest.mark.skipif(not ASTRA, reason="the cases of ASTRA-sim are not here")
    @pytest.mark.parametrize("path", ASTRA, ids=lambda path: path.stem)
    def test_astra(self, path):
        """The times of ASTRA-sim, which truncates each hop to whole nanoseconds, come out."""
        result = run_json("simulate", path)
        assert 0 <= result["over_expected_ns"] < 20
        assert result["time_us"] * 1e3 == pytest.approx(result["expected_ns"], rel=1e-4)
        assert (result["latency"], result["switching"]) == ("pipelined", "store_and_forward")
        text = run("simulate", path).stdout
        assert "time_us" in text
        assert "expected_ns" in text

    def test_transfers(self, tmp_path):
        """A list of transfers takes its link model from its units or the options."""
        path = tmp_path / "list.json"
        units = "bandwidth GB/s, latency us, blocking latency, cut-through"
        path.write_text(json.dumps({
            "npus": 3, "units": units, "links": [[0, 1, 1, 1], [1, 2, 1, 1]],
            "transfers": [{"id": 0, "bytes": 1000, "path": [0, 1, 2]}],
        }))  # fmt: skip
        assert run_json("simulate", path)["time_us"] == 3
        assert run_json("simulate", path, "--switching", "store_and_forward")["time_us"] == 4
        assert "leave --size out" in refused(2, "simulate", path, "-s", "1MiB")
        assert "--critical-path" in refused(2, "simulate", path, "--critical-path")
        assert "no collective to verify" in refused(1, "verify", path)

    def test_size(self, tmp_path):
        """A size is needed where the file has none, and wins over the file's."""
        path = tmp_path / "a.json"
        run("synthesize", *SMALL, "-m", "tacos", "--out", path)
        larger = run_json("simulate", path, "-s", "2MiB")
        assert (larger["size"], larger["planned_us"]) == (2**21, None)
        save_schedule(load_schedule(path).replaced(notes={}), path)
        assert "give --size" in refused(2, "simulate", path)
        assert run_json("simulate", path, "-s", "1MiB")["verified"]

    def test_critical_path(self, tmp_path):
        """The segments follow each other from 0 to completion."""
        path = tmp_path / "a.json"
        run("synthesize", *SMALL, "-m", "tacos", "--out", path)
        result = run_json("simulate", path, "--critical-path")
        segments = result["critical_path"]
        assert (segments[0]["start_us"], segments[-1]["until_us"]) == (0, result["time_us"])
        assert all(a["until_us"] == b["start_us"] for a, b in pairwise(segments))
        assert "critical path" in run("simulate", path, "--critical-path").stdout

    def test_another_network(self, tmp_path):
        """A file for another network than the one named is refused."""
        path = tmp_path / "a.json"
        run("synthesize", *SMALL, "-m", "tacos", "--out", path)
        assert run("simulate", path, "-t", "ring:4").exit_code == 0
        for command in ("simulate", "verify"):
            assert "another one: ring:5" in refused(1, command, path, "-t", "ring:5")

    def test_never_times_what_is_wrong(self, wrong):
        """A schedule that does not verify is not timed."""
        assert "not timed" in refused(1, "simulate", wrong, "-s", "1MiB")

    def test_bad_files(self, tmp_path):
        """Missing, empty and foreign files are told apart."""
        path = tmp_path / "x"
        assert "No such file" in refused(1, "simulate", path)
        path.write_bytes(b"")
        assert "an empty file" in refused(1, "simulate", path)
        path.write_bytes(b"\x00\x01")
        assert "found one that starts with" in refused(1, "verify", path)
        path.write_text('{"npus": 2')
        assert "not a file of transfers" in refused(1, "simulate", path)


class TestVerify:
    def test_valid(self, tmp_path):
        """A right schedule is valid, status 0."""
        path = tmp_path / "a.json"
        run("synthesize", *SMALL, "-m", "direct", "--out", path)
        assert run("verify", path).stdout == "valid\n"
        assert run_json("verify", path)["verified"] is True

    def test_invalid(self, wrong):
        """A wrong one is invalid with the reason, status 1."""
        result = run("verify", wrong)
        assert result.exit_code == 1
        assert result.stdout.startswith("invalid: ")
        assert result.stdout.count("\n") == 1
        result = run("verify", wrong, "--json")
        assert (result.exit_code, json.loads(result.stdout)["verified"]) == (1, False)
        assert result.stderr.count("\n") == 1


class TestBound:
    def test_known_answer(self):
        """An AllGather on a ring of 4 brings 3/4 of the bytes over two links of 50 GB/s into each NPU."""
        found = run_json("bound", *SMALL)
        assert found["bound_us"] == pytest.approx(0.75 * 2**20 / 100e3)
        assert (found["latency_bound_us"], found["bandwidth_bound_us"]) == (1.0, found["bound_us"])
        assert "NPU 0" in found["bound_by"]
        assert found["quantised_bound_us"] >= found["bound_us"]
        assert found["rsag_bound_us"] is None

    def test_all_reduce_and_text(self):
        """An AllReduce has a two-phase bound, and a reader sees what binds."""
        found = run_json("bound", "-t", "ring:4", "-c", "all_reduce", "-s", "1MiB", "--chunks", 4)
        assert found["rsag_bound_us"] >= found["bound_us"]
        assert "set by" in run("bound", *SMALL).stdout

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("custom", "send_recv")])
    def test_what_binds_is_named(self, kind):
        """Small sizes name the ends of the longest path, large ones the NPU, the cut's sides or the links that bind."""
        problem = ("-t", "dgx_a100:2", "-c", kind)
        assert re.match(
            r"latency from box \d GPU 0 to box \d GPU 0$", run_json("bound", *problem, "-s", "8B")["bound_by"]
        )
        binding = run_json("bound", *problem, "-s", "1GB")["bound_by"]
        expected = {"all_reduce": "30GB over all links into NPUs", "all_to_all": "IB switch → box 0 GPU 0"}
        assert expected.get(kind, "GPU 0") in binding

    def test_disconnected(self, disconnected):
        """A network in two parts has no bound, and the parts are named."""
        assert "{NPU 2, NPU 3}" in refused(1, "bound", "-t", disconnected, "-c", "all_gather", "-s", "1MiB")
        pair = ("-c", "all_gather", "-s", "1MiB", "--group", "2,3")
        assert run_json("bound", "-t", disconnected, *pair)["bound_us"] > 0


class TestCompare:
    def test_json(self):
        """All synthesizers, best first, the others after them with their reason."""
        found = run_json("compare", "-t", "ring:4", "-c", "gather", "-s", "1MiB,2MiB")
        assert found["sizes"] == [2**20, 2**21]
        for size in found["sizes"]:
            rows = [record for record in found["records"] if record["size"] == size]
            assert {row["synthesizer"] for row in rows} == set(synthesizers.available())
            worked = [row["time_us"] for row in rows if row["status"] == "ok"]
            assert worked
            assert worked == sorted(worked)
            assert all(row["status"] == "ok" for row in rows[: len(worked)])
            assert all(row["reason"] for row in rows[len(worked) :])

    def test_text(self):
        """A table for each size, what binds, and the reasons."""
        text = run("compare", "-t", "ring:4", "-c", "all_to_all", "-s", "1MiB,2MiB").stdout
        assert text.count("set by") == 2
        assert "all_to_all 1MiB on ring:4" in text
        assert "unsupported:" in text

    def test_sizes(self):
        """Each size has its league, and below it what binds there: a path for few bytes, links for many."""
        choices = ("-m", "recursive_doubling", "-m", "halving_doubling", "-m", "bruck")
        result = run("compare", "-t", "dgx_a100:2", "-c", "all_reduce", "-s", "1KB,1MB,1GB", *choices)
        assert re.findall(r"set by (.*)", result.stdout) == [
            "latency from box 0 GPU 0 to box 1 GPU 0", "30MB over all links into NPUs", "30GB over all links into NPUs",
        ]  # fmt: skip
        assert len(re.findall(r"bruck +unsupported:", result.stdout)) == 3

    def test_fairness(self):
        """Pieces are chosen by simulation, kept at one with --chunks, and an option wins over both."""
        choices = ("-m", "tacos", "-m", "tacos:pieces=4,trials=2", "-m", "halving_doubling")
        for more, expected in (((), "auto"), (("--chunks", 2), 1)):
            found = run_json("compare", *SMALL, *choices, *more)
            pieces = {record["label"]: record["options"].get("pieces") for record in found["records"]}
            assert pieces == {"tacos": expected, "tacos:pieces=4,trials=2": 4, "halving_doubling": None}

    def test_pieces_without_auto(self, plugged):
        """A synthesizer whose pieces cannot be automatic keeps its default."""
        plugged(lambda problem: 1 / 0)
        result = run("compare", *SMALL, "--json")
        assert json.loads(result.stdout)["records"][0]["options"] == {"pieces": 3}
        assert result.exit_code == 1

    def test_values_with_commas(self):
        """A value may hold commas."""
        found = run_json("compare", *SMALL, "-m", "ring:order=0,1,2,3,pieces=2")
        assert found["records"][0]["options"]["order"] == "0,1,2,3"

    def test_nothing_worked(self):
        """Where nothing works the reasons are shown, and the status is 1."""
        result = run("compare", "-t", "ring:4", "-c", "all_to_all", "-s", "1MiB", "-m", "ring")
        assert result.exit_code == 1
        assert "unsupported:" in result.stdout
        assert result.stderr.count("\n") == 1

    def test_csv(self, tmp_path):
        """The CSV file has a row for each record."""
        path = tmp_path / "a.csv"
        assert run("compare", *SMALL, "-m", "ring", "-m", "tacos", "--group", "1", "--csv", path).exit_code == 0
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["label"] for row in rows} == {"ring", "tacos"}
        assert rows[0]["algbw_gbps"] == ""
        assert "pieces" in json.loads(rows[0]["options"])
        assert "does not exist" in refused(1, "compare", *SMALL, "--csv", tmp_path / "no" / "a.csv")

    @pytest.mark.parametrize(("args", "says"), [
        (("-s", "1MiB,64"), "has no unit"),
        (("-m", "rung"), "did you mean 'ring'?"),
        (("-m", "ring:foo=1"), "no option 'foo'"),
        (("-m", "ring:foo"), "expected key=value"),
    ])  # fmt: skip
    def test_wrong_usage(self, args, says):
        """Wrong usage is told before anything runs."""
        assert says in refused(2, "compare", *SMALL, *args)


class TestTopologyShow:
    def test_json(self):
        """The figures of a mesh: 4 corners of two links in, and an AllGather that they bound."""
        found = run_json("topology", "show", "mesh:4x4@50GB/s,0.5us")
        assert (found["num_npus"], found["num_switches"], found["num_links"]) == (16, 0, 48)
        assert (found["diameter"], found["components"], found["warnings"]) == (6, 1, [])
        assert (found["bandwidth_per_npu_gbps"], found["max_bandwidth_per_npu_gbps"]) == (100, 200)
        assert found["allgather_bound_gbps"] == pytest.approx(100 * 16 / 15)

    def test_one_npu(self):
        """A single NPU has no bandwidth, and no infinity in JSON."""
        found = run_json("topology", "show", "ring:1")
        assert (found["diameter"], found["allgather_bound_gbps"]) == (0, None)

    def test_text(self, disconnected):
        """A reader gets figures, and warnings of what looks wrong."""
        assert "diameter           2 links" in run("topology", "show", "switch:4").stdout
        assert "not connected" in run("topology", "show", disconnected).stdout

    def test_warnings(self, tmp_path):
        """One-way, uneven and lonely parts, dead ends and missing latencies are named."""
        path = tmp_path / "odd.json"
        links = ([0, 1, 1, 0], [1, 0, 2, 3], [0.5, 0.5, 0.5, 0], [50, 25, 50, 50])
        save_topology(Topology(3, *links, num_switches=2, name="odd"), path)
        found = run_json("topology", "show", path)
        text = " ".join(found["warnings"])
        for part in ("without any link: switch 1", "not connected: 2 parts", "one way only: 2", "uneven: 2",
                     "1 links have no latency", "dead ends: switch 0"):  # fmt: skip
            assert part in text
        assert (found["diameter"], found["components"]) == (None, 2)

    def test_refusals(self, tmp_path):
        """An unknown name is wrong usage, a foreign file work that failed."""
        assert "did you mean mesh" in refused(2, "topology", "show", "mehs:4x4")
        path = tmp_path / "x"
        path.write_text("?")
        assert str(path) in refused(1, "topology", "show", path)
