"""How fast the search finds: its best estimate after each evaluation, alternating beside rewiring by chance."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from experiments.plots.style import note
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, label_axes, legend, panels
from experiments.topoopt_study.rows import Case, at_reference, bandwidths, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The two searches, by the networks that they wire.
SEARCHES = ("topoopt", "topoopt_random")


def convergence_figure(rows: Sequence[Row], case: Case) -> Figure | None:
    """Return a panel for each workload of a case; None where the two searches were not both run.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them; those of other cases are ignored.
    case : Case
    """
    both = [row for row in rows if row["case"] == case and row["network"] in SEARCHES and row["trace"]]
    common = bandwidths(row for row in both if row["network"] == SEARCHES[1])
    chosen = at_reference([row for row in both if row["gbit_per_s"] in common])
    traces = {key: [row["trace"] for row in of_it] for key, of_it in grouped(chosen, "workload", "network").items()}
    found = dict.fromkeys(workload for workload, _ in traces)
    workloads = [each for each in found if all((each, name) in traces for name in SEARCHES)]
    if not workloads:
        return None
    figure, drawn = panels(workloads, 2.5)
    for axes, workload in zip(drawn, workloads, strict=True):
        _panel(axes, {name: traces[workload, name] for name in SEARCHES})
    label_axes(drawn, "strategies evaluated", "best estimate (ms)")
    legend(figure, drawn)
    seeds = max(len(each) for each in traces.values())
    note(figure, f"{case}, {bandwidths(chosen)[0]:g} Gb/s; the search's own estimate of an iteration, not simulated. "
                 f"Line: median over {seeds} seeds; band: least to most.\nRandom search: strategies and wirings by "
                 "chance, as many evaluations.")  # fmt: skip
    return figure


def _panel(axes: Axes, traces: dict[str, list[list[float]]]) -> None:
    """Draw the searches of a workload; one that ended early keeps its best."""
    longest = max(len(trace) for of_it in traces.values() for trace in of_it)
    for name, of_it in traces.items():
        look = LOOKS[name]
        padded = [[1e3 * each for each in trace] + [1e3 * trace[-1]] * (longest - len(trace)) for trace in of_it]
        steps = range(1, longest + 1)
        columns = list(zip(*padded, strict=True))
        axes.fill_between(steps, [min(each) for each in columns], [max(each) for each in columns], color=look.colour,
                          alpha=0.2, linewidth=0, step="post")  # fmt: skip
        axes.plot(steps, [median(each) for each in columns], label=look.label, color=look.colour,
                  drawstyle="steps-post", linestyle="-" if name == SEARCHES[0] else "--")  # fmt: skip
    axes.set_ylim(0, 1.08 * max(trace[0] for of_it in traces.values() for trace in of_it) * 1e3)
