"""The look of every plot, and how a plot becomes files: one style, one colour for each synthesizer, PNG and SVG.

Figures are made without pyplot, so nothing here opens a window or keeps figures alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from topologies.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("collbench.mplstyle")

#: What a legend says for each built-in synthesizer; others go by their own names.
LABELS = {
    "ring": "Ring",
    "direct": "Direct",
    "halving_doubling": "Halving-doubling",
    "double_binary_tree": "Double binary tree",
    "tacos": "TACOS",
}

#: Colours stay with a synthesizer from plot to plot, whichever others it is drawn with.
_COLOURS = {
    "ring": "#0072B2",
    "direct": "#56B4E9",
    "halving_doubling": "#009E73",
    "double_binary_tree": "#CC79A7",
    "tacos": "#D55E00",
}
_OTHERS = ("#E69F00", "#999999", "#000000", "#F0E442")

#: The files carry neither date nor software version, so that equal figures are equal files.
_METADATA: dict[str, dict[str, str | None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": "collbench"}}


def label_of(synthesizer: str) -> str:
    """Return what a legend calls a synthesizer."""
    return LABELS.get(synthesizer, synthesizer)


def colour_of(synthesizer: str) -> str:
    """Return the colour of a synthesizer; one that is not built in gets one by its name, always the same."""
    return _COLOURS.get(synthesizer) or _OTHERS[sum(synthesizer.encode()) % len(_OTHERS)]


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
    paths = []
    for suffix, metadata in _METADATA.items():
        target = folder / f"{name}.{suffix}"
        with atomic_path(target) as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata)
        paths.append(target)
    return paths
