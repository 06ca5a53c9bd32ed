"""What the runner costs: the share of a grid's time that is spent inside synthesizers, verifier and simulator.

Inside is what records say: `synthesis_s`, `verify_s` and `simulate_s`. The rest is starting workers and compiling, link
utilisation and bounds, keys, files, and waiting for each other. Nothing is asserted: machines are shared.
"""

from __future__ import annotations

import time
from pathlib import Path

from experiments.runner.campaign import carry_out, plan
from experiments.runner.run import Run
from experiments.runner.store import Store

RUNS, JOBS = 1000, 2


def test_share_of_work(benchmark, tmp_path):
    """1,000 runs of some 50 ms each, on two workers."""
    runs = [
        Run(topology="mesh:20x20", collective="all_gather", size=64 * 10**6, synthesizer="tacos", label="tacos",
            options={"pieces": "auto"}, seed=seed)
        for seed in range(RUNS)
    ]  # fmt: skip
    inside = 0.0

    def work() -> None:
        nonlocal inside
        store = Store(Path(tmp_path))
        with store.claimed():
            grid = plan(runs, store)
            carry_out(grid, store, JOBS)
        inside = sum(
            (record.synthesis_s or 0) + (record.verify_s or 0) + (record.simulate_s or 0)
            for record in grid.records
            if record is not None
        )

    begin = time.perf_counter()
    benchmark.pedantic(work, rounds=1)
    benchmark.extra_info["share_inside"] = round(inside / JOBS / (time.perf_counter() - begin), 3)
