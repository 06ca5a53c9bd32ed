"""Time of an iteration against the bandwidth of a port: a panel for each workload, a line for each network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import note
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, label_axes, legend, panels, ticks
from experiments.topoopt_study.rows import Case, bandwidths, grouped, networks, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def bandwidth_figure(rows: Sequence[Row], case: Case) -> Figure | None:
    """Return the panels of a case on log axes; None where nothing was measured at two bandwidths.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them; those of other cases are ignored.
    case : Case
    """
    found = grouped([row for row in rows if row["case"] == case], "workload", "network")
    lines = {key: of_it for key, of_it in found.items() if len(bandwidths(of_it)) > 1}
    if not lines:
        return None
    workloads = list(dict.fromkeys(workload for workload, _ in lines))
    figure, drawn = panels(workloads, 2.7)
    for axes, workload in zip(drawn, workloads, strict=True):
        _panel(axes, {name: of_it for (which, name), of_it in lines.items() if which == workload})
    label_axes(drawn, "bandwidth of a port (Gb/s)", "time of an iteration (ms)")
    legend(figure, drawn)
    note(figure, f"{case}; computing, then all communication, of verified schedules, simulated (α–β). Median over "
                 "seeds, bars from least to most.\nFat-trees cost as much as TopoOpt's fabric with such ports; the "
                 "ideal switch has d times the bandwidth. After TopoOpt (NSDI'23).")  # fmt: skip
    return figure


def _panel(axes: Axes, found: dict[str, list[Row]]) -> None:
    """Draw the lines of a workload."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    widths = bandwidths(row for of_it in found.values() for row in of_it)
    for name in networks(row for of_it in found.values() for row in of_it):
        look, ideal = LOOKS[name], name == "ideal_switch"
        found_at = {at: spread(of_it, "no_overlap_s") for (at,), of_it in grouped(found[name], "gbit_per_s").items()}
        points = {at: each for at, each in sorted(found_at.items()) if each}
        at = list(points)
        middle, least, most = ([1e3 * each[part] for each in points.values()] for part in range(3))
        errors = [[mid - low for mid, low in zip(middle, least, strict=True)],
                  [high - mid for mid, high in zip(middle, most, strict=True)]]  # fmt: skip
        axes.errorbar(at, middle, errors, label=look.label, color=look.colour, marker=look.marker,
                      markerfacecolor="none", linestyle="--" if ideal else "-",
                      linewidth=2.2 if name == "topoopt" else 1.2, elinewidth=1, capsize=2,
                      zorder=4 if ideal else 3 if name == "topoopt" else 2)  # fmt: skip
    ticks(axes.xaxis, widths)
    ticks(axes.yaxis)
