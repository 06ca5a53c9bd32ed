"""Networks: the `Topology` type, generators, real machines, short names and files.

This package knows nothing of collectives, schedules or solvers. Importing it costs numpy only; scipy and networkx are
imported by the operations that use them.
"""

from topologies.basic import fully_connected, hypercube, line, ring, star, switch
from topologies.circulant import circulant
from topologies.costs import Costs
from topologies.demand import Demand
from topologies.dragonfly import dragonfly
from topologies.exceptions import (
    CollbenchError,
    CollectiveError,
    FormatError,
    OptionError,
    ScheduleError,
    SynthesisError,
    TopologyError,
    TopologyWarning,
    UnitError,
    VerificationError,
)
from topologies.fabric import Fabric, fabric
from topologies.fat_tree import fat_tree
from topologies.files import is_topology_file, load_topology, save_topology
from topologies.grid import mesh, torus
from topologies.kautz import kautz
from topologies.machines import dgx1, dgx2, dgx_a100, mi250, ndv2
from topologies.names import KINDS, parse_topology
from topologies.paths import Paths
from topologies.product import product
from topologies.random_regular import random_regular
from topologies.scaling import scaled
from topologies.topology import Topology, require_connected
from topologies.units import (
    format_bandwidth,
    format_bytes,
    format_time,
    parse_bandwidth,
    parse_bytes,
    parse_per_dimension,
    parse_time,
)

__all__ = [
    "KINDS",
    "CollbenchError",
    "CollectiveError",
    "Costs",
    "Demand",
    "Fabric",
    "FormatError",
    "OptionError",
    "Paths",
    "ScheduleError",
    "SynthesisError",
    "Topology",
    "TopologyError",
    "TopologyWarning",
    "UnitError",
    "VerificationError",
    "circulant",
    "dgx1",
    "dgx2",
    "dgx_a100",
    "dragonfly",
    "fabric",
    "fat_tree",
    "format_bandwidth",
    "format_bytes",
    "format_time",
    "fully_connected",
    "hypercube",
    "is_topology_file",
    "kautz",
    "line",
    "load_topology",
    "mesh",
    "mi250",
    "ndv2",
    "parse_bandwidth",
    "parse_bytes",
    "parse_per_dimension",
    "parse_time",
    "parse_topology",
    "product",
    "random_regular",
    "require_connected",
    "ring",
    "save_topology",
    "scaled",
    "star",
    "switch",
    "torus",
]
