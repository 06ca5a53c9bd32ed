"""How many times faster TopoOpt's fabric is than the fat-tree of equal cost, beside what the paper says of that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import geometric_mean

from experiments.tables.formats import written
from experiments.tables.layout import Cell, Table
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import workload_label
from experiments.topoopt_study.rows import Case, cases, grouped, spread

#: Of the abstract of arXiv 2202.00433: 128 servers of 4 and 8 ports, on the authors' simulator.
PUBLISHED = 3.4

#: What times are called, by column of rows.
TIMES = {"no_overlap_s": "no overlap", "overlap_s": "with overlap"}

Speedups = dict[tuple[str, float], float]


def speedups(rows: Sequence[Row], case: Case, column: str = "no_overlap_s") -> Speedups:
    """Return fat-tree's over TopoOpt's time, each a median over seeds, by workload and Gb/s of a port.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them.
    case : Case
    column : str
        One of `TIMES`.
    """
    points = grouped([row for row in rows if row["case"] == case], "workload", "gbit_per_s", "network")
    found = {}
    for workload, gbit_per_s in dict.fromkeys(key[:2] for key in points):
        pair = [points.get((workload, gbit_per_s, name)) for name in ("fat_tree", "topoopt")]
        tree, ours = (spread(each or [], column) for each in pair)
        if tree and ours:
            found[workload, gbit_per_s] = tree.median / ours.median
    return found


def summary(rows: Sequence[Row]) -> str:
    """Return the tables of speedups as Markdown, with the greatest and with what was published."""
    said = ["## TopoOpt against the fat-tree of equal cost", ""]
    for column, called in TIMES.items():
        found = {case: speedups(rows, case, column) for case in cases(rows)}
        best = [(value, case, *key) for case, of_it in found.items() for key, value in of_it.items()]
        if not best:
            continue
        value, case, workload, gbit_per_s = max(best)
        said += [written(_table(of_it, case, called), "markdown") for case, of_it in found.items() if of_it]
        said.append(f"Greatest, {called}: {value:.2f}× ({workload_label(workload)}, {case}, {gbit_per_s:g} Gb/s).\n")
    if len(said) == 2:
        return "\n".join([*said, "No case has both.", ""])
    said.append(f"Published (arXiv 2202.00433): up to {PUBLISHED:g}×, with 128 servers of 4 to 8 ports, on the "
                "authors' simulator and with their workloads' parameters.\n")  # fmt: skip
    return "\n".join(said)


def _table(found: Speedups, case: Case, called: str) -> Table:
    """Return the speedups of a case: workloads down, bandwidths across, geometric means at the ends."""
    widths = sorted({gbit_per_s for _, gbit_per_s in found})
    workloads = list(dict.fromkeys(workload for workload, _ in found))
    lines = [
        [Cell(workload_label(workload)), *(Cell(_times(found.get((workload, width)))) for width in widths),
         _mean(value for (of_it, _), value in found.items() if of_it == workload)]
        for workload in workloads
    ]  # fmt: skip
    below = (_mean(value for (_, at), value in found.items() if at == width) for width in widths)
    lines.append([Cell("geometric mean"), *below, _mean(found.values())])
    head = ("workload", *(f"{width:g} Gb/s" for width in widths), "geometric mean")
    return Table(f"Time on the fat-tree of equal cost ÷ time on TopoOpt, {called}: {case}", head, lines, 1)


def _mean(values: Iterable[float]) -> Cell:
    """Return the geometric mean of speedups."""
    return Cell(_times(geometric_mean(values)))


def _times(value: float | None) -> str:
    """Return a speedup; nothing where there is none."""
    return "" if value is None else f"{value:.2f}×"
