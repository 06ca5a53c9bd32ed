"""Results files and the tables made of them."""

from __future__ import annotations

import csv
import io

import pytest

from experiments.record import Record
from experiments.runner.run import Run
from experiments.tables import load_results, row_of, write_results
from experiments.tables.formats import FORMATS, written
from experiments.tables.layout import lay_out
from experiments.tables.ranking import ranking
from topologies import FormatError, OptionError


def made(label, time_us, topology="ring:4", size=10**6, status="ok", **fields):
    """Return a row of a run."""
    run = Run(topology=topology, collective="all_gather", size=size, synthesizer=label, label=label,
              repeat=fields.pop("repeat", 0), time_limit_s=fields.pop("time_limit_s", None))  # fmt: skip
    record = Record(
        topology=topology, collective="all_gather", size=size, num_npus=4, ranks=4, chunks=1, groups=1,
        latency="blocking", switching="cut_through", synthesizer=label, status=status, time_us=time_us,
        verified=status == "ok", bound_us=10.0, efficiency=None if time_us is None else 10.0 / time_us, **fields,
    )  # fmt: skip
    return row_of(run, record, "test")


ROWS = [
    made("ring", 20.0), made("tacos", 10.0), made("slow", 40.0),
    made("ring", 40.0, size=10**9), made("tacos", 50.0, size=10**9), made("slow", None, size=10**9, status="timeout"),
    made("ring", 80.0, "ring:8"), made("tacos", None, "ring:8", status="unsupported"), made("slow", 80.0, "ring:8"),
]  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """Return a function that writes rows and loads them again."""

    def load(rows=ROWS, name="results.parquet"):
        write_results(tmp_path, rows)
        return load_results(str(tmp_path / name))

    return load


def cells(table):
    """Return the texts of a table."""
    return [[cell.text for cell in line] for line in table.lines]


class TestFiles:
    def test_both_forms_say_the_same(self, results, tmp_path):
        """Parquet, CSV and the folder give the same rows."""
        parquet = results()
        assert parquet.equals(load_results(str(tmp_path)))
        with open(tmp_path / "results.csv", newline="") as file:
            found = list(csv.DictReader(file))
        assert list(found[0]) == list(parquet.columns)
        assert [row["time_us"] for row in found] == ["20.0", "10.0", "40.0", "40.0", "50.0", "", "80.0", "", "80.0"]
        assert cells(lay_out(results(name="results.csv"))) == cells(lay_out(parquet))

    def test_row_of(self):
        """A row has the key of its run, and what is not a number or text in it is JSON."""
        run = Run(topology="ring:4", collective="all_gather", size=1, synthesizer="x", label="X", time_limit_s=2.5)
        row = row_of(run, Record(**{name: made("x", 1.0)[name] for name in ("topology", "collective", "size",
                     "num_npus", "ranks", "chunks", "groups", "latency", "switching", "synthesizer")},
                     options={"b": 1, "a": True}), "test", "0123")  # fmt: skip
        assert (row["key"], row["experiment"], row["label"], row["time_limit_s"]) == ("0123", "test", "X", 2.5)
        assert row["options"] == '{"a":true,"b":1}'

    def test_the_same_bytes(self, results, tmp_path):
        """Written twice, the files are the same."""
        results()
        first = (tmp_path / "results.parquet").read_bytes()
        results()
        assert (tmp_path / "results.parquet").read_bytes() == first

    @pytest.mark.parametrize("content", [None, b"", b"PAR1xxPAR1", b"a,b\n1,2\n"])
    def test_other_files(self, tmp_path, content):
        """What is no results file is said to be none, in one line."""
        path = tmp_path / ("x.csv" if content and b"," in content else "x.parquet")
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(FormatError, match="no results file|is not there") as caught:
            load_results(str(path))
        assert "\n" not in str(caught.value)


