"""Quality against cost: efficiency against synthesis time, with the Pareto front, a panel for each collective.

Means are over the problems that every synthesizer of the panel solved: nobody gains by leaving hard ones out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.rows import KEY, series_of
from experiments.plots.style import Look, legend_of, looks, note, pages, title_of
from topologies.exceptions import FormatError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("efficiency", "synthesis_s")

_PANELS, _ACROSS = 4, 2

#: Times that the clock cannot tell from nothing are drawn here.
_LEAST_S = 1e-6


def figures(rows: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) of all collectives, a panel for each.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns it.

    Raises
    ------
    FormatError
        No run has both figures.
    """
    worked = rows[(rows["status"] == "ok") & rows["efficiency"].notna() & rows["synthesis_s"].notna()]
    if worked.empty:
        raise FormatError("no run that worked has an efficiency and a synthesis_s; the pareto plot needs both")
    points = worked.groupby(KEY, sort=False)[["efficiency", "synthesis_s"]].median().reset_index()
    points["synthesis_s"] = points["synthesis_s"].clip(lower=_LEAST_S)
    for page, collectives in enumerate(pages(points["collective"].unique().tolist(), _PANELS)):
        yield "pareto" + (f"_{page + 1}" if page else ""), _figure(points, collectives)


def _figure(points: pd.DataFrame, collectives: Sequence[str]) -> Figure:
    """Return the panels of some collectives."""
    from matplotlib.figure import Figure

    look = looks(series_of(points))
    across = min(_ACROSS, len(collectives))
    down = -(-len(collectives) // across)
    figure = Figure(figsize=(max(5.2 * across, 7.0), 1.1 + 4.0 * down), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    legend: dict[str, Artist] = {}
    for axes, collective in zip(panels, collectives, strict=False):
        _panel(axes, points[points["collective"] == collective], collective, look)
        legend |= legend_of(axes)
    for axes in panels[len(collectives) :]:
        axes.set_axis_off()
    figure.legend(list(legend.values()), list(legend), loc="outside upper center", ncols=min(len(legend), 2 + across))
    note(figure, "Large: mean efficiency, geometric mean of the time, over the problems that all of the panel solved.\n"
                 "Small: each problem. Front: nobody else is both faster to make and more efficient.")  # fmt: skip
    return figure


def _panel(axes: Axes, points: pd.DataFrame, collective: str, look: dict[str, Look]) -> None:
    """Draw the points of a collective, their means and the front."""
    solvers = points["series"].nunique()
    problems = points.groupby(["place", "size"])["series"].transform("nunique")
    common = points[problems == solvers]
    count = len(common[["place", "size"]].drop_duplicates())
    means = {}
    axes.set_xscale("log")
    for name, each in look.items():
        of_it = points[points["series"] == name]
        if of_it.empty:
            continue
        axes.plot(of_it["synthesis_s"], of_it["efficiency"], each.marker, color=each.colour, alpha=0.3, markersize=3.5,
                  markeredgewidth=0)  # fmt: skip
        chosen = common[common["series"] == name] if count else of_it
        mean = float(np.exp(np.log(chosen["synthesis_s"]).mean())), float(chosen["efficiency"].mean())
        means[name] = mean
        axes.plot(*mean, each.marker, color=each.colour, markersize=10, markeredgecolor="black", label=each.label,
                  zorder=4)  # fmt: skip
    on_front = front(list(means.values()))
    axes.plot(*zip(*on_front, strict=True), color="black", linestyle="--", linewidth=1.2, drawstyle="steps-post",
              marker="o", markersize=16, markerfacecolor="none", label="Pareto front", zorder=3)  # fmt: skip
    over = f"{count} common problem{'' if count == 1 else 's'}" if count else "no common problem: each over its own"
    axes.set_title(f"{title_of(collective)} ({over})", fontsize=10)
    axes.set_xlabel("synthesis time (s)")
    axes.set_ylabel("efficiency (bound ÷ time, %)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    axes.set_ylim(0, 1.05 * max(1.0, float(points["efficiency"].max())))
    axes.tick_params(labelbottom=True, labelleft=True)


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, quality) that no other one beats in both, by rising cost.

    Parameters
    ----------
    points : sequence of (float, float)
        Less cost and more quality are better; of equal points one is returned.
    """
    kept: list[tuple[float, float]] = []
    for cost, quality in sorted(points, key=lambda point: (point[0], -point[1])):
        if not kept or quality > kept[-1][1]:
            kept.append((cost, quality))
    return kept
