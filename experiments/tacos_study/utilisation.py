"""How long each link of a mesh is busy under each algorithm, drawn on the mesh: after the paper's heat maps.

Each direction of a cable is a line of its own, so that a ring which uses one of them only can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.style import label_of
from experiments.tacos_study.grid import Grid, Run
from experiments.tacos_study.running import Row, attempt
from experiments.tacos_study.tables import title_of
from simulator import timeline
from topologies import format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The baselines that the paper's heat maps show, and TACOS.
SHOWN = ("ring", "direct", "tacos")

_KIND = "all_reduce"

#: How far each direction of a cable is moved to its right, in units of the distance between two NPUs.
_ASIDE = 0.09


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


def utilisation_figure(rows: Sequence[Row], width: int) -> Figure:
    """Return the heat maps, one for each algorithm, with one colour bar.

    Parameters
    ----------
    rows : sequence of dict
        As `busy_links` makes them, of all algorithms; those without a schedule are named instead of drawn.
    width : int
        NPUs of the mesh along x.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    scale = ScalarMappable(Normalize(0, 1), "viridis")

    algorithms = list(dict.fromkeys(row["synthesizer"] for row in rows))
    figure = Figure(figsize=(4.0 * len(algorithms) + 0.9, 4.9), layout="constrained")
    panels = figure.subplots(1, len(algorithms), squeeze=False)[0]
    for axes, algorithm in zip(panels, algorithms, strict=True):
        of_it = [row for row in rows if row["synthesizer"] == algorithm]
        axes.set_aspect("equal")
        axes.set_axis_off()
        if of_it[0]["status"] != "ok":
            axes.set_title(f"{label_of(algorithm)}: {of_it[0]['status']}")
            continue
        npus = np.arange(max(row["src"] for row in of_it) + 1)
        share = np.array([row["utilisation"] for row in of_it])
        axes.add_collection(LineCollection(list(_segments(of_it, width)), colors=scale.to_rgba(share), linewidths=3.5))
        axes.plot(npus % width, npus // width, "o", color="white", markeredgecolor="#333333", markersize=6, zorder=3)
        axes.set_xlim(-0.4, width - 0.6)
        axes.set_ylim(int(npus[-1]) // width + 0.4, -0.4)  # NPU 0 at the top left, as in a matrix
        busy = f"links busy {share.mean():.0%} of the time on average,\nfrom {share.min():.0%} to {share.max():.0%}"
        axes.set_title(f"{label_of(algorithm)}: {_time(of_it[0]['time_us'])}\n{busy}", fontsize=10)
    figure.colorbar(scale, ax=list(panels), label="share of the completion time for which a link is busy",
                    format=lambda value, _: f"{value:.0%}", shrink=0.85)  # fmt: skip
    first = rows[0]
    figure.suptitle(f"{title_of(first['collective'])} of {format_bytes(first['size'])} on {first['topology']}")
    figure.supxlabel("Each cable is two links; a link keeps to the right of its direction. "
                     "After the heat maps of TACOS (MICRO'24).", fontsize=8, color="#666666")  # fmt: skip
    return figure


def _segments(rows: Sequence[Row], width: int) -> np.ndarray:
    """Return (links, 2, 2): the ends of each link's line, moved to the right of its direction."""
    src, dst = (np.array([row[end] for row in rows]) for end in ("src", "dst"))
    start, end = (np.stack([npu % width, npu // width], axis=1).astype(float) for npu in (src, dst))
    along = end - start
    aside = np.stack([-along[:, 1], along[:, 0]], axis=1) * _ASIDE  # the y axis points down
    return np.stack([start + 0.14 * along + aside, end - 0.14 * along + aside], axis=1)


def _time(time_us: float) -> str:
    """Return a time for a title."""
    return f"{time_us / 1e3:.3g} ms" if time_us >= 1e3 else f"{time_us:.3g} µs"
