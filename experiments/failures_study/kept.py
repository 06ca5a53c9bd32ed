"""Bandwidth kept against failures: a table and a figure of the results over damaged networks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.plots.style import looks, note, save, styled, title_of
from experiments.tables.rows import Row, plain
from experiments.tacos_study.tables import markdown
from topologies.atomic import write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_NAME = re.compile(r"(?P<network>.+) less (?P<lost>\d+) (?P<what>cables|npus), draw (?P<draw>\d+)")

#: What is a line beside the synthesizers.
_BOUND = "bound"


def write_study(frame: pd.DataFrame, out: Path) -> list[str]:
    """Write ``failures.md`` and ``failures.png`` into a folder, and return what to print.

    Parameters
    ----------
    frame : DataFrame
        Rows of results on networks named by `Damage`.
    out : Path
    """
    rows = [row | named.groupdict() for row in plain(frame) if (named := _NAME.fullmatch(row["topology"]))]
    for row in rows:
        row["lost"] = int(row["lost"])
    write_text(out / "failures.md", table := kept_table(rows))
    with styled():
        paths = save(kept_figure(rows), out, "failures")
    return [table, *map(str, paths)]


def kept(rows: Sequence[Row]) -> dict[tuple[str, str, str], dict[int, tuple[float, float, float]]]:
    """Return for each (network, what, synthesizer or bound) and number lost the median, least and most GB/s."""
    found: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for row in rows:
        at = row["network"], row["what"]
        reached = row["busbw_gbps"]
        if reached is not None:
            for label, value in ((row["label"], reached), (_BOUND, reached / row["efficiency"])):
                found.setdefault((*at, label), {}).setdefault(row["lost"], []).append(value)
    order = {label: place for place, label in enumerate([*dict.fromkeys(row["label"] for row in rows), _BOUND])}
    return {
        key: {lost: (median(values), min(values), max(values)) for lost, values in sorted(found[key].items())}
        for key in sorted(found, key=lambda key: (key[:2], order[key[2]]))
    }


def kept_table(rows: Sequence[Row]) -> str:
    """Return the medians as Markdown, with the share of what the whole network gives."""
    series = kept(rows)
    labels = list(dict.fromkeys(key[2] for key in series))
    lines = [["network", "lost", *labels]]
    for network, what, lost in _points(series):
        cells = []
        for label in labels:
            line = series.get((network, what, label), {})
            whole = line.get(0)
            cells.append("" if lost not in line else f"{line[lost][0]:.1f}"
                         + (f" ({line[lost][0] / whole[0]:.0%})" if whole else ""))  # fmt: skip
        lines.append([network, f"{lost} {'NPUs' if what == 'npus' else what}", *cells])
    kinds = " and ".join(dict.fromkeys(title_of(row["collective"]) for row in rows))
    return "\n".join([
        f"# Bandwidth kept after failures: {kinds}\n",
        "Bus bandwidth in GB/s, median over draws, and the share of that of the whole network.\n",
        markdown(lines),
        "",
    ])  # fmt: skip


def kept_figure(rows: Sequence[Row]) -> Figure:
    """Return a panel for each network and kind of failure: busbw against what is lost, least to most over draws."""
    from matplotlib.figure import Figure

    series = kept(rows)
    panels = list(dict.fromkeys(key[:2] for key in series))
    figure = Figure(figsize=(4.2 * max(len(panels), 1), 3.8), layout="constrained")
    axes: Any = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
    look = looks([label for label in dict.fromkeys(key[2] for key in series) if label != _BOUND])
    for place, (network, what) in enumerate(panels):
        for label in [*look, _BOUND]:
            line = series.get((network, what, label), {})
            middle = [values[0] for values in line.values()]
            if label == _BOUND:
                axes[place].plot(list(line), middle, "--", color="black", linewidth=1, label="bound")
                continue
            reach = [
                [values[0] - values[1] for values in line.values()],
                [values[2] - values[0] for values in line.values()],
            ]
            axes[place].errorbar(list(line), middle, reach, marker=look[label].marker, color=look[label].colour,
                                 capsize=3, label=look[label].label)  # fmt: skip
        axes[place].set_title(network)
        axes[place].set_xlabel(f"{'NPUs' if what == 'npus' else what} lost")
        axes[place].set_ylim(bottom=0)
    if panels:
        axes[0].set_ylabel("bus bandwidth (GB/s)")
        axes[0].legend(loc="lower left")
    note(figure, "Schedules made anew for what remains; median, least and most over random draws.")
    return figure


def _points(series: dict[tuple[str, str, str], dict[int, Any]]) -> Iterator[tuple[str, str, int]]:
    """Give each network, kind of failure and number lost, once."""
    for network, what in dict.fromkeys(key[:2] for key in series):
        for lost in sorted({lost for key, line in series.items() if key[:2] == (network, what) for lost in line}):
            yield network, what, lost
