"""TACCL against baselines and published figures, after the evaluations of TACCL (NSDI'23) and TE-CCL (SIGCOMM'24).

What is run is in ``configs/taccl.yaml``. `published` holds the figures of others, `tables` writes results down,
`bandwidth` and `seconds` are the figures. The command is `experiments.reproduce_taccl`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["write_study"]


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
    from experiments.tables.rows import plain
    from experiments.taccl_study.bandwidth import bandwidth_figure
    from experiments.taccl_study.seconds import synthesis_figure
    from experiments.taccl_study.tables import comparison
    from topologies.atomic import write_text

    rows = plain(frame)
    for row in rows:
        row["label"] = row["label"].partition(" of ")[0]  # each network has a sketch of its own
    text = comparison(rows)
    write_text(folder / "comparison.md", text)
    with styled():
        plots = save(bandwidth_figure(rows), folder, "bandwidth")
        plots += save(synthesis_figure(rows), folder, "synthesis")
    return [text, *map(str, plots)]
