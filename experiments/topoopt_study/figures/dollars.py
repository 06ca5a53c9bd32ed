"""Time against dollars: what a network costs each server, how long an iteration takes on it, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.pareto import front
from experiments.plots.style import note
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, label_axes, legend, panels, ticks
from experiments.topoopt_study.rows import grouped, networks, spread
from experiments.topoopt_study.tables import APART

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def dollars_figure(rows: Sequence[Row], servers: int) -> Figure | None:
    """Return a panel for each workload, with all ports and bandwidths of so many servers; None where nothing worked.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them.
    servers : int
    """
    chosen = [row for row in rows if row["case"].servers == servers and row["status"] == "ok"]
    workloads = list(dict.fromkeys(row["workload"] for row in chosen))
    if not workloads:
        return None
    figure, drawn = panels(workloads, 2.9)
    for axes, workload in zip(drawn, workloads, strict=True):
        _panel(axes, [row for row in chosen if row["workload"] == workload])
    label_axes(drawn, "network cost of a server (USD)", "time of an iteration (ms)")
    legend(figure, drawn)
    note(figure, f"{servers} servers, all d and bandwidths of ports; time without overlap, median over seeds. Front: "
                 f"nothing else is both cheaper and faster.\nThe {LOOKS[APART].label.lower()}, which no one can buy, "
                 "is priced as a fat-tree and is not on it.")  # fmt: skip
    return figure


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the points of a workload and their front."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    buyable: list[tuple[float, float]] = []
    for name in networks(rows):
        points = []
        of_name = [row for row in rows if row["network"] == name]
        for of_it in grouped(of_name, "case", "gbit_per_s").values():
            usd, time_s = spread(of_it, "usd_per_server"), spread(of_it, "no_overlap_s")
            if usd and time_s:
                points.append((usd.median, 1e3 * time_s.median))
        if points:
            look = LOOKS[name]
            axes.plot(*zip(*points, strict=True), look.marker, label=look.label, color=look.colour,
                      markerfacecolor="none", markersize=5.5)  # fmt: skip
            buyable += points if name != APART else []
    best = [(usd, -time_ms) for usd, time_ms in front([(usd, -time_ms) for usd, time_ms in buyable])]
    if best:
        axes.plot(*zip(*best, strict=True), color="black", linestyle="--", linewidth=1.1, drawstyle="steps-post",
                  label="Pareto front", zorder=1.5)  # fmt: skip
    ticks(axes.xaxis)
    ticks(axes.yaxis)
