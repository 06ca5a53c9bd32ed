"""Synthesis time against NPUs on log-log axes, a panel for each collective, with the exponents of fitted power laws.

A law is fitted to each synthesizer on each kind of network that grows (``mesh:X×Y``), as in the scalability figure of
TACOS (MICRO'24): over different kinds together it would say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.rows import KEY, series_of
from experiments.plots.style import Look, looks, note, pages, spread, title_of
from topologies.exceptions import FormatError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("num_npus", "synthesis_s")

_PANELS, _ACROSS = 4, 2

#: Numbers of NPUs written on an axis.
_TICKS = 6

#: Lines of different kinds of networks.
_DASHES = ("-", "--", ":", "-.")


def figures(rows: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) of all collectives, a panel for each.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns it.

    Raises
    ------
    FormatError
        No run has a synthesis time.
    """
    worked = rows[(rows["status"] == "ok") & (rows["synthesis_s"] > 0) & (rows["num_npus"] > 0)]
    if worked.empty:
        raise FormatError("no run that worked has a synthesis_s above 0 and num_npus; the scaling plot needs both")
    points = worked.groupby([*KEY, "num_npus"], sort=False)["synthesis_s"].median().reset_index()
    for page, collectives in enumerate(pages(points["collective"].unique().tolist(), _PANELS)):
        yield "scaling" + (f"_{page + 1}" if page else ""), _figure(points, collectives)


def _figure(points: pd.DataFrame, collectives: Sequence[str]) -> Figure:
    """Return the panels of some collectives."""
    from matplotlib.figure import Figure

    look = looks(series_of(points))
    ticks = spread(sorted(int(npus) for npus in points["num_npus"].unique()), _TICKS)
    across = min(_ACROSS, len(collectives))
    down = -(-len(collectives) // across)
    figure = Figure(figsize=(max(5.2 * across, 7.0), 0.8 + 4.4 * down), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, collective in zip(panels, collectives, strict=False):
        of_it = points[points["collective"] == collective]
        axes.set_xscale("log")
        axes.set_yscale("log")
        for name, each in look.items():
            of_one = of_it[of_it["series"] == name].sort_values("num_npus")
            if len(of_one):
                _draw(axes, of_one, each)
        axes.set_title(title_of(collective))
        axes.set_xlabel("NPUs")
        axes.set_ylabel("synthesis time (s)")
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.set_xticks(ticks, [f"{npus:,}" for npus in ticks])
        axes.set_xticks([], minor=True)
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.14), ncols=2, fontsize=8)
    for axes in panels[len(collectives) :]:
        axes.set_axis_off()
    figure.suptitle("Synthesis time")
    note(figure, "A point for each topology and size, median of seeds.\nLines: power laws, fitted where a kind of "
                 "network grows through three numbers of NPUs or more.")  # fmt: skip
    return figure


def _draw(axes: Axes, points: pd.DataFrame, look: Look) -> None:
    """Draw the points of one synthesizer, and a line for each kind of network on which it has a trend."""
    axes.plot(points["num_npus"], points["synthesis_s"], look.marker, color=look.colour, markerfacecolor="none",
              markeredgewidth=1.3, label=look.label)  # fmt: skip
    drawn = 0
    for family, of_it in points.groupby(points["place"].map(family_of), sort=False):
        npus = of_it["num_npus"].to_numpy(float)
        law = power_law(npus, of_it["synthesis_s"].to_numpy(float))
        if law:
            ends = np.array([npus.min(), npus.max()])
            axes.plot(ends, law[1] * ends ** law[0], _DASHES[drawn % len(_DASHES)], color=look.colour, linewidth=1.2,
                      label=f"{look.label}, {family}: ∝ NPUs$^{{{round(law[0], 2) + 0:.2f}}}$")  # fmt: skip
            drawn += 1


def family_of(place: str) -> str:
    """Return the kind of network that a topology is a member of: ``mesh:8x8@…`` is ``mesh:X×Y@…``."""
    name, _, rest = place.partition(":")
    shape = re.match(r"\d+(x\d+)*", rest)
    if shape is None:
        return place
    letters = "×".join("XYZUVW"[axis] if axis < 6 else "…" for axis in range(shape[0].count("x") + 1))
    return f"{name}:{letters}{rest[shape.end() :]}"


def power_law(npus: np.ndarray, seconds: np.ndarray) -> tuple[float, float] | None:
    """Return (exponent, factor) of seconds = factor · NPUs^exponent by least squares of the logarithms.

    Parameters
    ----------
    npus, seconds : (N,) float arrays
        All above 0.

    Returns
    -------
    law : (float, float) or None
        None for fewer than three different numbers of NPUs, which are no trend.
    """
    if len(np.unique(npus)) < 3:
        return None
    slope, offset = np.polyfit(np.log(npus), np.log(seconds), 1)
    return float(slope), float(np.exp(offset))
