"""What networks and workloads are called in figures and tables, and the colour and mark that each network keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from experiments.plots.style import Look
from experiments.topoopt_study.networks import NETWORKS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_WORKLOADS = {
    "dlrm": "DLRM", "candle": "CANDLE", "bert": "BERT", "ncf": "NCF", "vgg16": "VGG16", "resnet50": "ResNet50",
}  # fmt: skip

#: Reds build their wiring for the demand, blues are switches of the same cost, greens and yellow are fixed graphs.
_DRAWN = {
    "topoopt": ("#D55E00", "o"), "topoopt_released": ("#E69F00", "s"), "topoopt_random": ("#882255", "X"),
    "matching": ("#CC79A7", "D"), "fat_tree": ("#0072B2", "^"), "oversubscribed": ("#56B4E9", "v"),
    "ideal_switch": ("#000000", "*"), "random_regular": ("#009E73", "P"), "kautz": ("#6B5CA5", "d"),
    "torus": ("#A6A600", ">"), "ring": ("#999999", "<"),
}  # fmt: skip

#: Panels in a row.
_ACROSS = 3

#: Ticks of a decade, from few to many.
_STEPS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7))

LOOKS: Mapping[str, Look] = MappingProxyType({
    name: Look(kind.label, *_DRAWN.get(name, ("#666666", "."))) for name, kind in NETWORKS.items()
})  # fmt: skip


def workload_label(workload: str) -> str:
    """Return what papers call a workload."""
    return _WORKLOADS.get(workload, workload)


def panels(workloads: Sequence[str], height: float, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel of some inches for each workload, three across."""
    from matplotlib.figure import Figure

    down, across = -(-len(workloads) // _ACROSS), min(len(workloads), _ACROSS)
    figure = Figure(figsize=(1.2 + 3.6 * across, 1.5 + height * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, sharey=sharey).ravel().tolist()
    for empty in axes[len(workloads) :]:
        empty.set_axis_off()
    for panel, workload in zip(axes, workloads, strict=False):
        panel.set_title(workload_label(workload))
    return figure, axes[: len(workloads)]


def label_axes(panels: Sequence[Axes], below: str, beside: str) -> None:
    """Say what the axes of panels are: below each, and beside the first of each row."""
    for panel in panels:
        panel.set_xlabel(below)
    for panel in panels[::_ACROSS]:
        panel.set_ylabel(beside)


def legend(figure: Figure, axes: Iterable[Axes], ncols: int = 5) -> None:
    """Put one legend for all panels above them, in the order in which networks stand in tables."""
    found: dict[str, Artist] = {}
    for each in axes:
        handles, labels = each.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    order = [look.label for look in LOOKS.values()]
    labels = sorted(found, key=lambda label: order.index(label) if label in order else len(order))
    figure.legend([found[label] for label in labels], labels, loc="outside upper center", ncols=ncols)


def ticks(axis: Axis, values: Sequence[float] | None = None) -> None:
    """Name values of a logarithmic axis and nothing between; by default three or more, of what is drawn by now."""
    from matplotlib.ticker import MaxNLocator

    least, most = sorted(axis.get_view_interval())
    if values is None:
        for steps in _STEPS:
            scales = (10.0**power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1))
            values = [step * scale for scale in scales for step in steps if least <= step * scale <= most]
            if len(values) >= 3:
                break
        else:
            values = list(MaxNLocator(4).tick_values(least, most))
    shown = [value for value in values if least <= value <= most]
    axis.set_ticks(shown, [f"{value:,.12g}" for value in shown])
    axis.set_ticks([], minor=True)
