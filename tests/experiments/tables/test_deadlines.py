"""Equal deadlines: what counts in time, and when a synthesis has paid for itself."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.tables import write_results
from experiments.tables.deadlines import at_deadlines, tables
from tests.experiments.tables.test_tables import cells, made
from topologies import FormatError, OptionError


def rows(*runs):
    """Return results of (label, time, synthesis_s, fields) tuples."""
    return pd.DataFrame(
        [made(label, time, synthesis_s=took, **(fields[0] if fields else {})) for label, time, took, *fields in runs]
    )


def at(found, deadline, name):
    """Return the row of a synthesizer at a deadline, of which there is one."""
    (row,) = found[(found["deadline_s"] == deadline) & (found["label"] == name)].to_dict("records")
    return row


class TestAtDeadlines:
    def test_best_so_far(self):
        """At each deadline the best of what has ended counts, whatever the seed, and before there is any: late."""
        found = at_deadlines(
            rows(("ring", 20.0, 0.1), ("tacos", 15.0, 0.5, {"seed": 1}), ("tacos", 10.0, 5.0, {"seed": 2})),
            [10, 0.2, 1],
        )
        assert [(row.deadline_s, row.label) for row in found.itertuples()] == [
            (deadline, label) for deadline in (0.2, 1, 10) for label in ("ring", "tacos")
        ]
        assert at(found, 0.2, "tacos")["status"] == "late"
        assert math.isnan(at(found, 0.2, "tacos")["time_us"])
        assert (at(found, 1, "tacos")["time_us"], at(found, 10, "tacos")["time_us"]) == (15.0, 10.0)
        assert at(found, 10, "tacos")["efficiency"] == 1.0
        assert {at(found, deadline, "ring")["time_us"] for deadline in (0.2, 1, 10)} == {20.0}

    def test_exactly_in_time(self):
        """A synthesis that ends at the deadline is in time, a moment later it is late."""
        found = at_deadlines(rows(("ring", 20.0, 1.0), ("tacos", 10.0, 1.0000001)), [1])
        assert at(found, 1, "ring")["status"] == "ok"
        assert at(found, 1, "tacos")["status"] == "late"

    def test_time_limits(self):
        """A run that was told to stop by the deadline counts, though it hands over a little later; others do not."""
        found = at_deadlines(
            rows(("ring", 20.0, 0.0), ("tacos", 15.0, 1.05, {"time_limit_s": 1.0}),
                 ("tacos", 10.0, 10.9, {"time_limit_s": 10.0}), ("tacos", 5.0, 61.5, {"time_limit_s": 90.0})),
            [1, 5, 10, 60],
        )  # fmt: skip
        assert [at(found, deadline, "tacos")["time_us"] for deadline in (1, 5, 10, 60)] == [15.0, 15.0, 10.0, 10.0]
        assert "time_limit_s" not in found

    def test_repeats_are_one_synthesis(self):
        """Repeats took their median: one lucky measurement is not in time, one unlucky one is not late."""
        took = (0.5, 1.5, 1.6, 0.7, 0.8, 9.0)
        frame = rows(*(("slow" if at < 3 else "fast", 10.0, each, {"repeat": at % 3}) for at, each in enumerate(took)))
        found = at_deadlines(frame, [1])
        assert at(found, 1, "slow")["status"] == "late"
        assert (at(found, 1, "fast")["status"], at(found, 1, "fast")["synthesis_s"]) == ("ok", 0.8)

    def test_repeats_that_mostly_failed(self):
        """A run of which most repeats failed never ended; of which most worked, it did."""
        failed = (None, None, {"status": "timeout", "repeat": 1})
        most = rows(("ring", 10.0, 0.1), ("ring", *failed), ("tacos", 10.0, 0.1), ("tacos", 10.0, 0.2, {"repeat": 2}),
                    ("tacos", *failed))  # fmt: skip
        found = at_deadlines(most, [1], against="tacos")
        assert at(found, 1, "ring")["status"] == "late"
        assert at(found, 1, "tacos")["status"] == "ok"

    def test_what_never_worked(self):
        """What failed or is not supported keeps its status."""
        found = at_deadlines(
            rows(("ring", 10.0, 0.1), ("a", None, None, {"status": "failed"}),
                 ("b", None, None, {"status": "unsupported"})), [1],
        )  # fmt: skip
        assert [at(found, 1, name)["status"] for name in "ab"] == ["failed", "unsupported"]

    def test_nothing_worked(self):
        """Where no run worked there is nothing to compare."""
        with pytest.raises(FormatError, match="none of 1 runs worked"):
            at_deadlines(rows(("ring", None, None, {"status": "failed"})), [1])

    def test_by_label(self):
        """All labels of a synthesizer count together, or each by itself."""
        frame = rows(("x", 20.0, 0.1), ("y", 10.0, 0.2)).assign(synthesizer="ring")
        together, apart = at_deadlines(frame, [1]), at_deadlines(frame, [1], by="label")
        assert together[["label", "run", "time_us"]].values.tolist() == [["ring", "y", 10.0]]
        assert apart["label"].tolist() == apart["run"].tolist() == ["x", "y"]

    def test_older_results(self):
        """Results without a column for time limits will do; without synthesis times they will not."""
        frame = rows(("ring", 20.0, 0.1))
        assert at(at_deadlines(frame.drop(columns="time_limit_s"), [1]), 1, "ring")["time_us"] == 20.0
        with pytest.raises(FormatError, match="no column 'synthesis_s'"):
            at_deadlines(frame.drop(columns="synthesis_s"), [1])


class TestRepaid:
    def test_by_hand(self):
        """Δs / Δt against Ring's first result, rounded up; at once where it costs no more, never where no quicker."""
        found = at_deadlines(
            rows(("ring", 20.0, 0.1), ("ring", 19.0, 4.1, {"seed": 1}), ("tacos", 15.0, 0.5, {"seed": 1}),
                 ("tacos", 13.0, 5.0, {"seed": 2}), ("direct", 20.0, 0.01), ("cheap", 19.0, 0.1)),
            [1, 10],
        )  # fmt: skip
        assert found.attrs["against"] == "ring"
        assert at(found, 1, "tacos")["repaid_after"] == 80_000  # 0.4 s / 5 us
        assert at(found, 10, "tacos")["repaid_after"] == 700_000  # 4.9 s / 7 us, which is exact
        assert at(found, 10, "ring")["repaid_after"] == 4_000_000  # 4 s / 1 us: its own second run
        assert math.isnan(at(found, 1, "ring")["repaid_after"])
        assert at(found, 1, "direct")["repaid_after"] == math.inf
        assert at(found, 1, "cheap")["repaid_after"] == 0
        table = tables(found)[3]
        assert table.head[3:] == ("deadline_s", "ring", "tacos", "direct", "cheap")
        assert [line[3:] for line in cells(table)] == [
            ["1", "reference", "80,000", "never", "at once"], ["10", "4,000,000", "700,000", "never", "at once"],
        ]  # fmt: skip

    def test_rounded_up(self):
        """A part of an execution is a whole one."""
        found = at_deadlines(rows(("ring", 13.0, 0.0), ("tacos", 10.0, 1.0)), [1])
        assert at(found, 1, "tacos")["repaid_after"] == 333_334

    def test_reference_that_is_late(self):
        """The first result that the reference has is compared with, also by who is ready before it."""
        found = at_deadlines(rows(("ring", 20.0, 2.0), ("tacos", 10.0, 1.0)), [1, 10])
        assert at(found, 1, "tacos")["repaid_after"] == 0
        assert [line[3:] for line in cells(tables(found)[3])] == [["1", "–", "at once"], ["10", "reference", "at once"]]

    def test_problem_without_reference(self):
        """Where the reference never worked there is nothing to repay."""
        found = at_deadlines(
            rows(("ring", 20.0, 1.0), ("tacos", 10.0, 1.0), ("ring", None, None, {"size": 5, "status": "failed"}),
                 ("tacos", 10.0, 1.0, {"size": 5})), [1],
        )  # fmt: skip
        assert [line[4:] for line in cells(tables(found)[3])] == [["reference", "at once"], ["–", "–"]]

    def test_other_references(self):
        """Without Ring it is who solved most; another one can be named, and a wrong name is told the nearest."""
        frame = rows(("a", 10.0, 0.1), ("b", 10.0, 0.1), ("b", 10.0, 0.1, {"size": 5}))
        assert at_deadlines(frame, [1]).attrs["against"] == "b"
        assert at_deadlines(frame, [1], against="a").attrs["against"] == "a"
        with pytest.raises(OptionError, match="against: there is no 'tacos2'; did you mean 'tacos'"):
            at_deadlines(rows(("tacos", 1.0, 1.0)), [1], against="tacos2")


