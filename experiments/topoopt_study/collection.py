"""All rows of the study: measured on several processes, each kept in a file of its own as soon as it is finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from experiments.isolation import EndedError
from experiments.parallel import outcomes
from experiments.progress import counted
from experiments.runner.sources import code_behind
from experiments.study_rows import kept_row, row_key
from experiments.topoopt_study.measure import attempt, failed
from experiments.topoopt_study.rows import write_results
from experiments.topoopt_study.settings import Setting
from experiments.workloads import shipped
from topologies.atomic import write_text
from topologies.costs import SHIPPED as PRICES

#: Packages that hand on names of tables, figures and the runner: what only they import makes no row.
_APART = frozenset({"experiments.topoopt_study", "experiments.files"})


def collect(settings: Sequence[Setting], out: Path, jobs: int) -> list[dict[str, Any]]:
    """Return the row of every setting, in their order, and write them; what is there already is not measured again.

    Parameters
    ----------
    settings : sequence of Setting
    out : Path
        Folder of ``results.parquet`` and ``results.csv``; rows are kept in ``rows`` there, under a hash of the setting
        and of the code that made them.
    jobs : int
        Processes.

    Raises
    ------
    OSError, CollbenchError
        A row cannot be written.
    KeyboardInterrupt
        After the finished rows have been written.
    """
    folder = out / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    code = code_behind(attempt.__module__, _APART)
    files = [folder / f"{_key(setting, code)}.json" for setting in settings]
    rows: list[dict[str, Any] | None] = [kept_row(file) for file in files]
    todo = [at for at, row in enumerate(rows) if row is None]
    try:
        with closing(outcomes(attempt, [settings[at] for at in todo], jobs)) as found, counted(len(todo)) as advance:
            for place, outcome in found:
                at = todo[place]
                row = failed(settings[at], str(outcome)) if isinstance(outcome, EndedError) else outcome
                rows[at] = row
                worked = row["status"] == "ok"
                if worked:  # what failed is tried again
                    write_text(files[at], json.dumps(row))
                told = f"{row['no_overlap_s'] * 1e3:,.3f} ms" if worked else row["reason"]
                advance(f"{_described(settings[at])}: {told}", _described(settings[at]), aloud=not worked)
    finally:
        finished = [row for row in rows if row is not None]
        write_results(out, finished)
    return finished


def _described(setting: Setting) -> str:
    """Return what progress calls a setting."""
    network = f"{setting.network} {setting.servers}x{setting.ports} at {setting.port_gbps * 8:g} Gb/s"
    return f"{setting.workload} on {network}, seed {setting.seed}"


def _key(setting: Setting, code: str) -> str:
    """Return what a row is kept under: the setting, the code, and the files of its workload and of the prices."""
    return row_key(setting, code, (shipped()[setting.workload], PRICES))
