"""Schedules in other scenarios: closed forms, the same network for all, rows that say what they are of."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.runner.run import Run
from experiments.sensitivity import scenarios, tried
from experiments.sensitivity.trials import attempt
from experiments.tables import load_results
from experiments.tables.repeats import typical
from simulator import bound, simulate_us
from synthesizers import find
from tests.experiments.sensitivity.conftest import MEETING, TWO_LINKS, frame_of
from topologies import FormatError, parse_topology, scaled

RING = Run(topology="ring_one_way:4@50GB/s,0.5us", collective="all_gather", size=4 * 10**6, synthesizer="ring",
           label="ring", options={"pieces": 1})  # fmt: skip


def fields_of(run, **settings):
    """Return what becomes of a run's schedule, by scenario."""
    (row,) = frame_of(run).to_dict("records")
    asked = scenarios(**settings)
    answer = attempt(asked, None, row)
    assert not answer.lost
    return {scenario.name: each for scenario, each in zip(asked, answer.fields, strict=True)}


class TestAttempt:
    def test_ring_closed_form(self):
        """AllGather on a one-way ring of 4 takes 3 (α + s/4 β), whatever α, β and s: to the picosecond."""
        found = fields_of(RING)
        expected = {
            "as run": 3 * (0.5 + 20),
            "latency ×0.8": 3 * (0.4 + 20),
            "latency ×1.2": 3 * (0.6 + 20),
            "bandwidth ×0.8": 3 * (0.5 + 25),
            "bandwidth ×1.2": 3 * (0.5 + 16.666667),  # 10⁶ bytes at 60 GB/s, rounded up
            "latency ×0.8 and bandwidth ×0.8": 3 * (0.4 + 25),
            "other latency model": 3 * (0.5 + 20),
            "other switching": 3 * (0.5 + 20),
            "size ÷16": 3 * (0.5 + 1.25),
            "size ×16": 3 * (0.5 + 320),
        }
        for name, time_us in expected.items():
            assert found[name]["time_us"] == pytest.approx(time_us, abs=1e-9), name

    def test_uneven_by_hand(self):
        """On uneven links every shard goes three steps, each step waits for the link and the shard before it."""
        asked = scenarios(draws=3)
        found = fields_of(RING, draws=3)
        for scenario in asked:
            if not scenario.draw:
                continue
            topology = scenario.network(parse_topology(RING.topology))
            costs = {
                int(src): int(alpha) + -(-(10**18) // int(rate))
                for src, alpha, rate in zip(topology.src, topology.latency_ps, topology.bytes_per_s, strict=True)
            }
            free, arrived = [0] * 4, {(npu, npu): 0 for npu in range(4)}
            for step in range(3):
                for npu in range(4):
                    shard = (npu - step) % 4
                    free[npu] = max(free[npu], arrived[npu, shard]) + costs[npu]
                    arrived[(npu + 1) % 4, shard] = free[npu]
            assert found[scenario.name]["time_us"] == max(free) / 1e6

    @pytest.mark.parametrize("synthesizer", ["direct", "halving_doubling", "tacos", "ring", "double_binary_tree"])
    def test_as_on_a_network_of_that_kind(self, synthesizer):
        """Times and bounds are those of the same schedule, built on the changed network."""
        run = Run(topology="dgx_a100:2", collective="all_reduce", size=10**6, synthesizer=synthesizer, label="x",
                  options={} if synthesizer == "halving_doubling" else {"pieces": 2})  # fmt: skip
        problem = run.problem()
        maker = find(synthesizer)
        schedule = maker.synthesize(problem, maker.Options(**run.options))
        found = fields_of(run)
        for name, latency, bandwidth in (("latency ×0.8", 0.8, 1.0), ("latency ×1.2 and bandwidth ×0.8", 1.2, 0.8)):
            topology = scaled(problem.topology, latency, bandwidth)
            carried = schedule.replaced(topology=topology)
            assert found[name]["time_us"] == simulate_us(carried, 10**6)
            least = bound(topology, problem.collective, 10**6)
            assert found[name]["bound_us"] == least.time_us
            assert found[name]["efficiency"] == least.time_us / found[name]["time_us"] <= 1
        assert found["as run"]["time_us"] == frame_of(run)["time_us"][0]

    def test_a_size_that_cannot_be(self):
        """A size past what can be simulated is a failed row with the reason; the others stand."""
        found = fields_of(RING, sizes=[2**62, 10**6])
        too_large = found["size 4194304TiB"]
        assert (too_large["status"], too_large.get("time_us")) == ("failed", None)
        assert "would take over 53 days" in too_large["reason"]
        assert found["size 1MB"]["time_us"] == pytest.approx(3 * (0.5 + 5))

    def test_lost(self):
        """A schedule that cannot be had back is said why, without its name, which the row has."""
        (row,) = frame_of(RING).to_dict("records")
        answer = attempt(scenarios(), None, row | {"version": "0.0"})
        assert answer.lost.startswith("its schedule was not kept and was made by version 0.0")


class TestTried:
    def test_rows(self, turning):
        """A row for each scenario, problem and label: what it is of, what came out, and nothing of another network."""
        folder = turning(8_000)
        trials = tried(load_results(str(folder)), scenarios(sizes=[5_000, 20_000]), folder)
        assert trials.tried == 2
        assert trials.lost == []
        by_name = dict(zip([each.name for each in trials.scenarios], trials.rows, strict=True))
        assert "other switching" not in by_name  # no schedule has a route
        heavy, quick = by_name["size 20KB"]
        assert (heavy["label"], heavy["scenario"], heavy["size"], heavy["size_as_run"]) == (
            "heavy", "size 20KB", 20_000, 8_000,
        )  # fmt: skip
        assert (heavy["time_us"], quick["time_us"]) == (12.0, 21.0)
        assert heavy["bound_us"] == bound(TWO_LINKS, _asked(), 20_000).time_us
        assert heavy["algbw_gbps"] == pytest.approx(20 / 12)
        for name in ("planned_us", "quantised_bound_us", "rsag_bound_us", "max_utilisation", "simulate_s"):
            assert heavy[name] is None
        assert {row["latency"] for row in by_name["other latency model"]} == {"pipelined"}
        heavy, quick = by_name["latency ×0.8"]
        assert (heavy["time_us"], quick["time_us"]) == (8.8, 8.8)

    def test_what_did_not_work_stays(self, turning):
        """A run that failed is a row in every scenario, of that scenario's problem, without a time."""
        folder = turning(8_000)
        frame = load_results(str(folder))
        failed = frame.iloc[:1].assign(label="third", status="timeout", time_us=None, reason="too long")
        trials = tried(pd.concat([frame, failed], ignore_index=True), scenarios(), folder)
        assert trials.tried == 2
        for scenario, rows in zip(trials.scenarios, trials.rows, strict=True):
            assert (rows[2]["status"], rows[2]["reason"], rows[2]["time_us"]) == ("timeout", "too long", None)
            assert rows[2]["size"] == scenario.nbytes(8_000)

    def test_lost_schedules(self, turning):
        """A schedule that cannot be had back fails in every scenario, is named, and stops nobody."""
        folder = turning(8_000)
        said = []
        frame = load_results(str(folder))
        frame.loc[1, "key"] = "gone"
        trials = tried(frame, scenarios(), folder, 2, lambda name, lost: said.append((name, lost)))
        assert trials.tried == 1
        assert len(trials.lost) == 1
        assert trials.lost[0].startswith("quick send_recv 8KB on two links: its schedule was not kept")
        assert sorted(lost is None for _, lost in said) == [False, True]
        assert {rows[1]["status"] for rows in trials.rows} == {"failed"}
        assert {rows[0]["status"] for rows in trials.rows} == {"ok"}

    def test_jobs_do_not_change_the_files(self, tmp_path):
        """One process or two, the files are the same, byte by byte."""
        runs = [
            Run(topology=topology, collective=kind, size=10**6, synthesizer=name, label=name)
            for topology in ("ring:4", "mesh:3x3", "switch:4") for kind in ("all_gather", "all_reduce")
            for name in ("ring", "direct", "double_binary_tree")
        ]  # fmt: skip
        frame = frame_of(*runs)
        written = []
        for jobs in (1, 2):
            (folder := tmp_path / str(jobs)).mkdir()
            files = tried(frame, scenarios(draws=2), None, jobs).write(folder)
            written.append([path.read_bytes() for path in files])
        assert written[0] == written[1]
        again = load_results(str(tmp_path / "1" / "sensitivity.parquet"))
        assert len(again) == len(runs) * len(scenarios(draws=2))
        assert "other switching" in set(again["scenario"])

    def test_other_files(self, turning):
        """Rows that do not say what their runs were are refused in one line."""
        frame = load_results(str(turning(8_000)))
        with pytest.raises(FormatError, match="no column 'version'"):
            tried(frame.drop(columns="version"), scenarios())
        with pytest.raises(FormatError, match="no column 'time_us'"):
            typical(frame.drop(columns="time_us"))
        with pytest.raises(FormatError, match="column seed of the results holds 'x', expected numbers"):
            tried(frame.assign(seed="x"), scenarios())


class TestTypical:
    def test_median(self):
        """Of seeds and repeats it is the run of median time, of two in the middle the quicker; a failure never."""
        times = {"a": [5.0, 1.0, 3.0], "b": [4.0, 2.0, None, 8.0, 6.0], "c": [None, None]}
        rows = [
            {"topology": "t", "label": label, "seed": seed, "status": "failed" if time is None else "ok",
             "time_us": time}
            for label, each in times.items() for seed, time in enumerate(each)
        ]  # fmt: skip
        found = typical(pd.DataFrame(rows))
        assert found[["label", "seed", "status"]].values.tolist() == [
            ["a", 2, "ok"],
            ["b", 0, "ok"],
            ["c", 0, "failed"],
        ]
        assert len(typical(pd.DataFrame(rows), ["seed"])) == len(rows)


def _asked():
    """Return what the schedules on two links compute."""
    from schedules import collective

    return collective("send_recv", 2, pairs=[(0, 1)])


def test_meeting_point():
    """The size at which the two links are equally quick is as computed."""
    from schedules import Schedule

    times = {simulate_us(Schedule(TWO_LINKS, _asked(), [0], [link]), MEETING) for link in (0, 1)}
    assert times == {11.0}
