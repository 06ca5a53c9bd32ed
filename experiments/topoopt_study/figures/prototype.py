"""The paper's prototype, 12 servers of four ports: time of an iteration on each network, and what it consists of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import GREY, note
from experiments.tables.layout import four_digits
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, label_axes, panels
from experiments.topoopt_study.rows import Case, bandwidths, grouped, networks, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Servers of the prototype (arXiv 2202.00433, section 6).
SERVERS = 12


def prototype_figure(rows: Sequence[Row], case: Case) -> Figure | None:
    """Return the bars of a case: a panel for each workload, a bar for each network; None where nothing worked.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them; those of other cases are ignored, and all but the slowest ports.
    case : Case
    """
    chosen = [row for row in rows if row["case"] == case]
    chosen = [row for row in chosen if row["gbit_per_s"] == bandwidths(chosen)[0]]
    points = grouped(chosen, "workload", "network")
    workloads = list(dict.fromkeys(workload for workload, _ in points))
    if not workloads:
        return None
    names = networks(chosen)
    figure, drawn = panels(workloads, 0.7 + 0.22 * len(names), sharey=True)
    for axes, workload in zip(drawn, workloads, strict=True):
        _panel(axes, names, {name: points.get((workload, name), []) for name in names})
    label_axes(drawn, "time of an iteration (ms)", "")
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    note(figure, f"{case}, {bandwidths(chosen)[0]:g} Gb/s; verified schedules, simulated (α–β), no overlap; median "
                 "over seeds.\nThe paper measures such a prototype; this is a simulation of it.")  # fmt: skip
    return figure


def _panel(axes: Axes, names: Sequence[str], found: dict[str, list[Row]]) -> None:
    """Draw the bars of a workload, from computing to the whole time."""
    for place, name in enumerate(names):
        compute, whole = spread(found[name], "compute_s"), spread(found[name], "no_overlap_s")
        if compute is None or whole is None:
            axes.annotate(" not measured", (0, place), va="center", fontsize=7.5, color=GREY)
            continue
        axes.barh(place, 1e3 * compute.median, 0.72, color="#E0E0E0", label="" if place else "computing")
        axes.barh(place, 1e3 * (whole.median - compute.median), 0.72, 1e3 * compute.median, color=LOOKS[name].colour,
                  label="" if place else "communication (in the colour of the network)")  # fmt: skip
        axes.annotate(f" {four_digits(1e3 * whole.median)}", (1e3 * whole.median, place), va="center", fontsize=7.5)
    axes.set_yticks(range(len(names)), [LOOKS[name].label for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.2)
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    axes.set_xlim(left=0)
