"""All rows of the study: measured on several processes, each kept in a file of its own as soon as it is finished."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from experiments.isolation import EndedError
from experiments.parallel import outcomes
from experiments.runner.sources import code_behind
from experiments.topoopt_study.measure import attempt
from experiments.topoopt_study.settings import Setting
from experiments.workloads import shipped
from topologies.atomic import write_text
from topologies.costs import SHIPPED as PRICES

if TYPE_CHECKING:
    import pandas as pd

#: Columns of rows that are lists, as JSON in the files of results.
LISTS = ("trace", "hops", "link_busy_us")


def collect(settings: Sequence[Setting], out: Path, jobs: int) -> list[dict[str, Any]]:
    """Return the row of every setting, in their order; what is there already is not measured again.

    Parameters
    ----------
    settings : sequence of Setting
    out : Path
        Folder; rows are kept in ``rows`` there, under a hash of the setting and of the code that made them.
    jobs : int
        Processes.

    Raises
    ------
    OSError
        A row cannot be written.
    """
    folder = out / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    code = code_behind(attempt.__module__)
    files = [folder / f"{_key(setting, code)}.json" for setting in settings]
    rows: list[dict[str, Any] | None] = [_kept(file) for file in files]
    todo = [at for at, row in enumerate(rows) if row is None]
    for count, (place, found) in enumerate(outcomes(attempt, [settings[at] for at in todo], jobs), 1):
        at = todo[place]
        row = failed(settings[at], str(found)) if isinstance(found, EndedError) else found
        rows[at] = row
        if row["status"] == "ok":  # what failed is tried again
            write_text(files[at], json.dumps(row))
        setting = settings[at]
        told = f"{row['no_overlap_s'] * 1e3:,.3f} ms" if row["status"] == "ok" else row["reason"]
        print(f"[{count:{len(str(len(todo)))}}/{len(todo)}] {setting.workload} on {setting.network} {setting.servers}x"
              f"{setting.ports}, seed {setting.seed}: {told}", file=sys.stderr)  # fmt: skip
    return [row for row in rows if row is not None]


def frame_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a table; lists are JSON."""
    import pandas as pd

    return pd.DataFrame([{**row, **{name: json.dumps(row.get(name, [])) for name in LISTS}} for row in rows])


def failed(setting: Setting, reason: str) -> dict[str, Any]:
    """Return the row of a setting that has none."""
    return {**msgspec.structs.asdict(setting), "status": "failed", "reason": reason}


def _key(setting: Setting, code: str) -> str:
    """Return what a row is kept under: the setting, the code, and the files of its workload and of the prices."""
    digest = hashlib.sha256(f"{json.dumps(msgspec.structs.asdict(setting))},{code}".encode())
    for file in (shipped()[setting.workload], PRICES):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _kept(file: Path) -> dict[str, Any] | None:
    """Return a row that was finished; a damaged file is as none."""
    try:
        row = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return row if isinstance(row, dict) and row.get("status") == "ok" else None
