"""TopoOpt against what the same money, or the same ports, would buy, after its evaluation (NSDI'23, arXiv 2202.00433).

What is run is in ``configs/studies/topoopt.yaml``, read by `settings`. `networks` builds and prices what is compared,
`candidates` and `measure` make one row, `collection` all of them. `rows` is how tables and figures read them, `tables`,
`speedup` and `prices` write them down, `figures` draws them. The command is `experiments.reproduce_topoopt`.
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
        Rows of results, as `rows.read_results` returns them.
    folder : Path
        An existing folder.

    Returns
    -------
    said : list of str
        The speedups and the remarks; the rest of the tables is in ``comparison.md``. Then the names of all files.

    Raises
    ------
    CollbenchError
        A file cannot be written.
    """
    from experiments.plots.style import save, styled
    from experiments.topoopt_study.figures import drawn
    from experiments.topoopt_study.rows import rows_of
    from experiments.topoopt_study.speedup import summary
    from experiments.topoopt_study.tables import comparison, remarks
    from topologies.atomic import write_text

    rows = rows_of(frame)
    target = folder / "comparison.md"
    write_text(target, comparison(rows))
    files = [target]
    with styled():
        for name, figure in drawn(rows):
            files += save(figure, folder, name)
    return [summary(rows), *remarks(rows), *map(str, files)]
