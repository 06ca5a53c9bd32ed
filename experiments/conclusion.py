"""What an experiment ends with: the tables and plots that its file names, beside its results, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.files import Experiment, Plot
from experiments.record import DEFECT, Record
from experiments.runner.store import FAILURES
from topologies import CollbenchError

if TYPE_CHECKING:
    import pandas as pd

    from experiments.tables.layout import Table


@dataclass
class Conclusion:
    """What was made of results.

    Attributes
    ----------
    rows : DataFrame
        The results.
    tables : list of Table
        Those of the file, then the ranking; written to ``tables.md``.
    plots : list of Path
        PNGs; an SVG is beside each.
    remarks : list of str
        What could not be made, and why.
    """

    rows: pd.DataFrame
    tables: list[Table] = field(default_factory=list)
    plots: list[Path] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def conclude(experiment: Experiment, folder: Path) -> Conclusion:
    """Lay out the tables and draw the plots of an experiment whose results are in a folder.

    Raises
    ------
    CollbenchError
        The folder cannot be written.
    """
    from experiments.tables.formats import written
    from experiments.tables.layout import lay_out
    from experiments.tables.ranking import ranking
    from experiments.tables.rows import load_results
    from topologies import OptionError
    from topologies.atomic import write_text

    found = Conclusion(frame := load_results(str(folder)))
    for layout in experiment.tables:
        try:
            found.tables.append(
                lay_out(frame, layout.sides, layout.columns, layout.value, layout.normalise, layout.title)
            )
        except OptionError as error:
            found.remarks.append(f"a table could not be drawn: {error}")
    found.tables.append(ranking(frame))
    write_text(folder / "tables.md", "\n".join(written(table, "markdown") for table in found.tables))
    _draw(experiment, folder, found)
    return found


def _draw(experiment: Experiment, folder: Path, found: Conclusion) -> None:
    """Draw the plots of a file into a folder beside its results."""
    from experiments.plots.drawing import Drawing, draw, of_results

    drawings: list[Drawing] = []
    for each in experiment.plots:
        plot = Plot(kind=each) if isinstance(each, str) else each
        try:
            drawings += of_results([folder], [plot.kind], plot.nbytes, plot.patterns)
        except CollbenchError as error:
            found.remarks.append(f"the plot {plot.kind} could not be drawn: {error}")
    if drawings:
        found.plots = [path for path in draw(drawings, folder / "plots") if path.suffix == ".png"]


def complaints(records: Sequence[Record]) -> tuple[int, list[str]]:
    """Return an exit status, 1 if nothing worked or a score is above its bound, and what is to be said of the runs."""
    failed = [record for record in records if record.status in FAILURES]
    said = []
    if failed:
        said.append(f"{len(failed)} of {len(records)} runs failed, each with its reason in the results; --retry does "
                    "them again")  # fmt: skip
    defects = [record for record in records if record.reason.startswith(DEFECT)]
    said += [f"{each.synthesizer} on {each.topology}, {each.collective}: {each.reason}" for each in defects]
    return (1 if defects or not any(record.status == "ok" for record in records) else 0), said
