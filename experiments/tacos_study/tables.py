"""The comparison of the study: results with the paper's ideal beside them, and what a reader compares as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.style import label_of, title_of
from experiments.tables.rows import Row, plain
from experiments.tacos_study.ideal import ideal_us
from experiments.tacos_study.networks import network_label
from topologies import format_bytes, parse_topology

if TYPE_CHECKING:
    import pandas as pd


def compared(frame: pd.DataFrame) -> list[Row]:
    """Return rows of results with the network's name in the study, the paper's ideal and the share of it reached.

    Parameters
    ----------
    frame : DataFrame
        Rows of results; figures that are missing become None.
    """
    rows = plain(frame)
    for row in rows:
        row["network"] = network_label(row["topology"])
        row["ideal_us"] = ideal_us(parse_topology(row["topology"]), row["collective"], row["size"])
        row["share_of_ideal"] = row["ideal_us"] / row["time_us"] if row["time_us"] else None
    return rows


def comparison(rows: Sequence[Row]) -> str:
    """Return the comparison as Markdown: a line for each problem, GB/s of algbw for each algorithm, the best in bold.

    Parameters
    ----------
    rows : sequence of dict
        As `compared` makes them, in any number: what is missing is left blank.
    """
    algorithms = list(dict.fromkeys(row["synthesizer"] for row in rows))
    problems: dict[tuple[str, str, int], dict[str, Row]] = {}
    for row in rows:
        problems.setdefault((row["network"], row["collective"], row["size"]), {})[row["synthesizer"]] = row
    parts = []
    for kind in dict.fromkeys(kind for _, kind, _ in problems):
        lines = [["network", "topology", "size", *map(label_of, algorithms), "ideal", "bound", "TACOS ÷ best baseline"]]
        for (network, of_kind, size), found in problems.items():
            if of_kind != kind:
                continue
            first = next(iter(found.values()))
            cells = _cells([found.get(name) for name in algorithms])
            yardsticks = [f"{size / first[key] / 1e3:.1f}" if first[key] else "" for key in ("ideal_us", "bound_us")]
            lines.append([network, first["topology"], format_bytes(size), *cells, *yardsticks, _gain(found)])
        parts.append(f"## {title_of(kind)}, algbw in GB/s\n\n{markdown(lines)}")
    return "\n".join([*parts, *_remarks(rows)])


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, padded so that it reads as plain text too; the first line is the heading."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines]
    rows.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    return "\n".join(rows) + "\n"


def _cells(rows: Sequence[Row | None]) -> list[str]:
    """Return the cells of a line; bold are all that are within a thousandth of the best."""
    best = max((row["algbw_gbps"] or 0.0 for row in rows if row), default=0.0)
    cells = []
    for row in rows:
        if row is None:
            cells.append("")
        elif row["status"] != "ok":
            cells.append("–" if row["status"] == "unsupported" else row["status"])
        else:
            cell = f"{row['algbw_gbps']:.1f}"
            cells.append(f"**{cell}**" if row["algbw_gbps"] >= best * 0.999 else cell)
    return cells


def _gain(found: dict[str, Row]) -> str:
    """Return how many times faster TACOS is than the best of the others; blank where one of them is missing."""
    times = {name: row["time_us"] for name, row in found.items() if row["time_us"]}
    others = [time for name, time in times.items() if name != "tacos"]
    return f"{min(others) / times['tacos']:.2f}" if "tacos" in times and others else ""


def _remarks(rows: Sequence[Row]) -> list[str]:
    """Return what the table cannot say in a cell: why a run has no figure, or what is wrong with one."""
    remarks: dict[str, None] = {}  # a set that keeps the order
    for row in rows:
        if row["reason"]:
            # What a synthesizer does not support, it does not support anywhere: say it once.
            place = "" if row["status"] == "unsupported" else f" of {format_bytes(row['size'])} on {row['topology']}"
            run = f"{label_of(row['synthesizer'])}, {title_of(row['collective'])}{place}"
            remarks[f"- {run}: {row['status']}: {row['reason']}"] = None
    return ["## Remarks\n", *remarks, ""] if remarks else []
