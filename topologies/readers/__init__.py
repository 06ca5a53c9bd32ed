"""Readers of topology files, found by content: one module for each format, whatever a file is called.

Each module has `recognises(text)` and `read(source)`, and says its unit rule in its first paragraph. Their imports are
deferred: most commands read no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from topologies.exceptions import FormatError
from topologies.files import is_topology_file, load_topology
from topologies.readers.source import Source, read_text
from topologies.topology import Topology

__all__ = ["FORMATS", "Format", "read_source", "read_topology"]

_GPU = frozenset({"gpu", "bandwidth", "latency", "bonded", "pcie", "nic", "boxes"})
_GRAPH = frozenset({"bandwidth", "latency", "unit"})


@dataclass(frozen=True)
class Format:
    """A format: what people call it, its module, and the keys that may be given beside a file of it."""

    title: str
    module: str
    keys: frozenset[str] = frozenset()

    def part(self, name: str) -> Any:
        """Return a function of its module."""
        return getattr(import_module(f"topologies.readers.{self.module}"), name)


#: In the order in which they are asked whether they recognise a text.
FORMATS = (
    Format("NCCL or RCCL topology XML", "nccl_xml", _GPU),
    Format("GraphML", "graphml", _GRAPH),
    Format("rocm-smi --showtopo", "rocm_smi", _GPU),
    Format("nvidia-smi topo -m", "nvidia_smi", _GPU | {"wiring"}),
    Format("a network file of ASTRA-sim", "astra_yaml"),
    Format("topology text of ASTRA-sim/ns-3 or SimAI", "ns3_text"),
    Format("a TACCL profile", "taccl", frozenset({"machine", "boxes", "sketch"})),
    Format("node-link JSON", "node_link", _GRAPH),
    Format("GML", "gml", _GRAPH),
    Format("a table of links", "link_csv", _GRAPH | {"cables"}),
    Format("a matrix of link counts", "link_matrix", _GPU),
    Format("ibnetdiscover", "ibnetdiscover", frozenset({"bandwidth", "latency"})),
)


def read_topology(path: str, given: Mapping[str, str] | None = None) -> Topology:
    """Return the topology of a file, collbench's own or another tool's.

    Parameters
    ----------
    path : str
    given : mapping of str to str, optional
        What the file does not say, by the names of `source.KEYS`, with units: ``{"gpu": "H100", "latency": "0.7us"}``.

    Returns
    -------
    topology : Topology
        What was left out of it, or taken from a table of defaults, is told by `TopologyWarning`.

    Raises
    ------
    FormatError
        The file cannot be read, no reader knows it, or it is damaged, or does not say what it must.
    OptionError, UnitError
        Something given that is unknown, has no meaning for this file, or is wrong.
    """
    if is_topology_file(path):
        Source(path, "", given or {}).take((), "collbench's own JSON")
        return load_topology(path)
    return read_source(Source(path, read_text(path), given or {}))


def read_source(source: Source) -> Topology:
    """Return the topology of a text that is another tool's."""
    for form in FORMATS:
        if form.part("recognises")(source.text):
            source.take(form.keys, form.title)
            topology: Topology = form.part("read")(source)
            return topology
    known = ", ".join(form.title for form in FORMATS)
    start = " ".join(source.text[:200].split())[:40]
    raise FormatError(f"{source.path} is no topology file that collbench reads (it begins {start!r}); expected its own "
                      f"JSON, {known}, or a short name such as mesh:8x8")  # fmt: skip
