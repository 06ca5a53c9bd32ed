"""The reproduction of TACOS on a grid of one tiny network: files, failures as rows, interruption, usage."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import reproduce_tacos
from experiments.tacos_study import running
from experiments.tacos_study.grid import ALGORITHMS, FULL, QUICK, Grid, Network, Run, Series
from experiments.tacos_study.ideal import ideal_us
from experiments.tacos_study.running import attempt, rows_of, tuning
from experiments.tacos_study.scaling import exponent
from experiments.tacos_study.tables import comparison
from experiments.tacos_study.utilisation import busy_links
from synthesizers import Synthesizer, find
from topologies import parse_topology
from topologies.exceptions import OptionError, SynthesisError

ROOT = Path(__file__).parents[2]
MESH = Network("2-D mesh", "mesh:2x2")
TINY = Grid(
    networks=(MESH,),
    sizes=(10**6,),
    heat_map=Network("2-D mesh", "mesh:3x2"),
    heat_size=10**6,
    series=(Series("2-D mesh, AllGather", "all_gather", ("mesh:2x2", "mesh:3x2")),),
)


class Broken(Synthesizer):
    """A synthesizer that always gives up."""

    name = "direct"
    reference = "nobody"

    def synthesize(self, problem, options):
        """Give up."""
        raise SynthesisError("no luck today")


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """Run the tiny grid once; give its folder."""
    folder = tmp_path_factory.mktemp("tacos")
    assert reproduce_tacos.reproduce(TINY, folder) == 0
    return folder


@pytest.fixture
def tiny(monkeypatch):
    """Make the quick study the tiny one."""
    monkeypatch.setattr(reproduce_tacos, "QUICK", TINY)


class TestReproduce:
    """`reproduce` writes everything."""

    def test_files(self, written):
        """Every table and every plot is there, and no partial or temporary file is left."""
        plots = ("bandwidth_all_gather", "bandwidth_all_reduce", "overview", "scaling", "utilisation")
        expected = {f"{name}.{suffix}" for name in plots for suffix in ("png", "svg")}
        expected |= {"comparison.csv", "comparison.md", "scaling.csv", "scaling.md", "utilisation.csv"}
        assert {path.name for path in written.iterdir()} == expected

    def test_rows(self, written):
        """There is a row for each run, in the grid's order, and each with a time was verified."""
        rows = _rows(written / "comparison.csv")
        assert [(row["collective"], row["synthesizer"]) for row in rows] == [
            (run.kind, run.algorithm) for run in TINY.runs()
        ]
        assert all(row["verified"] == "True" for row in rows if row["time_us"])
        assert {row["status"] for row in rows} == {"ok", "unsupported"}

    def test_unsupported_has_its_reason(self, written):
        """What a synthesizer does not support is a row with the reason, also in the Markdown."""
        row = next(row for row in _rows(written / "comparison.csv") if row["status"] == "unsupported")
        assert row["synthesizer"] == "double_binary_tree"
        assert row["reason"] in (written / "comparison.md").read_text(encoding="utf-8")

    def test_scaling_names_the_published_points(self, written):
        """The synthesis times tell what was measured here from what the paper published."""
        text = (written / "scaling.md").read_text(encoding="utf-8")
        assert "mesh:3x2" in text
        assert "published: 128 NPUs, heterogeneous, AllReduce" in text
        assert "9,072 s" in text

    def test_links(self, written):
        """The utilisation table has a row for each link and algorithm, with shares from 0 to 1."""
        rows = _rows(written / "utilisation.csv")
        assert len(rows) == 3 * parse_topology("mesh:3x2").num_links
        assert all(0 <= float(row["utilisation"]) <= 1 for row in rows)

    def test_defect_is_said_aloud(self, capsys):
        """A score above the bound goes to standard error and makes the status 1."""
        row = attempt(Run(MESH, "all_gather", 10**6, "ring"))[0]
        assert reproduce_tacos._verdict([row]) == 0
        assert reproduce_tacos._verdict([row | {"efficiency": 1.1, "reason": "DEFECT: too fast"}]) == 1
        assert "DEFECT: too fast" in capsys.readouterr().err


