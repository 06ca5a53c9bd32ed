"""Figures of the study, one module each, after those of TopoOpt (arXiv 2202.00433)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.tables.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawn"]


def drawn(rows: Sequence[Row]) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) of all that rows have figures of; the name is that of its file.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them.
    """
    from experiments.topoopt_study.figures.bandwidth import bandwidth_figure
    from experiments.topoopt_study.figures.convergence import convergence_figure
    from experiments.topoopt_study.figures.cost import cost_figure
    from experiments.topoopt_study.figures.dollars import dollars_figure
    from experiments.topoopt_study.figures.link_load import link_load_figure
    from experiments.topoopt_study.figures.prototype import SERVERS, prototype_figure
    from experiments.topoopt_study.figures.relative import relative_figure
    from experiments.topoopt_study.figures.tax import tax_figure
    from experiments.topoopt_study.rows import cases
    from topologies.costs import Costs

    of_case = {"iteration": bandwidth_figure, "tax": tax_figure, "link_load": link_load_figure,
               "convergence": convergence_figure}  # fmt: skip
    for case in cases(rows):
        if case.servers == SERVERS:
            figures = {"prototype": prototype_figure(rows, case)}
        else:
            figures = {name: figure(rows, case) for name, figure in of_case.items()}
        for name, made in figures.items():
            if made is not None:
                yield f"{name}_{case.servers}x{case.ports}", made
    for servers in dict.fromkeys(case.servers for case in cases(rows) if case.servers != SERVERS):
        for name, made in (("relative", relative_figure(rows, servers)), ("dollars", dollars_figure(rows, servers))):
            if made is not None:
                yield f"{name}_{servers}", made
    yield "cost", cost_figure(Costs.read(), sorted({case.ports for case in cases(rows)}) or [4, 8])
