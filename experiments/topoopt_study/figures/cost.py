"""What a network costs a server against the bandwidth that it gives: TopoOpt, cables that stay, and fat-trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import note
from experiments.topoopt_study.looks import LOOKS, legend, ticks
from experiments.topoopt_study.prices import PORTED, TREES, ported_usd, sold
from topologies.costs import Costs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colour of each kind with ports.
_COLOURS = {
    "patch_panel": LOOKS["topoopt"].colour, "optical_switch": LOOKS["topoopt_released"].colour,
    "direct": LOOKS["random_regular"].colour,
}  # fmt: skip

#: Lines and marks of numbers of ports, in order.
_PORTS = (("-", "o"), ("--", "s"), (":", "D"), ("-.", "v"))

_TREES = {1: LOOKS["fat_tree"], 2: LOOKS["oversubscribed"]}


def cost_figure(costs: Costs, ports: Sequence[int]) -> Figure:
    """Return USD against Gb/s of a server on log axes, marks at the bandwidths of ports that are sold.

    Parameters
    ----------
    costs : Costs
    ports : sequence of int
        Numbers of ports, at most four of them are drawn.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    widths = sold(costs)
    for kind, name in PORTED.items():
        for count, (line, marker) in zip(ports, _PORTS, strict=False):
            axes.plot([count * width for width in widths], [ported_usd(costs, kind, count, width) for width in widths],
                      color=_COLOURS[kind], linestyle=line, marker=marker, markerfacecolor="none",
                      label=f"{name[:1].upper()}{name[1:]}, d = {count}")  # fmt: skip
    totals = sorted({count * width for count in (1, *ports) for width in widths})
    for ratio, name in TREES.items():
        look = _TREES[ratio]
        usd = [costs.fat_tree_usd(1, total, ratio) for total in totals]
        axes.plot(totals, usd, color=look.colour, marker=look.marker, markerfacecolor="none",
                  label=f"{name[:1].upper()}{name[1:]}")  # fmt: skip
    axes.axvline(widths[-1], color="#999999", linewidth=0.8, linestyle=":", label="Fastest part that is sold")
    axes.set_xlim(min(totals) / 1.2, max(totals) * 1.2)
    ticks(axes.xaxis, [10, 25, 50, 100, 200, 400, 800, 1600, 3200])
    ticks(axes.yaxis)
    axes.set_xlabel("bandwidth of a server, all ports (Gb/s)")
    axes.set_ylabel("network cost of a server (USD)")
    legend(figure, [axes], ncols=3)
    note(figure, "Prices after TopoOpt (NSDI'23), in topologies/costs.csv. Networks of equal cost are at one height.\n"
                 "Beyond the fastest part that is sold, a fat-tree has several side by side.")  # fmt: skip
    return figure
