"""Bandwidth of each algorithm on each network over the paper's ideal: bars after the paper's AllReduce comparison.

The mark across each group of bars is the provable bound. It may lie above 1, and so may bars: see `tacos_study.ideal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plotting import colour_of, label_of
from experiments.tacos_study.grid import Network
from experiments.tacos_study.running import Row
from experiments.tacos_study.tables import title_of
from topologies import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Part of the space of a network that its bars fill.
_FILLED = 0.82

#: Part of the height of a panel that a figure written upright takes.
_ROOM = 0.14


def bandwidth_figure(
    rows: Sequence[Row], networks: Sequence[Network], algorithms: Sequence[str], kind: str, sizes: Sequence[int]
) -> Figure:
    """Return the bars of one collective, a panel for each size.

    Parameters
    ----------
    rows : sequence of dict
        As `running.attempt` makes them; those of other collectives and sizes are ignored.
    networks : sequence of Network
        Groups of bars, left to right.
    algorithms : sequence of str
        Bars of a group.
    kind : str
    sizes : sequence of int
        Panels, top to bottom.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 1.2 + 2.9 * len(sizes)), layout="constrained")
    panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False)[:, 0]
    for axes, size in zip(panels, sizes, strict=True):
        chosen = {(row["network"], row["synthesizer"]): row for row in rows
                  if row["collective"] == kind and row["size"] == size}  # fmt: skip
        _panel(axes, chosen, networks, algorithms)
        axes.set_title(f"{title_of(kind)}, {format_bytes(size)}")
        axes.set_ylabel("bandwidth ÷ ideal")
    panels[-1].set_xticks(range(len(networks)), [f"{network.label}\n{network.shape}".rstrip() for network in networks])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    figure.supxlabel(
        "Verified schedules, simulated (α–β); every algorithm that cuts its data is tuned on the same ladder. "
        "After the AllReduce comparison of TACOS (MICRO'24).",
        fontsize=8, color="#666666",
    )  # fmt: skip
    return figure


def _panel(
    axes: Axes, rows: dict[tuple[str, str], Row], networks: Sequence[Network], algorithms: Sequence[str]
) -> None:
    """Draw the groups of bars of one size, the ideal and the bounds."""
    width = _FILLED / len(algorithms)
    shown: list[tuple[float, float]] = []
    for place, algorithm in enumerate(algorithms):
        found = [rows.get((network.label, algorithm)) for network in networks]
        shares = [row["share_of_ideal"] or 0.0 if row else 0.0 for row in found]
        at = np.arange(len(networks)) - _FILLED / 2 + (place + 0.5) * width
        axes.bar(at, shares, width * 0.94, color=colour_of(algorithm), label=label_of(algorithm))
        for x, row in zip(at, found, strict=True):
            if row and row["status"] != "ok":
                text = "n/a" if row["status"] == "unsupported" else row["status"]
                axes.text(x, 0.02, text, rotation=90, ha="center", va="bottom", fontsize=7, color="#666666")
        if algorithm == "tacos":
            shown = [(x, share) for x, share in zip(at, shares, strict=True) if share]
    # Behind the bars, so that it crosses no figure written on them.
    axes.axhline(1, color="#333333", linestyle="--", linewidth=1, zorder=0.8, label="Ideal (of the paper)")
    drawn = False
    for place, network in enumerate(networks):
        row = next((rows[key] for key in rows if key[0] == network.label), None)
        if row and row["bound_us"]:
            axes.hlines(row["ideal_us"] / row["bound_us"], place - 0.46, place + 0.46, color="black", linewidth=2,
                        label="" if drawn else "Bound (provable)")  # fmt: skip
            drawn = True
    top = axes.get_ylim()[1]
    for x, share in shown:
        # In the bar, clear of the lines for ideal and bound; above it where it is too short for that.
        inside = share > _ROOM * top
        axes.annotate(f"{share:.2f}", (x, share), (0, -3 if inside else 2), textcoords="offset points", rotation=90,
                      ha="center", va="top" if inside else "bottom", fontsize=7.5,
                      color="white" if inside else "black")  # fmt: skip
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(networks) - 0.4)
