"""The command of the TopoOpt study: its files, faults in them, rows that are kept, interruption, usage."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from experiments import reproduce_topoopt
from experiments.cli import main as collbench
from experiments.files import ExperimentError
from experiments.runner import sources
from experiments.study_command import CONFIGS
from experiments.topoopt_study import collection
from experiments.topoopt_study.collection import collect
from experiments.topoopt_study.networks import NETWORKS
from experiments.topoopt_study.rows import read_results, rows_of, write_results
from experiments.topoopt_study.settings import Setting, read_settings
from experiments.workloads import shipped
from tests.experiments.topoopt_rows import broken, measured
from topologies import FormatError

ROOT = Path(__file__).parents[2]

TINY = """
description: tiny
latency: 1us
cases:
  - servers: 4
    ports: [2]
    bandwidth: [25Gbps]
    workloads: [vgg16]
    networks: [topoopt, ring, fat_tree]
    seeds: [0]
    budget: 3
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Run a tiny study once; give its folder, in which its file is beside the results."""
    folder = tmp_path_factory.mktemp("topoopt")
    config = folder / "tiny.yaml"
    config.write_text(TINY)
    assert reproduce_topoopt.reproduce(config, folder / "out", 1) == 0
    return folder


class TestSettings:
    def test_full(self):
        """The study compares ten networks on 128 servers, and the prototype, over five seeds each."""
        settings = read_settings(CONFIGS / "studies" / "topoopt.yaml")
        large = [each for each in settings if each.servers == 128]
        assert {each.ports for each in large} == {4, 8}
        assert {8 * each.port_gbps for each in large} == {10, 25, 40, 100, 200}
        assert {each.network for each in large} == set(NETWORKS)
        assert {each.workload for each in settings} == set(shipped())
        assert {each.seed for each in settings} == set(range(5))
        chance = [each for each in settings if each.network == "topoopt_random"]
        assert {(each.servers, each.ports, each.port_gbps) for each in chance} == {(128, 4, 12.5)}
        prototype = [each for each in settings if each.servers == 12]
        assert {(each.ports, each.port_gbps) for each in prototype} == {(4, 3.125)}
        assert len(settings) == 6 * 5 * (2 * 5 * 10 + 1 + 10)
        assert {each.budget for each in settings} == {200}

    def test_quick(self):
        """The quick form is the same study on few servers."""
        settings = read_settings(CONFIGS / "studies" / "topoopt_quick.yaml")
        assert max(each.servers for each in settings) == 16
        assert {each.network for each in settings} == set(NETWORKS)
        assert len(settings) <= 200

    def test_each_once(self, tmp_path):
        """What two cases share is one row."""
        file = tmp_path / "twice.yaml"
        file.write_text(TINY + TINY[TINY.index("  - servers") :])
        assert len(read_settings(file)) == 3

    @pytest.mark.parametrize(("old", "new", "line", "said"), [
        ("budget: 3", "budgt: 3", 11, "unknown key 'budgt'; did you mean 'budget'?"),
        ("    budget: 3\n", "", 5, "the key 'budget' is missing in cases; add it"),
        ("[vgg16]", "[dlrm, vgg19]", 8, "unknown name 'vgg19'; expected one of "),
        ("fat_tree]", "fat_trees]", 9, "unknown name 'fat_trees'; expected one of topoopt, "),
        ("[25Gbps]", "[10Gbps, 25]", 7, "bandwidth: expected text, got a whole number, found 25"),
        ("[25Gbps]", "[10Gbps, 25Gpbs]", 7, "unknown unit"),
        ("[25Gbps]", "[]", 7, "bandwidth: expected at least one, found none"),
        ("servers: 4", "servers: 1", 5, "servers: expected 2 or more, found 1"),
        ("ports: [2]", "ports: [2, 0]", 6, "ports: expected 1 or more, found 2, 0"),
        ("seeds: [0]", "seeds: []", 10, "seeds: expected 0 or more, found none"),
        ("seeds: [0]", "seeds: [0, 1, 0]", 10, "seeds: 0 stands there twice; expected each once"),
        ("latency: 1us", "latency: 1", 3, "latency: expected text, got a whole number, found 1"),
        ("latency: 1us", "latency: soon", 3, "expected a number with a unit"),
        (TINY[TINY.index("cases") :], "cases: []\n", 4, "cases: expected at least one, found none"),
        (TINY, "just text\n", 1, "expected a mapping with the keys description, latency and cases"),
    ])  # fmt: skip
    def test_faults(self, tmp_path, old, new, line, said):
        """A mistake is one line: file, line, what was expected and what was found."""
        file = tmp_path / "wrong.yaml"
        file.write_text(TINY.replace(old, new))
        with pytest.raises(ExperimentError) as fault:
            read_settings(file)
        assert str(fault.value).startswith(f"{file}:{line}: ")
        assert said in str(fault.value)
        assert "\n" not in str(fault.value)

    def test_engine_does_not_list_it(self):
        """The files of the study are no experiment files, and `collbench list experiments` shows the script only."""
        listed = CliRunner().invoke(collbench, ["list", "experiments", "--json"])
        assert listed.exit_code == 0
        kinds = {each["name"]: each["kind"] for each in json.loads(listed.stdout)["experiments"]}
        assert kinds["reproduce_topoopt"] == "script"
        assert "topoopt" not in kinds


class TestCollect:
    def test_rows(self, finished):
        """Every setting has a row that worked, in order, with its lists."""
        rows = rows_of(read_results(finished / "out"))
        assert [row["network"] for row in rows] == ["topoopt", "ring", "fat_tree"]
        assert {row["status"] for row in rows} == {"ok"}
        assert all(row["trace"] and row["link_busy_us"] for row in rows)
        assert all(row["no_overlap_s"] == pytest.approx(row["compute_s"] + row["joint_us"] / 1e6) for row in rows)

    def test_estimate_stands_beside(self, finished):
        """What the search took its best strategy for is in the results, in the table of numbers too."""
        assert "estimated_s" in (finished / "out" / "results.csv").read_text().splitlines()[0].split(",")
        for row in rows_of(read_results(finished / "out")):
            assert row["estimated_s"] == row["trace"][-1] > 0

    def test_again_measures_nothing(self, finished, monkeypatch):
        """What is kept is not measured again, and the results are the same."""
        before = (finished / "out" / "results.csv").read_bytes()
        asked = []
        real = collection.outcomes
        monkeypatch.setattr(collection, "outcomes",
                            lambda perform, tasks, jobs: asked.extend(tasks) or real(perform, tasks, jobs))  # fmt: skip
        rows = collect(read_settings(finished / "tiny.yaml"), finished / "out", 1)
        assert len(rows) == 3
        assert asked == []
        assert (finished / "out" / "results.csv").read_bytes() == before

    def test_failures_are_tried_again(self, tmp_path, monkeypatch):
        """A row that failed is in the results with its reason, is not kept, and is measured again."""
        settings = [Setting("vgg16", name, 4, 2, 3.125, 1.0, 0, 3) for name in ("ring", "torus")]
        asked = []

        def outcomes(perform, tasks, jobs):
            asked.append([task.network for task in tasks])
            for at, task in enumerate(tasks):
                yield at, (broken if task.network == "ring" else measured)(task.network, 20 if at else "no luck")

        monkeypatch.setattr(collection, "outcomes", outcomes)
        for _ in range(2):
            assert [row["status"] for row in collect(settings, tmp_path, 1)] == ["failed", "ok"]
        assert asked == [["ring", "torus"], ["ring"]]
        assert read_results(tmp_path)["reason"].tolist() == ["no luck", ""]

    def test_interrupted(self, tmp_path, monkeypatch):
        """An interruption leaves the rows that were finished, in the results and for the next time."""
        settings = [Setting("vgg16", name, 4, 2, 3.125, 1.0, 0, 3) for name in ("ring", "torus")]

        def outcomes(perform, tasks, jobs):
            yield 1, msgspec.structs.asdict(tasks[1]) | {"status": "ok", "reason": "", "no_overlap_s": 1.0}
            raise KeyboardInterrupt

        monkeypatch.setattr(collection, "outcomes", outcomes)
        with pytest.raises(KeyboardInterrupt):
            collect(settings, tmp_path, 1)
        assert read_results(tmp_path)["network"].tolist() == ["torus"]
        assert len(list((tmp_path / "rows").iterdir())) == 1

    def test_key(self, monkeypatch):
        """A row is kept under all of its setting, and under the code."""
        setting = Setting("vgg16", "ring", 4, 2, 3.125, 1.0, 0, 3)
        others = [msgspec.structs.replace(setting, **{name: value}) for name, value in (
            ("workload", "ncf"), ("network", "torus"), ("servers", 5), ("ports", 3), ("port_gbps", 1.0),
            ("latency_us", 2.0), ("seed", 1), ("budget", 4))]  # fmt: skip
        keys = {collection._key(each, "code") for each in (setting, *others)} | {collection._key(setting, "other")}
        assert len(keys) == 10

    def test_code(self):
        """Rows depend on what measures them, and on no table, figure or runner: drawing otherwise measures nothing."""
        ours = frozenset({"topologies", "schedules", "simulator", "synthesizers", "experiments"})
        found = sources.reached({"experiments.topoopt_study.measure"}, ours, collection._APART)
        assert {"experiments.topoopt_study.candidates", "experiments.topoopt_study.networks", "topologies.costs",
                "experiments.workloads.iteration", "synthesizers.topoopt", "simulator.events"} <= found  # fmt: skip
        study = {name.split(".")[2] for name in found if name.startswith("experiments.topoopt_study.")}
        assert study == {"candidates", "measure", "networks", "settings"}
        assert not {name for name in found if name.startswith(("experiments.plots", "experiments.tables"))}


class TestMain:
    def test_results(self, finished):
        """Results, tables, the file itself and the figures are there, and no temporary file is left."""
        names = {path.name for path in (finished / "out").iterdir()}
        assert {"results.csv", "results.parquet", "experiment.yaml", "comparison.md", "rows", "cost.png"} <= names
        assert not [name for name in names if name.startswith(".")]

    def test_draws_again(self, finished, tmp_path, capsys):
        """--draw makes the same tables and figures of the results alone, byte for byte."""
        (tmp_path / "results.parquet").write_bytes((finished / "out" / "results.parquet").read_bytes())
        assert reproduce_topoopt.main(["--draw", "--out", str(tmp_path)]) == 0
        assert capsys.readouterr().out.rstrip().endswith("cost.svg")
        for name in ("comparison.md", *(path.name for path in (finished / "out").glob("*.svg"))):
            assert (tmp_path / name).read_bytes() == (finished / "out" / name).read_bytes()

    @pytest.mark.parametrize(("rows", "status", "said"), [
        ([measured("ring", 20), broken("torus", "no")], 0, "1 of 2 rows failed, each with its reason in the results"),
        ([broken("torus", "no")], 1, "1 of 1 rows failed"),
        ([measured("ring", 20, joint_us=9.0, bound_us=10.0)], 1, "below the bound of 10 µs; this is a defect"),
    ])  # fmt: skip
    def test_status(self, tmp_path, monkeypatch, capsys, rows, status, said):
        """The status is 1 if nothing worked or a time is below its bound; each is said in one line."""

        def collected(settings, out, jobs):
            write_results(out, rows)
            return rows

        monkeypatch.setattr(reproduce_topoopt, "collect", collected)
        monkeypatch.setattr(reproduce_topoopt, "_ablation_file", lambda _: None)
        assert reproduce_topoopt.main(["--quick", "--out", str(tmp_path)]) == status
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1

    def test_default_folders(self, monkeypatch, tmp_path):
        """Without --out the quick study leaves the folder of the full one alone."""
        monkeypatch.chdir(tmp_path)
        asked = []
        monkeypatch.setattr(reproduce_topoopt, "reproduce", lambda config, out, *_: asked.append((config, out)) or 0)
        assert reproduce_topoopt.main(["--quick"]) == reproduce_topoopt.main([]) == 0
        assert asked == [(CONFIGS / "studies" / "topoopt_quick.yaml", Path("results/topoopt/quick")),
                         (CONFIGS / "studies" / "topoopt.yaml", Path("results/topoopt"))]  # fmt: skip

    def test_nothing_to_draw(self, tmp_path, capsys):
        """--draw without results, or with those of something else, is one line and status 1."""
        assert reproduce_topoopt.main(["--draw", "--out", str(tmp_path)]) == 1
        assert "results.parquet is not there; run without --draw first" in capsys.readouterr().err
        (tmp_path / "results.parquet").write_bytes((ROOT / "results" / "taccl" / "results.parquet").read_bytes())
        with pytest.raises(FormatError, match="no file of results of this study: it has no column 'workload'"):
            read_results(tmp_path)

    @pytest.mark.skipif(os.name != "posix", reason="sends signals to a process group, as a terminal does")
    @pytest.mark.parametrize(("number", "status", "said"), [
        (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "told to end"),
    ])  # fmt: skip
    def test_ended_with_workers(self, tmp_path, number, status, said):
        """A signal to everything, workers included, ends in one line, its status and the rows so far."""
        command = [sys.executable, "experiments/reproduce_topoopt.py", "--quick", "--jobs", "1", "--out", str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(2):
            process.stderr.readline()
        os.killpg(process.pid, number)
        err = process.communicate(timeout=60)[1]
        assert process.returncode == status
        assert "Traceback" not in err
        assert err.splitlines()[-1].startswith(f"{said}; what was finished is in ")
        assert (read_results(tmp_path)["status"] == "ok").sum() >= 2
        assert len(list((tmp_path / "rows").glob("*.json"))) >= 2
