"""The reproduction of TACOS on a file of tiny networks: files, failures as rows, interruption, usage."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import reproduce_tacos, reproduction
from experiments.files import expand, read_experiment
from experiments.tables import load_results
from experiments.tacos_study import TIMED
from experiments.tacos_study.ideal import ideal_us
from experiments.tacos_study.networks import network_label, network_shape
from experiments.tacos_study.scaling import exponent, series_of
from experiments.tacos_study.tables import compared, comparison
from topologies import FormatError, parse_topology

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "experiments" / "configs"

TINY = """
problems:
  - {topology: 'mesh:2x2', collective: [all_reduce, all_gather], size: 1MB, only: [ring, double_binary_tree, tacos]}
  - {topology: ['mesh:2x2', 'mesh:3x2'], collective: all_gather, size: [4MiB, 6MiB], zip: [topology, size],
     only: 'tacos, one chunk', repeats: 2, alone: true}
synthesizers:
  - ring
  - double_binary_tree
  - tacos
  - {synthesizer: tacos, options: {pieces: 1}, label: 'tacos, one chunk'}
plots:
  - {kind: heat_map, only: '*all_reduce 1MB on mesh:2x2'}
"""


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """Return a folder of experiment files, of which the quick one is tiny."""
    folder = tmp_path_factory.mktemp("configs")
    (folder / "tacos_quick.yaml").write_text(TINY)
    return folder


@pytest.fixture(scope="module")
def written(tiny, tmp_path_factory) -> Path:
    """Run the tiny file once; give the folder of its results."""
    folder = tmp_path_factory.mktemp("tacos")
    assert reproduction.reproduce(reproduce_tacos.STUDY, tiny / "tacos_quick.yaml", folder, 2) == 0
    return folder


class TestReproduce:
    """`reproduce` writes everything."""

    def test_files(self, written):
        """Every table and every plot is there, and no temporary file is left."""
        plots = ("bandwidth_all_gather", "bandwidth_all_reduce", "overview", "scaling")
        expected = {f"{name}.{suffix}" for name in plots for suffix in ("png", "svg")}
        expected |= {"results.csv", "results.parquet", "experiment.yaml", "tables.md", "comparison.md", "scaling.md"}
        expected |= {"runs", "plots", ".lock"}
        assert {path.name for path in written.iterdir()} == expected
        names = {path.name for path in (written / "plots").iterdir()}
        assert names == {f"mesh-2x2_all_reduce_1MB_heat_map.{suffix}" for suffix in ("png", "svg")}

    def test_rows(self, written):
        """There is a row for each run, and each with a time was verified."""
        rows = _rows(written / "results.csv")
        assert len(rows) == 2 * 3 + 2 * 2
        assert all(row["verified"] == "True" for row in rows if row["time_us"])
        assert {row["status"] for row in rows} == {"ok", "unsupported"}

    def test_unsupported_has_its_reason(self, written):
        """What a synthesizer does not support is a row with the reason, also in the Markdown."""
        row = next(row for row in _rows(written / "results.csv") if row["status"] == "unsupported")
        assert row["synthesizer"] == "double_binary_tree"
        assert row["reason"] in (written / "comparison.md").read_text(encoding="utf-8")

    def test_scaling_names_the_published_points(self, written):
        """The synthesis times tell what was measured here from what the paper published."""
        text = (written / "scaling.md").read_text(encoding="utf-8")
        assert "mesh:3x2" in text
        assert "published: 128 NPUs, heterogeneous, AllReduce" in text
        assert "9,072 s" in text

    def test_again_from_the_results(self, written, tiny, tmp_path, capsys):
        """--draw makes the same tables and figures of the results alone."""
        for name in ("results.parquet", "results.csv"):
            (tmp_path / name).write_bytes((written / name).read_bytes())
        assert reproduction.draw(reproduce_tacos.STUDY, tiny / "tacos_quick.yaml", tmp_path) == 0
        assert capsys.readouterr().out.startswith("## AllReduce, algbw in GB/s")
        drawn = [path.relative_to(written) for path in written.rglob("*.svg")] + [Path("comparison.md")]
        assert len(drawn) == 6
        for name in drawn:
            assert (tmp_path / name).read_bytes() == (written / name).read_bytes()


class TestTables:
    """Rows of results with the paper's yardstick."""

    def test_failure_is_shown(self, written):
        """A run that failed is in the table, and its reason below."""
        frame = load_results(str(written))
        ring = (frame["label"] == "ring") & (frame["collective"] == "all_reduce")
        frame.loc[ring, ["status", "reason"]] = ["failed", "no luck today"]
        frame.loc[ring, ["time_us", "algbw_gbps"]] = None
        text = comparison(compared(frame[frame["label"] != TIMED]))
        assert "Ring, AllReduce of 1MB on mesh:2x2: failed: no luck today" in text

    def test_least_of_repeats(self, written):
        """A synthesis time is the least of its repeats, and a network on which nothing worked has none."""
        frame = load_results(str(written)).query("label == @TIMED")
        first, second = series_of(frame)
        measured = frame[frame["topology"] == "mesh:3x2"]["synthesis_s"]
        assert (second["topology"], second["repeats"]) == ("mesh:3x2", 2)
        assert second["synthesis_s"] == measured.min()
        assert first["series"] == "2-D mesh, AllGather"
        frame = frame.assign(status="timeout", reason="too slow")
        assert [row["synthesis_s"] for row in series_of(frame)] == [None, None]


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


