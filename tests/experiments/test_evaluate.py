"""One run: what a row says when all goes well, and when something does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments import evaluate as module
from experiments.evaluate import evaluate
from schedules import Schedule, collective
from synthesizers import OptionsBase, Problem, Synthesizer, find
from topologies import fully_connected, mesh, ring
from topologies.exceptions import OptionError, SynthesisError

PROBLEM = Problem(ring(4, one_way=True), collective("all_gather", 4), 4_000_000)


def right(problem: Problem) -> Schedule:
    """Return the one-way ring AllGather."""
    rows = [((npu - step) % 4, npu) for step in range(3) for npu in range(4)]
    return Schedule(problem.topology, problem.collective, *np.array(rows).T)


class Stub(Synthesizer):
    """Returns or raises what it is given."""

    name = "stub"
    reference = "a test"
    Options = OptionsBase

    def __init__(self, outcome: object = None, refusal: str | None = None) -> None:
        self.given, self.refused = outcome, refusal

    def supports(self, problem: Problem) -> str | None:
        """Return the refusal."""
        return self.refused

    def synthesize(self, problem: Problem, options: object) -> Schedule:
        """Return or raise."""
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given  # type: ignore[return-value]


class TestEvaluate:
    def test_a_right_schedule_is_scored(self):
        """A verified schedule gets its time, bandwidths, bound and utilisation."""
        record, schedule = evaluate(PROBLEM, Stub(right(PROBLEM)))
        assert (record.status, record.verified, schedule is not None) == ("ok", True, True)
        assert record.time_us == 3 * (0.5 + 20)
        assert record.algbw_gbps == pytest.approx(4e6 / 61.5e-6 / 1e9)
        assert record.busbw_gbps == pytest.approx(record.algbw_gbps * 3 / 4)
        assert record.bound_us == pytest.approx(60)
        assert record.quantised_bound_us == pytest.approx(61.5)
        assert record.efficiency == pytest.approx(60 / 61.5)
        assert record.max_utilisation == 1
        assert record.transfers == 12

    @pytest.mark.parametrize(
        ("stages", "seconds", "expected"),
        [
            ([{"stage": "routing"}], [0.5], [{"stage": "routing", "seconds": 0.5}]),
            ([{"stage": "routing"}], [], [{"stage": "routing"}]),
            ([{"stage": "routing"}], None, [{"stage": "routing"}]),
            ("routing", [0.5], []),
        ],
    )
    def test_stages(self, stages, seconds, expected):
        """The stages that a schedule notes get the seconds that were measured, if there are as many."""
        made = right(PROBLEM).with_notes(stages=stages).with_measured(stages_s=seconds)
        record, schedule = evaluate(PROBLEM, Stub(made))
        assert record.stages == expected
        assert "seconds" not in str(schedule.notes)

    def test_refusal(self):
        """A reason of the synthesizer is a row without a time."""
        record, schedule = evaluate(PROBLEM, Stub(refusal="only on Sundays"))
        assert (record.status, record.reason, record.time_us, schedule) == (
            "unsupported",
            "only on Sundays",
            None,
            None,
        )

    @pytest.mark.parametrize(
        ("error", "status", "reason"),
        [
            (SynthesisError("no tree"), "failed", "no tree"),
            (ZeroDivisionError("by\nzero"), "failed", "ZeroDivisionError: by zero"),
            (MemoryError(), "out of memory", "the synthesizer asked for more memory than there is"),
        ],
    )
    def test_exceptions(self, error, status, reason):
        """Whatever a synthesizer raises is one line of a row."""
        record, _ = evaluate(PROBLEM, Stub(error))
        assert (record.status, record.reason, record.time_us) == (status, reason, None)

    def test_interrupts_pass(self):
        """Ctrl-C is not a failure of the synthesizer."""
        with pytest.raises(KeyboardInterrupt):
            evaluate(PROBLEM, Stub(KeyboardInterrupt()))

    def test_a_wrong_schedule_is_never_timed(self):
        """Dropping the last hop makes the row invalid, with the verifier's reason and no time."""
        schedule = right(PROBLEM)
        record, kept = evaluate(PROBLEM, Stub(schedule.selected(np.arange(11))))
        assert (record.status, record.verified, record.time_us, kept) == ("invalid", False, None, None)
        assert "ends without chunk" in record.reason

    def test_another_problem_is_not_accepted(self):
        """A schedule of another network, another collective, or no schedule at all is invalid."""
        other = Problem(ring(4, 25.0, one_way=True), collective("all_gather", 4), 4)
        for outcome, reason in (
            (right(other), "another network"),
            (right(PROBLEM).reverse().reverse().replaced(collective=collective("gather", 4)), "asked was all_gather"),
            ([1, 2], "it returned list"),
        ):
            record, _ = evaluate(PROBLEM, Stub(outcome))
            assert record.status == "invalid"
            assert reason in record.reason

    def test_a_score_above_one_is_said_aloud(self, monkeypatch):
        """An efficiency above 1 is a defect somewhere, and the row says so."""
        bound = module._bound(PROBLEM)
        monkeypatch.setattr(module, "_bound", lambda problem: type(bound)(**{**vars(bound), "time_us": 100.0}))
        record, _ = evaluate(PROBLEM, Stub(right(PROBLEM)))
        assert record.efficiency > 1
        assert record.reason.startswith("DEFECT")

    def test_a_failing_score_is_a_row(self, monkeypatch):
        """A fault of the bench itself ends one run, not all of them."""
        monkeypatch.setattr(module, "simulate_ps", lambda *arguments: 1 / 0)
        record, _ = evaluate(PROBLEM, Stub(right(PROBLEM)))
        assert record.status == "failed"
        assert "could not be scored: ZeroDivisionError" in record.reason

    def test_options(self):
        """Text options are converted, wrong ones are the user's mistake."""
        problem = Problem(mesh([2, 2]), collective("all_gather", 4), 1000)
        assert evaluate(problem, find("tacos"), {"trials": "2"})[0].options["trials"] == 2
        with pytest.raises(OptionError, match="did you mean 'trials'"):
            evaluate(problem, find("tacos"), {"trails": 2})

    def test_nothing_to_do(self):
        """One NPU needs no time, is as good as the bound, and has no bandwidth."""
        problem = Problem(fully_connected(1), collective("all_reduce", 1), 1000)
        record, _ = evaluate(problem, find("direct"))
        assert (record.status, record.time_us, record.efficiency) == ("ok", 0, 1)
        assert math.isnan(record.algbw_gbps)
