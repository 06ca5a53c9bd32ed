"""Typed values out of a YAML document: unknown keys, missing ones and wrong types are errors of a line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

import msgspec

from experiments.files.marked_yaml import Document, ExperimentError, Place

#: Words for types, as a user knows them.
_TYPES = {
    "str": "text", "int": "a whole number", "float": "a number", "array": "a list", "object": "a mapping",
    "null": "nothing", "bool": "true or false",
}  # fmt: skip


def require_known_keys(document: Document, content: dict[str, Any], kind: type[msgspec.Struct], place: Place) -> None:
    """Refuse a key that the type does not have, with the nearest that it has; and a key that must be there.

    Parameters
    ----------
    document : Document
        Knows the lines.
    content : dict
        The mapping that stands at `place`.
    kind : type of msgspec.Struct
        What it is to become.
    place : tuple
        Keys and positions from the outermost in; empty for the whole file.

    Raises
    ------
    ExperimentError
        With file and line.
    """
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


def located(document: Document, message: str, choices: Callable[[Place], str] | None = None) -> ExperimentError:
    """Return the error of a file for one of msgspec, which names its place as ``$.problems[0].size``.

    Parameters
    ----------
    document : Document
        Knows the lines.
    message : str
        What msgspec says.
    choices : callable, optional
        Gives, for a place, the values that may stand there, as the end of a sentence.
    """
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
    ending = choices(place) if choices else ""
    if fault.startswith("unknown value"):
        return document.error(place, f"{key}: {fault}{ending}")
    return document.error(place, f"{key}: {fault[:1].lower()}{fault[1:]}, found {value!r:.60}{ending}")


def _words(types: str) -> str:
    """Return types in a user's words."""
    return " or ".join(dict.fromkeys(_TYPES.get(part.strip(), part.strip()) for part in types.split("|")))
