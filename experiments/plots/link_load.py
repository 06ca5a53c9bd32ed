"""How evenly a schedule loads the links: bytes over each, most loaded first, a line for each schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.simulated import Simulated, drawn_as, file_name, heading, said
from experiments.plots.style import note, pages

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = 8

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "bytes"))


def figures(schedules: Sequence[Simulated]) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) of all schedules together.

    Parameters
    ----------
    schedules : sequence of Simulated
    """
    pairs = list(zip(schedules, drawn_as(schedules), strict=True))
    for page, chosen in enumerate(pages(pairs, _LINES)):
        from matplotlib.figure import Figure

        common = heading([schedule for schedule, _ in chosen])
        figure = Figure(figsize=(8.0, 4.2 + 0.2 * len(chosen)), layout="constrained")
        axes = figure.subplots()
        loads = [np.sort(schedule.times.link_bytes())[::-1] for schedule, _ in chosen]
        most = max(float(load.max(initial=0)) for load in loads)
        unit, name = next((pair for pair in _UNITS if most >= pair[0]), _UNITS[-1])
        for (schedule, look), load in zip(chosen, loads, strict=True):
            edges = np.linspace(0, 100, len(load) + 1)
            spread = f"mean {load.mean() / unit:.3g}, most {load.max() / unit:.3g} {name}" if len(load) else "no links"
            axes.stairs(load / unit, edges, baseline=None, color=look.colour, linewidth=1.6)
            middles = (edges[:-1] + edges[1:]) / 2
            axes.plot(middles, load / unit, look.marker, color=look.colour, markerfacecolor="none", linestyle="none",
                      markevery=max(len(load) // 8, 1), clip_on=False)  # fmt: skip
            axes.plot([], [], color=look.colour, marker=look.marker, markerfacecolor="none",
                      label=f"{said(schedule, look, common)} ({spread})")  # fmt: skip
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 1.06 * most / unit or 1)
        axes.set_xlabel("links, most loaded first (% of all)")
        axes.set_ylabel(f"load of the link ({name})")
        axes.set_title(f"Link load: {common}" if common else "Link load")
        figure.legend(loc="outside upper center", ncols=1 if len(chosen) < 4 or not common else 2)
        note(figure, "Bytes that cross each directed link; a level line is an even load.")
        yield file_name(schedules, "link_load", page), figure
