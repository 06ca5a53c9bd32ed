"""Graphs of other tools become topologies: which attributes of nodes and edges count, whatever the file format.

An edge of an undirected graph is a cable (two links), of a directed one a link; parallel edges stay. A node whose
`kind` or `type` is ``switch`` is a switch, every other one an NPU, numbered in the order of the file. Unit rule: an
edge's `bandwidth_gbps` is GB/s (as in `Topology.to_networkx`) and `LinkSpeedRaw` bit/s (the Internet Topology Zoo);
`bandwidth`, `capacity`, `speed` and `rate` carry a unit (``400Gbps``) or are bare numbers of the unit that the user
gives. `latency_us`, `latency_ns` and `latency_ms` say theirs; `latency` and `delay` carry one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from topologies.exceptions import UnitError
from topologies.readers.source import MAX_FILE_LINKS, MAX_NODES, Source
from topologies.shape import DEFAULT_LATENCY_US, shortened
from topologies.topology import Topology
from topologies.units import parse_bandwidth, parse_time

_BANDWIDTHS = ("bandwidth", "capacity", "speed", "rate")
_LATENCIES = ("latency", "delay")
_LATENCY_UNITS = {"latency_us": "us", "latency_ns": "ns", "latency_ms": "ms"}


@dataclass
class Graph:
    """Nodes with their attributes, in the order of the file, and (source, target, attributes, directed) of edges."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str], bool]] = field(default_factory=list)


def topology_of(source: Source, graph: Graph) -> Topology:
    """Return the topology of a graph.

    Raises
    ------
    FormatError
        No node, an edge to an unknown node, an edge that does not say its bandwidth where the user does not either.
    """
    if not graph.nodes:
        raise source.error("the graph has no node; expected NPUs and what joins them")
    if len(graph.nodes) > MAX_NODES or len(graph.edges) > MAX_FILE_LINKS:
        raise source.error(f"{len(graph.nodes)} nodes and {len(graph.edges)} edges; expected at most {MAX_NODES} and "
                           f"{MAX_FILE_LINKS}")  # fmt: skip
    is_switch = {node: _kind(attributes) == "switch" for node, attributes in graph.nodes.items()}
    order = sorted(graph.nodes, key=lambda node: is_switch[node])
    new = {node: index for index, node in enumerate(order)}
    switches = sum(is_switch.values())
    if switches == len(order):
        raise source.error(f"all {switches} nodes are switches; expected NPUs")
    figures = Figures(source)
    rows: list[tuple[int, int, float, float]] = []
    loops = []
    for a, b, attributes, directed in graph.edges:
        shown = f"{shortened(a, 40)} {'->' if directed else '–'} {shortened(b, 40)}"
        for node in (a, b):
            if node not in new:
                raise source.error(f"edge {shown}: no node {shortened(node, 40)!r}; expected an end that is a node")
        bandwidth, latency = figures.of(attributes, f"edge {shown}")
        if a == b:
            loops.append(a)
            continue
        rows.append((new[a], new[b], latency, bandwidth))
        if not directed:
            rows.append((new[b], new[a], latency, bandwidth))
    source.dropped("links from a node to itself", loops)
    figures.tell()
    names = [shortened(graph.nodes[node].get("name") or graph.nodes[node].get("label") or node, 80) for node in order]
    return source.build(len(order) - switches, rows, switches, names)


def _kind(attributes: Mapping[str, str]) -> str:
    """Return what a node says it is, in lower case."""
    return (attributes.get("kind") or attributes.get("type") or "").strip().lower()


class Figures:
    """Bandwidth and latency of links, from what each says or from what the user gives for those that do not."""

    def __init__(self, source: Source, what: str = "edges") -> None:
        self._source, self._what = source, what
        self._bandwidth, self._latency = source.bandwidth(), source.latency()
        self._unit = source.bare_unit()
        self.without = 0  # links that took the default latency

    def of(self, attributes: Mapping[str, str], where: str, line: int | None = None) -> tuple[float, float]:
        """Return (GB/s, µs) of a link from its attributes, whose names are in any letter case."""
        lower = {key.lower(): value for key, value in attributes.items() if str(value).strip()}
        try:
            bandwidth, latency = self._given_bandwidth(lower), self._given_latency(lower)
        except UnitError as error:
            raise self._source.error(f"{where}: {shortened(str(error), 200)}", line) from None
        if bandwidth is None:
            raise self._source.error(f"{where} has no bandwidth; give one for all {self._what} without, "
                                     f"{self._source.ask('bandwidth')}", line)  # fmt: skip
        if latency is None:
            self.without += 1
            latency = DEFAULT_LATENCY_US
        return bandwidth, latency

    def tell(self) -> None:
        """Say how many links took the default latency."""
        if self.without:
            self._source.warn(f"{self.without} {self._what} without a latency have {DEFAULT_LATENCY_US:g} us, the "
                              f"default; {self._source.ask('latency')} says otherwise")  # fmt: skip

    def _given_bandwidth(self, lower: Mapping[str, str]) -> float | None:
        """Return GB/s of a link."""
        if "bandwidth_gbps" in lower:
            return parse_bandwidth(f"{_plain(lower['bandwidth_gbps'])}GB/s")
        for key in _BANDWIDTHS:
            if key in lower:
                text = lower[key].strip()
                if text[-1:].isdigit() or text[-1:] == ".":
                    if self._unit is None:
                        raise UnitError(f"{key} {text!r} has no unit; expected one such as 400Gbps, or say which, "
                                        f"{self._source.ask('unit')}")  # fmt: skip
                    text = f"{_plain(text)}{self._unit}"
                return parse_bandwidth(text)
        if "linkspeedraw" in lower:
            return parse_bandwidth(f"{_plain(lower['linkspeedraw'])}bps")
        return self._bandwidth

    def _given_latency(self, lower: Mapping[str, str]) -> float | None:
        """Return µs of a link."""
        for key, unit in _LATENCY_UNITS.items():
            if key in lower:
                return parse_time(f"{_plain(lower[key])}{unit}")
        for key in _LATENCIES:
            if key in lower:
                return parse_time(lower[key])
        return self._latency


def _plain(text: str) -> str:
    """Return a number in the form that units are joined to: Python writes large and small ones with an exponent."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UnitError(f"{shortened(text, 40)!r} is no number")
    return text.strip() if len(text.strip()) < 30 else repr(value)
