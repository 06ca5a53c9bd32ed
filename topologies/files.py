"""Topologies in collbench's own JSON: a format name, a version, and the columns of the `Topology` type as lists.

Floats are written in their shortest exact form, so a network comes back with the same fingerprint, name and node names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from topologies.atomic import write_text
from topologies.exceptions import FormatError, TopologyError
from topologies.reading import read_bytes
from topologies.topology import Topology

FORMAT = "collbench-topology"
VERSION = 1

# Field → what its entries must be; None for a field that is not a list.
_FIELDS: dict[str, tuple[type, ...] | None] = {
    "name": None,
    "num_npus": None,
    "num_switches": None,
    "node_names": (str,),
    "src": (int,),
    "dst": (int,),
    "latency_us": (int, float),
    "bandwidth_gbps": (int, float),
}


def save_topology(topology: Topology, path: str | os.PathLike[str]) -> None:
    """Write a topology as JSON; the file appears whole or not at all.

    Raises
    ------
    CollbenchError
        The folder is missing or not writable.
    """
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for field in _FIELDS:
        value = getattr(topology, field)
        if hasattr(value, "tolist"):
            value = value.tolist()
        content[field] = list(value) if isinstance(value, tuple) else value
    # A line for each field: a difference between two files shows which column changed.
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items())
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def is_topology_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like collbench's own topology JSON, whole or not, of this version or another."""
    try:
        with open(path, "rb") as file:
            start = file.read(200)
    except OSError:
        return False
    return start.lstrip().startswith(b"{") and f'"{FORMAT}"'.encode() in start


def load_topology(path: str | os.PathLike[str]) -> Topology:
    """Return the topology of a file that `save_topology` wrote.

    Raises
    ------
    FormatError
        The file cannot be read, or is truncated, foreign, of another version, or does not describe a valid network.
    """
    content = _parsed(Path(path))
    for field, entry_types in _FIELDS.items():
        if field not in content:
            raise FormatError(f"{path}: the field {field!r} is missing; write the file again with save_topology")
        value = content[field]
        if entry_types is None:
            wanted: type = str if field == "name" else int
            if type(value) is not wanted:
                raise FormatError(
                    f"{path}: field {field!r} is {value!r:.40}; expected a value of type {wanted.__name__}"
                )
        elif not isinstance(value, list) or not all(type(entry) in entry_types for entry in value):
            raise FormatError(
                f"{path}: field {field!r} is not a list of {' or '.join(t.__name__ for t in entry_types)}"
            )
    try:
        return Topology(**{field: content[field] for field in _FIELDS})
    except (TopologyError, OverflowError) as error:
        raise FormatError(f"{path}: {error}") from error


def _parsed(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file, checked to be of this format and version."""
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not text; expected a {FORMAT} JSON file") from error
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        if is_topology_file(path):
            raise FormatError(f"{path} is truncated or damaged ({error}); expected a whole {FORMAT} file") from error
        raise FormatError(f"{path} is not JSON ({error}); expected a {FORMAT} JSON file") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else f"a {type(content).__name__}"
        raise FormatError(f"{path} is not a topology of collbench: expected format {FORMAT!r}, found {found!r:.60}")
    if content.get("version") != VERSION:
        raise FormatError(
            f"{path} has version {content.get('version')!r:.20}, expected {VERSION}; read it with the release of "
            "collbench that wrote it"
        )
    return content
