"""``ibnetdiscover``: the switches and channel adapters (CAs) of an InfiniBand fabric, and what their ports lead to.

Every CA is an NPU, in the order of the file; a host with several CAs is so many NPUs. Each cable stands at both of its
ends and is read once; parallel cables stay separate. Ports that lead nowhere are left out and named. Unit rule: width
times the data rate of a lane: 4xNDR is 400 Gb/s, 4xHDR 200, 4xEDR 100, 4xFDR 54.5, 4xQDR 32.
"""

from __future__ import annotations

import re

from topologies.readers.source import MAX_FILE_LINKS, MAX_NODES, Source, named
from topologies.shape import DEFAULT_LATENCY_US
from topologies.topology import Topology

#: Data rate of a lane in Gb/s, after its line code.
LANE_GBITS = {"SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 14.0625 * 64 / 66, "EDR": 25.0, "HDR": 50.0,
              "NDR": 100.0, "XDR": 200.0}  # fmt: skip

_NODE = re.compile(r'(Switch|Ca|Rt)\s+([0-9]{1,4})\s+"([^"]{1,64})"(?:\s*#\s*"([^"]*)")?.*', re.ASCII)
_PORT = re.compile(
    r'\[([0-9]{1,4})\](?:\[ext [^\]]*\])?(?:\([^)]*\))?\s*(?:"([^"]{1,64})"\[([0-9]{1,4})\])?(.*)', re.ASCII
)
_SPEED = re.compile(r"\b([0-9]{1,2})x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b")

#: A port of a node.
_End = tuple[str, int]


def recognises(text: str) -> bool:
    """Return whether a text has the line of a switch or CA, with its GUID in quotes."""
    return re.search(r'^(Switch|Ca)\s+[0-9]+\s+"[SH]-[0-9a-fA-F]+"', text[: 2**20], re.MULTILINE) is not None


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        A node or port that is there twice, a port whose peer says otherwise, a cable without width and speed.
    """
    nodes, cables, opened = _listed(source)
    switches = [guid for guid, (kind, _) in nodes.items() if kind == "Switch"]
    npus = [guid for guid, (kind, _) in nodes.items() if kind == "Ca"]
    routers = {guid for guid, (kind, _) in nodes.items() if kind == "Rt"}
    if not npus:
        raise source.error("lists no channel adapter (Ca); expected the hosts that take part")
    source.dropped("ports that lead nowhere", opened)
    source.dropped("routers, with their cables", [nodes[guid][1] for guid in nodes if guid in routers])
    given, latency = source.bandwidth(), source.latency()
    if latency is None:
        source.warn(f"does not say latencies: each hop has {DEFAULT_LATENCY_US:g} us, the default; "
                    f"{source.ask('latency', '0.3us')} says otherwise")  # fmt: skip
        latency = DEFAULT_LATENCY_US
    new = {guid: index for index, guid in enumerate([*npus, *switches])}
    rows: list[tuple[int, int, float, float]] = []
    loops = []
    for (a, port), (b, _), speed, line in cables:
        if a in routers or b in routers:
            continue
        if a == b:
            loops.append(f"{nodes[a][1]} port {port}")
            continue
        bandwidth = speed if given is None else given
        if bandwidth is None:
            raise source.error("a cable without width and speed, such as 4xNDR; give its bandwidth, "
                               f"{source.ask('bandwidth', '400Gbps')}", line)  # fmt: skip
        rows += [(new[a], new[b], latency, bandwidth), (new[b], new[a], latency, bandwidth)]
    source.dropped("cables from a node to itself", loops)
    names = [nodes[guid][1] for guid in new]
    return source.build(len(npus), rows, len(switches), names)


def _listed(
    source: Source,
) -> tuple[dict[str, tuple[str, str]], list[tuple[_End, _End, float | None, int]], list[str]]:
    """Return GUID → (kind, name), each cable once as (end, end, GB/s, line), and the ports that lead nowhere."""
    nodes: dict[str, tuple[str, str]] = {}
    ends: dict[_End, tuple[_End, float | None, int]] = {}
    opened: list[str] = []
    here = ""
    for number, text in enumerate(source.text.splitlines(), 1):
        line = text.strip()
        if found := _NODE.fullmatch(line):
            here = found[3]
            if here in nodes:
                raise source.error(f"node {here} is there twice; expected once", number)
            nodes[here] = found[1], found[4] or here
            continue
        if other := re.match(r'(\w+)\s+[0-9]+\s+"', line):
            raise source.error(f"a node of the kind {other[1]!r:.40}; expected Switch, Ca or Rt", number)
        port = _PORT.fullmatch(line)
        if port is None or not here:
            continue
        end = here, int(port[1])
        if port[2] is None:
            opened.append(f"{nodes[here][1]} port {port[1]}")
            continue
        if end in ends:
            raise source.error(f"port {port[1]} of {here} is there twice; expected once", number)
        speed = _SPEED.search(port[4])
        rate = int(speed[1]) * LANE_GBITS[speed[2]] / 8 if speed else None
        ends[end] = (port[2], int(port[3])), rate, number
    if len(nodes) > MAX_NODES or len(ends) > MAX_FILE_LINKS:
        raise source.error(f"{len(nodes)} nodes and {len(ends)} ports; expected at most {MAX_NODES}, {MAX_FILE_LINKS}")
    return nodes, _cables(source, nodes, ends), opened


def _cables(
    source: Source, nodes: dict[str, tuple[str, str]], ends: dict[_End, tuple[_End, float | None, int]]
) -> list[tuple[_End, _End, float | None, int]]:
    """Return each cable once; its two ends must say the same."""
    cables, once = [], []
    for end, (peer, rate, number) in ends.items():
        if peer[0] not in nodes:
            raise source.error(f"port {end[1]} of {end[0]} leads to {peer[0]}, which the file does not describe; it is "
                               "cut off", number)  # fmt: skip
        back = ends.get(peer)
        if back is None:
            once.append(f"{nodes[end[0]][1]} port {end[1]}")
        elif back[0] != end or back[1] != rate:
            raise source.error(f"port {end[1]} of {end[0]} leads to port {peer[1]} of {peer[0]}, which says otherwise "
                               f"(line {back[2]}); expected both ends of a cable to agree", number)  # fmt: skip
        if back is None or end <= peer:
            cables.append((end, peer, rate, number))
    if once:
        source.warn(f"{len(once)} cables stand at one end only: {named(once)}")
    return cables
