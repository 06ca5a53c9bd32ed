"""Study files: what a ``reproduce_*.py`` runs, a mapping with a list of parts, typed, with mistakes at their line."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from experiments.files.marked_yaml import Document, read_yaml
from experiments.files.strict import located, require_known_keys

T = TypeVar("T", bound=msgspec.Struct)


def read_study(path: Path, kind: type[T], parts: str, part: type[msgspec.Struct]) -> tuple[Document, T]:
    """Return a study file as its type, and the document that knows the lines of what its reader still refuses.

    Parameters
    ----------
    path : Path
    kind : type of msgspec.Struct
        What the file is to become.
    parts : str
        Its key that holds a list.
    part : type of msgspec.Struct
        What each entry of the list is to become.

    Raises
    ------
    ExperimentError
        A mistake in the file, with its line.
    """
    document = read_yaml(str(path))
    content = document.content
    if not isinstance(content, dict):
        *others, last = (field.name for field in msgspec.structs.fields(kind))
        raise document.error((), f"expected a mapping with the keys {', '.join(others)} and {last}")
    require_known_keys(document, content, kind, ())
    for at, entry in enumerate(content[parts] if isinstance(content[parts], list) else []):
        if isinstance(entry, dict):
            require_known_keys(document, entry, part, (parts, at))
    try:
        return document, msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise located(document, str(error)) from None
