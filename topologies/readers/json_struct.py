"""JSON files of TACCL as typed values, and what is wrong with one in a line: the file, the key, what was expected."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from topologies.exceptions import OptionError

_T = TypeVar("_T", bound=msgspec.Struct)

#: What is shown of a file's own words, at most.
_SHOWN = 60


def read_struct(path: str | os.PathLike[str], kind: type[_T], what: str) -> _T:
    """Return a JSON file as a typed value.

    Parameters
    ----------
    path : path
    kind : type
        A struct whose fields are the keys of the file; other structs in it are mappings in the file.
    what : str
        Names the file in messages.

    Raises
    ------
    OptionError
        A file that cannot be read; a key that is unknown (the nearest is given) or stands twice; a value of the wrong
        type (the words that it may be are given).
    """
    where = f"{what} {path}"
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise OptionError(f"cannot read the {where}: {error.strerror or error}") from error
    return parse_struct(content, kind, where, what)


def parse_struct(text: bytes | str, kind: type[_T], where: str, what: str) -> _T:
    """Return a JSON text as a typed value, as `read_struct` does; `where` names it in messages.

    Raises
    ------
    OptionError
        As `read_struct`.
    """

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise OptionError(f"{where}: the key {twice!r:.{_SHOWN}} stands twice in one mapping; expected once")
        return found

    def constant(word: str) -> NoReturn:
        raise OptionError(f"{where}: {word} is no number of JSON; expected a finite one")

    try:
        content = json.loads(text, object_pairs_hook=mapping, parse_constant=constant)
    except OptionError:
        raise
    except RecursionError as error:
        raise OptionError(f"{where}: nested too deeply; expected a {what} file of TACCL") from error
    except ValueError as error:
        raise OptionError(f"{where} is not JSON: {error}") from error
    _require_known(content, kind, where)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise OptionError(f"{where}: {_wrong_value(str(error), kind)}") from error


def choices(annotation: Any) -> list[str]:
    """Return the words that a value may be, wherever they stand in its type."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in choices(part)]


def _require_known(content: Any, kind: type[msgspec.Struct], where: str) -> None:
    """Refuse keys that a type does not have, with the nearest that it has."""
    if not isinstance(content, dict):
        raise OptionError(f"{where}: expected a mapping, found a {type(content).__name__}")
    known = get_type_hints(kind)
    for key, value in content.items():
        if key not in known:
            near = difflib.get_close_matches(key[:_SHOWN], known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise OptionError(f"{where}: unknown key {key!r:.{_SHOWN}}; {hint}")
        part = _struct(known[key])
        if part is not None and isinstance(value, dict):
            _require_known(value, part, f"{where}, {key}")


def _wrong_value(message: str, kind: type[msgspec.Struct]) -> str:
    """Return what is said of a value of the wrong type, with the words that it may be."""
    head, _, place = message.replace("`", "").partition(" - at $.")
    names = re.findall(r"\w+", place)
    annotation: Any = kind
    for name in names:
        part = _struct(annotation)
        if part is not None:
            annotation = get_type_hints(part)[name]
    words = choices(annotation) if "[" not in place or "enum" in head else []
    hint = f"; expected one of {', '.join(words)}" if words else ""
    if len(head) > 2 * _SHOWN:
        head = f"{head[:_SHOWN]}…{head[-_SHOWN:]}"
    return f"{head} at {place}{hint}" if place else f"{head}{hint}"


def _struct(annotation: Any) -> type[msgspec.Struct] | None:
    """Return the struct that a type is, or may be."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    return next((part for part in map(_struct, get_args(annotation)) if part is not None), None)
