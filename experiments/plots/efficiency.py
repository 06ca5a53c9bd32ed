"""Share of the provable bound that each synthesizer reaches: a line of points for each topology, a panel for each size.

Every synthesizer has a height of its own within a topology, so that no point hides another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plots.rows import absent, entrants, medians, paged, shown_sizes
from experiments.plots.style import GREY, legend_of, looks, note, title_of
from topologies import format_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

COLUMNS = ("efficiency",)

_PLACES = 12

#: Part of the height of a topology that its points spread over.
_FILLED = 0.7


def figures(rows: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) for each collective, and further ones where there are many topologies.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns it.
    """
    for name, of_it, collective, places in paged(rows, "efficiency", _PLACES):
        yield name, _figure(of_it, collective, places)


def _figure(rows: pd.DataFrame, collective: str, places: Sequence[str]) -> Figure:
    """Return the points of some topologies."""
    from matplotlib.figure import Figure

    series, others = entrants(rows)
    look = looks(series)
    values, missing = medians(rows, "efficiency"), absent(rows)
    sizes, remark = shown_sizes(rows)
    height = len(places) * max(0.32 + 0.08 * len(look), 0.55)
    figure = Figure(figsize=(10.5, 1.7 + height), layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    step = _FILLED / max(len(look), 1)
    legend: dict[str, Artist] = {}
    for axes, size in zip(panels, sizes, strict=True):
        for lane, (name, each) in enumerate(look.items()):
            offset = -_FILLED / 2 + (lane + 0.5) * step
            points = [(values[place, size, name], at + offset) for at, place in enumerate(places)
                      if (place, size, name) in values]  # fmt: skip
            if points:
                axes.plot(*zip(*points, strict=True), each.marker, color=each.colour, label=each.label)
            for at, place in enumerate(places):
                if (place, size, name) in missing:
                    axes.text(0.01, at + offset, f"{each.label}: {missing[place, size, name]}", fontsize=6.5,
                              color=GREY, va="center")  # fmt: skip
        axes.axvline(1, color="black", linewidth=1.8, zorder=1, label="Bound (provable)")
        for at in range(1, len(places)):
            axes.axhline(at - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0.5)
        axes.set_title(f"{title_of(collective)}, {format_bytes(size)}")
        axes.set_xlim(0, 1.05 * max([1.0, *(value for (_, of, _), value in values.items() if of == size)]))
        axes.set_xlabel("efficiency (bound ÷ time, %)")
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        legend |= legend_of(axes)
    panels[0].set_yticks(range(len(places)), [place.replace("@", "\n@") for place in places])
    panels[0].set_ylim(len(places) - 0.5, -0.5)  # the first at the top
    panels[0].set_ylabel("topology")
    figure.legend(list(legend.values()), list(legend), loc="outside upper center", ncols=min(len(legend), 7))
    unsupported = "n/a: not supported." if "n/a" in missing.values() else ""
    note(figure, " ".join(filter(None, ["Verified schedules, simulated (α–β).", unsupported, others, remark])))
    return figure
