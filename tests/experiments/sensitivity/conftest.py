"""Rows of results made in this process, and a folder in which a ranking turns over at a size that can be computed."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.evaluate import evaluate, score
from experiments.record import Record
from experiments.runner.run import Run
from experiments.runner.store import schedule_path
from experiments.tables import row_of, write_results
from schedules import Schedule, collective, save_schedule
from synthesizers import Problem, find
from topologies import Topology


def frame_of(*runs: Run) -> pd.DataFrame:
    """Return the rows of runs, as a results file holds them."""
    return pd.DataFrame([row_of(run, evaluate(run.problem(), find(run.synthesizer), run.options)[0]) for run in runs])


#: From NPU 0 to NPU 1 there are two links: one is slow to start and fast, the other the opposite. With latencies of
#: 10 and 1 us and bandwidths of 10 and 1 GB/s, 10 + s/10000 us meets 1 + s/1000 us at s = 10,000 bytes; and at that
#: many times both factors, where latencies and bandwidths are scaled. The third link only leads back.
TWO_LINKS = Topology.from_links(2, [(0, 1, 10.0, 10.0), (0, 1, 1.0, 1.0), (1, 0, 1.0, 1.0)], name="two links")
MEETING = 10_000


@pytest.fixture
def turning(tmp_path):
    """Return a function that writes results of a size: `heavy` takes the fast link, `quick` the other; both kept."""

    def write(size: int, more=()):
        problem = Problem(TWO_LINKS, collective("send_recv", 2, pairs=[(0, 1)]), size)
        rows = []
        for link, label in enumerate(("heavy", "quick")):
            schedule = Schedule(TWO_LINKS, problem.collective, [0], [link])
            record = Record(
                topology="two links", collective="send_recv", size=size, num_npus=2, ranks=2, chunks=1, groups=1,
                latency="blocking", switching="cut_through", synthesizer=label, version="1",
            )  # fmt: skip
            run = Run(topology="", collective="send_recv", size=size, synthesizer=label, label=label, pairs=((0, 1),))
            rows.append(row_of(run, score(record, problem, schedule)[0], key=f"{label}{size}"))
            place = schedule_path(tmp_path, f"{label}{size}")
            place.parent.mkdir(parents=True, exist_ok=True)
            save_schedule(schedule, place)
        write_results(tmp_path, [*rows, *more])
        return tmp_path

    return write
