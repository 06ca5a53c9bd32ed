"""The reproduction of TACCL on tiny results: tables and figures with published figures beside measured ones."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib
import pytest

from experiments.files import expand, read_experiment
from experiments.plots.style import styled
from experiments.record import Record
from experiments.runner.run import Run
from experiments.tables import load_results, row_of, write_results
from experiments.taccl_study import write_study
from experiments.taccl_study.bandwidth import bandwidth_figure
from experiments.taccl_study.published import PUBLISHED, published
from experiments.taccl_study.seconds import synthesis_figure
from experiments.taccl_study.tables import comparison
from synthesizers.taccl.synthesizer import CHALLENGE
from topologies import parse_topology

CONFIGS = Path(__file__).parents[2] / "experiments" / "configs"


def made(label, size, time_us, kind="all_gather", status="ok", reason="", stages=()):
    """Return a row on two NDv2 nodes."""
    run = Run(topology="ndv2:2", collective=kind, size=size, synthesizer=label.partition(":")[0], label=label)
    record = Record(
        topology="ndv2:2", collective=kind, size=size, num_npus=16, ranks=16, chunks=1, groups=1, latency="blocking",
        switching="cut_through", synthesizer=run.synthesizer, status=status, reason=reason, time_us=time_us,
        algbw_gbps=None if time_us is None else size / time_us / 1e3, bound_us=size / 25e3,
        synthesis_s=None if time_us is None else 2.0, stages=list(stages),
    )  # fmt: skip
    return row_of(run, record)


ROWS = [
    made("ring", 10**6, 100.0), made("taccl", 10**6, 50.0), made("taccl:sketch", 10**6, 62.5),
    made("ring", 10**9, None, status="timeout", reason="too long"), made("taccl", 10**9, 50e3),
    made("taccl", 10**9, 320e3, "all_to_all"),
]  # fmt: skip


def texts(figure) -> str:
    """Return all text of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


class TestStudy:
    def test_files(self, tmp_path):
        """Tables and figures are written from results alone, and each network's sketch is one synthesizer."""
        rows = [*ROWS, made("taccl:sketch of ndv2:2", 10**9, 52e3)]
        write_results(tmp_path, rows)
        said = write_study(load_results(str(tmp_path)), tmp_path)
        names = {f"{name}.{suffix}" for name in ("bandwidth", "synthesis") for suffix in ("png", "svg")}
        assert names | {"comparison.md"} <= {path.name for path in tmp_path.iterdir()}
        assert "taccl:sketch of" not in said[0]
        assert [Path(line).name for line in said[1:]] == [
            "bandwidth.png", "bandwidth.svg", "synthesis.png", "synthesis.svg"
        ]  # fmt: skip

    def test_table(self):
        """The best is bold, the bound and the published figure stand beside it, and failures have reasons."""
        text = comparison(ROWS)
        line = next(line for line in text.splitlines() if line.startswith("| 1MB "))
        assert [cell.strip() for cell in line.strip("|").split("|")] == ["1MB", "10", "**20**", "16", "25", "16.09"]
        line = next(line for line in text.splitlines() if line.startswith("| 1GB "))
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            "1GB", "timeout", "**20**", "", "25", "18.6",
        ]  # fmt: skip
        assert "TE-CCL, published for large buffers: 22.857 GB/s, synthesis 43 s" in text
        assert "Ring, AllGather on ndv2:2: timeout: too long" in text

    def test_says_whose_schedule_it_is(self):
        """Where TACCL took the schedule of another one, the remarks say so, with the sizes."""
        taken = [{"stage": CHALLENGE, "status": "tacos is faster in pieces, and taken"}]
        rows = [made("taccl", size, 50e3, stages=taken) for size in (10**6, 10**9)]
        assert "TACCL, AllGather on ndv2:2: tacos is faster in pieces, and taken (at 1MB, 1GB)" in comparison(rows)

    def test_published_is_marked(self):
        """Both figures tell published from measured, and the points are where they were published."""
        with styled():
            first, second = bandwidth_figure(ROWS), synthesis_figure(ROWS)
            first.draw_without_rendering()
        assert {"TACCL (published)", "TE-CCL (published)", "Bound (provable)"} <= set(texts(first).split("\n"))
        drawn = {(float(x), float(y)) for axes in first.axes for line in axes.lines
                 for x, y in zip(*line.get_data(), strict=True)}  # fmt: skip
        assert {(1e6, 16.09), (1e9, 18.599), (1e9, 22.857), (1e9, 3.125)} <= drawn
        assert {x for x, _ in drawn} == {1e6, 1e9}  # nothing stands at a size that did not run
        assert "TACCL (published)" in texts(second)
        assert {7.0, 1215.0} <= {float(x) for line in second.axes[0].lines for x in line.get_xdata()}


