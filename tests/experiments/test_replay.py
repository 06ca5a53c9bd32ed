"""The schedule behind a row: kept, or made again, and never another one than the row's."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from experiments.replay import run_of, schedule_of
from experiments.runner.campaign import carry_out, plan
from experiments.runner.run import Run
from experiments.runner.store import Store, schedule_path
from experiments.tables import load_results
from schedules import load_schedule, save_schedule
from topologies import CollbenchError, mesh, save_topology

RUN = Run(topology="mesh:3x3", collective="all_gather", size=10**6, synthesizer="tacos", label="TACOS",
          options={"pieces": 2}, seed=3, keep_schedule=True)  # fmt: skip


def results(folder, *runs):
    """Return the rows of runs."""
    store = Store(folder)
    with store.claimed():
        carry_out(plan(runs, store), store)
    return load_results(str(folder)).to_dict("records")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return a folder with one run whose schedule was kept, and the row."""
    folder = tmp_path_factory.mktemp("kept")
    (row,) = results(folder, RUN)
    return folder, row


class TestScheduleOf:
    def test_kept_and_made_again_are_one(self, kept):
        """What was kept is what the synthesizer makes again."""
        folder, row = kept
        assert schedule_path(folder, row["key"]).is_file()
        first, again = schedule_of(row, folder), schedule_of(row)
        assert first.fingerprint == again.fingerprint
        assert first.notes["synthesizer"] == "tacos"
        assert first.notes["size"] == 10**6

    def test_network_from_a_file(self, tmp_path):
        """A network of a file is found in the schedule that was kept, and asked for where none was."""
        save_topology(mesh([2, 2]), tmp_path / "mine.json")
        run = Run(topology=str(tmp_path / "mine.json"), collective="all_gather", size=10**6, synthesizer="ring",
                  label="ring", keep_schedule=True)  # fmt: skip
        (row,) = results(tmp_path / "out", run)
        row["topology"] = "mine"
        assert schedule_of(row, tmp_path / "out").topology.num_npus == 4
        with pytest.raises(CollbenchError, match="not kept and its network is no short name; run .*--keep-schedules"):
            schedule_of(row)

    def test_another_schedule_is_refused(self, kept, tmp_path):
        """A file that was exchanged for another valid schedule is not the row's."""
        _, row = kept
        (other,) = results(tmp_path, replace(RUN, synthesizer="ring", options={}))
        place = schedule_path(tmp_path, row["key"])
        place.parent.mkdir(parents=True, exist_ok=True)
        save_schedule(load_schedule(schedule_path(tmp_path, other["key"])), place)
        with pytest.raises(CollbenchError, match="its schedule takes .* us now, and .* us in the results"):
            schedule_of(row, tmp_path)

    def test_another_version_is_refused(self, kept):
        """A row of another version of a synthesizer is not made again by this one."""
        _, row = kept
        with pytest.raises(CollbenchError, match="made by version 0.0 of tacos"):
            schedule_of(row | {"version": "0.0"})

    def test_failed_rows_have_none(self, kept):
        """A row that is not ok has no schedule."""
        _, row = kept
        with pytest.raises(CollbenchError, match="there is no schedule, its status is timeout"):
            schedule_of(row | {"status": "timeout"})


class TestRunOf:
    def test_round_trip(self, kept):
        """The run of a row is the run that made it, by its key."""
        _, row = kept
        assert run_of(row).key() == row["key"] == RUN.key()


class TestKeeping:
    def test_asked_for_later(self, tmp_path):
        """A run without its schedule is done again when schedules are to be kept, and only then."""
        bare = replace(RUN, keep_schedule=False)
        results(tmp_path, bare)
        store = Store(Path(tmp_path))
        assert plan([bare], store).todo == []
        assert plan([RUN], store).todo == [0]
        results(tmp_path, RUN)
        assert plan([RUN, bare], store).todo == []
