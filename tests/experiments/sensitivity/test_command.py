"""collbench sensitivity as a user meets it."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.tables import load_results, write_results
from tests.experiments.tables.test_tables import made

NETWORKS = """
problems: {topology: ['ring:4', 'mesh:2x3'], collective: all_gather, size: 1MB}
"""


def run(*args):
    """Run the program in this process."""
    return CliRunner().invoke(main, ["sensitivity", *map(str, args)])


class TestCommand:
    def test_tables_and_files(self, turning):
        """Three tables on standard output, and files beside the results that other commands read."""
        folder = turning(8_800)
        done = run(folder, "--sizes", "5KB,20KB", "--draws", 1)
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("Rank over 1 problem")
        assert "2 ▼1" in done.stdout
        assert "Problems whose best changes" in done.stdout
        assert done.stderr.splitlines()[-1].endswith("sensitivity.parquet and sensitivity.csv")
        assert load_results(str(folder / "sensitivity.csv")).shape == load_results(
            str(folder / "sensitivity.parquet")).shape  # fmt: skip
        shown = CliRunner().invoke(main, ["table", str(folder / "sensitivity.parquet"), "--rows", "scenario",
                                          "--value", "time_us", "--format", "csv"])  # fmt: skip
        assert shown.stdout.splitlines()[:3] == [
            "scenario,heavy,quick",
            "as run,10.88,9.800",
            "latency ×0.8,8.880,9.600",
        ]

    def test_forms(self, turning):
        """The tables in another form, in a file; LaTeX knows the signs."""
        folder = turning(8_800)
        done = run(folder / "results.csv", "--format", "latex", "--out", folder / "tables.tex")
        assert (done.exit_code, done.stdout) == (0, "")
        text = (folder / "tables.tex").read_text()
        assert r"2 $\downarrow$1" in text
        assert r"size $\div$16" in text

    def test_other_changes(self, turning):
        """Changes are given in percent."""
        done = run(turning(8_800), "--latency-change", "11.5%", "--bandwidth-change", "0.1%", "--format", "csv")
        ranks = done.stdout.split("\n\n")[0]
        lines = {line.partition(",")[0]: line for line in ranks.splitlines()}
        assert "latency ×0.885" in lines
        assert "bandwidth ×1.001" in lines
        assert lines["latency ×0.885"].endswith("1 =,2 =")  # 8,850 bytes are still more than 8,800

    @pytest.mark.parametrize(
        ("arguments", "status", "expected"),
        [
            (("--latency-change", "-20%"), 2, "expected more than 0% and less than 100%"),
            (("--latency-change", "0%"), 2, "expected more than 0% and less than 100%"),
            (("--bandwidth-change", "100%"), 2, "expected more than 0% and less than 100%"),
            (("--bandwidth-change", "20"), 2, "such as 20%"),
            (("--bandwidth-change", "nan%"), 2, "such as 20%"),
            (("--sizes", "5"), 2, "has no unit"),
            (("--draws", "-1"), 2, "--draws"),
            (("--jobs", "0"), 2, "--jobs"),
            (("--format", "html"), 2, "'markdown'"),
            (("--out", "absent/tables.md"), 1, "does not exist"),
        ],
    )
    def test_mistakes(self, turning, arguments, status, expected):
        """A mistake is one line, and nothing is written."""
        folder = turning(8_800)
        done = run(folder, *arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (status, "", 1)
        assert expected in done.stderr
        assert not list(folder.glob("sensitivity*"))

    def test_no_results(self, tmp_path):
        """A folder without results is work that failed, in one line."""
        done = run(tmp_path)
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
        assert "expected results of collbench run" in done.stderr


class TestLostSchedules:
    def test_named_and_counted(self, program):
        """A schedule that its synthesizer does not make again is named with the reason, and the others go on."""
        (program.folder / "one.yaml").write_text(NETWORKS + "synthesizers: [ring, failing]\n")
        assert program("run", "one.yaml", MENDED="1").status == 0
        done = program("sensitivity", "results/one", "--draws", 1)
        assert done.status == 0, done.stderr
        assert "failing all_gather 1MB on ring:4: its schedule was not kept and could not" in done.stderr
        assert "no tree here" in done.stderr
        assert "2 of 4 schedules could not be had back and count as not solved in every scenario" in done.stderr
        assert "Rank over 2 problems" in done.stdout
        assert "Traceback" not in done.stderr

    def test_none_left(self, program):
        """If none can be had back nothing is written, and the exit status says so."""
        (program.folder / "one.yaml").write_text(NETWORKS + "synthesizers: [failing]\n")
        assert program("run", "one.yaml", MENDED="1").status == 0
        done = program("sensitivity", "results/one")
        assert (done.status, done.stdout) == (1, "")
        assert done.stderr.splitlines()[-1].startswith("collbench: no schedule of results/one could be had back; the")
        assert not list((program.folder / "results" / "one").glob("*sensitivity*"))

    def test_none_worked(self, tmp_path):
        """Results in which nothing worked have no schedules to try."""
        write_results(tmp_path, [made("ring", None, status="failed")])
        done = run(tmp_path)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert "no run of them worked" in done.stderr

    def test_a_process_that_dies(self, program):
        """A synthesizer that takes its process with it costs its own schedule only."""
        (program.folder / "one.yaml").write_text(NETWORKS + "synthesizers: [ring, failing]\n")
        assert program("run", "one.yaml", MENDED="1").status == 0
        done = program("sensitivity", "results/one", "--jobs", 2, DEADLY="1")
        assert done.status == 0, done.stderr
        assert "its process ended by itself" in done.stderr
        assert "2 of 4 schedules could not be had back" in done.stderr


class TestInterruption:
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_nothing_is_left(self, program, number, status):
        """Interrupted in the middle there is one line more, no file and no process."""
        (program.folder / "one.yaml").write_text(
            NETWORKS + "synthesizers: [ring, {synthesizer: patient, options: {seconds: [0.5, 3.0]}}]\n"
        )
        assert program("run", "one.yaml", "--jobs", 2).status == 0
        before = {path.name for path in (program.folder / "results" / "one").iterdir()}
        started = program.start("sensitivity", "results/one", "--jobs", 2)
        started.stderr.readline()
        time.sleep(0.3)
        workers = psutil.Process(started.pid).children(recursive=True)
        assert len(workers) >= 2
        (os.killpg if number == signal.SIGINT else os.kill)(started.pid, number)
        stdout, stderr = started.communicate(timeout=30)
        assert (started.returncode, stdout) == (status, "")
        assert stderr.splitlines()[-1].endswith("nothing was written")
        assert "Traceback" not in stderr
        assert not psutil.wait_procs(workers, timeout=10)[1]
        assert {path.name for path in (program.folder / "results" / "one").iterdir()} == before
