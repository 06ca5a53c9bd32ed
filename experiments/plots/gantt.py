"""Gantt chart of links: a row for each link, a bar while it is held, by what the receiver does with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.simulated import Simulated, drawn_as, file_name, said, time_axis
from experiments.plots.style import Look, note, short_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simulator import Timeline

#: Links of a chart: all of a small network, the busiest of a large one.
_LINKS = 48

#: What is closer together than this part of the whole time is drawn as one bar.
_MERGED = 1 / 1000

#: Up to this many bars each has an edge, so that neighbours can be told apart.
_EDGED = 1500

#: What the receiver does, and its colour.
_KINDS = (("copied by the receiver", "#0072B2"), ("added up by the receiver", "#E69F00"))


def figures(schedules: Sequence[Simulated]) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure), one for each schedule.

    Parameters
    ----------
    schedules : sequence of Simulated
    """
    for place, (schedule, look) in enumerate(zip(schedules, drawn_as(schedules), strict=True)):
        name = file_name([schedule], "gantt")
        # Files of one name in two folders must not overwrite each other.
        before = sum(other.name == schedule.name for other in schedules[:place])
        yield f"{name}_{before + 1}" if before else name, _figure(schedule, look)


def _figure(schedule: Simulated, look: Look) -> Figure:
    """Return the chart of a schedule."""
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    times = schedule.times
    topology = times.schedule.topology
    links = _chosen(times)
    figure = Figure(figsize=(10.0, 1.9 + 0.17 * max(len(links), 8)), layout="constrained")
    axes = figure.subplots()
    unit = time_axis(axes, times.time_us)
    reduce = times.schedule.reduce
    kinds = np.zeros(times.schedule.num_hops, bool) if reduce is None else reduce.astype(bool)
    order = np.lexsort((times.start_ps, times.schedule.link))
    first = np.searchsorted(times.schedule.link[order], np.arange(topology.num_links + 1))
    legend = []
    for kind, (label, colour) in enumerate(_KINDS):
        bars: list[np.ndarray] = []
        for row, link in enumerate(links.tolist()):
            hops = order[first[link] : first[link + 1]]
            hops = hops[kinds[hops] == bool(kind)]
            spans = _spans(times.start_ps[hops], times.release_ps[hops], times.total_ps * _MERGED) / (1e6 * unit)
            bars += [np.array([(a, row - 0.4), (b, row - 0.4), (b, row + 0.4), (a, row + 0.4)]) for a, b in spans]
        if bars:
            edge = 0.4 if len(bars) <= _EDGED else 0.0
            axes.add_collection(PolyCollection(bars, facecolors=colour, edgecolors="white", linewidths=edge))
            legend.append(Patch(color=colour, label=label))
    axes.set_yticks(range(len(links)), [short_name(topology.link_name(link)) for link in links.tolist()], fontsize=7)
    axes.set_ylim(len(links) - 0.4, -0.6)
    axes.set_ylabel("link")
    axes.grid(False, axis="y")
    axes.set_title(f"{said(schedule, look, common='')}")
    if legend:
        figure.legend(handles=legend, loc="outside upper right", ncols=2)
    of_all = f"The {len(links)} busiest of {topology.num_links} links. " if len(links) < topology.num_links else ""
    note(figure, f"{of_all}A bar is one transfer, or several where they follow each other more closely than can be "
                 "drawn.")  # fmt: skip
    return figure


def _chosen(times: Timeline) -> np.ndarray:
    """Return the links that are drawn, by number: all, or the busiest."""
    busy = times.link_busy_us()
    return np.sort(np.argsort(-busy, kind="stable")[:_LINKS])


def _spans(start: np.ndarray, stop: np.ndarray, least: float) -> np.ndarray:
    """Return (K, 2): spans by rising start, joined where bars and gaps are too short to be seen.

    Hops that are long enough to be seen stay bars of their own.
    """
    if not len(start):
        return np.zeros((0, 2))
    start, stop = start.astype(float), np.maximum.accumulate(stop.astype(float))
    short = stop - start < 2 * least
    joined = (start[1:] - stop[:-1] < least) & (short[1:] | short[:-1])
    begins = np.concatenate([[True], ~joined])
    ends = np.concatenate([~joined, [True]])
    return np.stack([start[begins], stop[ends]], axis=1)
