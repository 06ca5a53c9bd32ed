"""YAML whose every key and item knows its line, so that a mistake can be shown where it was made."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from topologies.exceptions import CollbenchError

#: A place in a file: keys and positions from the outermost in.
Place = tuple[Hashable, ...]

#: Values past which a file is refused: aliases of aliases can describe more than fits into memory.
_MAX_VALUES = 100_000


class ExperimentError(CollbenchError, ValueError):
    """A mistake in an experiment or workload file, with its file and line."""


@dataclass
class Document:
    """A file's content, and the line of each key and item.

    Attributes
    ----------
    path : str
        As the user gave it.
    content : object
        Mappings, lists and scalars.
    lines : dict
        Place → line, counted from 1.
    """

    path: str
    content: Any = None
    lines: dict[Place, int] = field(default_factory=dict)

    def error(self, place: Place, message: str) -> ExperimentError:
        """Return the error that says `message` of a place; of what encloses it, where it is not in the file."""
        while place and place not in self.lines:
            place = place[:-1]
        return ExperimentError(f"{self.path}:{self.lines.get(place, 1)}: {message}")


def read_yaml(path: str) -> Document:
    """Return the content of a YAML file with the line of everything in it.

    Raises
    ------
    ExperimentError
        A file that cannot be read or is not YAML, a key given twice.
    """
    document = Document(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path} is not text; expected a file in YAML") from error
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is not None:
            document.content = _construct(loader, root, (), document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ExperimentError(f"{path}:{line}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ExperimentError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, ExperimentError):
            raise
        raise ExperimentError(f"{path} cannot be read as YAML: {error}") from error
    return document


def _construct(loader: yaml.SafeLoader, node: yaml.Node, place: Place, document: Document) -> Any:
    """Return the value of a node, and note the lines of what is inside."""
    document.lines.setdefault(place, node.start_mark.line + 1)
    if len(document.lines) > _MAX_VALUES:
        raise document.error((), f"more than {_MAX_VALUES:,} values; expected a file that a person wrote")
    if isinstance(node, yaml.SequenceNode):
        return [_construct(loader, item, (*place, index), document) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)
    own = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    twice = next((key for key in own if own.count(key) > 1), None)
    if twice is not None:
        mark = [key for key, _ in node.value if key.value == twice][-1].start_mark
        raise ExperimentError(f"{document.path}:{mark.line + 1}: the key {twice!r} is given twice; give it once")
    loader.flatten_mapping(node)
    found = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node)
        if not isinstance(key, str):
            line = key_node.start_mark.line + 1
            raise ExperimentError(f"{document.path}:{line}: the key {key!r} is no text; expected a name")
        document.lines[(*place, key)] = key_node.start_mark.line + 1
        found[key] = _construct(loader, value_node, (*place, key), document)
    return found
