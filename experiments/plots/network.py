"""A topology by itself: a line for each direction between two nodes, in the colour of what its links carry together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.plots.heat_map import draw_links
from experiments.plots.layout import layout
from experiments.plots.style import note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from topologies import Topology

_SIDE = 6.0


def figure(topology: Topology) -> Figure:
    """Return the drawing of a topology.

    Parameters
    ----------
    topology : Topology
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(_SIDE + 1.4, _SIDE + 1.0), layout="constrained")
    axes = drawing.subplots()
    joined = _joined(topology)
    bandwidth = joined.bandwidth_gbps
    least, most = (float(bandwidth.min()), float(bandwidth.max())) if len(bandwidth) else (1.0, 1.0)
    # One value is the middle of the colours; values far apart are told apart by their order of magnitude.
    scale = Normalize(0, 2 * most) if least == most else LogNorm(least, most)
    colours = ScalarMappable(scale, "viridis")
    draw_links(axes, joined, layout(joined), bandwidth, colours, _SIDE * 72)
    each = ""
    if len(different := np.unique(bandwidth)) == 1:
        each = f", {least:g} GB/s from node to node"
    elif len(different):
        bar = drawing.colorbar(colours, ax=axes, label="bandwidth from node to node (GB/s)", shrink=0.85)
        if len(different) <= 8:
            bar.set_ticks(different.tolist(), labels=[f"{value:g}" for value in different.tolist()])
            bar.minorticks_off()
    switches = f", {topology.num_switches} switches" if topology.num_switches else ""
    axes.set_title(
        f"{topology.name}\n{topology.num_npus} NPUs{switches}, {topology.num_links} links{each}", fontsize=10
    )
    shapes = "Circles: NPUs; squares: switches. " if topology.num_switches else "Circles: NPUs. "
    note(drawing, f"{shapes}What leads from node to node keeps to the right of its direction.")
    return drawing


def _joined(topology: Topology) -> Topology:
    """Return the network with parallel links as one of their summed bandwidth."""
    from topologies import Topology

    key, place = np.unique(topology.src.astype(np.int64) * topology.num_nodes + topology.dst, return_inverse=True)
    total = np.bincount(place, weights=topology.bandwidth_gbps, minlength=len(key))
    src, dst = np.divmod(key, topology.num_nodes)
    return Topology(topology.num_npus, src, dst, np.zeros(len(key)), total, topology.num_switches, topology.name)
