"""``collbench report`` before a browser has seen its page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.record import Record
from experiments.replay import run_of
from experiments.report.content import content_of
from experiments.report.markup import Markup, element
from experiments.report.packing import packed
from experiments.report.reading import joined, read_sources
from experiments.report.schedules import kept_schedules
from experiments.runner.store import schedule_path
from experiments.tables import write_results
from schedules import save_schedule
from synthesizers import find, parse_options
from tests.experiments.report.results import HOSTILE, reported, small_rows, write_small


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of results."""
    return write_small(tmp_path_factory.mktemp("report") / "small")


def content(*paths):
    """Return what the page is told of results."""
    return content_of(joined(read_sources([str(path) for path in paths])))


def unpacked(text):
    """Return the head and the arrays of packed tables, read as the page reads them."""
    content = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + length])
    kinds = {"Uint8Array": "<u1", "Uint16Array": "<u2", "Uint32Array": "<u4", "Int32Array": "<i4",
             "Float64Array": "<f8"}  # fmt: skip
    assert (4 + length) % 8 == 0
    assert all(start % 8 == 0 for start, _, _ in head["arrays"])
    arrays = [np.frombuffer(content, kinds[kind], count, 4 + length + start) for start, count, kind in head["arrays"]]
    return head, arrays


class TestPacked:
    def test_all_comes_back(self):
        """Numbers, text, truth values and what is missing are the same after packing."""
        frame = pd.DataFrame({
            "small": [1, 2, 255], "large": [1, 2**40, 3], "negative": [-1, 0, 1], "broken": [0.1, np.nan, 1e-300],
            "text": ["a", None, "ä\n</script>"], "flag": [True, False, True],
        })  # fmt: skip
        head, arrays = unpacked(packed({"frame": frame}, {"note": "α"}))
        columns = head["frames"]["frame"]["columns"]
        found = {name: arrays[columns[name]["array"]].tolist() for name in frame}
        assert found["small"] == [1, 2, 255]
        assert found["large"] == [1, 2**40, 3]
        assert found["negative"] == [-1, 0, 1]
        assert (found["broken"][0], found["broken"][2]) == (0.1, 1e-300)
        assert np.isnan(found["broken"][1])
        words = {name: [columns[name]["words"][at] for at in found[name]] for name in ("text", "flag")}
        assert words == {"text": ["a", "", "ä\n</script>"], "flag": ["True", "False", "True"]}
        assert head["meta"] == {"note": "α"}

    def test_no_rows(self):
        """A table without rows is packed too."""
        head, arrays = unpacked(packed({"frame": pd.DataFrame({"a": [], "b": pd.Series([], dtype=str)})}))
        assert head["frames"]["frame"]["length"] == 0
        assert [len(array) for array in arrays] == [0, 0]


class TestMarkup:
    def test_text_is_escaped(self):
        """Text stays text in elements and attributes; markup stays markup."""
        made = element("p", "<b>", Markup("<i>x</i>"), title='"<', class_="a", data_b="c")
        assert made == '<p title="&quot;&lt;" class="a" data-b="c">&lt;b&gt;<i>x</i></p>'


class TestRows:
    def test_unproven_rows_have_no_figures(self, folder):
        """A row that the verifier did not accept has no time, whatever its file says, and tells why."""
        rows = content(folder).rows
        claimed = rows[rows["status"] == "invalid"]
        assert len(claimed) == 1
        assert claimed[["time_us", "efficiency", "busbw_gbps"]].isna().all().all()
        assert claimed["reason"].iloc[0] == "it was never verified"
        assert rows.loc[rows["status"] != "ok", "time_us"].isna().all()
        assert rows.loc[rows["status"] == "ok", "verified"].all()

    def test_a_file_without_the_verifiers_word(self, folder, tmp_path):
        """Where no column says that schedules were verified, nothing is timed."""
        pd.DataFrame(small_rows()).drop(columns="verified").to_parquet(tmp_path / "results.parquet")
        rows = content(tmp_path).rows
        assert set(rows["status"]) == {"invalid", "unsupported", "failed", "timeout"}
        assert rows["time_us"].isna().all()
        assert "does not say that the verifier accepted" in rows["reason"].iloc[0]

    def test_problems(self, folder):
        """Each problem is there once, with its bound, what binds, and a name of its own."""
        found = content(folder)
        rows, problems = found.rows, found.problems
        assert len(problems) == 32
        assert problems["title"].is_unique
        for name in ("topology", "collective", "size", "bound_us", "bound_by"):
            assert (problems[name].iloc[rows[".problem"]].to_numpy() == rows[name].to_numpy())[rows["verified"]].all()
        assert list(found.looks) == ["ring", "direct", "double_binary_tree", "tacos", "mine"]

    def test_groups_are_told_apart(self, tmp_path):
        """Problems that differ only in their groups have different names."""
        rows = [small_rows()[0] | {"group": group, "groups": 2, "ranks": 2} for group in ("0,1;2,3", "0,2;1,3")]
        write_results(tmp_path, rows)
        assert content(tmp_path).problems["place"].tolist() == ["mesh:2x2, group 0,1;2,3", "mesh:2x2, group 0,2;1,3"]

    def test_the_same_label_in_two_experiments(self, folder, tmp_path):
        """What two experiments call alike stays apart; a second folder of one name goes by its path."""
        other, third = write_small(tmp_path / "other"), write_small(tmp_path / "third")
        ring = [row for row in small_rows() if row["label"] == "ring"]
        write_results(other, ring)
        write_results(third, [row | {"size": 3, "experiment": "third"} for row in ring])
        rows = content(folder, other, third).rows
        assert set(rows["label"]) == {
            "ring:small", f"ring:{other}", "ring", "direct", "tacos", "double_binary_tree", "mine",
        }  # fmt: skip
        assert set(rows["experiment"][rows["label"] == "ring"]) == {"third"}
        assert set(rows["experiment"]) == {"small", str(other), "third"}

    def test_unknown_columns(self, tmp_path):
        """Columns of any name and type are shown as they are."""
        rows = pd.DataFrame(small_rows()[:2]).assign(
            mine=[{"b": "x", "a": [2]}, None], **{HOSTILE: 1.5, ".problem": "x"}
        )
        rows.to_parquet(tmp_path / "results.parquet")
        head, arrays = unpacked(packed({"rows": content(tmp_path).shown()}))
        columns = head["frames"]["rows"]["columns"]
        assert columns["mine"]["words"] == ['{"a": [2], "b": "x"}', ""]
        assert arrays[columns[HOSTILE]["array"]].tolist() == [1.5, 1.5]
        assert arrays[columns[".problem"]["array"]].tolist() == [0, 0]


