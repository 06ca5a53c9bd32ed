"""What 100,000 rows cost: the table on a terminal, the report, and how long a browser takes to open it.

Nothing is asserted: machines are shared. The page says itself when its rows are shown and can be sorted and filtered.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from experiments.tables.rows import columns
from tests.experiments.report.conftest import ARGUMENTS, PROGRAMS

ROWS, LABELS, REPEATS = 100_000, ("ring", "direct", "tacos", "halving_doubling", "double_binary_tree"), 2


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with results: 10,000 problems, five synthesizers, two repeats, a fifth of them without a schedule."""
    random = np.random.default_rng(0)
    run = np.arange(ROWS)
    problem, maker = run // (len(LABELS) * REPEATS), run // REPEATS % len(LABELS)
    size = 2 ** (10 + problem % 20)
    status = random.choice(["ok", "unsupported", "failed"], ROWS, p=[0.8, 0.15, 0.05])
    ok = status == "ok"
    bound = size / 5e4 + 1
    time_us = bound * (1 + random.random(ROWS))
    label = np.array(LABELS)[maker]
    rows = pd.DataFrame({
        "experiment": "large", "label": label, "synthesizer": label, "repeat": run % REPEATS, "size": size,
        "topology": [f"torus:{2 + at % 50}x{2 + at // 50}" for at in (problem // 40).tolist()],
        "collective": np.where(problem // 20 % 2, "all_gather", "all_reduce"), "status": status, "verified": ok,
        "reason": np.where(ok, "", np.char.add("no tree at NPU ", (run % 997).astype(str))), "options": "{}",
        "version": "1", "latency": "blocking", "switching": "cut_through", "group": "all", "bound_us": bound,
        "bound_by": "a cut", "num_npus": 4 + problem // 40, "ranks": 4 + problem // 40,
    })  # fmt: skip
    figures = {"time_us": time_us, "efficiency": bound / time_us, "busbw_gbps": size / time_us / 1e3}
    figures |= {name: random.random(ROWS) for name in ("algbw_gbps", "synthesis_s", "verify_s", "simulate_s",
                "max_utilisation", "mean_utilisation", "peak_memory_mb")}  # fmt: skip
    rows = rows.assign(**{name: np.where(ok, figure, np.nan) for name, figure in figures.items()})
    rest = {name: "" if kind is str else 1 for name, kind in columns().items() if name not in rows}
    folder = tmp_path_factory.mktemp("large")
    rows.assign(**rest)[list(columns())].to_parquet(folder / "results.parquet")
    return folder


def collbench(*args):
    """Run the program as a user does, from nothing."""
    code = "from experiments.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *map(str, args)], check=True, stdout=subprocess.DEVNULL)


def test_table(benchmark, results):
    """``collbench table`` of 100,000 rows: the whole command."""
    benchmark.pedantic(collbench, ("table", results), rounds=5)


def test_report_written(benchmark, results, tmp_path):
    """``collbench report`` of 100,000 rows, without schedules: the whole command."""
    page = tmp_path / "report.html"
    benchmark.pedantic(collbench, ("report", results, "-o", page, "--players", 0), rounds=3)
    benchmark.extra_info["megabytes"] = round(page.stat().st_size / 1e6, 1)


def test_report_opened(benchmark, results, tmp_path):
    """The report of 100,000 rows in Chromium: from the address to a table that is shown and can be used."""
    import shutil

    playwright = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no browser")
    page = tmp_path / "report.html"
    collbench("report", results, "-o", page, "--players", 0)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)

        def opened():
            tab = browser.new_page()
            tab.goto(page.resolve().as_uri(), wait_until="commit")
            tab.wait_for_selector("html[data-ready]")
            assert tab.locator("#rows .count").inner_text() == f"{ROWS:,} rows"
            tab.close()

        benchmark.pedantic(opened, rounds=5, warmup_rounds=1)
        browser.close()
