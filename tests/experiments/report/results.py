"""Results of real runs on small networks, and how they are turned into a report."""

from __future__ import annotations

from functools import cache

from click.testing import CliRunner

from experiments.cli import main
from experiments.evaluate import evaluate
from experiments.fairness import tuned_alike
from experiments.runner.run import Run
from experiments.runner.worker import failure
from experiments.tables import row_of, write_results
from synthesizers import find

#: What a synthesizer may say that wants to do harm.
HOSTILE = "</script><img src=x onerror=\"document.body.innerHTML='harm'\"><b>bold</b>"

EXPERIMENT = """
description: A small & <b>quick</b> experiment
problems:
  topology: [mesh:2x2, mesh:3x3, mesh:4x4, dgx1]
  collective: [all_gather, all_reduce]
  size: [64KiB, 1MiB, 16MiB, 256MiB]
synthesizers: [ring, direct, tacos, double_binary_tree]
repeats: 2
limits: {time_limit_s: 30, memory_limit_mb: 2000}
tables:
  - value: time_us
    normalise: ring
    title: Time, relative to a ring
"""


@cache
def small_rows():
    """Return the rows of the experiment, and three of a synthesizer that fails or claims more than was proven."""
    rows = []
    for topology in ("mesh:2x2", "mesh:3x3", "mesh:4x4", "dgx1"):
        for kind in ("all_gather", "all_reduce"):
            for size in (2**16, 2**20, 2**24, 2**28):
                for name in ("ring", "direct", "tacos", "double_binary_tree"):
                    synthesizer = find(name)
                    run = Run(topology=topology, collective=kind, size=size, synthesizer=name, label=name,
                              options=tuned_alike(synthesizer, {}, None))  # fmt: skip
                    record, _ = evaluate(run.problem(), synthesizer, run.options)
                    rows += [row_of(run, record, "small", run.key()) | {"repeat": repeat} for repeat in (0, 1)]
    # Repeats that do not agree have a median and a spread.
    rows[0]["time_us"] *= 3
    rows[0]["efficiency"] /= 3
    run = Run(topology="mesh:2x2", collective="all_gather", size=2**16, synthesizer="mine", label="mine")
    problem = run.problem()
    rows.append(row_of(run, failure(run, problem, "failed", HOSTILE), "small"))
    rows.append(row_of(run, failure(run, problem, "timeout", "it took too long"), "small") | {"repeat": 1})
    claimed = {"status": "ok", "reason": "", "time_us": 0.125, "efficiency": 16.0, "busbw_gbps": 1e6, "verified": False}
    rows.append(row_of(run, failure(run, problem, "ok", ""), "small") | claimed | {"collective": "all_reduce"})
    return rows


def write_small(folder):
    """Write the results and their experiment file into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_results(folder, small_rows())
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    return folder


def reported(page, *args):
    """Run ``collbench report``, which must end well, and return the page."""
    done = CliRunner().invoke(main, ["report", *map(str, args), "-o", str(page)])
    assert done.exit_code == 0, done.output
    return page