class TestLayOut:
    def test_values(self, results):
        """A line for each problem, a column for each label, statuses where there is no number, the best marked."""
        table = lay_out(results(), value="time_us")
        assert table.head == ("topology", "collective", "size", "ring", "tacos", "slow")
        assert cells(table) == [
            ["ring:4", "all_gather", "1MB", "20.00", "10.00", "40.00"],
            ["ring:4", "all_gather", "1GB", "40.00", "50.00", "timeout"],
            ["ring:8", "all_gather", "1MB", "80.00", "–", "80.00"],
        ]
        best = [[cell.best for cell in line[3:]] for line in table.lines]
        assert best == [[False, True, False], [True, False, False], [True, False, True]]

    def test_normalise(self, results):
        """Values relative to one label, on each problem."""
        table = lay_out(results(), value="time_us", normalise="ring")
        assert [line[3:] for line in cells(table)] == [
            ["1.000", "0.5000", "2.000"], ["1.000", "1.250", "timeout"], ["1.000", "–", "1.000"],
        ]  # fmt: skip

    def test_several_problems_in_a_cell(self, results):
        """A cell of several problems is their geometric mean, and says if some did not work."""
        table = lay_out(results(), ["topology"], value="time_us", normalise="ring")
        assert cells(table)[0] == ["ring:4", "1.000", "0.7906", "2.000 (1 of 2)"]

    def test_repeats(self, results):
        """Repeats are one cell, their median; the spread is the largest less the smallest; one that worked counts."""
        rows = [made("ring", time, repeat=index) for index, time in enumerate((10.0, 40.0, 20.0))]
        rows.append(made("ring", None, repeat=3, status="failed"))
        assert cells(lay_out(results(rows), value="time_us", spread=True))[0][3] == "20.00 ± 30.00"

    def test_what_differs_is_shown(self, results):
        """Problems that differ in the link model get a column for it."""
        rows = [made("ring", 10.0), made("ring", 20.0) | {"latency": "pipelined"}]
        table = lay_out(results(rows), value="time_us")
        assert table.head == ("topology", "collective", "size", "latency", "ring")

    def test_time_limits(self, results):
        """Runs under other time limits are no repeats: each has its line, and none at all is a limit too."""
        rows = [made("ring", time, time_limit_s=limit) for limit, time in ((None, 50.0), (1, 40.0), (10, 20.0))]
        for name in ("results.parquet", "results.csv"):
            table = lay_out(results(rows, name), value="time_us")
            assert table.head == ("topology", "collective", "size", "time_limit_s", "ring")
            assert [line[3:] for line in cells(table)] == [["none", "50.00"], ["1", "40.00"], ["10", "20.00"]]

    def test_results_without_time_limits(self, results):
        """Results of before there was a column for the time limit are laid out as they were."""
        table = lay_out(results().drop(columns="time_limit_s"))
        assert table.head == ("topology", "collective", "size", "ring", "tacos", "slow")

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({"value": "busbw"}, "value: there is no 'busbw'; did you mean 'busbw_gbps'"),
            ({"rows": ["toplogy"]}, "columns: there is no 'toplogy'; did you mean 'topology'"),
            ({"column": "xyzzy"}, "columns: there is no 'xyzzy'; expected one of topology"),
            ({"normalise": "rin"}, "normalise: there is no 'rin'; did you mean 'ring'"),
        ],
    )
    def test_mistakes(self, results, arguments, expected):
        """What is not there is named, with the nearest that is."""
        with pytest.raises(OptionError, match=expected):
            lay_out(results(), **arguments)

    def test_large(self, results):
        """100,000 rows are as many lines as there are problems."""
        rows = [
            made(label, 10.0 + index % 7, f"ring:{index}", repeat=repeat)
            for index in range(5000) for repeat in range(4) for label in ("a", "b", "c", "d", "e")
        ]  # fmt: skip
        table = lay_out(results(rows), ["topology"], value="time_us", normalise="a")
        assert len(table.lines) == 5000