class TestTables:
    def test_all_problems_count_at_every_deadline(self):
        """A problem that nobody has solved yet counts as 0, so that deadlines compare."""
        found = at_deadlines(
            rows(("ring", 20.0, 0.1), ("tacos", 10.0, 5.0), ("ring", 10.0, 2.0, {"size": 5}),
                 ("tacos", 12.5, 0.2, {"size": 5})), [1, 10],
        )  # fmt: skip
        table = tables(found)[0]
        assert table.title == "Mean efficiency over 2 problems, problems won and solved, by deadline"
        assert table.head[1:4] == ("efficiency 1 s", "wins 1 s", "solved 1 s")
        assert cells(table) == [
            ["tacos", "40.0 %", "1", "1", "90.0 %", "1", "2"],
            ["ring", "25.0 %", "1", "1", "75.0 %", "1", "2"],
        ]
        assert [cell.best for cell in table.lines[0]] == [False, True, False, False, True, False, False]

    def test_times(self):
        """A line for each problem and deadline, the best marked, what is late said to be."""
        found = at_deadlines(rows(("ring", 20.0, 0.1), ("tacos", 10.0, 5.0)), [1, 10])
        times, efficiency = tables(found)[1:3]
        assert cells(times) == [
            ["ring:4", "all_gather", "1MB", "1", "20.00", "late"],
            ["ring:4", "all_gather", "1MB", "10", "20.00", "10.00"],
        ]
        assert [line[5].best for line in times.lines] == [False, True]
        assert [line[4:] for line in cells(efficiency)] == [["0.5000", "late"], ["0.5000", "1.000"]]


