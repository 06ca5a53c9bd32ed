"""Fair comparisons: all are tuned alike, and who stands for what is usual is chosen by one rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthesizers import Synthesizer, parse_options
from topologies import OptionError


def tuned_alike(synthesizer: Synthesizer, given: Mapping[str, Any], chunks: int | None) -> dict[str, Any]:
    """Return options of a synthesizer with ``pieces`` filled in where it has them.

    Parameters
    ----------
    synthesizer : Synthesizer
    given : mapping
        What the user chose; it wins.
    chunks : int or None
        Chunks that the user asked for: then every synthesizer keeps them (pieces=1). None: pieces=auto.

    Raises
    ------
    OptionError
        An option given that does not exist, or a wrong value.
    """
    parse_options(synthesizer, given)
    options = {"pieces": "auto" if chunks is None else 1} | dict(given)
    try:
        parse_options(synthesizer, options)
    except OptionError:  # it cuts nothing into pieces, or has no automatic choice of them
        return dict(given)
    return options


def baseline(solved: Mapping[str, int]) -> str:
    """Return who the others are compared with: Ring where it solved anything, else the first of those that solved most.

    Ring stands for what is usual in the comparisons of TACOS (MICRO'24) and TACCL (NSDI'23) too.

    Parameters
    ----------
    solved : mapping
        Problems that each one solved.
    """
    return "ring" if solved.get("ring") else max(solved, key=lambda name: solved[name])
