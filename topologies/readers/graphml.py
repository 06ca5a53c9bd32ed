"""GraphML, as networkx, yEd and the Internet Topology Zoo write it; what its attributes mean is in `graphs`."""

from __future__ import annotations

import re

from topologies.readers.graphs import Graph, topology_of
from topologies.readers.source import Source
from topologies.readers.xml_tree import Element, parse_xml
from topologies.topology import Topology


def recognises(text: str) -> bool:
    """Return whether a text is XML with GraphML's root."""
    return re.search(r"<(\w+:)?graphml\b", text[:65536]) is not None


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        No graph or several, hyperedges, a node that is there twice, or what `graphs.topology_of` refuses.
    """
    root = parse_xml(source)
    graphs = [element for element in root.walk() if element.name == "graph"]
    if len(graphs) != 1:
        raise source.error(f"{len(graphs)} graphs; expected one, not nested")
    keys = {key.attributes.get("id", ""): key for key in root.children if key.name == "key"}
    defaults = {kind: _defaults(keys, kind) for kind in ("node", "edge")}
    by_default = graphs[0].attributes.get("edgedefault", "undirected") == "directed"
    graph = Graph()
    for element in graphs[0].children:
        if element.name == "hyperedge":
            raise source.error("has hyperedges; expected edges of two ends", element.line)
        attributes = defaults.get(element.name, {}) | _attributes(keys, element)
        if element.name == "node":
            node = element.attributes.get("id", "")
            if not node or node in graph.nodes:
                raise source.error(
                    f"node {node!r:.40} has no id or one that another has; expected its own", element.line
                )
            graph.nodes[node] = attributes
        elif element.name == "edge":
            ends = element.attributes.get("source", ""), element.attributes.get("target", "")
            directed = element.attributes.get("directed", "true" if by_default else "false") == "true"
            graph.edges.append((*ends, attributes, directed))
    return topology_of(source, graph)


def _attributes(keys: dict[str, Element], element: Element) -> dict[str, str]:
    """Return the attributes of a node or edge by their names."""
    found = {}
    for part in element.children:
        if part.name == "data":
            key = part.attributes.get("key", "")
            name = keys[key].attributes.get("attr.name", key) if key in keys else key
            found[name] = part.text.strip()
    return found


def _defaults(keys: dict[str, Element], kind: str) -> dict[str, str]:
    """Return the default values of nodes or edges."""
    return {
        key.attributes.get("attr.name", name): value.text.strip()
        for name, key in keys.items()
        if key.attributes.get("for", "all") in (kind, "all")
        for value in key.children
        if value.name == "default"
    }
