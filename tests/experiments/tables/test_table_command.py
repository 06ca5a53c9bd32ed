"""collbench table and rank as a user meets them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.tables import write_results
from tests.experiments.tables.test_tables import ROWS


@pytest.fixture
def results(tmp_path):
    """Return a folder of results."""
    write_results(tmp_path, ROWS)
    return tmp_path


def run(*args):
    """Run the program in this process."""
    return CliRunner().invoke(main, [str(arg) for arg in args])


class TestTable:
    def test_terminal(self, results):
        """By default the busbw of each problem and label."""
        done = run("table", results)
        assert done.exit_code == 0
        assert done.stdout.startswith("busbw_gbps\n")

    def test_all_options(self, results):
        """Rows, columns, value, a reference and a form can be chosen."""
        done = run("table", results / "results.csv", "--rows", "topology, size", "--columns", "synthesizer",
                   "--value", "time_us", "--normalise", "ring", "--format", "csv")  # fmt: skip
        assert done.stdout.splitlines() == [
            "topology,size,ring,tacos,slow",
            "ring:4,1MB,1.000,0.5000,2.000",
            "ring:4,1GB,1.000,1.250,timeout",
            "ring:8,1MB,1.000,–,1.000",
        ]

    def test_out(self, results):
        """--out writes the table to a file."""
        done = run("table", results, "--format", "latex", "--out", results / "table.tex")
        assert (done.exit_code, done.stdout) == (0, "")
        assert r"\toprule" in (results / "table.tex").read_text()

    @pytest.mark.parametrize(
        ("arguments", "status", "expected"),
        [
            (("--value", "busbw"), 2, "did you mean 'busbw_gbps'?"),
            (("--rows", "toplogy"), 2, "did you mean 'topology'?"),
            (("--columns", "xyzzy"), 2, "expected one of topology"),
            (("--normalise", "xyzzy"), 2, "expected one of ring, tacos, slow"),
            (("--format", "html"), 2, "'markdown'"),
            (("--out", "absent/table.md"), 1, "does not exist"),
        ],
    )
    def test_mistakes(self, results, arguments, status, expected):
        """A mistake is one line and says what is there."""
        done = run("table", results, *arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (status, "", 1)
        assert expected in done.stderr

    def test_no_results(self, tmp_path):
        """A folder without results is work that failed, in one line."""
        done = run("rank", tmp_path)
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
        assert "expected results of collbench run" in done.stderr


class TestRank:
    def test_markdown(self, results):
        """The ranking in a form for a page."""
        done = run("rank", results, "--format", "markdown")
        assert "| 1    | tacos" in done.stdout