class TestExperiments:
    """The experiment files hold what the study promises."""

    @pytest.mark.parametrize("name", ["tacos", "tacos_quick"])
    def test_what_is_run(self, name):
        """Nine networks, two collectives and five tuned algorithms are compared; times are measured alone."""
        runs = expand(*read_experiment(str(CONFIGS / f"{name}.yaml")))
        timed = [run for run in runs if run.label == TIMED]
        others = [run for run in runs if run.label != TIMED]
        assert len({network_label(run.topology) for run in others}) == 9
        assert len({run.collective for run in others}) == 2
        assert len({run.label for run in others}) == 5
        assert all(run.options.get("pieces") == "auto" for run in others if run.synthesizer in ("ring", "tacos"))
        assert all(run.alone and run.size == 2**20 * parse_topology(run.topology).num_npus for run in timed)
        assert not any(run.alone for run in others)
        if name == "tacos_quick":
            assert max(parse_topology(run.topology).num_npus for run in runs) == 1024

    def test_names(self):
        """Networks are called as the paper calls them."""
        assert network_label("mesh:4x4x4") == "3-D mesh"
        assert network_label("mesh:8x8@50x75GB/s,0.5us") == "Uneven mesh"
        assert network_label("torus:8x8@50GB/s,0.5us") == "2-D torus"
        assert network_label("mine") == "mine"
        assert network_shape("hypercube:6") == "2⁶"
        assert network_shape("rfs:2x4x8@200x100x50GB/s,0.5us") == "2×4×8"
        assert network_shape("dgx1") == ""


class TestMain:
    """The command line."""

    def test_prints_the_table_then_the_plots(self, tiny, monkeypatch, tmp_path, capsys):
        """The comparison is printed first, the names of the plots come last, and progress is not on standard output."""
        monkeypatch.setattr(reproduction, "CONFIGS", tiny)
        assert reproduce_tacos.main(["--quick", "--out", str(tmp_path / "new"), "--jobs", "1"]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("## AllReduce, algbw in GB/s")
        assert out.rstrip().endswith("heat_map.png")
        assert "[10/10] " in err

    def test_default_folders(self, monkeypatch, tmp_path):
        """Without --out the quick study leaves the folder of the full one alone."""
        monkeypatch.chdir(tmp_path)
        asked = []
        monkeypatch.setattr(
            reproduction, "reproduce", lambda study, config, out, jobs: asked.append((config, out)) or 0
        )
        assert reproduce_tacos.main(["--quick"]) == reproduce_tacos.main([]) == 0
        assert asked == [(CONFIGS / "tacos_quick.yaml", Path("results/tacos/quick")),
                         (CONFIGS / "tacos.yaml", Path("results/tacos"))]  # fmt: skip

    def test_nothing_to_draw(self, tmp_path, capsys):
        """--draw without results is one line and status 1."""
        assert reproduce_tacos.main(["--draw", "--out", str(tmp_path)]) == 1
        assert "results.parquet is not there" in capsys.readouterr().err
        with pytest.raises(FormatError):
            reproduction.draw(reproduce_tacos.STUDY, CONFIGS / "tacos.yaml", tmp_path)

    @pytest.mark.skipif(os.name != "posix", reason="sends signals to a process group, as a terminal does")
    @pytest.mark.parametrize(("number", "status", "said"), [
        (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "told to end"),
    ])  # fmt: skip
    def test_ended_with_workers(self, tmp_path, number, status, said):
        """A signal to everything, workers included, ends in one line, its status and the rows so far."""
        command = [sys.executable, "experiments/reproduce_tacos.py", "--quick", "--jobs", "2", "--out", str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(3):
            process.stderr.readline()
        time.sleep(0.1)
        os.killpg(process.pid, number)
        err = process.communicate(timeout=60)[1]
        assert process.returncode == status
        assert "Traceback" not in err
        assert err.splitlines()[-1].startswith(f"{said}; what was finished is in ")
        assert len(_rows(tmp_path / "results.csv")) >= 3
