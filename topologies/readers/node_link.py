"""Node-link JSON, as networkx and d3 write it; what its attributes mean is in `graphs`."""

from __future__ import annotations

import re
from typing import Any

from topologies.readers.graphs import Graph, topology_of
from topologies.readers.json_text import parse_json
from topologies.readers.source import Source
from topologies.topology import Topology


def recognises(text: str) -> bool:
    """Return whether a text is a JSON object with ``nodes`` and ``links`` (or ``edges``)."""
    if not text.lstrip().startswith("{") or re.search(r'"nodes"\s*:\s*\[', text) is None:
        return False
    return re.search(r'"(links|edges)"\s*:\s*\[', text) is not None


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        Another form of JSON, a node without an id or with one that another has, or what `graphs.topology_of` refuses.
    """
    content = parse_json(source)
    if not isinstance(content, dict):
        raise source.error("is no JSON object; expected one with nodes and links")
    nodes, edges = content.get("nodes"), content.get("links", content.get("edges"))
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise source.error("nodes and links are not both lists; expected node-link JSON")
    directed = content.get("directed", False) is True
    graph = Graph()
    for entry in nodes:
        node = _id(source, entry, "id") if isinstance(entry, dict) else _scalar(entry)
        if node is None or node in graph.nodes:
            raise source.error(f"node {node!r:.40} has no id or one that another has; expected its own")
        graph.nodes[node] = _texts(entry) if isinstance(entry, dict) else {}
    for entry in edges:
        if not isinstance(entry, dict):
            raise source.error(f"link {entry!r:.40}; expected an object with source and target")
        graph.edges.append((_id(source, entry, "source"), _id(source, entry, "target"), _texts(entry), directed))
    return topology_of(source, graph)


def _id(source: Source, entry: dict[str, Any], key: str) -> str:
    """Return the node that a key names."""
    found = _scalar(entry.get(key))
    if found is None:
        raise source.error(f"{key} is {entry.get(key)!r:.40}; expected a number or a text")
    return found


def _scalar(value: Any) -> str | None:
    """Return a number or text as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _texts(entry: dict[str, Any]) -> dict[str, str]:
    """Return the attributes that are numbers or texts."""
    return {key: text for key, value in entry.items() if (text := _scalar(value)) is not None}
