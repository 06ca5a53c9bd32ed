"""GML, as networkx and topohub.org write it; what its attributes mean is in `graphs`."""

from __future__ import annotations

import re
from typing import Any

from topologies.readers.graphs import Graph, topology_of
from topologies.readers.source import Source
from topologies.shape import shortened
from topologies.topology import Topology

_TOKEN = re.compile(r'\s+|#[^\n]*|"(?P<text>[^"]*)"|(?P<open>\[)|(?P<close>\])|(?P<word>[^\s\[\]"#]+)')
_MAX_DEPTH = 16

#: A list of GML: keys and their values, in order; keys may come again.
_List = list[tuple[str, Any]]


def recognises(text: str) -> bool:
    """Return whether a text has GML's ``graph [`` before any other list."""
    # Possessive: what has been passed over is not tried again, so that hostile starts cost no time.
    before = r'(?>\s+|#[^\n]*+|(?:Creator|Version|comment)\s++(?>"[^"]*+"|[^"\s]\S*+)(?=\s))*+'
    return re.match(rf"{before}graph\s*+\[", text[:65536]) is not None


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        No such file (with the line), a node without an id or with one that another has, or what
        `graphs.topology_of` refuses.
    """
    content = [value for key, value in _parsed(source) if key == "graph" and isinstance(value, list)]
    if len(content) != 1:
        raise source.error(f"{len(content)} graphs; expected one")
    directed = any(key == "directed" and value == "1" for key, value in content[0])
    graph = Graph()
    for key, value in content[0]:
        if key not in ("node", "edge"):
            continue
        if not isinstance(value, list):
            raise source.error(f"{key} is {shortened(str(value), 40)!r}; expected a list in brackets")
        # Of keys that come again the last counts; lists inside say nothing of links.
        attributes = {name: word for name, word in value if isinstance(word, str)}
        if key == "node":
            node = attributes.pop("id", "")
            if not node or node in graph.nodes:
                raise source.error(f"node {node!r:.40} has no id or one that another has; expected its own")
            graph.nodes[node] = attributes
        else:
            graph.edges.append((attributes.pop("source", ""), attributes.pop("target", ""), attributes, directed))
    return topology_of(source, graph)


def _parsed(source: Source) -> _List:
    """Return the outermost list of a file."""
    outer: _List = []
    stack = [outer]
    key: str | None = None
    at, line = 0, 1
    text = source.text
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise source.error("a text in quotes does not end", line)
        if token["open"]:
            if key is None or len(stack) >= _MAX_DEPTH:
                raise source.error(f"a list without a key, or nested more than {_MAX_DEPTH} deep", line)
            inner: _List = []
            stack[-1].append((key, inner))
            stack.append(inner)
            key = None
        elif token["close"]:
            if len(stack) == 1 or key is not None:
                raise source.error("a ] that closes nothing, or after a key without a value", line)
            stack.pop()
        elif token["word"] is not None or token["text"] is not None:
            word = token["word"] if token["text"] is None else token["text"]
            if key is not None:
                stack[-1].append((key, word))
                key = None
            elif token["text"] is not None:
                raise source.error(f"{shortened(word, 40)!r} stands where a key is expected", line)
            else:
                key = word
        line += token[0].count("\n")
        at = token.end()
    if len(stack) > 1 or key is not None:
        raise source.error("is cut off: a list is not closed, or a key has no value", line)
    return outer
