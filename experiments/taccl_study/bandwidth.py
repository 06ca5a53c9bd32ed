"""Algorithm bandwidth against size: a panel for each network and collective, published figures beside measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.plots.style import legend_of, looks, note, title_of
from experiments.tables.rows import Row
from experiments.taccl_study.published import published
from topologies import format_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Published figures are black and hollow, one mark for each system.
_MARKS = {"TACCL": "*", "TE-CCL": "P"}


def bandwidth_figure(rows: Sequence[Row]) -> Figure:
    """Return the panels: networks across, collectives down.

    Parameters
    ----------
    rows : sequence of dict
        Rows of results; figures that are missing are None.
    """
    from matplotlib.figure import Figure

    networks = list(dict.fromkeys(row["topology"] for row in rows))
    kinds = list(dict.fromkeys(row["collective"] for row in rows))
    look = looks(list(dict.fromkeys(row["label"] for row in rows)))
    figure = Figure(figsize=(max(8.0, 1.0 + 3.6 * len(networks)), 1.3 + 2.6 * len(kinds)), layout="constrained")
    panels = figure.subplots(len(kinds), len(networks), squeeze=False)
    legend: dict[str, Artist] = {}
    for down, kind in enumerate(kinds):
        for across, network in enumerate(networks):
            axes = panels[down, across]
            of_it = [row for row in rows if (row["topology"], row["collective"]) == (network, kind)]
            if not of_it:
                axes.set_axis_off()
                continue
            _panel(axes, of_it, network, kind, look)
            axes.set_title(f"{title_of(kind)} on {network}")
            legend |= legend_of(axes)
            if down == len(kinds) - 1:
                axes.set_xlabel("size (bytes)")
        panels[down, 0].set_ylabel("algbw (GB/s)")
    figure.legend(list(legend.values()), list(legend), loc="outside upper center", ncols=min(len(legend), 4))
    note(figure, "Verified schedules, simulated (α–β). Published figures are those of their papers, on their models;\n"
                 "where a paper gives one figure for large buffers it stands at the right edge.")  # fmt: skip
    return figure


def _panel(axes: Axes, rows: Sequence[Row], network: str, kind: str, look: Any) -> None:
    """Draw the lines of one network and collective."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    bounds = {row["size"]: row["size"] / row["bound_us"] / 1e3 for row in rows if row["bound_us"]}
    axes.plot(*zip(*sorted(bounds.items()), strict=True), color="black", linewidth=1.6, label="Bound (provable)")
    for name, each in look.items():
        points = sorted((row["size"], row["algbw_gbps"]) for row in rows if row["label"] == name and row["algbw_gbps"])
        if points:
            axes.plot(*zip(*points, strict=True), color=each.colour, marker=each.marker, markerfacecolor="none",
                      label=each.label)  # fmt: skip
    sizes = sorted({row["size"] for row in rows})
    for figure in published(network, kind):
        # Between two sizes that ran a line is only drawn; a published figure there would be measured against it.
        if figure.size is not None and figure.size not in sizes:
            continue
        axes.plot(figure.size or sizes[-1], figure.algbw_gbps, _MARKS[figure.who], color="black",
                  markerfacecolor="none", markersize=9, linestyle="none",
                  label=f"{figure.who} (published)")  # fmt: skip
    shown = sorted({*sizes[:: max(1, len(sizes) // 3)], sizes[-1]})
    axes.set_xticks(shown, [format_bytes(size) for size in shown])
    axes.set_xticks([], minor=True)
