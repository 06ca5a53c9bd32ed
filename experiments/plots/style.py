"""The look of every plot, and how a plot becomes files: one style, one look for each synthesizer, PNG and SVG.

Figures are made without pyplot, so nothing here opens a window or keeps figures alive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from topologies.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = Path(__file__).parent.with_name("collbench.mplstyle")

_Item = TypeVar("_Item")

#: What a legend says for each built-in synthesizer; others go by their own names.
LABELS = {
    "ring": "Ring",
    "direct": "Direct",
    "halving_doubling": "Halving-doubling",
    "recursive_doubling": "Recursive doubling",
    "swing": "Swing",
    "double_binary_tree": "Double binary tree",
    "binomial": "Binomial tree",
    "bruck": "Bruck",
    "pairwise": "Pairwise",
    "bfb": "BFB",
    "alltoall_lp": "AllToAll LP",
    "tacos": "TACOS",
    "taccl": "TACCL",
    "sccl": "SCCL",
    "exact": "Exact optimum",
    "topoopt": "TopoOpt",
    "forest": "ForestColl",
}

#: Colours stay with a synthesizer from plot to plot, whichever others it is drawn with. There are not enough that
#: anybody can tell apart: the classic baselines without one here get what is left in a plot, and a marker.
_COLOURS = {
    "ring": "#0072B2",
    "direct": "#56B4E9",
    "halving_doubling": "#009E73",
    "double_binary_tree": "#CC79A7",
    "tacos": "#D55E00",
    "taccl": "#E69F00",
    "topoopt": "#882255",
    "forest": "#661100",
}
_OTHERS = ("#999999", "#F0E442", "#44AA99", "#332288")

#: Seven shapes for nine colours: a pair comes again after 63 synthesizers only.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

#: What is said beside the marks themselves.
GREY = "#666666"

#: The files carry neither date nor software version, so that equal figures are equal files.
_METADATA: dict[str, dict[str, str | None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": "collbench"}}


def label_of(synthesizer: str) -> str:
    """Return what legends and tables call a synthesizer, ``NAME`` or ``NAME:OPTIONS``."""
    name, _, options = synthesizer.partition(":")
    label = LABELS.get(name, name)
    return f"{label} ({options})" if options else label


def colour_of(synthesizer: str) -> str:
    """Return the colour of a synthesizer; one that is not built in gets one by its name, always the same."""
    return _COLOURS.get(synthesizer) or _OTHERS[sum(synthesizer.encode()) % len(_OTHERS)]


@dataclass(frozen=True)
class Look:
    """How a synthesizer is drawn: what the legend says, and colour and marker that no other one has."""

    label: str
    colour: str
    marker: str


def looks(series: Sequence[str]) -> dict[str, Look]:
    """Return the look of each synthesizer of a plot.

    Parameters
    ----------
    series : sequence of str
        Different names of synthesizers, or ``NAME:OPTIONS`` where one takes part several times.
    """
    found: dict[str, Look] = {}
    # Those with a colour of their own choose first.
    for name in sorted(series, key=lambda name: name not in _COLOURS):
        taken = {look.colour for look in found.values()}
        wanted = colour_of(name.partition(":")[0])
        if wanted in taken:
            wanted = next((c for c in (*_OTHERS, *_COLOURS.values()) if c not in taken), wanted)
        found[name] = Look(label_of(name), wanted, _MARKERS[len(found) % len(_MARKERS)])
    return {name: found[name] for name in series}


def title_of(collective: str) -> str:
    """Return a collective's name as papers write it: ``all_reduce`` is AllReduce."""
    return "".join(map(str.capitalize, collective.split("_")))


def short_time(time_us: float) -> str:
    """Return a time for a title, in three digits."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3g} s"
    return f"{time_us / 1e3:.3g} ms" if time_us >= 1e3 else f"{time_us:.3g} µs"


def short_name(name: str) -> str:
    """Return the name of a node or link for an axis: ``NPU 0 -> NPU 1`` is ``0 → 1``."""
    return re.sub(r"\bNPU (\d+)", r"\1", name).replace(" -> ", " → ")


def note(figure: Figure, text: str) -> None:
    """Say below a figure what its marks cannot."""
    figure.supxlabel(text, fontsize=8, color=GREY)


def legend_of(axes: Axes) -> dict[str, Artist]:
    """Return what axes have for a legend, by label: those of several panels make one."""
    return {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}


def pages(items: Sequence[_Item], most: int) -> list[Sequence[_Item]]:
    """Return items in as few runs of at most `most` as hold them all, of nearly the same length."""
    count = max(-(-len(items) // most), 1)
    cuts = [len(items) * page // count for page in range(count + 1)]
    return [items[cuts[page] : cuts[page + 1]] for page in range(count)]


def spread(items: Sequence[_Item], most: int) -> list[_Item]:
    """Return at most `most` (2 or more) of some items: the first, the last, and some evenly between."""
    if len(items) <= most:
        return list(items)
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in collbench's style inside the ``with`` block; settings of the user come back after it."""
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE]):
        yield


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, each atomically.

    Parameters
    ----------
    figure : Figure
        Drawn inside `styled`, and saved inside it too: the SVG's ids depend on it.
    folder : Path
        It must exist.
    name : str
        File name without its suffix.

    Returns
    -------
    paths : list of Path
        The PNG, then the SVG.

    Raises
    ------
    CollbenchError
        When a file cannot be written, in one line.
    """
    paths = [folder / f"{name}.{suffix}" for suffix in _METADATA]
    for path in paths:
        save_as(figure, path)
    return paths


def save_as(figure: Figure, path: Path) -> None:
    """Write a figure, drawn and saved inside `styled`, as the PNG or SVG that `path` names, atomically."""
    suffix = path.suffix[1:].lower()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=suffix, metadata=_METADATA[suffix])
