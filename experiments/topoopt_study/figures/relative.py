"""Time of an iteration over that on the ideal switch: a group of bars for each workload, a panel for each d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import GREY, note
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, legend, ticks, workload_label
from experiments.topoopt_study.rows import at_reference, bandwidths, cases, grouped, networks, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What others are divided by.
BASE = "ideal_switch"

#: Part of the space of a group that its bars fill.
_FILLED = 0.86


def relative_figure(rows: Sequence[Row], servers: int) -> Figure | None:
    """Return the bars of so many servers at the reference bandwidth; None where the ideal switch was not measured.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them.
    servers : int
    """
    from matplotlib.figure import Figure

    chosen = at_reference([row for row in rows if row["case"].servers == servers])
    ratios = _ratios(chosen)
    if not ratios:
        return None
    found = [case for case in cases(chosen) if any(key[0] == case for key in ratios)]
    figure = Figure(figsize=(10.5, 1.4 + 2.7 * len(found)), layout="constrained")
    drawn = figure.subplots(len(found), 1, squeeze=False)[:, 0].tolist()
    for axes, case in zip(drawn, found, strict=True):
        names = [name for name in networks(row for row in chosen if row["case"] == case) if name != BASE]
        workloads = list(dict.fromkeys(workload for of_it, workload, _ in ratios if of_it == case))
        _panel(axes, workloads, names, {key[1:]: value for key, value in ratios.items() if key[0] == case})
        axes.set_title(f"{case}, {bandwidths(chosen)[0]:g} Gb/s")
        axes.set_ylabel("time ÷ ideal switch")
    legend(figure, drawn)
    note(figure, "Time of an iteration without overlap, median over seeds; less is better. The ideal switch has d "
                 "times the bandwidth of a port.\nFigures are TopoOpt's. After its paper (NSDI'23).")  # fmt: skip
    return figure


def _ratios(rows: Sequence[Row]) -> dict[tuple, float]:
    """Return each network's time over the ideal switch's, by case, workload and network."""
    found = {key: spread(of_it, "no_overlap_s") for key, of_it in grouped(rows, "case", "workload", "network").items()}
    return {
        (case, workload, name): each.median / base.median
        for (case, workload, name), each in found.items()
        if name != BASE and each and (base := found.get((case, workload, BASE)))
    }


def _panel(axes: Axes, workloads: Sequence[str], names: Sequence[str], ratios: dict[tuple, float]) -> None:
    """Draw the bars of a case from 1: what is faster than the ideal switch hangs down."""
    axes.set_yscale("log", base=2)
    width = _FILLED / len(names)
    for place, name in enumerate(names):
        look = LOOKS[name]
        for group, workload in enumerate(workloads):
            ratio = ratios.get((workload, name))
            x = group - _FILLED / 2 + (place + 0.5) * width
            if ratio is None:
                continue
            axes.bar(x, ratio - 1, width * 0.92, bottom=1, color=look.colour, label=look.label)
            if name == "topoopt":
                axes.annotate(f"{ratio:.2f}", (x, max(ratio, 1)), (0, 2), textcoords="offset points", ha="center",
                              va="bottom", rotation=90, fontsize=7.5)  # fmt: skip
    axes.axhline(1, color="black", linestyle="--", linewidth=1.2, label=LOOKS[BASE].label)
    axes.set_ylim(min(0.95, 0.95 * min(ratios.values())), 1.25 * max(ratios.values()))
    ticks(axes.yaxis)
    axes.set_xticks(range(len(workloads)), [workload_label(each) for each in workloads])
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_xlim(-0.6, len(workloads) - 0.4)
    missing = [f"{workload_label(workload)}: {LOOKS[name].label}" for workload in workloads for name in names
               if (workload, name) not in ratios]  # fmt: skip
    if missing and len(missing) <= 4:
        axes.annotate("not measured: " + "; ".join(missing), (1, 1), xycoords="axes fraction", ha="right", va="bottom",
                      fontsize=7.5, color=GREY)  # fmt: skip
