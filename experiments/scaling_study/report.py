"""The table and the figure of the scaling study: what was measured here beside what the paper published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.plots.scaling import power_law
from experiments.plots.style import note, title_of
from experiments.tacos_study.scaling import PUBLISHED
from experiments.tacos_study.tables import markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: NPUs from which on networks are fitted: what smaller ones take is calls, and listing an AllReduce anew, not matching.
FITTED_FROM = {"all_gather": 200, "all_reduce": 4000}

_COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = {"all_gather": "o", "all_reduce": "s"}


def by_series(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows of each (series, collective), in order."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["series"], row["collective"]), []).append(row)
    return found


def law(rows: Sequence[dict[str, Any]], figure: str = "synthesis_s") -> tuple[float, float] | None:
    """Return (exponent, factor) of a figure as a power of NPUs, of the large networks; None below three."""
    points = [(row["num_npus"], row[figure]) for row in rows
              if row[figure] and row["num_npus"] >= FITTED_FROM[row["collective"]]]  # fmt: skip
    npus, values = np.array(points, float).reshape(-1, 2).T
    return power_law(npus, values)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return all rows as Markdown, the published ones after them, then the fitted exponents."""
    lines = [["network", "collective", "topology", "NPUs", "transfers", "synthesis s", "CPU s", "verify s",
              "simulate s", "peak GB", "bytes/transfer"]]  # fmt: skip
    refused = []
    for row in rows:
        cells = [row["series"], title_of(row["collective"]), row["topology"]]
        if row["status"] != "ok":
            refused.append(f"- {row['topology']}, {title_of(row['collective'])}: {row['reason']}")
            lines.append([*cells, f"{row['num_npus'] or 0:,.0f}", "", row["status"], *[""] * 5])
            continue
        seconds = [f"{row[name]:.4g}" for name in ("synthesis_s", "synthesis_cpu_s", "verify_s", "simulate_s")]
        lines.append([*cells, f"{row['num_npus']:,.0f}", f"{row['transfers']:,.0f}", *seconds,
                      f"{row['peak_bytes'] / 1e9:.2f}",
                      f"{row['bytes_per_transfer']:.1f}" if row["transfers"] >= 10**6 else ""])  # fmt: skip
    for npus, seconds_, what in PUBLISHED:
        label = what.rpartition("\n")[0].replace("\n", " ")
        lines.append([label, "", "", f"{npus:,}", "", f"{seconds_:,.4g}", *[""] * 5])
    fits: list[str] = []
    for (name, kind), of_it in by_series(rows).items():
        time, memory = law(of_it), law(of_it, "peak_bytes")
        if time and memory:
            fits.append(f"- {name}, {title_of(kind)}: synthesis time grows as NPUs^{time[0]:.2f} "
                        f"(fitted from {FITTED_FROM[kind]:,} NPUs on; transfers as NPUs^2)")  # fmt: skip
    return "\n".join(["# How TACOS grows\n", markdown(lines), *refused, *fits, ""])


def figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Return two panels over NPUs, on log-log axes: synthesis time with fits and published points, and peak memory."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(11.5, 5.4), layout="constrained")
    times, memory = drawing.subplots(1, 2)
    for axes in (times, memory):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("NPUs")
    names = list(dict.fromkeys(row["series"] for row in rows))
    for (name, kind), of_it in by_series(rows).items():
        worked = sorted((row for row in of_it if row["status"] == "ok"), key=lambda row: row["num_npus"])
        if not worked:
            continue
        npus = np.array([row["num_npus"] for row in worked], float)
        fit = law(worked)
        exponent = f": ∝ NPUs$^{{{fit[0]:.2f}}}$" if fit else ""
        look = {"color": _COLOURS[names.index(name) % len(_COLOURS)], "marker": _MARKERS[kind],
                "markerfacecolor": "none", "linestyle": "none"}  # fmt: skip
        label = f"{name}, {title_of(kind)}"
        times.plot(npus, [row["synthesis_s"] for row in worked], label=label + exponent, **look)
        memory.plot(npus, [row["peak_bytes"] / 1e9 for row in worked], label=label, **look)
        if fit:
            fitted = npus[npus >= FITTED_FROM[kind]]
            times.plot(fitted, fit[1] * fitted ** fit[0], color=look["color"], linewidth=1.0)
    for place, (npus_, seconds, what) in enumerate(PUBLISHED):
        times.plot(npus_, seconds, "*", color="black", markerfacecolor="white", markersize=13,
                   label=None if place else "published by the paper (its machine and code)")  # fmt: skip
        left = npus_ > 1000  # there the room is to the left
        times.annotate(what.removeprefix("published: "), (npus_, seconds), (-10, 0) if left else (0, 10),
                       textcoords="offset points", ha="right" if left else "center",
                       va="center" if left else "bottom", fontsize=8.5)  # fmt: skip
    times.set_ylabel("synthesis time (s)")
    memory.set_ylabel("peak memory of the process (GB)")
    times.set_title("Synthesis time")
    memory.set_title("Memory: synthesis, verification and simulation")
    times.legend(loc="upper left", fontsize=8)
    machine = next((row["machine"] for row in rows), "")
    note(
        drawing,
        f"One chunk for each NPU; warm, each network in a process of its own, on {machine}.\n"
        "Lines: fits from 200 NPUs on, of AllReduce from 4,000 on: below, it is listed anew, which takes longer.\n"
        "After the scalability figure of TACOS (MICRO'24).",
    )
    return drawing
