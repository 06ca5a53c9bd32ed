"""Synthesis time of TACOS as networks grow: measured here, warm, best of several, beside two published times.

Every run is verified. The whole synthesis counts: all trials, and for AllReduce both halves and the choice between
their orders. Trials run on all cores, and nothing else runs beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.scaling import power_law
from experiments.plots.style import note, title_of
from experiments.tables.rows import Row
from experiments.tacos_study.networks import network_label
from experiments.tacos_study.tables import markdown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: (NPUs, seconds, what) as the abstract of arXiv 2304.05301 gives them; another machine, another implementation.
PUBLISHED = (
    (128, 1.08, "published: 128 NPUs,\nheterogeneous, AllReduce\n1.08 s"),
    (40_000, 2.52 * 3600, "published: 40,000 NPUs\n2.52 h"),
)

#: Smaller networks are not fitted: what they take is threads starting, not matching.
_FITTED_FROM = 200


def series_of(frame: pd.DataFrame) -> list[Row]:
    """Return a row for each network: its series, NPUs, transfers and the least synthesis time of its repeats.

    Parameters
    ----------
    frame : DataFrame
        Rows of results, of runs that were measured alone.
    """
    rows = []
    for (topology, kind), of_it in frame.groupby(["topology", "collective"], sort=False):
        worked = of_it[of_it["status"] == "ok"]
        first = (of_it if worked.empty else worked).iloc[0]
        row = {name: first[name] for name in ("num_npus", "status", "reason", "machine")}
        row |= {"series": f"{network_label(topology)}, {title_of(kind)}", "topology": topology, "transfers": None,
                "synthesis_s": None, "repeats": len(worked)}  # fmt: skip
        if len(worked):
            row |= {"transfers": int(first["transfers"]), "synthesis_s": float(worked["synthesis_s"].min())}
        rows.append(row)
    return rows


def exponent(rows: Iterable[Row]) -> tuple[float, float] | None:
    """Return (exponent, factor) of seconds = factor · NPUs^exponent, of the large networks; None below three."""
    points = [(row["num_npus"], row["synthesis_s"]) for row in rows
              if row["synthesis_s"] and row["num_npus"] >= _FITTED_FROM]  # fmt: skip
    npus, seconds = np.array(points, float).reshape(-1, 2).T
    return power_law(npus, seconds)


def scaling_table(rows: Sequence[Row]) -> str:
    """Return the measured and published times as Markdown."""
    lines = [["series", "topology", "NPUs", "transfers", "synthesis time", "best of"]]
    for row in rows:
        seconds = f"{row['synthesis_s']:.4g} s" if row["synthesis_s"] else f"{row['status']}: {row['reason']}"
        lines.append([row["series"], row["topology"], f"{row['num_npus']:,}", f"{row['transfers'] or 0:,}", seconds,
                      str(row["repeats"])])  # fmt: skip
    for npus, published, what in PUBLISHED:
        label = what.rpartition("\n")[0].replace("\n", " ")
        lines.append([label, "", f"{npus:,}", "", f"{published:,.4g} s", ""])
    fits = []
    for label, of_it in _by_series(rows).items():
        fit = exponent(of_it)
        if fit:
            fits.append(f"- {label}: time grows as NPUs^{fit[0]:.2f} (fitted from {_FITTED_FROM} NPUs on)")
    return "\n".join(["## Synthesis time of TACOS\n", markdown(lines), *fits, ""])


def scaling_figure(rows: Sequence[Row]) -> Figure:
    """Return synthesis time against NPUs on log-log axes, with fitted exponents and the published points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    styles = zip(_by_series(rows).items(), ("#0072B2", "#009E73", "#D55E00"), "osD", strict=False)
    for (label, of_it), colour, marker in styles:
        points = sorted((row["num_npus"], row["synthesis_s"]) for row in of_it if row["synthesis_s"])
        if not points:
            continue
        fit = exponent(of_it)
        shown = f"{label}: ∝ NPUs$^{{{fit[0]:.2f}}}$" if fit else label
        npus, seconds = np.array(points).T
        # Hollow, so that a point under another can still be seen.
        axes.plot(
            npus,
            seconds,
            marker,
            color=colour,
            markerfacecolor="none",
            markeredgewidth=1.4,
            label=f"{shown} (measured here)",
        )
        if fit:
            fitted = npus[npus >= _FITTED_FROM]
            axes.plot(fitted, fit[1] * fitted ** fit[0], color=colour, linewidth=1.2)
    for place, (npus_, seconds_, what) in enumerate(PUBLISHED):
        axes.plot(npus_, seconds_, "*", color="black", markerfacecolor="white", markersize=13,
                  label=None if place else "published by the paper (its machine and code)")  # fmt: skip
        axes.annotate(what.removeprefix("published: "), (npus_, seconds_), (-10, 0), textcoords="offset points",
                      ha="right", va="center", fontsize=8.5)  # fmt: skip
    axes.set_xlim(10, 70_000)
    axes.set_xlabel("NPUs")
    axes.set_ylabel("synthesis time (s)")
    axes.set_title("Synthesis time of TACOS")
    axes.legend(loc="upper left")
    machine = next((row["machine"] for row in rows), "")
    repeats = max((row["repeats"] for row in rows), default=0)
    note(
        figure,
        f"One chunk of 1 MiB for each NPU; warm, best of {repeats}, on {machine}.\n"
        f"Lines: fits from {_FITTED_FROM} NPUs on. After the scalability figure of TACOS (MICRO'24).",
    )
    return figure


def _by_series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each series, in order."""
    return {label: [row for row in rows if row["series"] == label]
            for label in dict.fromkeys(row["series"] for row in rows)}  # fmt: skip
