"""The comparison of the study as Markdown: time of an iteration on each network, what it consists of, what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.tables.formats import written
from experiments.tables.layout import TIE, Cell, Table, four_digits
from experiments.tables.rows import Row
from experiments.topoopt_study.looks import LOOKS, workload_label
from experiments.topoopt_study.prices import cost_tables
from experiments.topoopt_study.rows import Case, Spread, at_reference, bandwidths, cases, grouped, networks, spread
from experiments.topoopt_study.speedup import TIMES, summary
from topologies.costs import Costs

#: Not in the running: no such switch is sold, and its fat-tree costs several times as much.
APART = "ideal_switch"

_ABOUT = """# TopoOpt and what the same money, or the same ports, would buy instead

Figures are medians over seeds, with (least–most) where seeds differ; bold is the best of each column, ties included,
but for the ideal switch, which no one can buy. Without overlap, an iteration is computing, then all communication
(AllReduce and model-parallel traffic in one verified schedule, simulated); with overlap, AllReduce hides behind the
backward pass. Every network has a search of strategies of its own, with the same budget. Bandwidths are of a port, d
ports to a server; fat-trees cost as much as TopoOpt's fabric with such ports, so that their own bandwidth is another.
"""

_PARTS = """AllReduce and model-parallel (MP) traffic are timed alone; together they may take less than the sum. The
bandwidth tax is bytes × hops ÷ bytes of MP traffic. USD is a server's share of the network, and time × cost is the time
of an iteration without overlap times that: less is better, and its inverse is iterations for each second and dollar.
"""


def comparison(rows: Sequence[Row]) -> str:
    """Return all tables: speedups, times of each case, costs, and why rows failed.

    Parameters
    ----------
    rows : sequence of dict
        As `rows.rows_of` makes them, in any number: what is missing is left blank.
    """
    parts = [_ABOUT, summary(rows)]
    for case in cases(rows):
        of_it = [row for row in rows if row["case"] == case]
        parts.append(f"## {case}\n")
        for column, called in TIMES.items():
            for workload in dict.fromkeys(row["workload"] for row in of_it):
                chosen = [row for row in of_it if row["workload"] == workload]
                title = f"{workload_label(workload)}, ms for an iteration, {called}: {case}"
                parts.append(written(_times(chosen, column, title), "markdown"))
        parts += [written(_consists(at_reference(of_it), case), "markdown"), _PARTS]
    parts.append("## Cost\n")
    parts.append(cost_tables(Costs.read(), sorted({case.ports for case in cases(rows)})))
    return "\n".join([*parts, *remarks(rows)])


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return the lines that say why rows failed: each reason once for a network and case, with where it came up."""
    where: dict[tuple[str, Case, str], dict[str, set[float]]] = {}
    for row in rows:
        if row["status"] != "ok":
            key = row["network"], row["case"], " ".join(str(row["reason"]).split())
            where.setdefault(key, {}).setdefault(row["workload"], set()).add(row["gbit_per_s"])
    said = []
    for (network, case, reason), places in where.items():
        told = [f"{workload_label(workload)} at {', '.join(f'{width:g}' for width in sorted(widths))} Gb/s"
                for workload, widths in places.items()]  # fmt: skip
        said.append(f"- {LOOKS[network].label}, {case}: failed: {reason} ({'; '.join(told)})")
    return ["## Remarks", "", *said, ""] if said else []


def _times(rows: Sequence[Row], column: str, title: str) -> Table:
    """Return the times of one workload: networks down, bandwidths across."""
    widths = bandwidths(rows)
    points = grouped(rows, "network", "gbit_per_s")
    found = {key: spread(of_it, column) for key, of_it in points.items()}
    best = {width: _least([each for (name, at), each in found.items() if at == width and name != APART])
            for width in widths}  # fmt: skip
    tried = {(row["network"], row["gbit_per_s"]) for row in rows}
    lines = []
    for name in networks(rows):
        line = [Cell(LOOKS[name].label)]
        for width in widths:
            each = found.get((name, width))
            if each is None:
                line.append(Cell("failed" if (name, width) in tried else ""))
            else:
                line.append(Cell(_text(each, 1e3), name != APART and each.median <= best[width] * (1 + TIE)))
        lines.append(line)
    return Table(title, ("network", *(f"{width:g} Gb/s" for width in widths)), lines, 1)


def _consists(rows: Sequence[Row], case: Case) -> Table:
    """Return what times consist of, and what they cost, at one bandwidth."""
    columns = {"computing, ms": ("compute_s", 1e3), "AllReduce, ms": ("all_reduce_us", 1e-3), "MP, ms": ("mp_us", 1e-3),
               "bandwidth tax": ("bandwidth_tax", 1), "USD": ("usd_per_server", 1)}  # fmt: skip
    rows = [row | {"time_cost": row["no_overlap_s"] * row["usd_per_server"]} for row in rows if row["status"] == "ok"]
    lines = []
    for (workload,), of_it in grouped(rows, "workload").items():
        points = {name: each for (name,), each in grouped(of_it, "network").items()}
        product = {name: spread(each, "time_cost") for name, each in points.items()}
        best = _least([each for name, each in product.items() if name != APART])
        for name in networks(of_it):
            figures = [_text(spread(points[name], column), factor) for column, factor in columns.values()]
            each = product[name]
            last = Cell(_text(each), name != APART and each is not None and each.median <= best * (1 + TIE))
            lines.append([Cell(workload_label(workload)), Cell(LOOKS[name].label), *map(Cell, figures), last])
    speed = "".join(f" at {width:g} Gb/s" for width in bandwidths(rows))
    head = ("workload", "network", *columns, "time × cost, s·USD")
    return Table(f"What an iteration consists of{speed}: {case}", head, lines, 2)


def _least(spreads: Sequence[Spread | None]) -> float:
    """Return the least median."""
    return min((each.median for each in spreads if each), default=float("nan"))


def _text(each: Spread | None, factor: float = 1) -> str:
    """Return a median, and least and most where they differ as written; nothing where there is none."""
    if each is None:
        return ""
    found, least, most = (four_digits(value * factor) for value in each)
    return found if least == most else f"{found} ({least}–{most})"
