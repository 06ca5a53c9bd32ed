"""A table of links: columns ``src``, ``dst``, ``bandwidth``, ``latency``, with commas, semicolons or tabs between.

A line is one link, from `src` to `dst`; with ``cables=yes`` it is a cable, both ways. A node whose name begins with
``switch`` or ``nvswitch`` is a switch, every other one an NPU; NPUs are numbered by their names, numbers in them by
value. Unit rule: the header says the unit (``bandwidth (GB/s)``, ``latency [us]``, or collbench's own names
``bandwidth_gbps``, which is GB/s, and ``latency_us``), or each value does.
"""

from __future__ import annotations

import csv
import re

from topologies.readers.graphs import Figures
from topologies.readers.source import MAX_FILE_LINKS, MAX_NODES, Source
from topologies.shape import shortened
from topologies.topology import Topology

_ENDS = {"src": "src", "source": "src", "from": "src", "dst": "dst", "target": "dst", "to": "dst", "destination": "dst"}
_COLUMN = re.compile(r"(\w++)(?:\s*+[\[(]([^\])]++)[\])])?")


def recognises(text: str) -> bool:
    """Return whether the first line is a header with both ends of a link."""
    _, _, header = _header(text)
    return {"src", "dst"} <= {_ENDS.get(name.lower()) for name in header}


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        A column that is there twice, a line with another number of values than the header has, a value without a unit.
    """
    first, delimiter, header = _header(source.text)
    columns = [_column(source, name, first) for name in header]
    names = [name for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            raise source.error(f"the column {name!r:.40} is there twice; expected once", first)
    both_ways = source.flag("cables")
    figures = Figures(source, "links")
    links: list[tuple[str, str, float, float]] = []
    loops = []
    known: dict[tuple[str, ...], tuple[float, float, int]] = {}  # GB/s, µs, and whether that is the default
    lines = csv.reader(source.text.splitlines()[first:], delimiter=delimiter, strict=True)
    try:
        for cells in lines:
            at = first + lines.line_num
            if not any(cell.strip() for cell in cells) or _comments(cells[0]):
                continue
            if len(cells) != len(columns):
                raise source.error(f"{len(cells)} values, the header has {len(columns)}; expected as many", at)
            row = dict(zip(names, (cell.strip() for cell in cells), strict=True))
            src, dst = row.pop("src"), row.pop("dst")
            if not src or not dst:
                raise source.error("a link without one of its ends; expected a node as src and as dst", at)
            values = tuple(row.values())
            if values not in known:
                stated = {name: _with_unit(row[name], unit) for name, unit in columns if name in row}
                before = figures.without
                bandwidth, latency = figures.of(stated, "the link", at)
                known[values] = (bandwidth, latency, figures.without - before)
            else:
                figures.without += known[values][2]
            if src == dst:
                loops.append(src)
                continue
            if len(links) >= MAX_FILE_LINKS:
                raise source.error(f"more than {MAX_FILE_LINKS} links", at)
            links.append((src, dst, *known[values][:2]))
            if both_ways:
                links.append((dst, src, *known[values][:2]))
    except csv.Error as error:
        raise source.error(f"not a table: {error}", first + lines.line_num) from None
    source.dropped("links from a node to itself", loops)
    figures.tell()
    return _built(source, links)


def _built(source: Source, links: list[tuple[str, str, float, float]]) -> Topology:
    """Return the topology of links between named nodes."""
    nodes = sorted({end for link in links for end in link[:2]}, key=lambda node: (_is_switch(node), natural(node)))
    switches = sum(map(_is_switch, nodes))
    if len(nodes) == switches or len(nodes) > MAX_NODES:
        raise source.error(f"{len(nodes)} nodes, {switches} of them switches; expected NPUs, at most {MAX_NODES}")
    new = {node: index for index, node in enumerate(nodes)}
    rows = [(new[src], new[dst], latency, bandwidth) for src, dst, bandwidth, latency in links]
    plain = all(node == str(new[node]) for node in nodes[: len(nodes) - switches]) and all(
        node == f"switch {number}" for number, node in enumerate(nodes[len(nodes) - switches :])
    )
    return source.build(len(nodes) - switches, rows, switches, () if plain else [shortened(node) for node in nodes])


def _is_switch(node: str) -> bool:
    """Return whether a node is a switch, by its name."""
    return node.lower().startswith(("switch", "nvswitch"))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return the order of a name in which numbers count by value: GPU 2 goes before GPU 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return tuple((0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in parts)


def _header(text: str) -> tuple[int, str, list[str]]:
    """Return the number, the delimiter and the words of the first line that is not empty and no comment."""
    lines = text[:4096].splitlines() or [""]
    number = next((number for number, line in enumerate(lines, 1) if line.strip() and not _comments(line)), 1)
    delimiter = max(",;\t", key=lines[number - 1].count)
    return number, delimiter, [word.strip().strip('"') for word in lines[number - 1].split(delimiter)]


def _comments(line: str) -> bool:
    """Return whether a line is a comment."""
    return line.lstrip().startswith("#")


def _column(source: Source, text: str, line: int) -> tuple[str, str]:
    """Return the name and the unit of a column, ``bandwidth (GB/s)``; no unit where it has none."""
    match = _COLUMN.fullmatch(text)
    if match is None or (match[2] is not None and not match[2].strip()):
        raise source.error(f"column {shortened(text, 40)!r}; expected a name, with a unit in parentheses or none", line)
    name = match[1].lower()
    return _ENDS.get(name, name), (match[2] or "").strip()


def _with_unit(text: str, unit: str) -> str:
    """Return a value with the unit of its column, unless it has its own."""
    return f"{text}{unit}" if unit and text[-1:].isdigit() else text
