"""Share of the time for which each link is busy, drawn on the topology: after the heat maps of TACOS (MICRO'24).

Each direction of a cable is a line of its own, to the right of its direction, so that a schedule which uses one of them
only can be told apart. NPUs are circles, switches squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.layout import Layout, layout
from experiments.plots.simulated import Simulated, drawn_as, file_name, heading, said
from experiments.plots.style import Look, note, pages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

    from topologies import Topology

_PANELS, _ACROSS = 6, 3

#: Nodes further apart than this, in points, carry their numbers.
_NUMBERED = 42.0


def figures(schedules: Sequence[Simulated]) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure): a panel for each schedule, with one colour bar.

    Parameters
    ----------
    schedules : sequence of Simulated
    """
    looks = drawn_as(schedules)
    pairs = list(zip(schedules, looks, strict=True))
    for page, chosen in enumerate(pages(pairs, _PANELS)):
        yield file_name(schedules, "heat_map", page), _figure(chosen)


def _figure(chosen: Sequence[tuple[Simulated, Look]]) -> Figure:
    """Return the panels of some schedules."""
    from matplotlib.figure import Figure

    across = 2 if len(chosen) == 4 else min(_ACROSS, len(chosen))
    down = -(-len(chosen) // across)
    common = heading([schedule for schedule, _ in chosen])
    side = 6.0 if len(chosen) == 1 else 4.0
    figure = Figure(figsize=(side * across + 1.4, (side + (0.9 if common else 1.4)) * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    scale = busy_scale()
    for axes, (schedule, look) in zip(panels, chosen, strict=False):
        topology = schedule.times.schedule.topology
        share = schedule.times.utilisation()
        draw_links(axes, topology, layout(topology), share, scale, side * 72)
        title = said(schedule, look, common, between="\n")
        axes.set_title(f"{title}\n{busy_text(share)}", fontsize=10)
    for axes in panels[len(chosen) :]:
        axes.set_axis_off()
    busy_bar(figure, panels.tolist(), scale)
    if common:
        figure.suptitle(common)
    shapes = "Circles: NPUs. "
    if any(schedule.times.schedule.topology.num_switches for schedule, _ in chosen):
        shapes = "Circles: NPUs; squares: switches. "
    note(figure, f"{shapes}A link keeps to the right of its direction.")
    return figure


def busy_scale() -> ScalarMappable:
    """Return the colours of the share of the time for which a link is busy."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(0, 1), "viridis")


def busy_bar(figure: Figure, panels: Sequence[Axes], scale: ScalarMappable) -> None:
    """Draw the colour bar of heat maps."""
    figure.colorbar(scale, ax=list(panels), label="share of the completion time\nfor which a link is busy (%)",
                    format=lambda value, _: f"{100 * value:.0f}", shrink=0.85)  # fmt: skip


def busy_text(share: np.ndarray) -> str:
    """Return how busy links are, for a title."""
    if not share.size:
        return "no links"
    return f"links busy {share.mean():.0%} of the time on average,\nfrom {share.min():.0%} to {share.max():.0%}"


def draw_links(
    axes: Axes, topology: Topology, places: Layout, share: np.ndarray, scale: ScalarMappable, points: float
) -> None:
    """Draw a topology, the links in the colours of their shares.

    Parameters
    ----------
    axes : Axes
    topology : Topology
    places : Layout
    share : (L,) float array
        From 0 to 1.
    scale : ScalarMappable
    points : float
        Side of the panel; widths of lines and nodes follow from it.
    """
    from matplotlib.collections import LineCollection

    low = np.concatenate([places.xy, places.lines.reshape(-1, 2)]).min(axis=0) - 0.45
    high = np.concatenate([places.xy, places.lines.reshape(-1, 2)]).max(axis=0) + 0.45
    # A square, so that panels and their titles are in line whatever the network.
    middle, half = (low + high) / 2, float(max(high - low)) / 2
    low, high = middle - half, middle + half
    unit = points / (2 * half)  # points between neighbours
    width = min(max(0.1 * unit, 0.5), 4.0)
    numbered = unit >= _NUMBERED
    node = min(0.4 * unit, 17.0) if numbered else min(max(0.17 * unit, 1.5), 9.0)
    along = places.lines[:, 1] - places.lines[:, 0]
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    right = np.stack([-along[:, 1], along[:, 0]], axis=1)  # the y axis points down
    aside = right * ((0.9 + 1.25 * places.lane) * width / unit)[:, None]
    gap = along * (0.5 * node + 0.25 * width + 1) / unit
    starts = places.lines[:, 0] + aside + gap * places.from_node[:, None]
    ends = places.lines[:, 1] + aside - gap * places.to_node[:, None]
    colours = scale.to_rgba(share[places.link])
    axes.add_collection(LineCollection(list(np.stack([starts, ends], axis=1)), colors=colours, linewidths=width))
    npus = topology.num_npus
    for group, marker in ((places.xy[:npus], "o"), (places.xy[npus:], "s")):
        axes.plot(*group.T, marker, color="white", markeredgecolor="#333333", markersize=node,
                  markeredgewidth=min(1.0, node / 6), zorder=3)  # fmt: skip
    if numbered:
        for number, (x, y) in enumerate(places.xy.tolist()):
            axes.text(x, y, str(number if number < npus else number - npus), fontsize=min(0.45 * node, 8),
                      ha="center", va="center_baseline", zorder=4)  # fmt: skip
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(high[1], low[1])  # NPU 0 of a grid at the top left, as in a matrix
