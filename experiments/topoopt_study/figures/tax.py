"""How far model-parallel traffic goes: the bandwidth tax as bars, and the distribution of path lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import note
from experiments.tables.rows import Row
from experiments.topoopt_study.distribution import draw_distributions
from experiments.topoopt_study.looks import LOOKS, legend, ticks, workload_label
from experiments.topoopt_study.rows import Case, at_reference, bandwidths, grouped, networks, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Part of the space of a group that its bars fill.
_FILLED = 0.86

#: Hops up to which each power of two is written.
_FEW_HOPS = 12


def tax_figure(rows: Sequence[Row], case: Case) -> Figure | None:
    """Return bars and distributions of a case at the reference bandwidth; None where there is no such traffic.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them; those of other cases are ignored.
    case : Case
    """
    from matplotlib.figure import Figure

    chosen = at_reference([row for row in rows if row["case"] == case])
    taxed = [row for row in chosen if row["bandwidth_tax"] is not None]
    points = grouped(taxed, "workload", "network")
    workloads = list(dict.fromkeys(workload for workload, _ in points))
    if not workloads:
        return None
    figure = Figure(figsize=(10.5, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, len(workloads))
    bars = figure.add_subplot(grid[0, :])
    _bars(bars, workloads, networks(taxed), points)
    below = [figure.add_subplot(grid[1, at]) for at in range(len(workloads))]
    draw_distributions(below, workloads, points, "hops", 1)
    for axes in below:
        axes.set_xlabel("hops")
        axes.set_xscale("log", base=2)
        step = 1 if axes.get_xlim()[1] <= _FEW_HOPS else 2  # more powers of two would run into each other
        ticks(axes.xaxis, [2**power for power in range(0, 12, step)])
    below[0].set_ylabel("of messages (%)")
    legend(figure, [bars, *below])
    note(
        figure,
        f"{case}, {bandwidths(chosen)[0]:g} Gb/s; model-parallel traffic of the best strategy of each network (none "
        "where there is no bar), median over seeds.\nHops are from server to server, through switches or not. "
        "Distributions are known at percentiles 0, 10, 25, 50, 75, 90, 99, 100.\nAfter TopoOpt (NSDI'23).",
    )
    return figure


def _bars(axes: Axes, workloads: Sequence[str], names: Sequence[str], points: dict[tuple, list[Row]]) -> None:
    """Draw the bandwidth tax: a group for each workload."""
    width = _FILLED / len(names)
    for place, name in enumerate(names):
        for group, workload in enumerate(workloads):
            tax = spread(points.get((workload, name), []), "bandwidth_tax")
            if tax is None:
                continue
            x = group - _FILLED / 2 + (place + 0.5) * width
            axes.bar(x, tax.median, width * 0.92, color=LOOKS[name].colour, label=LOOKS[name].label)
            axes.vlines(x, tax.least, tax.most, color="black", linewidth=1)
            axes.annotate(f"{tax.median:.2f}", (x, tax.most), (0, 2), textcoords="offset points", rotation=90,
                          ha="center", va="bottom", fontsize=6.5)  # fmt: skip
    axes.set_title("Bandwidth tax")
    axes.set_ylabel("bytes × hops ÷ bytes")
    axes.margins(y=0.15)
    axes.set_xticks(range(len(workloads)), [workload_label(each) for each in workloads])
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_xlim(-0.6, len(workloads) - 0.4)