class TestSchedules:
    def test_the_best_of_each_problem_first(self, folder):
        """Each problem gets its fastest schedule before any gets a second one."""
        found = content(folder)
        kept = kept_schedules(found, read_sources([str(folder)]), 40)
        assert [entry["problem"] for entry in kept.entries] == [*range(32), *range(8)]
        assert kept.refused == []
        assert kept.possible == 4 * 4 * (3 + 4)
        rows = found.rows
        for entry in kept.entries[:32]:
            assert entry["time_us"] == rows.loc[rows[".problem"] == entry["problem"], "time_us"].min()
        data = json.loads(zlib.decompress(base64.b64decode(kept.texts[5])))
        assert data["total"] * data["unit_ps"] == round(kept.entries[5]["time_us"] * 1e6)

    def test_one_that_was_kept(self, tmp_path):
        """A schedule beside the results is taken as it is, though it could not be made again."""
        row = next(row for row in small_rows() if row["label"] == "tacos") | {"version": "0", "synthesis_s": 1e4}
        write_results(tmp_path, [row])
        assert kept_schedules(content(tmp_path), read_sources([str(tmp_path)]), 1).entries == []
        synthesizer, run = find("tacos"), run_of(row)
        place = schedule_path(tmp_path, row["key"])
        place.parent.mkdir(parents=True)
        save_schedule(synthesizer.synthesize(run.problem(), parse_options(synthesizer, run.options)), place)
        (entry,) = kept_schedules(content(tmp_path), read_sources([str(tmp_path)]), 1).entries
        assert (entry["problem"], entry["time_us"]) == (0, row["time_us"])

    def test_what_cannot_be_played(self, tmp_path):
        """Schedules too large, of unknown synthesizers, or that would take too long say so."""
        first = [row for row in small_rows() if row["label"] == "tacos" and row["repeat"] == 0][:4]
        rows = [
            first[0] | {"transfers": 10**6}, first[1] | {"synthesizer": "absent"}, first[2] | {"synthesis_s": 1e4},
            first[3] | {"time_us": 1.5},
        ]  # fmt: skip
        write_results(tmp_path, rows)
        kept = kept_schedules(content(tmp_path), read_sources([str(tmp_path)]), 9)
        reasons = [refused["reason"] for refused in kept.refused]
        assert kept.entries == []
        assert reasons[0] == "1,000,000 transfers; the player takes at most 50,000"
        assert "absent" in reasons[1]
        assert "--keep-schedules" in reasons[2]
        assert len(reasons) == 4


