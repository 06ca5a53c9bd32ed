"""What the topology gains and what the schedule gains: every schedule on every network, in one table and one figure.

TopoOpt's wiring under its own rings is one cell of it; that wiring under TACOS, or a torus under either, is another.
No paper has this table: topologies were compared under one schedule each, and schedules on one topology each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING

from experiments.plots.style import label_of, note, save, styled, title_of
from experiments.tables.formats import written
from experiments.tables.layout import TIE, Cell, Table
from experiments.tables.rows import Row, plain
from topologies import format_bytes
from topologies.atomic import write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Networks by the kind of their names.
_NETWORKS = {"fabric": "TopoOpt", "torus": "Torus", "jellyfish": "Random regular", "kautz_regular": "Kautz",
             "fat_tree": "Fat-tree"}  # fmt: skip

#: Schedules by their labels here; TopoOpt's own stands first.
_SCHEDULES = {"topoopt": "TopoOpt's own", "ring": label_of("ring"), "tacos": label_of("tacos"),
              "direct": label_of("direct")}  # fmt: skip

#: (collective, size) → (network, schedule) → GB/s.
_Speeds = dict[tuple[str, int], dict[tuple[str, str], float]]


def write_ablation(frame: pd.DataFrame, folder: Path) -> list[str]:
    """Write ``ablation.md`` and the figure beside the results, and return what to print.

    Parameters
    ----------
    frame : DataFrame
        Rows of results.
    folder : Path
        An existing folder.

    Raises
    ------
    CollbenchError
        A file cannot be written.
    """
    rows = plain(frame)
    speeds = _speeds(rows)
    text = "\n".join(
        [*(written(_table(problem, cells), "markdown") for problem, cells in speeds.items()), _gains(speeds)]
    )
    write_text(folder / "ablation.md", text)
    with styled():
        plots = save(ablation_figure(speeds), folder, "ablation")
    return [_gains(speeds), *map(str, plots)]


def _speeds(rows: Sequence[Row]) -> _Speeds:
    """Return the bandwidths of runs that worked, by problem, network and schedule."""
    found: _Speeds = {}
    for row in rows:
        network = _NETWORKS.get(row["topology"].partition(":")[0])
        schedule = _SCHEDULES.get(row["label"].rpartition(":")[2])
        cells = found.setdefault((row["collective"], row["size"]), {})
        if row["status"] == "ok" and network and schedule:
            cells[network, schedule] = row["algbw_gbps"]
    return found


def _kept(cells: Mapping[tuple[str, str], float], place: int, names: Sequence[str]) -> list[str]:
    """Return the names that stand in some cell, in their order."""
    there = {cell[place] for cell in cells}
    return [name for name in names if name in there]


def _table(problem: tuple[str, int], cells: Mapping[tuple[str, str], float]) -> Table:
    """Return the table of one problem: networks down, schedules across."""
    schedules = _kept(cells, 1, [*_SCHEDULES.values()])
    best = max(cells.values(), default=0.0)
    lines = [
        [Cell(network), *(_cell(cells.get((network, schedule)), best) for schedule in schedules)]
        for network in _kept(cells, 0, [*_NETWORKS.values()])
    ]
    kind, size = problem
    return Table(f"{title_of(kind)} of {format_bytes(size)}, algbw in GB/s", ("network", *schedules), lines, 1)


def _cell(speed: float | None, best: float) -> Cell:
    """Return a bandwidth; a dash where a schedule was not tried on a network."""
    return Cell("–") if speed is None else Cell(f"{speed:.4g}", speed >= best * (1 - TIE))


def _gains(speeds: _Speeds) -> str:
    """Return what TopoOpt's wiring gains over the torus under one schedule, and TACOS over rings on one network."""
    lines = ["**Gains of the topology and of the schedule, AllReduce**", ""]
    for (kind, size), cells in speeds.items():
        if kind != "all_reduce":
            continue
        wiring = [cells["TopoOpt", schedule] / cells["Torus", schedule] for schedule in _SCHEDULES.values()
                  if ("TopoOpt", schedule) in cells and ("Torus", schedule) in cells]  # fmt: skip
        ring, tacos = _SCHEDULES["ring"], _SCHEDULES["tacos"]
        schedule = [cells[network, tacos] / cells[network, ring] for network in _NETWORKS.values()
                    if (network, ring) in cells and (network, tacos) in cells]  # fmt: skip
        if wiring and schedule:
            lines.append(f"- {format_bytes(size)}: TopoOpt's wiring over a torus under the same schedule ×"
                         f"{geometric_mean(wiring):.2f}; TACOS over rings on the same network "
                         f"×{geometric_mean(schedule):.2f} (geometric means)")  # fmt: skip
    return "\n".join([*lines, ""])


def ablation_figure(speeds: _Speeds) -> Figure:
    """Return a heat map for each problem: networks down, schedules across, GB/s in the cells.

    Parameters
    ----------
    speeds : dict
        (collective, size) to (network, schedule) to GB/s.
    """
    import numpy as np
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(kind for kind, _ in speeds))
    sizes = sorted({size for _, size in speeds})
    figure = Figure(figsize=(1.6 + 3.3 * len(sizes), 1.2 + 2.7 * len(kinds)), layout="constrained")
    panels = figure.subplots(len(kinds), len(sizes), squeeze=False)
    for down, kind in enumerate(kinds):
        for across, size in enumerate(sizes):
            axes, cells = panels[down, across], speeds.get((kind, size), {})
            networks, schedules = (_kept(cells, place, [*names.values()])
                                   for place, names in ((0, _NETWORKS), (1, _SCHEDULES)))  # fmt: skip
            values = np.array(
                [[cells.get((network, schedule), np.nan) for schedule in schedules] for network in networks]
            )
            axes.set_title(f"{title_of(kind)}, {format_bytes(size)}")
            axes.grid(False)
            if not values.size:
                axes.set_axis_off()
                continue
            share = values / np.nanmax(values)
            axes.imshow(share, cmap="YlGnBu", vmin=0, vmax=1.25, aspect="auto")
            for (y, x), value in np.ndenumerate(values):
                axes.text(x, y, "–" if np.isnan(value) else f"{value:.3g}", ha="center", va="center", fontsize=9,
                          color="white" if share[y, x] > 0.75 else "black")  # fmt: skip
            axes.set_xticks(range(len(schedules)), [name.replace(" ", "\n") for name in schedules])
            axes.set_yticks(range(len(networks)), networks if across == 0 else [""] * len(networks))
            axes.tick_params(length=0)
    note(figure, "algbw in GB/s of verified, simulated schedules; darker is nearer to the best of the panel.")
    return figure