class TestAttempt:
    """`attempt` makes a row of everything."""

    def test_failure_is_a_row(self, monkeypatch):
        """A synthesizer that raises gives a row with its reason, and the table shows both."""
        monkeypatch.setattr(running, "find", lambda name: Broken() if name == "direct" else find(name))
        rows = list(rows_of([Run(MESH, "all_reduce", 10**6, name) for name in ("ring", "direct", "tacos")], jobs=1))
        assert [row["status"] for row in rows] == ["ok", "failed", "ok"]
        text = comparison(rows, ("ring", "direct", "tacos"))
        assert "failed" in text
        assert "Direct, AllReduce of 1MB on mesh:2x2: failed: no luck today" in text

    def test_broken_plugin_is_a_row(self, monkeypatch):
        """A plugin that cannot be loaded gives a row too."""

        def broken(name):
            raise OptionError(f"synthesizer {name!r} cannot be used: SyntaxError")

        monkeypatch.setattr(running, "find", broken)
        row, schedule = attempt(Run(MESH, "all_reduce", 10**6, "tacos"))
        assert (row["status"], schedule) == ("failed", None)
        assert "SyntaxError" in row["reason"]

    def test_heat_map_of_a_failure(self, monkeypatch):
        """Without a schedule the utilisation is one row with the reason."""
        monkeypatch.setattr(running, "find", lambda name: Broken())
        (row,) = busy_links(TINY, "direct")
        assert (row["status"], row["reason"]) == ("failed", "no luck today")

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_everything_is_tuned(self, algorithm):
        """Every synthesizer that cuts data gets `auto`, and so does the number of rings."""
        synthesizer = find(algorithm)
        options = synthesizer.Options.__struct_fields__
        assert tuning(synthesizer) == {name: "auto" for name in ("pieces", "rings") if name in options}

    def test_jobs_do_not_change_the_rows(self):
        """Two processes give the rows of one."""
        runs = [run for run in TINY.runs() if run.algorithm in ("ring", "tacos")]
        keys = ("collective", "synthesizer", "time_us", "transfers")
        alone, together = ({tuple(row[key] for key in keys) for row in rows_of(runs, jobs)} for jobs in (1, 2))
        assert alone == together


class TestIdeal:
    """`ideal_us` is the paper's yardstick."""

    @pytest.mark.parametrize(
        ("name", "kind", "expected"),
        [
            # Corner: 2 links of 50 GB/s; diameter 6 × 0.5 µs.
            ("mesh:4x4", "all_gather", 15 / 16 * 1e6 / 100e3 + 3),
            ("mesh:4x4", "all_reduce", 2 * 15 / 16 * 1e6 / 100e3 + 3),
            # A port of 300 and one of 25 GB/s; two hops of 0.5 µs in each dimension.
            ("switch2d:8x4@300x25GB/s,0.5us", "all_gather", 31 / 32 * 1e6 / 325e3 + 2),
        ],
    )
    def test_by_hand(self, name, kind, expected):
        """It equals what the formula gives by hand."""
        assert ideal_us(parse_topology(name), kind, 10**6) == pytest.approx(expected)


class TestExponent:
    """`exponent` fits a power law."""

    def test_exact_power(self):
        """Points on a power law give its exponent and factor; small networks do not count."""
        rows = [{"num_npus": npus, "synthesis_s": 3e-9 * npus**2} for npus in (256, 512, 1024)]
        assert exponent([*rows, {"num_npus": 4, "synthesis_s": 1.0}]) == pytest.approx((2, 3e-9))

    def test_too_few(self):
        """Two points are no trend."""
        assert exponent([{"num_npus": npus, "synthesis_s": 1.0} for npus in (256, 512)]) is None


