"""Bandwidth of each algorithm on each network over the paper's ideal: bars after the paper's AllReduce comparison.

The mark across each group of bars is the provable bound. It may lie above 1, and so may bars: see `tacos_study.ideal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.bars import Bars, grouped_bars
from experiments.plots.style import looks, note, title_of
from experiments.tables.rows import Row
from experiments.tacos_study.networks import network_label, network_shape
from topologies import format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bandwidth_figure(rows: Sequence[Row], kind: str, sizes: Sequence[int]) -> Figure:
    """Return the bars of one collective, a panel for each size, a group for each network.

    Parameters
    ----------
    rows : sequence of dict
        As `tables.compared` makes them; those of other collectives and sizes are ignored.
    kind : str
    sizes : sequence of int
        Panels, top to bottom.
    """
    from matplotlib.figure import Figure

    networks = list(dict.fromkeys(row["topology"] for row in rows))
    algorithms = list(dict.fromkeys(row["synthesizer"] for row in rows))
    figure = Figure(figsize=(10.5, 1.2 + 2.9 * len(sizes)), layout="constrained")
    panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False)[:, 0]
    for axes, size in zip(panels, sizes, strict=True):
        chosen = {(row["topology"], row["synthesizer"]): row for row in rows
                  if row["collective"] == kind and row["size"] == size}  # fmt: skip
        grouped_bars(axes, len(networks), looks(algorithms), _bars(chosen, networks, algorithms),
                     one="Ideal (of the paper)", written="tacos")  # fmt: skip
        axes.set_title(f"{title_of(kind)}, {format_bytes(size)}")
        axes.set_ylabel("bandwidth ÷ ideal")
    names = [f"{network_label(network)}\n{network_shape(network)}".rstrip() for network in networks]
    panels[-1].set_xticks(range(len(networks)), names)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    note(
        figure,
        "Verified schedules, simulated (α–β); every algorithm that cuts its data is tuned on the same ladder. "
        "After the AllReduce comparison of TACOS (MICRO'24).",
    )
    return figure


def _bars(rows: dict[tuple[str, str], Row], networks: Sequence[str], algorithms: Sequence[str]) -> Bars:
    """Return the bars of one size: shares of the ideal, and the bounds on the same scale."""
    bars = Bars()
    for place, network in enumerate(networks):
        for algorithm in algorithms:
            row = rows.get((network, algorithm))
            if row is None:
                continue
            bars.heights[place, algorithm] = row["share_of_ideal"] or 0.0
            if row["status"] != "ok":
                bars.absent[place, algorithm] = "n/a" if row["status"] == "unsupported" else row["status"]
            if row["bound_us"]:
                bars.marks[place] = row["ideal_us"] / row["bound_us"]
    return bars
