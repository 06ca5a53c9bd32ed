"""From a YAML document to a typed experiment: unknown keys and wrong types are errors of a line."""

from __future__ import annotations

import difflib
import re
from typing import Any

import msgspec

from experiments.files.marked_yaml import Document, Place, read_yaml
from experiments.files.schema import Entrant, Experiment, Limits, Plot, Problems, TableLayout

#: The types of what stands under a key of the file, or in its list.
_PARTS: dict[str, type[msgspec.Struct]] = {
    "problems": Problems,
    "synthesizers": Entrant,
    "limits": Limits,
    "tables": TableLayout,
    "plots": Plot,
}

#: Words for types, as a user knows them.
_TYPES = {
    "str": "text", "int": "a whole number", "float": "a number", "array": "a list", "object": "a mapping",
    "null": "nothing", "bool": "true or false",
}  # fmt: skip


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
    _require_known_keys(document, content, Experiment, ())
    for key, part in _PARTS.items():
        value = content.get(key)
        items: list[tuple[Place, Any]] = [((key,), value)]
        if isinstance(value, list):
            items = [((key, index), item) for index, item in enumerate(value)]
        for place, item in items:
            if isinstance(item, dict):
                _require_known_keys(document, item, part, place)
    try:
        experiment = msgspec.convert(content, Experiment)
    except msgspec.ValidationError as error:
        raise _located(document, str(error)) from None
    for key, value in (("problems", experiment.blocks), ("synthesizers", experiment.synthesizers)):
        if not value:
            raise document.error((key,), f"{key} is empty; expected at least one")
    return experiment, document


def _require_known_keys(document: Document, content: dict[str, Any], kind: type[msgspec.Struct], place: Place) -> None:
    """Refuse a key that the type does not have, with the nearest that it has; and a key that must be there."""
    fields = msgspec.structs.fields(kind)
    known = [field.name for field in fields]
    for key in content:
        if key not in known:
            # Plurals are the likeliest slip: the keys are those of the command line.
            near = difflib.get_close_matches(key.lower().replace("-", "_"), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise document.error((*place, key), f"unknown key {key!r}; {hint}")
    missing = [field.name for field in fields if field.required and field.name not in content]
    if missing:
        where = f" in {place[0]}" if place else ""
        raise document.error(place, f"the key {missing[0]!r} is missing{where}; add it")


def _located(document: Document, message: str) -> Exception:
    """Return the error of a file for one of msgspec, which names its place as ``$.problems[0].size``."""
    fault, _, path = message.partition(" - at `")
    place: Place = ()
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        if index == "...":
            break
        place = (*place, name or int(index))
    value: Any = document.content
    for step in place:
        value = value[step]
    fault = re.sub(r"`([a-z |]+)`", lambda match: _words(match[1]), fault)
    fault = re.sub(r"^Invalid enum value (.*)$", r"unknown value \1", fault)
    key = next((step for step in reversed(place) if isinstance(step, str)), "the file")
    choices = _choices(place)
    if fault.startswith("unknown value"):
        return document.error(place, f"{key}: {fault}{choices}")
    return document.error(place, f"{key}: {fault[:1].lower()}{fault[1:]}, found {value!r:.60}{choices}")


def _choices(place: Place) -> str:
    """Return the values that a key of a few fixed words takes, as the end of a sentence."""
    from experiments.files.schema import PLOTS
    from simulator import LATENCIES, SWITCHINGS

    known = {"latency": LATENCIES, "switching": SWITCHINGS, "plots": PLOTS}.get(str(place[0]) if place else "")
    return f"; expected one of {', '.join(known)}" if known else ""


def _words(types: str) -> str:
    """Return types in a user's words."""
    return " or ".join(dict.fromkeys(_TYPES.get(part.strip(), part.strip()) for part in types.split("|")))
