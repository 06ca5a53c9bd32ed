"""GraphML with the attributes of `Topology.to_networkx`: `kind`, `name`, `bandwidth_gbps` and `latency_us`."""

from __future__ import annotations

from xml.sax.saxutils import escape

from topologies.topology import Topology

_KEYS = (("kind", "node", "string"), ("name", "node", "string"), ("bandwidth_gbps", "edge", "double"),
         ("latency_us", "edge", "double"))  # fmt: skip


def text_of(topology: Topology) -> str:
    """Return the GraphML of a topology: directed, edges in the order of the links."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>' for name, of, kind in _KEYS]
    lines.append('  <graph edgedefault="directed">')
    for node in range(topology.num_nodes):
        kind = "npu" if node < topology.num_npus else "switch"
        lines.append(f'    <node id="{node}"><data key="kind">{kind}</data><data key="name">'
                     f"{escape(topology.node_name(node))}</data></node>")  # fmt: skip
    columns = (topology.src, topology.dst, topology.bandwidth_gbps, topology.latency_us)
    for src, dst, bandwidth, latency in zip(*(column.tolist() for column in columns), strict=True):
        lines.append(f'    <edge source="{src}" target="{dst}"><data key="bandwidth_gbps">{bandwidth!r}</data>'
                     f'<data key="latency_us">{latency!r}</data></edge>')  # fmt: skip
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])
