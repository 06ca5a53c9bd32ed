"""Synthesis time of TACOS as networks grow: measured here, warm, best of several, beside two published times.

The first run goes through `evaluate` and so is verified; the others only repeat the synthesis. The whole synthesis
counts: all trials, and for AllReduce both halves and the choice between their orders. Trials run on all cores.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.evaluate import evaluate
from experiments.plots.scaling import power_law
from experiments.plots.style import note
from experiments.tacos_study.grid import Series
from experiments.tacos_study.running import Row
from experiments.tacos_study.tables import markdown
from schedules import collective
from synthesizers import Problem, find, parse_options
from topologies import parse_topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: (NPUs, seconds, what) as the abstract of arXiv 2304.05301 gives them; another machine, another implementation.
PUBLISHED = (
    (128, 1.08, "published: 128 NPUs,\nheterogeneous, AllReduce\n1.08 s"),
    (40_000, 2.52 * 3600, "published: 40,000 NPUs\n2.52 h"),
)

_CHUNK = 2**20

#: Smaller networks are not fitted: what they take is threads starting, not matching.
_FITTED_FROM = 200

_REPEATS, _REPEAT_S = 5, 4.0

_OPTIONS = {"pieces": 1}


def measured(series: Series) -> Iterator[Row]:
    """Yield a row for each network of a series: NPUs, transfers and the least synthesis time."""
    synthesizer = find("tacos")
    synthesizer.warm_up()
    options = parse_options(synthesizer, _OPTIONS)
    for name in series.names:
        topology = parse_topology(name)
        problem = Problem(topology, collective(series.kind, topology.num_npus), _CHUNK * topology.num_npus)
        record, _ = evaluate(problem, synthesizer, _OPTIONS)
        row = {"series": series.label, "topology": topology.name, "collective": series.kind, "size": problem.size,
               "num_npus": topology.num_npus, "status": record.status, "reason": record.reason,
               "transfers": record.transfers, "efficiency": record.efficiency,
               "synthesis_s": None, "repeats": 0}  # fmt: skip
        if record.status == "ok":
            times: list[float] = []
            while len(times) < _REPEATS and sum(times) < _REPEAT_S:
                begin = time.perf_counter()
                synthesizer.synthesize(problem, options)
                times.append(time.perf_counter() - begin)
            row["synthesis_s"], row["repeats"] = min(times), len(times)
        row["machine"], row["versions"] = record.machine, record.versions
        yield row


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
    note(
        figure,
        f"One chunk of 1 MiB for each NPU; warm, best of up to {_REPEATS}, on {machine}.\n"
        f"Lines: fits from {_FITTED_FROM} NPUs on. After the scalability figure of TACOS (MICRO'24).",
    )
    return figure


def _by_series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each series, in order."""
    return {label: [row for row in rows if row["series"] == label]
            for label in dict.fromkeys(row["series"] for row in rows)}  # fmt: skip
