"""Synthesis time: how long each synthesizer took on each network and collective, the median over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from experiments.plots.style import looks, note, title_of
from experiments.tables.rows import Row
from experiments.taccl_study.published import published

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def synthesis_figure(rows: Sequence[Row]) -> Figure:
    """Return seconds on a log axis, a line of points for each network and collective, published ones beside them.

    Parameters
    ----------
    rows : sequence of dict
        Rows of results; figures that are missing are None.
    """
    from matplotlib.figure import Figure

    problems = list(dict.fromkeys((row["topology"], row["collective"]) for row in rows))
    look = looks(list(dict.fromkeys(row["label"] for row in rows)))
    figure = Figure(figsize=(8.0, 1.4 + 0.38 * len(problems)), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    for name, each in look.items():
        points = []
        for place, problem in enumerate(problems):
            took = [row["synthesis_s"] for row in rows if row["label"] == name and row["synthesis_s"]
                    and (row["topology"], row["collective"]) == problem]  # fmt: skip
            points += [(median(took), place)] if took else []
        if points:
            axes.plot(*zip(*points, strict=True), each.marker, color=each.colour, markerfacecolor="none",
                      markeredgewidth=1.4, label=each.label)  # fmt: skip
    for place, problem in enumerate(problems):
        theirs = [each.synthesis_s for each in published(*problem) if each.who == "TACCL" and each.synthesis_s]
        for seconds in dict.fromkeys(theirs):
            axes.plot(seconds, place, "*", color="black", markerfacecolor="none", markersize=10,
                      label="TACCL (published)")  # fmt: skip
    axes.set_yticks(range(len(problems)), [f"{title_of(kind)}, {network}" for network, kind in problems])
    axes.set_ylim(len(problems) - 0.5, -0.5)
    axes.set_xlabel("synthesis time (s), median over sizes")
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(list(unique.values()), list(unique), loc="outside upper center", ncols=4)
    note(figure, "Published times are of a commercial solver on another machine.")
    return figure
