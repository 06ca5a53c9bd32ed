"""How long each link of a mesh is busy under each algorithm, drawn on the mesh: after the paper's heat maps.

Each direction of a cable is a line of its own, so that a ring which uses one of them only can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.heat_map import busy_bar, busy_scale, busy_text, draw_links
from experiments.plots.layout import layout
from experiments.plots.style import label_of, note, short_time, title_of
from experiments.tacos_study.grid import Grid, Run
from experiments.tacos_study.running import Row, attempt
from simulator import timeline
from topologies import format_bytes, parse_topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The baselines that the paper's heat maps show, and TACOS.
SHOWN = ("ring", "direct", "tacos")

_KIND = "all_reduce"


def busy_links(grid: Grid, algorithm: str) -> list[Row]:
    """Return a row for each link of the grid's mesh: its ends, and the share of the time for which it is held.

    A run without a schedule gives one row with its reason.
    """
    row, schedule = attempt(Run(grid.heat_map, _KIND, grid.heat_size, algorithm))
    common = {key: row[key] for key in ("topology", "collective", "size", "synthesizer", "status", "reason", "time_us")}
    if schedule is None:
        return [common]
    topology = schedule.topology
    share = timeline(schedule, grid.heat_size).utilisation()
    columns = zip(topology.src.tolist(), topology.dst.tolist(), share.tolist(), strict=True)
    return [
        common | {"link": link, "src": src, "dst": dst, "utilisation": used}
        for link, (src, dst, used) in enumerate(columns)
    ]


def utilisation_figure(rows: Sequence[Row]) -> Figure:
    """Return the heat maps, one for each algorithm, with one colour bar.

    Parameters
    ----------
    rows : sequence of dict
        As `busy_links` makes them, of all algorithms; those without a schedule are named instead of drawn.
    """
    from matplotlib.figure import Figure

    scale = busy_scale()
    algorithms = list(dict.fromkeys(row["synthesizer"] for row in rows))
    topology = parse_topology(rows[0]["topology"])
    places = layout(topology)
    figure = Figure(figsize=(4.0 * len(algorithms) + 0.9, 4.9), layout="constrained")
    panels = figure.subplots(1, len(algorithms), squeeze=False)[0]
    for axes, algorithm in zip(panels, algorithms, strict=True):
        of_it = [row for row in rows if row["synthesizer"] == algorithm]
        if of_it[0]["status"] != "ok":
            axes.set_axis_off()
            axes.set_title(f"{label_of(algorithm)}: {of_it[0]['status']}")
            continue
        share = np.array([row["utilisation"] for row in of_it])
        draw_links(axes, topology, places, share, scale, 4.0 * 72)
        axes.set_title(f"{label_of(algorithm)}: {short_time(of_it[0]['time_us'])}\n{busy_text(share)}", fontsize=10)
    busy_bar(figure, panels, scale)
    first = rows[0]
    figure.suptitle(f"{title_of(first['collective'])} of {format_bytes(first['size'])} on {first['topology']}")
    note(figure, "Each cable is two links; a link keeps to the right of its direction. "
                 "After the heat maps of TACOS (MICRO'24).")  # fmt: skip
    return figure
