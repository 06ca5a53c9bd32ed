"""Tuning all alike: who cuts chunks into pieces picks their number by simulation, unless the user has chosen."""

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
