"""Distributions of which percentiles are known, as lines: a panel for each workload, a line for each network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, workload_label
from experiments.topoopt_study.measure import PERCENTILES
from experiments.topoopt_study.rows import middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_distributions(
    panels: Sequence[Axes], workloads: Sequence[str], points: Mapping[tuple, list[Row]], column: str, factor: float
) -> None:
    """Draw percentiles, each the median over seeds, upward against the values that lie there.

    Parameters
    ----------
    panels : sequence of Axes
        One for each workload.
    workloads : sequence of str
    points : mapping of (workload, network) to rows
    column : str
        A list at `measure.PERCENTILES`; nothing is drawn of an empty one.
    factor : float
        Values are drawn times this.
    """
    for axes, workload in zip(panels, workloads, strict=True):
        for name, look in LOOKS.items():
            values = middle([row[column] for row in points.get((workload, name), [])])
            if values:
                axes.plot([value * factor for value in values], PERCENTILES, color=look.colour, marker=look.marker,
                          markerfacecolor="none", markersize=4, label=look.label,
                          linestyle="--" if name == "ideal_switch" else "-",
                          linewidth=2.2 if name == "topoopt" else 1.2)  # fmt: skip
        axes.set_title(workload_label(workload))
        axes.set_yticks([0, 25, 50, 75, 100])
