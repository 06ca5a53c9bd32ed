"""Speed of each synthesizer relative to one of them: groups of bars by topology, a panel for each size.

The one is Ring where it takes part, as in the comparisons of TACOS (MICRO'24) and TACCL (NSDI'23). The mark across each
group is the provable bound on the same scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from experiments.fairness import baseline
from experiments.plots.rows import absent, entrants, medians, paged, short_label, shown_sizes
from experiments.plots.style import GREY, Look, legend_of, looks, note, title_of
from topologies import format_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("time_us", "bound_us")

_GROUPS = 9

#: Part of the space of a group that its bars fill.
_FILLED = 0.82

#: Part of the height of a panel that a figure written upright takes.
_ROOM = 0.14


def figures(rows: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) for each collective, and further ones where there are many topologies.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns it.
    """
    for name, of_it, collective, places in paged(rows, "bars", _GROUPS):
        yield name, _figure(of_it, collective, places)


def _figure(rows: pd.DataFrame, collective: str, places: Sequence[str]) -> Figure:
    """Return the bars of some topologies."""
    from matplotlib.figure import Figure

    series, others = entrants(rows)
    times, bounds, missing = medians(rows, "time_us"), medians(rows, "bound_us"), absent(rows)
    solved = {name: sum(key[2] == name for key in times) for name in series}
    base = baseline(solved)
    look = looks(series)
    sizes, remark = shown_sizes(rows)
    figure = Figure(figsize=(10.5, 1.3 + 2.7 * len(sizes)), layout="constrained")
    panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False)[:, 0]
    legend: dict[str, Artist] = {}
    for axes, size in zip(panels, sizes, strict=True):
        bars = Bars()
        for at, place in enumerate(places):
            unit = times.get((place, size, base))
            for name in series:
                key = (place, size, name)
                if key in times and unit:
                    bars.heights[at, name] = unit / times[key] if times[key] else 0.0
                elif key in missing:
                    bars.absent[at, name] = missing[key]
            if unit is None and any((place, size, name) in times for name in series):
                bars.absent[at, series[len(series) // 2]] = f"no {look[base].label} to compare"
            limit = [bounds[key] for name in series if (key := (place, size, name)) in bounds]
            if unit and limit and limit[0]:
                bars.marks[at] = unit / limit[0]
        best = max(series, key=lambda name: sum(height for (_, who), height in bars.heights.items() if who == name))
        grouped_bars(axes, len(places), look, bars, one=f"{look[base].label} = 1", written=best)
        axes.set_title(f"{title_of(collective)}, {format_bytes(size)}")
        axes.set_ylabel(f"speed ÷ {look[base].label}\n(ratio of times)")
        legend |= legend_of(axes)
    panels[-1].set_xticks(range(len(places)), [short_label(place) for place in places], fontsize=8)
    panels[-1].set_xlabel("topology")
    figure.legend(list(legend.values()), list(legend), loc="outside upper center", ncols=min(len(legend), 7))
    unsupported = "n/a: not supported." if "n/a" in missing.values() else ""
    note(figure, " ".join(filter(None, ["Verified schedules, simulated (α–β).", unsupported, others, remark])))
    return figure


@dataclass
class Bars:
    """What the groups of bars of a panel show.

    Attributes
    ----------
    heights : dict of (group, series) → float
    absent : dict of (group, series) → str
        What is written where a bar would be.
    marks : dict of group → float
        The bound of each group.
    """

    heights: dict[tuple[int, str], float] = field(default_factory=dict)
    absent: dict[tuple[int, str], str] = field(default_factory=dict)
    marks: dict[int, float] = field(default_factory=dict)


def grouped_bars(axes: Axes, groups: int, look: Mapping[str, Look], bars: Bars, one: str, written: str) -> None:
    """Draw groups of bars, the line at 1 and the bounds.

    Parameters
    ----------
    axes : Axes
    groups : int
    look : mapping
        Series in order, and how they look.
    bars : Bars
    one : str
        What the legend says of the line at 1.
    written : str
        The series whose bars carry their figures.
    """
    width = _FILLED / len(look)
    shown: list[tuple[float, float]] = []
    for place, (name, each) in enumerate(look.items()):
        at = np.arange(groups) - _FILLED / 2 + (place + 0.5) * width
        heights = [bars.heights.get((group, name), 0.0) for group in range(groups)]
        axes.bar(at, heights, width * 0.94, color=each.colour, label=each.label)
        for group, x in enumerate(at):
            text = bars.absent.get((group, name))
            if text:
                axes.annotate(text, (x, 0), (0, 2), textcoords="offset points", rotation=90, ha="center", va="bottom",
                              fontsize=7, color=GREY)  # fmt: skip
        if name == written:
            shown = [(x, height) for x, height in zip(at, heights, strict=True) if height]
    # Behind the bars, so that it crosses no figure written on them.
    axes.axhline(1, color="#333333", linestyle="--", linewidth=1, zorder=0.8, label=one)
    for count, (group, mark) in enumerate(bars.marks.items()):
        axes.hlines(mark, group - 0.46, group + 0.46, color="black", linewidth=2,
                    label="" if count else "Bound (provable)")  # fmt: skip
    top = axes.get_ylim()[1]
    for x, height in shown:
        # In the bar, clear of the lines for one and bound; above it where it is too short for that.
        inside = height > _ROOM * top
        mark = bars.marks.get(round(x), 0.0)
        foot = mark if not inside and height < mark < height + _ROOM * top else height
        axes.annotate(f"{height:.2f}", (x, foot), (0, -3 if inside else 2), textcoords="offset points", rotation=90,
                      ha="center", va="top" if inside else "bottom", fontsize=7.5,
                      color="white" if inside else "black")  # fmt: skip
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, groups - 0.4)
