"""Schedules with their timelines, and what a plot calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plots.style import Look, looks, short_time, title_of
from topologies import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator import Timeline


@dataclass(frozen=True)
class Simulated:
    """A schedule that was simulated.

    Attributes
    ----------
    name : str
        What files are named after.
    times : Timeline
    label : str
        Who made it, as results call that; by default as its file says.
    """

    name: str
    times: Timeline
    label: str = ""

    @property
    def problem(self) -> str:
        """What was computed, and on which network."""
        schedule = self.times.schedule
        return f"{title_of(schedule.collective.kind)} of {format_bytes(self.times.size)} on {schedule.topology.name}"

    @property
    def synthesizer(self) -> str:
        """Who made it, as far as its file says."""
        if self.label:
            return self.label
        return str(self.times.schedule.notes.get("synthesizer", ""))


def drawn_as(schedules: Sequence[Simulated]) -> list[Look]:
    """Return the look of each schedule: named after its synthesizer, its file where that is not enough."""
    makers = Counter(schedule.synthesizer for schedule in schedules)
    names = []
    for schedule in schedules:
        maker = schedule.synthesizer
        alone = maker and makers[maker] == 1
        names.append(maker if alone else f"{maker or schedule.name}:{schedule.name}" if maker else schedule.name)
    # Files of one name in two folders are told apart by their order.
    repeated = Counter(names)
    seen: Counter[str] = Counter()
    for place, name in enumerate(names):
        if repeated[name] > 1:
            seen[name] += 1
            names[place] = f"{name} #{seen[name]}" if ":" in name else f"{name}:#{seen[name]}"
    look = looks(names)
    return [look[name] for name in names]


def heading(schedules: Sequence[Simulated]) -> str:
    """Return the problem that all schedules solve; nothing where they differ."""
    problems = {schedule.problem for schedule in schedules}
    return problems.pop() if len(problems) == 1 else ""


def said(schedule: Simulated, look: Look, common: str, between: str = ", ") -> str:
    """Return who, how long, and for what unless a heading says so."""
    text = f"{look.label}: {short_time(schedule.times.time_us)}"
    return text if common else f"{text}{between}{schedule.problem}"


def file_name(schedules: Sequence[Simulated], kind: str, page: int = 0) -> str:
    """Return the name of a figure's files: after the schedule where it is one."""
    stem = f"{schedules[0].name}_{kind}" if len(schedules) == 1 else kind
    return f"{stem}_{page + 1}" if page else stem


def time_axis(axes: Axes, longest_us: float) -> float:
    """Label the x axis as time from 0 on, and return how many microseconds its unit has."""
    unit, name = next((pair for pair in ((1e6, "s"), (1e3, "ms")) if longest_us >= pair[0]), (1.0, "µs"))
    axes.set_xlabel(f"time ({name})")
    axes.set_xlim(0, max(longest_us / unit, 1e-9))
    return unit
