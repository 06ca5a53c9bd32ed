"""The ranking in other scenarios: where it turns over is computed by hand."""

from __future__ import annotations

import pytest

from experiments.sensitivity import scenarios, tried
from experiments.sensitivity.tables import changed, tables, verdicts
from experiments.tables import load_results
from tests.experiments.sensitivity.conftest import MEETING
from tests.experiments.tables.test_tables import cells


@pytest.fixture
def trials(turning):
    """Return a function that tries the two schedules of a size in scenarios."""

    def run(size, **settings):
        folder = turning(size)
        return tried(load_results(str(folder)), scenarios(**settings), folder)

    return run


def by_name(found):
    """Return verdicts by the name of their scenario."""
    return {verdict.scenario: verdict for verdict in found}


class TestVerdicts:
    def test_turns_over_at_the_size_computed(self, trials):
        """One byte below the size at which both are equally quick the order is as run, one byte above the other."""
        found = by_name(verdicts(trials(8_800, sizes=[MEETING - 1, MEETING + 1])))
        assert found["as run"].rank == {"quick": 1, "heavy": 2}
        below, above = found[f"size {MEETING - 1}B"], found[f"size {MEETING + 1}B"]
        assert (below.rank, below.tau) == ({"quick": 1, "heavy": 2}, 1.0)
        assert (above.rank, above.tau) == ({"heavy": 1, "quick": 2}, -1.0)

    def test_turns_over_at_the_factor_computed(self, trials):
        """At 8,800 bytes it turns where latency and bandwidth together shrink to 0.88 or less: 0.8 and 0.64."""
        found = by_name(verdicts(trials(8_800, draws=0)))
        turned = {name for name, verdict in found.items() if verdict.tau == -1}
        assert turned == {"latency ×0.8", "bandwidth ×0.8", "latency ×0.8 and bandwidth ×0.8", "size ×16"}
        assert {name for name, verdict in found.items() if verdict.rank["heavy"] == 1} == turned

    def test_scores(self, trials):
        """The score is the efficiency in that scenario, against that scenario's bound."""
        asked = trials(20_000, sizes=[MEETING])
        for verdict, rows in zip(verdicts(asked), asked.rows, strict=True):
            for row in rows:
                assert verdict.score[row["label"]] == row["bound_us"] / row["time_us"]

    def test_best_changes(self, trials):
        """Whoever is within 0.1 % still is the best; past that the best has changed."""
        found = verdicts(trials(5_000, sizes=[MEETING + 1, 2 * MEETING], draws=0))
        near, far = found[-2:]
        assert near.winners == [{"quick", "heavy"}]
        assert changed(found[0], near) == []
        assert far.winners == [{"heavy"}]
        assert changed(found[0], far) == [0]

    def test_alone(self, turning):
        """A synthesizer alone has nobody to change places with: there is no tau."""
        folder = turning(5_000)
        frame = load_results(str(folder)).iloc[:1]
        found = tried(frame, scenarios(), folder)
        assert all(verdict.tau != verdict.tau for verdict in verdicts(found))
        assert cells(tables(found)[0])[0][1:] == ["–", "0 of 1", "1 ="]


class TestTables:
    def test_all_three(self, trials):
        """Ranks with what became of them, scores, and the problem whose best changes with who is it then, and when."""
        ranks, scores, changes = tables(trials(8_800, sizes=[5_000, 20_000], draws=0))
        assert ranks.title == "Rank over 1 problem (▲ better, ▼ worse than as run)"
        assert ranks.head == ("scenario", "Kendall's tau", "best changes", "quick", "heavy")
        lines = {line[0]: line[1:] for line in cells(ranks)}
        assert lines["as run"] == ["1.000", "0 of 1", "1 =", "2 ="]
        assert lines["latency ×0.8"] == ["-1.000", "1 of 1", "2 ▼1", "1 ▲1"]
        assert lines["size 5KB"] == ["1.000", "0 of 1", "1 =", "2 ="]
        marked = {line[0].text: [cell.best for cell in line[3:]] for line in ranks.lines}
        assert (marked["as run"], marked["size 20KB"]) == ([True, False], [False, True])
        assert scores.head == ("scenario", "quick", "heavy")
        assert cells(scores)[0][1:] == ["10.2 %", "9.2 %"]  # 1 us of latency in 9.8 us, and in 10.88 us
        assert cells(changes) == [
            ["two links", "send_recv", "8800B", "quick", "in 8 of 12",
             "heavy: latency ×0.8, bandwidth ×0.8, latency ×0.8 and bandwidth ×0.8, size 20KB"],
        ]  # fmt: skip

    def test_nothing_changes(self, trials):
        """Where the best stays everywhere there is no third table."""
        assert len(tables(trials(100, sizes=[200], draws=0))) == 2