class TestWritten:
    @pytest.mark.parametrize("form", FORMATS)
    def test_every_form(self, results, form):
        """Every form holds every cell, and ends with a line end."""
        table = lay_out(results([*ROWS, made("a|b_c", 5.0)]), value="time_us")
        text = written(table, form)
        assert text.endswith("\n")
        for number in ("20.00", "50.00", "timeout"):
            assert number in text

    def test_marks(self, results):
        """The best is bold in Markdown and LaTeX, starred on a terminal, plain in CSV; special characters are safe."""
        table = lay_out(results([made("a|b_c", 5000.0), made("z", 6000.0)]), value="time_us")
        assert r"a\|b_c" in written(table, "markdown")
        assert "**5,000**" in written(table, "markdown")
        assert r"a|b\_c" in written(table, "latex")
        assert r"\textbf{5,000} & 6,000 \\" in written(table, "latex")
        assert "5,000*" in written(table, "terminal")
        assert list(csv.reader(io.StringIO(written(table, "csv"))))[1][3:] == ["5000", "6000"]


class TestRanking:
    def test_order(self, results):
        """What is not solved counts 0 in the order, the mean where solved stands beside it, ties are wins of both."""
        assert cells(ranking(results())) == [
            ["1", "tacos", "40.0 %", "60.0 %", "1", "2", "0", "1"],
            ["2", "ring", "29.2 %", "29.2 %", "2", "3", "0", "0"],
            ["3", "slow", "12.5 %", "18.8 %", "1", "2", "1", "0"],
        ]

    def test_time_limits(self, results):
        """A problem counts once for each time limit, and is won there by who is best there."""
        rows = [
            made("quick", 20.0, time_limit_s=1), made("slow", None, status="timeout", time_limit_s=1),
            made("quick", 20.0, time_limit_s=9), made("slow", 10.0, time_limit_s=9),
        ]  # fmt: skip
        assert [line[:6] for line in cells(ranking(results(rows)))] == [
            ["1", "quick", "50.0 %", "50.0 %", "1", "2"], ["2", "slow", "50.0 %", "100.0 %", "1", "1"],
        ]  # fmt: skip

    def test_given_to_some_only(self, results):
        """A problem that was given to one synthesizer alone tells nothing of the others, and is left out."""
        table = ranking(results([*ROWS, made("tacos", 10.0, "ring:16")]))
        assert table.title == "Ranking over 3 problems (1 more were not given to all)"
        assert cells(table) == cells(ranking(results()))
        alone = ranking(results([made("ring", 20.0), made("tacos", 10.0, "ring:16")]))
        assert [line[:3] for line in cells(alone)] == [["1", "tacos", "100.0 %"], ["2", "ring", "50.0 %"]]
        assert alone.title == "Each over its own problems: none was given to all, so this is no ranking"

    def test_trivial_problems(self, results):
        """A problem that takes no time, such as one NPU's, is a win for everybody and tells nobody apart."""
        trivial = made("ring", 1.0, "ring:1") | {"time_us": 0.0, "bound_us": 0.0, "efficiency": 1.0}
        assert cells(ranking(results([*ROWS, trivial, trivial | {"label": "tacos"}]))) == cells(ranking(results()))
        assert cells(ranking(results([trivial])))[0][:3] == ["1", "ring", "100.0 %"]

    def test_unverified(self, results):
        """A row that says ok but was not verified is not timed, whoever wrote the file."""
        frame = results([ROWS[0], ROWS[1] | {"verified": False}])
        assert frame["status"].tolist() == ["ok", "invalid"]
        assert frame["reason"].tolist() == ["", "it was never verified"]
        assert cells(ranking(frame))[1][2] == "0.0 %"

    def test_nothing_solved(self, results):
        """Where nobody solved anything, nobody has a mean."""
        table = ranking(results([made("ring", None, status="failed")]))
        assert cells(table) == [["1", "ring", "0.0 %", "–", "0", "0", "1", "0"]]