class TestGrids:
    """The grids hold what the study promises."""

    @pytest.mark.parametrize("grid", [FULL, QUICK])
    def test_every_name_parses(self, grid):
        """Every network can be built, and the heat map is on a mesh that the figure can draw."""
        names = [network.name for network in grid.networks] + [name for series in grid.series for name in series.names]
        assert all(parse_topology(name).num_npus > 1 for name in names)
        assert grid.heat_map.name.startswith("mesh:")
        assert len({network.label for network in grid.networks}) == 9

    def test_quick_is_small(self):
        """The quick grid stays at or below 1,024 NPUs."""
        assert max(parse_topology(name).num_npus for series in QUICK.series for name in series.names) == 1024


class TestMain:
    """The command line."""

    def test_prints_the_table_then_the_plots(self, tiny, tmp_path, capsys):
        """The comparison is printed first, the names of the plots come last, and progress is not on standard output."""
        assert reproduce_tacos.main(["--quick", "--out", str(tmp_path / "new"), "--jobs", "1"]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("## AllReduce, algbw in GB/s")
        assert out.rstrip().endswith("scaling.svg")
        assert f"/{len(TINY.runs()) + 3 + 2}] " in err

    def test_default_folders(self, monkeypatch, tmp_path):
        """Without --out the quick study leaves the folder of the full one alone."""
        monkeypatch.chdir(tmp_path)
        folders = []
        monkeypatch.setattr(reproduce_tacos, "reproduce", lambda grid, out, jobs: folders.append(out) or 0)
        assert reproduce_tacos.main(["--quick"]) == reproduce_tacos.main([]) == 0
        assert folders == [Path("results/tacos/quick"), Path("results/tacos")]

    @pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--jobs", "two"], ["--fast"], ["more"]])
    def test_bad_arguments(self, arguments, capsys):
        """A wrong argument is one line and status 2."""
        with pytest.raises(SystemExit) as stop:
            reproduce_tacos.main(arguments)
        assert stop.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1

    def test_unwritable(self, tmp_path, capsys):
        """An output folder that cannot be made is one line and status 1."""
        (tmp_path / "file").write_text("")
        assert reproduce_tacos.main(["--quick", "--out", str(tmp_path / "file" / "in")]) == 1
        assert capsys.readouterr().err.count("\n") == 1

    def test_interruption_keeps_rows(self, tiny, tmp_path, monkeypatch, capsys):
        """Ctrl-C keeps the finished rows, leaves an earlier full table alone, and gives status 130."""
        (tmp_path / "comparison.csv").write_text("earlier")
        finished = attempt(Run(MESH, "all_reduce", 10**6, "ring"))[0]

        def interrupted(runs, jobs):
            yield finished
            raise KeyboardInterrupt

        monkeypatch.setattr(reproduce_tacos, "rows_of", interrupted)
        assert reproduce_tacos.main(["--quick", "--out", str(tmp_path)]) == 130
        assert [row["synthesizer"] for row in _rows(tmp_path / "comparison.partial.csv")] == ["ring"]
        assert (tmp_path / "comparison.csv").read_text() == "earlier"
        assert "Traceback" not in capsys.readouterr().err

    @pytest.mark.parametrize("command", [["experiments/reproduce_tacos.py"], ["-m", "experiments.reproduce_tacos"]])
    def test_runs_both_ways(self, command):
        """It can be run as a file and as a module."""
        done = subprocess.run([sys.executable, *command, "--help"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0
        assert "--quick" in done.stdout

    @pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a process group, as a terminal does")
    def test_ctrl_c_with_workers(self, tmp_path):
        """SIGINT to everything, workers included, ends in one line, status 130 and the rows so far."""
        command = [sys.executable, "experiments/reproduce_tacos.py", "--quick", "--jobs", "2", "--out", str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(3):
            process.stderr.readline()
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        err = process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert "Traceback" not in err
        assert len(_rows(tmp_path / "comparison.partial.csv")) >= 3


def test_grid_can_be_narrowed():
    """The runs of a grid are its networks × collectives × sizes × algorithms."""
    assert len(replace(TINY, algorithms=("ring",), kinds=("all_reduce",)).runs()) == 1
