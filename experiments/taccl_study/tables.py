"""The comparison of the study as Markdown: GB/s of each synthesizer, the bound, and what was published."""

from __future__ import annotations

import json
from collections.abc import Sequence

from experiments.plots.style import label_of, title_of
from experiments.tables.formats import written
from experiments.tables.layout import Cell, Table
from experiments.tables.rows import Row
from experiments.taccl_study.published import published
from synthesizers.taccl.synthesizer import CHALLENGE, CLOCK
from topologies import format_bytes

#: Bandwidths this close to the best are as good.
_TIE = 1e-3


def comparison(rows: Sequence[Row]) -> str:
    """Return a table for each network and collective, a line for each size, the best in bold.

    Parameters
    ----------
    rows : sequence of dict
        Rows of results; figures that are missing are None.
    """
    parts = []
    for network, kind in dict.fromkeys((row["topology"], row["collective"]) for row in rows):
        of_it = [row for row in rows if (row["topology"], row["collective"]) == (network, kind)]
        parts.append(written(_table(of_it, network, kind), "markdown"))
        parts += [
            f"- {each.who}, published for large buffers: {each.algbw_gbps:g} GB/s"
            + (f", synthesis {each.synthesis_s:g} s" if each.synthesis_s else "") + "\n"
            for each in published(network, kind) if each.size is None
        ]  # fmt: skip
    return "\n".join([*parts, *_reasons(rows)])


def _table(rows: Sequence[Row], network: str, kind: str) -> Table:
    """Return the table of one network and collective."""
    labels = list(dict.fromkeys(row["label"] for row in rows))
    theirs = {each.size: each.algbw_gbps for each in published(network, kind) if each.size is not None}
    head = ["size", *map(label_of, labels), "bound", *(["TACCL (published)"] if theirs else [])]
    lines = []
    for size in sorted({row["size"] for row in rows}):
        found = {row["label"]: row for row in rows if row["size"] == size}
        best = max((row["algbw_gbps"] or 0.0 for row in found.values()), default=0.0)
        bound = next((size / row["bound_us"] / 1e3 for row in found.values() if row["bound_us"]), None)
        line = [Cell(format_bytes(size)), *(_cell(found.get(label), best) for label in labels), Cell(_figure(bound))]
        lines.append([*line, *([Cell(_figure(theirs.get(size)))] if theirs else [])])
    return Table(f"{title_of(kind)} on {network}, algbw in GB/s", tuple(head), lines, 1)


def _cell(row: Row | None, best: float) -> Cell:
    """Return what a run came to."""
    if row is None or row["status"] != "ok":
        return Cell("" if row is None else "–" if row["status"] == "unsupported" else row["status"])
    return Cell(_figure(row["algbw_gbps"]), row["algbw_gbps"] >= best * (1 - _TIE))


def _figure(value: float | None) -> str:
    """Return a bandwidth; nothing where there is none."""
    return "" if value is None else f"{value:.4g}"


def _reasons(rows: Sequence[Row]) -> list[str]:
    """Return why runs have no figure, each once, where a schedule is another's, and where the clock ended a search."""
    said: dict[str, None] = {}
    taken: dict[str, list[str]] = {}
    for row in rows:
        run = f"{label_of(row['label'])}, {title_of(row['collective'])} on {row['topology']}"
        for stage in json.loads(row["stages"] or "[]"):
            if stage["stage"] in (CHALLENGE, CLOCK):
                what = stage["status"] if stage["stage"] == CHALLENGE else f"the {CLOCK} {stage['status']}"
                taken.setdefault(f"{run}: {what}", []).append(format_bytes(row["size"]))
        if row["status"] != "ok":
            said[f"- {run}: {row['status']}: {row['reason']}"] = None
    said |= {f"- {what} (at {', '.join(sizes)})": None for what, sizes in taken.items()}
    return ["**Remarks**", "", *said, ""] if said else []
