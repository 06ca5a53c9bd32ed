"""Utilisation over time: the part of all links that is held at each moment, a line for each schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.simulated import Simulated, drawn_as, file_name, heading, said, time_axis
from experiments.plots.style import note, pages

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = 8

_BINS = 120


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
        unit = time_axis(axes, max(schedule.times.time_us for schedule, _ in chosen))
        for schedule, look in chosen:
            times = schedule.times
            shares = times.utilisation_over_time(_BINS) if times.schedule.topology.num_links else np.zeros(_BINS)
            mean = times.utilisation().mean() if times.schedule.topology.num_links else 0.0
            edges = np.linspace(0, times.time_us / unit, _BINS + 1)
            axes.stairs(100 * shares, edges, color=look.colour)
            middles = (edges[:-1] + edges[1:]) / 2
            axes.plot(middles, 100 * shares, look.marker, color=look.colour, markerfacecolor="none", linestyle="none",
                      markevery=(5, 15))  # fmt: skip
            axes.plot([], [], color=look.colour, marker=look.marker, markerfacecolor="none",
                      label=f"{said(schedule, look, common)} (mean {mean:.0%})")  # fmt: skip
        axes.set_ylim(0, 104)
        axes.set_ylabel("links in use (% of all)")
        axes.set_title(f"Utilisation over time: {common}" if common else "Utilisation over time")
        figure.legend(loc="outside upper center", ncols=1 if len(chosen) < 4 or not common else 2)
        note(figure, f"Mean of each of {_BINS} equal spans of time.")
        yield file_name(schedules, "over_time", page), figure
