"""Bus bandwidth against size, a panel for each topology: the plot of nccl-tests, with the provable bound as a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.plots.rows import medians, paged, series_of
from experiments.plots.style import Look, legend_of, looks, note, spread, title_of
from topologies import format_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("busbw_gbps", "bound_us", "ranks")

_PANELS, _ACROSS = 12, 3

#: Sizes written on an axis.
_TICKS = 5


def figures(rows: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) for each collective, and further ones where there are many topologies.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns it.
    """
    for name, of_it, collective, places in paged(rows, "busbw", _PANELS):
        yield name, _figure(of_it, collective, places)


def _figure(rows: pd.DataFrame, collective: str, places: Sequence[str]) -> Figure:
    """Return the panels of some topologies."""
    from matplotlib.figure import Figure

    look = looks(series_of(rows))
    across = min(_ACROSS, len(places))
    down = -(-len(places) // across)
    figure = Figure(figsize=(max(3.5 * across, 6.5), 1.2 + 2.5 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    limits = _limits(rows, collective)
    legend: dict[str, Artist] = {}
    for axes, place in zip(panels, places, strict=False):
        _panel(axes, rows[rows["place"] == place], limits.get(place, {}), look)
        axes.set_title(place, fontsize=9 if len(place) > 30 else 10, wrap=True)
        legend |= legend_of(axes)
    for axes in panels[len(places) :]:
        axes.set_axis_off()
    for at in range(0, len(places), across):
        panels[at].set_ylabel(f"{title_of(collective)} busbw (GB/s)")
    for at in range(max(len(places) - across, 0), len(places)):
        panels[at].set_xlabel("size (bytes)")
    figure.legend(list(legend.values()), list(legend), loc="outside upper center", ncols=min(len(legend), 3 + across))
    note(figure, "busbw as nccl-tests counts it; the bound is what no schedule can beat.")
    return figure


def _limits(rows: pd.DataFrame, collective: str) -> dict[str, dict[int, float]]:
    """Return the busbw of the bound by place and size, in GB/s."""
    found: dict[str, dict[int, float]] = {}
    known = rows[(rows["bound_us"] > 0) & (rows["ranks"] >= 1)]
    bounds = known.groupby(["place", "size", "ranks"])["bound_us"].median().reset_index()
    for place, size, ranks, bound in bounds.itertuples(index=False, name=None):
        limit = bound_gbps(collective, int(ranks), size, bound)
        if limit is not None:
            found.setdefault(place, {})[int(size)] = limit
    return found


def bound_gbps(collective: str, ranks: int, size: float, bound_us: float) -> float | None:
    """Return the busbw of a bound in GB/s; None for a collective of which no factor is known.

    Parameters
    ----------
    collective : str
    ranks : int
    size : float
        Bytes.
    bound_us : float
        Above 0.
    """
    from simulator import busbw_factor
    from topologies.exceptions import CollectiveError

    try:
        return busbw_factor(collective, ranks) * size / bound_us / 1e3
    except CollectiveError:  # a collective of a later version: its bandwidths stand, its bound is unknown
        return None


def _panel(axes: Axes, rows: pd.DataFrame, limits: Mapping[int, float], look: Mapping[str, Look]) -> None:
    """Draw the lines of one topology."""
    bandwidths = medians(rows, "busbw_gbps")
    axes.set_xscale("log")
    points = sorted((size, value) for size, value in limits.items() if size > 0)
    if points:
        axes.plot(*zip(*points, strict=True), color="black", linewidth=1.8, marker="_" if len(points) == 1 else None,
                  markersize=18, label="Bound (provable)")  # fmt: skip
    for name, each in look.items():
        points = sorted((size, value) for (_, size, who), value in bandwidths.items() if who == name and size > 0)
        if points:
            # Hollow, so that a point under another can still be seen.
            axes.plot(*zip(*points, strict=True), color=each.colour, marker=each.marker, markerfacecolor="none",
                      label=each.label)  # fmt: skip
    axes.set_ylim(bottom=0)
    sizes = spread(sorted(int(size) for size in rows["size"].unique() if size > 0), _TICKS)
    if sizes:
        axes.set_xticks(sizes, [format_bytes(size) for size in sizes])
        axes.set_xticks([], minor=True)
        if len(sizes) == 1:
            axes.set_xlim(sizes[0] / 10, sizes[0] * 10)