class TestCommand:
    @pytest.fixture
    def results(self, tmp_path):
        """Return a folder of results."""
        write_results(tmp_path, [made("ring", 20.0, synthesis_s=0.1), made("tacos", 10.0, synthesis_s=5.0)])
        return tmp_path

    def run(self, *args):
        """Run the program in this process."""
        return CliRunner().invoke(main, ["deadlines", *map(str, args)])

    def test_four_tables(self, results):
        """On a terminal, at the deadlines asked for."""
        done = self.run(results, "--at", "1,10s")
        assert done.exit_code == 0
        assert done.stdout.count("deadline_s") == 3
        assert "490,000" in done.stdout  # 4.9 s / 10 us

    def test_files(self, results):
        """Tables and rows go into files, the rows to be read by a program."""
        done = self.run(results, "--format", "markdown", "--out", results / "out.md", "--csv", results / "rows.csv")
        assert (done.exit_code, done.stdout) == (0, "")
        assert "| **10.00**" in (results / "out.md").read_text()
        found = pd.read_csv(results / "rows.csv")
        assert found["deadline_s"].tolist() == [1, 1, 10, 10, 60, 60]
        assert found["repaid_after"].tolist()[2:] == pytest.approx([math.nan, 490_000, math.nan, 490_000], nan_ok=True)

    @pytest.mark.parametrize(
        ("arguments", "status", "expected"),
        [
            (("--at", "0"), 2, "expected more than 0 seconds"),
            (("--at", "1,,2"), 2, "expected more than 0 seconds"),
            (("--at", "soon"), 2, "expected more than 0 seconds"),
            (("--by", "option"), 2, "'label'"),
            (("--against", "tacs"), 2, "did you mean 'tacos'?"),
            (("--csv", "absent/rows.csv"), 1, "does not exist"),
        ],
    )
    def test_mistakes(self, results, arguments, status, expected):
        """A mistake is one line and says what is there."""
        done = self.run(results, *arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (status, "", 1)
        assert expected in done.stderr