class TestPublished:
    def test_consistent(self):
        """A published bandwidth is above no bound: 25 GB/s of AllGather, 3.125 of AllToAll on two NDv2 nodes."""
        most = {"all_gather": 25.0, "all_to_all": 3.125}
        assert all(each.algbw_gbps <= most[each.collective] for each in PUBLISHED if each.topology == "ndv2:2")
        assert len([each for each in published("ndv2:2", "all_gather") if each.who == "TACCL"]) == 8


class TestExperiments:
    @pytest.mark.parametrize("name", ["taccl", "taccl_quick"])
    def test_what_is_run(self, name):
        """Every network has its own sketch and everybody else, all tuned alike and limited."""
        runs = expand(*read_experiment(str(CONFIGS / f"{name}.yaml")))
        for network in {run.topology for run in runs}:
            labels = {run.label for run in runs if run.topology == network}
            assert labels == {"ring", "direct", "tacos", "taccl", f"taccl:sketch of {network}"}
        assert all(run.options["pieces"] == "auto" for run in runs if run.synthesizer != "direct")
        assert {run.time_limit_s for run in runs} == {60}

    @pytest.mark.parametrize("path", sorted((CONFIGS / "sketches").glob("*.json")), ids=lambda path: path.stem)
    def test_sketches(self, path):
        """A shipped sketch fits the network that it is named after."""
        from schedules import collective
        from synthesizers import Problem, find, parse_options

        kind, _, count = path.stem.rpartition("x")
        topology = parse_topology(f"{kind}:{count}")
        assert json.loads(path.read_text())["nnodes"] == int(count)
        taccl = find("taccl")
        problem = Problem(topology, collective("broadcast", topology.num_npus), 10**6)
        schedule = taccl.synthesize(problem, parse_options(taccl, {"sketch": str(path)}))
        assert schedule.topology == topology


@pytest.fixture(scope="module")
def rows():
    """Return the committed runs that worked; the others say that they are unsupported."""
    frame = load_results(str(CONFIGS.parents[1] / "results" / "taccl"))
    assert set(frame["status"]) <= {"ok", "unsupported"}
    return frame[frame["status"] == "ok"]


class TestCommitted:
    """The results that are committed, which the pages show."""

    def test_no_worse_than_published(self, rows):
        """At every size that TACCL has published, TACCL here is at least as fast, with its sketch and without."""
        for each in PUBLISHED:
            if each.who == "TACCL":
                found = rows[(rows.topology == each.topology) & (rows.collective == each.collective)
                             & (rows["size"] == each.size) & (rows.synthesizer == "taccl")]  # fmt: skip
                assert len(found) == 2
                assert (found.algbw_gbps >= each.algbw_gbps - 5e-4).all(), each

    def test_derived_against_hand(self, rows):
        """A derived sketch is never more than 10 % slower than the one by hand."""
        key = ["topology", "collective", "size"]
        ours = rows[rows.synthesizer == "taccl"]
        derived = ours[ours.label == "taccl"].set_index(key).time_us
        by_hand = ours[ours.label != "taccl"].set_index(key).time_us
        assert len(derived) == len(by_hand) == 51
        assert (derived <= 1.1 * by_hand.reindex(derived.index)).all()

    def test_within_a_minute_and_the_bound(self, rows):
        """Every schedule was made within 60 s, and none is below its bound."""
        assert rows.verified.all()
        assert (rows.synthesis_s <= 60).all()
        assert (rows.efficiency <= 1 + 1e-9).all()
