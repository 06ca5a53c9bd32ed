"""``collbench plot`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.plots import RESULT_KINDS, SCHEDULE_KINDS

ROOT = Path(__file__).parents[2]
TACOS = ROOT / "results" / "tacos" / "results.csv"
SMALL = ("-t", "ring:4", "-c", "all_gather", "-s", "1MiB")


def run(*args):
    """Run the program in this process."""
    return CliRunner().invoke(main, [str(arg) for arg in args])


def refused(status, *args):
    """Run the program, which must end with `status`, silent but for one line on standard error; return the line."""
    result = run(*args)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a results file, ``rows.csv``, and a schedule file, ``ring.json``."""
    folder = tmp_path_factory.mktemp("plot")
    assert run("compare", *SMALL, "-m", "ring", "-m", "direct", "--csv", folder / "rows.csv").exit_code == 0
    assert run("synthesize", *SMALL, "-m", "ring", "--out", folder / "ring.json").exit_code == 0
    return folder


class TestPlot:
    """``collbench plot``."""

    def test_results_and_schedules(self, folder, tmp_path):
        """Everything is drawn, and every file that is named is there: PNG and SVG of each kind."""
        result = run("plot", folder / "rows.csv", folder / "ring.json", "--out", tmp_path / "new" / "plots")
        assert result.exit_code == 0, result.stderr
        files = [Path(line) for line in result.stdout.splitlines()]
        assert all(file.stat().st_size > 1000 for file in files)
        assert {file.suffix for file in files} == {".png", ".svg"}
        names = {file.stem for file in files}
        assert all(any(name.startswith(kind) for name in names) for kind in RESULT_KINDS)
        assert {f"ring_{kind}" for kind in SCHEDULE_KINDS} <= names
        assert len(list((tmp_path / "new" / "plots").iterdir())) == len(files)

    def test_the_study(self, tmp_path):
        """The table of the TACOS study can be drawn; --json names the files."""
        result = run("plot", TACOS, "--kind", "bars", "-s", "64MB", "--out", tmp_path, "--json")
        names = [Path(file).name for file in json.loads(result.stdout)["files"]]
        assert names == [f"bars_{kind}.{suffix}" for kind in ("all_reduce", "all_gather") for suffix in ("png", "svg")]

    def test_another_size(self, folder, tmp_path):
        """--size simulates a schedule for other bytes."""
        result = run("plot", folder / "ring.json", "--kind", "over_time", "-s", "2MiB", "--out", tmp_path)
        assert result.exit_code == 0
        assert "2MiB" in (tmp_path / "ring_over_time.svg").read_text(encoding="utf-8")

    def test_schedules_behind_results(self, folder, tmp_path):
        """Kinds of schedules are drawn from results alone, for the rows that --only means."""
        result = run("plot", folder / "rows.csv", "--kind", "gantt", "--kind", "heat_map", "--out", tmp_path)
        assert result.exit_code == 0, result.stderr
        start = "ring-4_all_gather_1MiB"
        names = [f"{start}_ring_gantt", f"{start}_direct_gantt", f"{start}_heat_map"]
        assert [Path(line).stem for line in result.stdout.splitlines()[::2]] == names
        assert "Direct: " in (tmp_path / f"{start}_heat_map.svg").read_text(encoding="utf-8")
        result = run("plot", folder / "rows.csv", "--kind", "heat_map", "--only", "dir*", "--out", tmp_path, "--json")
        assert [Path(file).stem for file in json.loads(result.stdout)["files"]] == [f"{start}_direct_heat_map"] * 2

    def test_many_problems(self, tmp_path):
        """Schedules of more than a dozen problems are drawn only where some are chosen."""
        sizes = ",".join(f"{size}KiB" for size in range(1, 14))
        made = run(
            "compare", "-t", "ring:4", "-c", "all_gather", "-s", sizes, "-m", "ring", "--csv", tmp_path / "r.csv"
        )
        assert made.exit_code == 0, made.stderr
        line = refused(1, "plot", tmp_path / "r.csv", "--kind", "gantt", "--out", tmp_path)
        assert "schedules of 13 problems, more than 12 at a time; choose some with --only" in line
        result = run("plot", tmp_path / "r.csv", "--kind", "gantt", "-s", "1KiB", "--out", tmp_path)
        assert result.exit_code == 0, result.stderr

    def test_refusals(self, folder, tmp_path):
        """What cannot be drawn is one line and status 1, a kind that does not exist status 2; nothing is written."""
        rows, plan, out = folder / "rows.csv", folder / "ring.json", ("--out", tmp_path / "out")
        assert "drawn from a results file" in refused(1, "plot", plan, "--kind", "busbw", *out)
        assert "only schedule files are given" in refused(1, "plot", plan, "--only", "ring", *out)
        assert "--only 'rong' is like no row; labels are ring, direct" in refused(
            1, "plot", rows, "--only", "rong", *out
        )
        assert "no rows of 3MB" in refused(1, "plot", rows, "-s", "3MB", *out)
        assert "cannot read" in refused(1, "plot", tmp_path / "none.csv", *out)
        assert "cannot write into" in refused(1, "plot", rows, "--out", rows)
        assert "not one of" in refused(2, "plot", rows, "--kind", "pie", *out)
        lines = rows.read_text().splitlines()
        (bare := tmp_path / "bare.csv").write_text(lines[0] + "\n")
        assert "no rows" in refused(1, "plot", bare, *out)
        (less := tmp_path / "less.csv").write_text("\n".join(lines).replace("busbw_gbps", "other"))
        assert "column busbw_gbps is missing" in refused(1, "plot", less, *out)
        (failed := tmp_path / "failed.csv").write_text("\n".join(lines).replace(",ok,", ",failed,"))
        assert "none of 2 runs worked" in refused(1, "plot", failed, *out)
        assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())

    def test_a_wrong_schedule(self, folder, tmp_path):
        """A schedule that does not compute its collective is not drawn."""
        content = json.loads((folder / "ring.json").read_text())
        assert content["format"]
        from schedules import Schedule, load_schedule, save_schedule

        whole = load_schedule(folder / "ring.json")
        part = Schedule(whole.topology, whole.collective, whole.chunk[:1], whole.link[:1], notes={"size": 4})
        save_schedule(part, tmp_path / "wrong.json")
        assert "is invalid and is not timed" in refused(1, "plot", tmp_path / "wrong.json", "--out", tmp_path)
