"""The main experiment: TACOS against tuned baselines, after the evaluation of its paper (MICRO'24, arXiv 2304.05301).

What is run is in ``configs/tacos.yaml``. `networks` says what the paper's networks are called, `ideal` what the paper
compares with, `tables` writes results down; `bandwidth` and `scaling` are figures, drawn with `experiments.plots`. The
command is `experiments.reproduce_tacos`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["write_study"]

#: What the runs are called whose synthesis time is measured; the others are compared with each other.
TIMED = "tacos, one chunk"


def write_study(frame: pd.DataFrame, folder: Path) -> list[str]:
    """Write the tables and figures of the study beside its results, and return what to print.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    folder : Path
        An existing folder.

    Raises
    ------
    CollbenchError
        A file cannot be written.
    """
    from experiments.plots.style import save, styled
    from experiments.tacos_study.bandwidth import bandwidth_figure
    from experiments.tacos_study.scaling import scaling_figure, scaling_table, series_of
    from experiments.tacos_study.tables import compared, comparison
    from topologies.atomic import write_text

    timed = (frame["label"] == TIMED).to_numpy()
    rows, times = compared(frame[~timed]), series_of(frame[timed])
    said, plots = [], []
    with styled():
        if rows:
            write_text(folder / "comparison.md", comparison(rows))
            said.append(comparison(rows))
            sizes = sorted({row["size"] for row in rows})
            for kind in dict.fromkeys(row["collective"] for row in rows):
                plots += save(bandwidth_figure(rows, kind, sizes), folder, f"bandwidth_{kind}")
            plots += save(bandwidth_figure(rows, rows[0]["collective"], sizes[-1:]), folder, "overview")
        if times:
            write_text(folder / "scaling.md", scaling_table(times))
            said.append(scaling_table(times))
            plots += save(scaling_figure(times), folder, "scaling")
    return [*said, *map(str, plots)]
