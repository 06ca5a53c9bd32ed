"""The study of scaling: its file, one row, rows that are kept, the table and the figure."""

from __future__ import annotations

import pytest

from experiments import reproduce_scaling
from experiments.files import ExperimentError
from experiments.scaling_study import collection
from experiments.scaling_study.measure import FIGURES, attempt, failed
from experiments.scaling_study.report import figure, law, table
from experiments.scaling_study.settings import Setting, read_settings
from experiments.study_command import CONFIGS
from topologies import FormatError, memory

TINY = """
description: tiny
bytes_per_npu: 1MiB
series:
  - {name: 2-D mesh, collective: all_gather, topologies: ["mesh:3x3", "mesh:4x4"]}
  - {name: Uneven 2-D mesh, collective: all_reduce, topologies: ["mesh:3x3@50x75GB/s,0.5us"]}
"""


def row(npus, seconds, **changes):
    """Return a row that worked."""
    whole = failed(Setting("2-D mesh", "all_gather", f"mesh:{npus}", 2**20), "")
    figures = dict.fromkeys(FIGURES, 1.0) | {"num_npus": npus, "synthesis_s": seconds, "peak_bytes": 1e6 * npus**2,
                                             "transfers": npus * (npus - 1)}  # fmt: skip
    return whole | figures | {"status": "ok"} | changes


class TestFile:
    def test_shipped(self):
        """The shipped file grows meshes, tori, uneven meshes and dragonflies from 16 to 40,000 NPUs."""
        settings = read_settings(CONFIGS / "studies" / "scaling.yaml")
        assert {setting.collective for setting in settings} == {"all_gather", "all_reduce"}
        assert Setting("2-D mesh", "all_gather", "mesh:200x200", 2**20) in settings
        assert {"3-D mesh", "2-D torus", "Uneven 2-D mesh", "Dragonfly"} < {setting.series for setting in settings}
        assert len(read_settings(CONFIGS / "studies" / "scaling_quick.yaml")) < len(settings)

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [("all_reduce", "gather", ":6: .*all_gather or all_reduce"), ("mesh:4x4", "mush:4x4", ":5: .*mush"),
         ("1MiB", "much", ":3: .*much"), ("topologies", "networks", "networks"), ("series", "rows", "rows")],
    )  # fmt: skip
    def test_mistakes(self, tmp_path, old, new, expected):
        """A mistake is named in one line, with its place."""
        (tmp_path / "tiny.yaml").write_text(TINY.replace(old, new))
        with pytest.raises(ExperimentError, match=expected) as caught:
            read_settings(tmp_path / "tiny.yaml")
        assert "\n" not in str(caught.value)


class TestRows:
    def test_attempt(self):
        """A row has the transfers of an AllGather, its time, and what was measured."""
        found = attempt(Setting("2-D mesh", "all_gather", "mesh:5x5@50GiB/s,0.5us", 2**30 // 25))
        assert (found["status"], found["num_npus"], found["num_links"], found["transfers"]) == ("ok", 25, 80, 600)
        assert found["time_us"] == pytest.approx(9606.0, rel=1e-4)  # the known answer of this mesh
        assert 0 < found["synthesis_s"] < 60
        assert found["peak_bytes"] > found["schedule_bytes"] > 0

    def test_too_large(self, monkeypatch):
        """What would not fit in memory is a row of its own kind, with the estimate, and no synthesis is begun."""
        monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
        found = attempt(Setting("2-D mesh", "all_gather", "mesh:200x200", 2**20))
        assert found["status"] == "memory"
        assert "1,599,960,000 transfers" in found["reason"]
        assert "1.0 GB are free" in found["reason"]
        assert found["synthesis_s"] is None

    def test_kept(self, tmp_path, monkeypatch):
        """A finished row is not measured again, a failed one is, and all are in the file that --draw reads."""
        (tmp_path / "tiny.yaml").write_text(TINY)
        settings = read_settings(tmp_path / "tiny.yaml")
        measured = []

        def alone(setting):
            """Measure nothing; fail on the second network the first time."""
            measured.append(setting.topology)
            broken = setting.topology == "mesh:4x4" and measured.count("mesh:4x4") == 1
            return failed(setting, "broken") if broken else row(9, 0.5) | {"topology": setting.topology}

        monkeypatch.setattr(collection, "_alone", alone)
        first = collection.collect(settings, tmp_path / "out")
        assert [found["status"] for found in first] == ["ok", "failed", "ok"]
        assert [found["status"] for found in collection.collect(settings, tmp_path / "out")] == ["ok"] * 3
        assert measured == ["mesh:3x3", "mesh:4x4", "mesh:3x3@50x75GB/s,0.5us", "mesh:4x4"]
        kept = collection.read_rows(tmp_path / "out")
        assert [found["topology"] for found in kept] == measured[:3]
        assert [found["synthesis_s"] for found in kept] == [0.5] * 3

    def test_no_results(self, tmp_path):
        """Drawing what was not measured is refused, in one line that says what to do."""
        with pytest.raises(FormatError, match="run without --draw first"):
            collection.read_rows(tmp_path)


class TestReport:
    def test_law(self):
        """The exponent is that of the networks of 200 NPUs and more; of fewer than three there is none."""
        rows = [row(16, 9.0), *(row(npus, 1e-6 * npus**2.5) for npus in (256, 1024, 4096))]
        assert law(rows) == pytest.approx((2.5, 1e-6))
        assert law(rows[:3]) is None

    def test_table(self):
        """Rows have their figures, or why there are none; the published times and the exponents follow."""
        rows = [row(npus, 1e-6 * npus**2) for npus in (256, 1024, 4096)]
        rows.append(row(40000, None, status="memory", reason="would need about 30.0 GB"))
        text = table(rows)
        assert "| 4,096  |" in text
        assert "- mesh:40000, AllGather: would need about 30.0 GB" in text
        assert "published: 40,000 NPUs" in text
        assert "9,072" in text
        assert "- 2-D mesh, AllGather: synthesis time grows as NPUs^2.00" in text

    def test_figure(self):
        """Both panels have each series, with its exponent; only the left one has what was published."""
        times, peaks = figure([row(npus, 1e-6 * npus**2) for npus in (256, 1024, 4096)]).axes
        labels = [line.get_label() for line in times.lines]
        assert labels[0] == "2-D mesh, AllGather: ∝ NPUs$^{2.00}$"
        assert any("published" in label for label in labels)
        assert [line.get_label() for line in peaks.lines] == ["2-D mesh, AllGather"]


def test_command(tmp_path, capsys):
    """The command measures, writes table, figure and rows, and draws them again."""
    config, out = tmp_path / "tiny.yaml", tmp_path / "out"
    config.write_text(TINY)
    assert reproduce_scaling.reproduce(config, out) == 0
    printed = capsys.readouterr().out
    assert "mesh:3x3@50x75GB/s,0.5us" in printed
    assert str(out / "scaling.png") in printed
    before = (out / "scaling.md").read_text()
    assert reproduce_scaling.main(["--draw", "--out", str(out)]) == 0
    assert (out / "scaling.md").read_text() == before