class TestCommand:
    def test_the_same_bytes(self, folder, tmp_path):
        """The same results give the same page, and it says nothing of when."""
        pages = [reported(tmp_path / name, folder, "--players", 3).read_bytes() for name in ("a.html", "b.html")]
        assert pages[0] == pages[1]

    def test_what_the_page_says_without_a_script(self, folder, tmp_path):
        """What was run, on what, and the ranking are there for a reader without JavaScript."""
        text = reported(tmp_path / "page.html", folder, "--players", 0).read_text()
        static = text[: text.index('<script type="application/octet-stream"')]
        for said in ("A small &amp; &lt;b&gt;quick&lt;/b&gt; experiment", "mesh:2x2, mesh:3x3, mesh:4x4, dgx1",
                     "64KiB, 1MiB, 16MiB, 256MiB", "30 s of synthesis, 2,000 MB of memory", "Ranking over",
                     small_rows()[0]["machine"], small_rows()[0]["versions"], "1 invalid", "1 failed",
                     "1 timeout"):  # fmt: skip
            assert said in static, said
        assert HOSTILE not in text

    def test_plotly_is_there_once(self, folder, tmp_path):
        """Plotly is in the page, once, and runs no earlier than it is needed."""
        from plotly.offline import get_plotlyjs

        text = reported(tmp_path / "page.html", folder, "--players", 0).read_text()
        assert text.count(get_plotlyjs()) == 1
        assert f'<script type="text/plain" id="plotly">{get_plotlyjs()}</script>' in text

    def test_the_policy_names_the_scripts(self, folder, tmp_path):
        """Nothing may be loaded, and only the page's own scripts may run."""
        text = reported(tmp_path / "page.html", folder, "--players", 1).read_text()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
        assert not re.search(r"""(src|href)=["']?(https?:)?//""", text[: text.index('id="plotly"')])

    def test_json(self, folder, tmp_path):
        """--json tells what was written."""
        page = tmp_path / "page.html"
        done = CliRunner().invoke(main, ["report", str(folder), "-o", str(page), "--players", "2", "--json"])
        assert json.loads(done.stdout) == {
            "file": str(page), "rows": 259, "bytes": page.stat().st_size, "schedules": 2, "schedules_refused": 0,
        }  # fmt: skip

    def test_results_of_compare(self, tmp_path):
        """What collbench compare writes can be reported too, though it has neither experiment nor repeats."""
        args = ["compare", "-t", "ring:4", "-c", "all_gather", "-s", "1MB", "--csv", str(tmp_path / "rows.csv")]
        assert CliRunner().invoke(main, args).exit_code == 0
        page = tmp_path / "page.html"
        done = CliRunner().invoke(main, ["report", str(tmp_path / "rows.csv"), "-o", str(page)])
        assert (done.exit_code, done.stderr) == (0, "")
        assert '<h1 id="run-title">rows</h1>' in page.read_text()

    @pytest.mark.parametrize("kept", [0, 1])
    def test_few_rows(self, tmp_path, kept):
        """No rows, or one, are a page too."""
        write_results(tmp_path, small_rows()[:kept])
        text = reported(tmp_path / "page.html", tmp_path).read_text()
        assert f"{kept} row{'' if kept == 1 else 's'}, " in text

    def test_a_spoilt_experiment_file(self, folder, tmp_path):
        """An experiment file that is wrong costs its tables, not the report, and is said."""
        write_small(tmp_path)
        (tmp_path / "experiment.yaml").write_text("problems: []\nsynthesizer: ring\n")
        done = CliRunner().invoke(main, ["report", str(tmp_path), "-o", str(tmp_path / "p.html"), "--players", "0"])
        assert done.exit_code == 0
        assert "is not what collbench reads" in done.stderr
        assert "is not what collbench reads" in (tmp_path / "p.html").read_text()

    @pytest.mark.parametrize(
        ("args", "status", "expected"),
        [
            (("absent", "-o", "p.html"), 1, "is not there; expected results of collbench run"),
            (("experiment.yaml", "-o", "p.html"), 1, "is no results file"),
            ((".", "-o", "absent/p.html"), 1, "does not exist"),
            ((".", "-o", "."), 1, "found a folder"),
            ((".", "--players", "-1"), 2, "'--players'"),
            ((), 2, "RESULTS"),
        ],
    )
    def test_mistakes(self, folder, monkeypatch, args, status, expected):
        """A mistake is one line, and leaves no file."""
        monkeypatch.chdir(folder)
        before = sorted(folder.iterdir())
        done = CliRunner().invoke(main, ["report", *args])
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (status, "", 1)
        assert expected in done.stderr
        assert sorted(folder.iterdir()) == before

    def test_numbers_that_are_none(self, folder, tmp_path):
        """Text where a number belongs is refused, in one line."""
        rows = pd.DataFrame(small_rows()[:3]).astype({"time_us": object})
        rows.loc[1, "time_us"] = "fast"
        rows.to_csv(tmp_path / "results.csv", index=False)
        done = CliRunner().invoke(main, ["report", str(tmp_path / "results.csv"), "-o", str(tmp_path / "p.html")])
        assert done.exit_code == 1
        assert "column time_us holds 'fast', expected numbers" in done.stderr


class TestColumns:
    def test_every_column_of_a_record_is_known(self):
        """No column of results is shown under its bare name."""
        from experiments.report.content import COLUMNS
        from experiments.tables.rows import columns

        assert set(columns()) <= set(COLUMNS)
        assert set(Record.__struct_fields__) <= set(COLUMNS)
