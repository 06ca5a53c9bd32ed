"""From a YAML document to a typed experiment: unknown keys and wrong types are errors of a line."""

from __future__ import annotations

from typing import Any

import msgspec

from experiments.files.marked_yaml import Document, Place, read_yaml
from experiments.files.schema import Entrant, Experiment, Limits, Plot, Problems, TableLayout
from experiments.files.strict import located, require_known_keys

#: The types of what stands under a key of the file, or in its list.
_PARTS: dict[str, type[msgspec.Struct]] = {
    "problems": Problems,
    "synthesizers": Entrant,
    "limits": Limits,
    "tables": TableLayout,
    "plots": Plot,
}


def read_experiment(path: str) -> tuple[Experiment, Document]:
    """Return the experiment of a file, and the document that knows its lines.

    Raises
    ------
    ExperimentError
        A file that cannot be read, an unknown key, a missing one, or a value of the wrong type; with file and line.
    """
    document = read_yaml(path)
    content = document.content
    if not isinstance(content, dict):
        found = "an empty file" if content is None else f"a {type(content).__name__}"
        raise document.error((), f"expected an experiment: a mapping with problems and synthesizers, found {found}")
    require_known_keys(document, content, Experiment, ())
    for key, part in _PARTS.items():
        value = content.get(key)
        items: list[tuple[Place, Any]] = [((key,), value)]
        if isinstance(value, list):
            items = [((key, index), item) for index, item in enumerate(value)]
        for place, item in items:
            if isinstance(item, dict):
                require_known_keys(document, item, part, place)
    try:
        experiment = msgspec.convert(content, Experiment)
    except msgspec.ValidationError as error:
        raise located(document, str(error), _choices) from None
    for key, value in (("problems", experiment.blocks), ("synthesizers", experiment.synthesizers)):
        if not value:
            raise document.error((key,), f"{key} is empty; expected at least one")
    return experiment, document


def _choices(place: Place) -> str:
    """Return the values that a key of a few fixed words takes, as the end of a sentence."""
    from experiments.files.schema import PLOTS
    from simulator import LATENCIES, SWITCHINGS

    known = {"latency": LATENCIES, "switching": SWITCHINGS, "plots": PLOTS}.get(str(place[0]) if place else "")
    return f"; expected one of {', '.join(known)}" if known else ""
