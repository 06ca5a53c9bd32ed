"""``collbench simulate --player``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.report.player import columns
from schedules import save_schedule
from simulator import timeline


def run(*args):
    """Run ``collbench simulate``."""
    return CliRunner().invoke(main, ["simulate", *map(str, args)])


@pytest.fixture
def file(solved, tmp_path):
    """The file of a schedule."""
    schedule = solved("torus:3x3", "all_reduce", "tacos").with_notes(synthesizer="tacos")
    save_schedule(schedule, tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


class TestCommand:
    def test_page(self, file, tmp_path, solved, opened):
        """The page is named in the answer, the same on every run, and plays for the size that was asked for."""
        for name in ("p.html", "q.htm"):
            result = run(file, "-s", "2MB", "--player", tmp_path / name, "--json")
            assert (result.exit_code, result.stderr) == (0, "")
        assert json.loads(result.stdout)["player"] == str(tmp_path / "q.htm")
        assert (tmp_path / "p.html").read_bytes() == (tmp_path / "q.htm").read_bytes()
        page = opened(tmp_path / "p.html")
        assert (
            page.text_content("h2") == "a.parquet · TACOS · AllReduce of 2MB on torus:3x3 links: blocking, cut_through"
        )
        total = timeline(solved("torus:3x3", "all_reduce", "tacos"), 2_000_000).total_ps
        page.keyboard.press("End")
        assert float(page.input_value("input[type=range]")) == total
        assert "open it in a browser" in run(file, "-s", "2MB", "--player", tmp_path / "p.html").stdout

    def test_refusals(self, file, tmp_path, monkeypatch):
        """A wrong name is wrong usage; a missing folder, a list of transfers or too many hops are told in one line."""
        listed = tmp_path / "list.json"
        listed.write_text(json.dumps({
            "npus": 2, "units": "bandwidth GB/s, latency us", "links": [[0, 1, 1, 1]],
            "transfers": [{"id": "a", "bytes": 1000, "path": [0, 1]}],
        }))  # fmt: skip
        target = tmp_path / "p.html"
        (tmp_path / "b.html").write_bytes(file.read_bytes())
        for status, source, name, says in (
            (2, file, tmp_path / "p.txt", "ends in .html"),
            (2, tmp_path / "b.html", tmp_path / "." / "b.html", "would overwrite"),
            (1, file, tmp_path / "no" / "p.html", "does not exist"),
            (2, listed, target, "--player needs a schedule"),
        ):
            result = run(source, "--player", name)
            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (status, "", 1)
            assert says in result.stderr
        monkeypatch.setattr(columns, "MAX_HOPS", 20)
        result = run(file, "-s", "1MB", "--player", target)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert "at most 20" in result.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.html", "list.json"]
