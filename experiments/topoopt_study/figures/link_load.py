"""How evenly links are used: the distribution of how long each link is busy in an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import note
from experiments.tables.rows import Row
from experiments.topoopt_study.distribution import draw_distributions
from experiments.topoopt_study.looks import label_axes, legend, panels, ticks
from experiments.topoopt_study.rows import Case, at_reference, bandwidths, grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Links are drawn down to this part of the busiest one; what is used less stands at the left edge.
_LEAST = 1e-3


def link_load_figure(rows: Sequence[Row], case: Case) -> Figure | None:
    """Return the distributions of a case at the reference bandwidth; None where nothing was measured.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them; those of other cases are ignored.
    case : Case
    """
    chosen = at_reference([row for row in rows if row["case"] == case])
    points = grouped([row for row in chosen if row["link_busy_us"]], "workload", "network")
    workloads = list(dict.fromkeys(workload for workload, _ in points))
    if not workloads:
        return None
    figure, drawn = panels(workloads, 2.7)
    for axes in drawn:
        axes.set_xscale("log", nonpositive="clip")
    draw_distributions(drawn, workloads, points, "link_busy_us", 1e-3)
    for axes, workload in zip(drawn, workloads, strict=True):
        values = [each / 1e3 for (which, _), of_it in points.items() if which == workload
                  for row in of_it for each in row["link_busy_us"] if each]  # fmt: skip
        if values:
            axes.set_xlim(max(min(values), _LEAST * max(values)) / 1.3, max(values) * 1.3)
        ticks(axes.xaxis)
    label_axes(drawn, "time that a link is busy (ms)", "of links (%)")
    legend(figure, drawn)
    note(figure, f"{case}, {bandwidths(chosen)[0]:g} Gb/s; all traffic of an iteration, with the best strategy of "
                 "each network, median over seeds. An upright line is an even load.\nIdle links stand at the left "
                 "edge. Known at percentiles 0, 10, 25, 50, 75, 90, 99, 100. After TopoOpt (NSDI'23).")  # fmt: skip
    return figure
