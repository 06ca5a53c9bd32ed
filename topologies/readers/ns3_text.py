"""Topology text of ASTRA-sim's ns-3 back end and of SimAI: a header, the switches, and a line for each cable.

The header is ``nodes switches links``, or of SimAI ``nodes gpus_per_server nvswitches switches links gpu_type``; NPUs
are the nodes that are no switch, in their order. ``src dst rate latency error`` is one cable, both ways. Unit rule:
rates and latencies carry ns-3's units (``400Gbps``, ``0.0005ms``), bits and decimal prefixes. A cable that stands twice
with the same values is two parallel ones; with different values the file is refused. A cable without bandwidth or with
an error rate of its own keeps its line and is refused or named.
"""

from __future__ import annotations

import re

from topologies.exceptions import UnitError
from topologies.readers.source import MAX_FILE_LINKS, MAX_NODES, Source, named
from topologies.shape import shortened
from topologies.topology import Topology
from topologies.units import parse_bandwidth, parse_time

_HEADERS = {3: "nodes switches links", 6: "nodes gpus_per_server nvswitches switches links gpu_type"}


def recognises(text: str) -> bool:
    """Return whether a text begins with a header of numbers and has a cable with a rate in its first lines."""
    lines = [line for line in text[: 2**20].splitlines() if line.strip()][:2]
    words = lines[0].split() if len(lines) == 2 else []
    numbers = words[:5] if len(words) == 6 else words
    if len(words) not in _HEADERS or not all(re.fullmatch("[0-9]+", word, re.A) for word in numbers):
        return False
    # Possessive, and within a line: what has been passed over is not tried again.
    cable = r"^[ \t]*+[0-9]++[ \t]++[0-9]++[ \t]++[0-9.]++[ \t]*+[A-Za-z]++(?:/s)?[ \t]++[0-9.]"
    return re.search(cable, text[: 2**20], re.M | re.A) is not None


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        Counts that do not fit what follows, an unknown node, a rate or latency without a unit, a cable that stands
        twice with different values.
    """
    lines = [(number, line.split()) for number, line in enumerate(source.text.splitlines(), 1) if line.strip()]
    nodes, switches, cables = _header(source, lines[0][1])
    at, is_switch = 1, [False] * nodes
    listed = 0
    while listed < switches:
        if at >= len(lines):
            raise source.error(f"names {listed} of {switches} switches; the file is cut off")
        number, words = lines[at]
        for word in words:
            node = _node(source, word, nodes, number)
            if is_switch[node]:
                raise source.error(f"switch {node} is named twice; expected each once", number)
            is_switch[node] = True
            listed += 1
        at += 1
    if listed > switches:
        raise source.error(f"names {listed} switches, the header {switches}; expected as many", lines[at - 1][0])
    rows = lines[at:]
    if len(rows) != cables:
        raise source.error(f"has {len(rows)} lines of links, the header says {cables}; expected as many")
    order = sorted(range(nodes), key=lambda node: is_switch[node])
    new = {node: index for index, node in enumerate(order)}
    npus = nodes - switches
    if npus < 1:
        raise source.error(f"all {nodes} nodes are switches; expected NPUs")
    return source.build(npus, _links(source, rows, nodes, new), switches, [
        f"{'switch' if is_switch[node] else 'NPU'} {node}" for node in order
    ])  # fmt: skip


def _header(source: Source, words: list[str]) -> tuple[int, int, int]:
    """Return how many nodes, switches of all sorts, and cables there are."""
    numbers = [int(word) for word in words if re.fullmatch("[0-9]{1,9}", word, re.ASCII)]
    form = _HEADERS.get(len(words))
    if form is None or len(numbers) < (3 if len(words) == 3 else 5):
        raise source.error(
            f"the header is {shortened(' '.join(words), 60)!r}; expected {' or '.join(_HEADERS.values())}", 1
        )
    nodes, switches, cables = numbers if len(words) == 3 else (numbers[0], numbers[2] + numbers[3], numbers[4])
    if nodes > MAX_NODES or cables > MAX_FILE_LINKS or switches > nodes:
        raise source.error(f"{nodes} nodes, {switches} of them switches, {cables} links; expected at most {MAX_NODES}"
                           f" nodes and {MAX_FILE_LINKS} links, and no more switches than nodes", 1)  # fmt: skip
    return nodes, switches, cables


def _links(
    source: Source, lines: list[tuple[int, list[str]]], nodes: int, new: dict[int, int]
) -> list[tuple[int, int, float, float]]:
    """Return the links, two for each cable."""
    rows: list[tuple[int, int, float, float]] = []
    seen: dict[tuple[int, int], tuple[float, float]] = {}
    known: dict[tuple[str, str], tuple[float, float]] = {}  # files have few different values
    loops, parallel, lossy = [], [], []
    for number, words in lines:
        if len(words) not in (4, 5):
            raise source.error(f"found {len(words)} words; expected src dst rate latency error", number)
        a, b = (_node(source, word, nodes, number) for word in words[:2])
        name = f"{a} – {b}"
        values = words[2], words[3]
        if values not in known:
            known[values] = _figures(source, *values, number)
        if a == b:
            loops.append(str(a))
            continue
        pair = min(a, b), max(a, b)
        if pair in seen:
            if seen[pair] != known[values]:
                raise source.error(f"the link {name} stands twice with different values; expected it once, or parallel "
                                   "links of equal values", number)  # fmt: skip
            parallel.append(name)
        seen[pair] = known[values]
        if len(words) == 5 and not re.fullmatch(r"0*+\.?0*+", words[4]):
            lossy.append(name)
        bandwidth, latency = known[values]
        rows += [(new[a], new[b], latency, bandwidth), (new[b], new[a], latency, bandwidth)]
    source.dropped("links from a node to itself", loops)
    if parallel:
        source.warn(f"{len(parallel)} links stand more than once and are taken as parallel ones: {named(parallel)}")
    if lossy:
        source.warn(f"the error rates of {len(lossy)} links are left out: {named(lossy)}")
    return rows


def _figures(source: Source, rate: str, latency: str, number: int) -> tuple[float, float]:
    """Return GB/s and µs of a rate and a latency in ns-3's units."""
    try:
        # ns-3 writes a rate in bits as bps or b/s.
        return parse_bandwidth(re.sub(r"b/s$", "bps", rate)), parse_time(latency)
    except UnitError as error:
        raise source.error(shortened(str(error), 200), number) from None


def _node(source: Source, word: str, nodes: int, number: int) -> int:
    """Return a node of a line."""
    if not re.fullmatch("[0-9]{1,9}", word, re.ASCII) or int(word) >= nodes:
        raise source.error(f"node {word!r:.40}; expected a number from 0 to {nodes - 1}", number)
    return int(word)
