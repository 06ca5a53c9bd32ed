"""Writers of topology files: collbench's own JSON, and what other tools read, where it can say the network.

What `topologies.readers` reads back is the same network, link by link; names of nodes stay where a format has them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from topologies.atomic import write_text
from topologies.exceptions import TopologyError
from topologies.fabric import Fabric
from topologies.files import save_topology
from topologies.topology import Topology

__all__ = ["SUFFIXES", "write_topology"]

#: Ending of a file → (what it is, the module that writes it; None for collbench's own).
SUFFIXES: Mapping[str, tuple[str, str | None]] = {
    ".json": ("collbench's own JSON", None),
    ".csv": ("a table of links", "link_csv"),
    ".graphml": ("GraphML", "graphml"),
    ".yml": ("a network file of ASTRA-sim", "astra_yaml"),
    ".yaml": ("a network file of ASTRA-sim", "astra_yaml"),
}


def write_topology(topology: Topology, path: str | os.PathLike[str]) -> None:
    """Write a topology in the format that the ending of `path` names; the file appears whole or not at all.

    Raises
    ------
    TopologyError
        An unknown ending, or a network that the format cannot say.
    CollbenchError
        The folder is missing or not writable.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise TopologyError(f"cannot write {path}: expected a name that ends in {', '.join(SUFFIXES)}")
    if isinstance(topology, Fabric):
        raise TopologyError(f"cannot write {topology.name}: it is not wired yet, and a file holds links")
    module = SUFFIXES[suffix][1]
    if module is None:
        save_topology(topology, path)
    else:
        write_text(path, import_module(f"topologies.writers.{module}").text_of(topology))
