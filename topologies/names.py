"""Short names of topologies, ``KIND:SHAPE[@BANDWIDTH,LATENCY]``: what a user types on the command line and in YAML.

Values for each dimension are joined by ``x``, as in ``mesh:8x8@50x75GiB/s,0.5us``; without them a link has 50 GB/s and
0.5 µs. A product of building blocks is spelled with one letter for each dimension, r(ing), f(ully connected) and
s(witch), after the 3D-RFS network of TACOS (MICRO'24).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from topologies import basic, machines
from topologies.circulant import circulant
from topologies.dragonfly import dragonfly
from topologies.exceptions import TopologyError, UnitError
from topologies.fabric import fabric
from topologies.fat_tree import fat_tree
from topologies.grid import mesh, torus
from topologies.kautz import kautz
from topologies.product import product
from topologies.random_regular import random_regular
from topologies.shape import DEFAULT_BANDWIDTH_GBPS, DEFAULT_LATENCY_US, PerDimension, shortened
from topologies.topology import Topology
from topologies.units import parse_bandwidth, parse_per_dimension, parse_time

_GRAMMAR = "KIND:SHAPE[@BANDWIDTH,LATENCY]"
_Build = Callable[[tuple[int, ...], PerDimension, PerDimension], Topology]


@dataclass(frozen=True)
class _Kind:
    """What a kind is, how many sizes it takes (None: any), how it is built, and which size is a seed, if one is."""

    example: str
    description: str
    num_sizes: int | range | None
    build: _Build
    seed: int | None = None


@dataclass(frozen=True)
class _Machine:
    """A machine: it takes a number of boxes, or nothing, and its figures are fixed."""

    example: str
    description: str
    build: Callable[..., Topology]
    boxes: bool = True


def _one(generate: Callable[..., Topology], **options: bool) -> _Build:
    """Return the builder of a kind of one size."""
    return lambda sizes, bandwidth, latency: generate(sizes[0], bandwidth, latency, **options)


_KINDS: dict[str, _Kind | _Machine] = {
    "mesh": _Kind("mesh:8x8", "mesh of any number of dimensions, x first", None, mesh),
    "torus": _Kind("torus:4x4x4", "mesh with its ends joined", None, torus),
    "ring": _Kind("ring:8", "ring, both ways", 1, _one(basic.ring)),
    "ring_one_way": _Kind("ring_one_way:8", "ring, links i -> i+1 only", 1, _one(basic.ring, one_way=True)),
    "line": _Kind("line:8", "ring with its ends open", 1, _one(basic.line)),
    "star": _Kind("star:8", "hub NPU 0 joined to every other NPU", 1, _one(basic.star)),
    "fully_connected": _Kind("fully_connected:8", "a cable between every two NPUs", 1, _one(basic.fully_connected)),
    "hypercube": _Kind("hypercube:6", "binary hypercube of 2^6 NPUs", 1, _one(basic.hypercube)),
    "switch": _Kind("switch:16", "NPUs around one switch; values are of each NPU's port", 1, _one(basic.switch)),
    "dragonfly": _Kind(
        "dragonfly:4x5@400x200GB/s,0.5us", "groups of 4 NPUs, 5 groups; values are local x global", 2,
        lambda sizes, bandwidth, latency: dragonfly(sizes[0], sizes[1], bandwidth, latency),
    ),
    "rfs": _Kind(
        "rfs:2x4x8@200x100x50GB/s,0.5us", "product of ring, fully connected and switch dimensions: any word of r f s",
        3, lambda sizes, bandwidth, latency: product("rfs", sizes, bandwidth, latency),
    ),
    "switch2d": _Kind(
        "switch2d:8x4@300x25GB/s,0.5us", "a switch for each row and each column of NPUs (also ss:8x4)", 2,
        lambda sizes, bandwidth, latency: product("ss", sizes, bandwidth, latency),
    ),
    "circulant": _Kind(
        "circulant:16x1x3x7", "16 NPUs with links i -> i+1, i+3, i+7 (mod 16), as TopoOpt wires rings", None,
        lambda sizes, bandwidth, latency: circulant(sizes[0], sizes[1:], bandwidth, latency),
    ),
    "circulant_two_way": _Kind(
        "circulant_two_way:16x1x3", "circulant of cables: NPU i is joined to i±1 and i±3", None,
        lambda sizes, bandwidth, latency: circulant(sizes[0], sizes[1:], bandwidth, latency, one_way=False),
    ),
    "fat_tree": _Kind(
        "fat_tree:128", "128 NPUs below leaf, pod and core switches (fat_tree:128x2: 2:1 oversubscribed)", range(1, 3),
        lambda sizes, bandwidth, latency: fat_tree(sizes[0], bandwidth, latency, *sizes[1:]),
    ),
    "jellyfish": _Kind(
        "jellyfish:128x4x0", "random network of 128 NPUs, 4 cables each, drawn from seed 0", range(2, 4),
        lambda sizes, bandwidth, latency: random_regular(sizes[0], sizes[1], bandwidth, latency, *sizes[2:]), seed=2,
    ),
    "kautz": _Kind(
        "kautz:128x4", "generalised Kautz digraph: 128 NPUs, 4 links out of each, few hops", 2,
        lambda sizes, bandwidth, latency: kautz(sizes[0], sizes[1], bandwidth, latency),
    ),
    "kautz_regular": _Kind(
        "kautz_regular:128x4", "the same, with the ports that would lead an NPU to itself joined in a ring", 2,
        lambda sizes, bandwidth, latency: kautz(sizes[0], sizes[1], bandwidth, latency, regular=True),
    ),
    "fabric": _Kind(
        "fabric:128x4@12.5GB/s,1us", "128 servers of 4 ports, for synthesizers that choose the network", 2,
        lambda sizes, bandwidth, latency: fabric(sizes[0], sizes[1], bandwidth, latency),
    ),
    "dgx1": _Machine("dgx1", "DGX-1V: 8 V100 in an NVLink cube mesh", machines.dgx1, boxes=False),
    "ndv2": _Machine("ndv2:2", "Azure NDv2 boxes: DGX-1V with one shared NIC each", machines.ndv2),
    "dgx2": _Machine("dgx2:2", "DGX-2 boxes: 16 V100 on NVSwitch, 8 NICs", machines.dgx2),
    "dgx_a100": _Machine("dgx_a100:4", "DGX A100 boxes: 8 A100 on NVSwitch, a NIC for each", machines.dgx_a100),
    "mi250": _Machine("mi250:2", "AMD MI250 boxes: 16 GCDs, IB for each", machines.mi250),
}  # fmt: skip

#: Kind of short name → (example, one-line description), in the order in which they are listed.
KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {kind: (entry.example, entry.description) for kind, entry in _KINDS.items()}
)


def parse_topology(text: str) -> Topology:
    """Return the topology of a short name, or of a topology file (`topologies.readers` has the formats).

    Parameters
    ----------
    text : str
        Such as ``mesh:8x8``, ``torus:4x4@50x75GiB/s,0.5us`` or ``dgx2:2``, or the path of a file, with what the file
        does not say after an @: ``topo.txt@gpu=H100``. A short name goes before a file of the same name, which is
        reached as ``./mesh:8x8``.

    Returns
    -------
    topology : Topology
        Its name is the canonical short name, which parses back to an equal topology, or that of the file.

    Raises
    ------
    TopologyError
        An unknown kind, a shape that does not fit it, or an absurd size.
    UnitError
        A bandwidth or latency without a unit, with a wrong one, or out of range.
    FormatError
        A file that no reader knows, that is damaged, or that does not say what is needed.
    OptionError
        Something after a file's @ that is unknown or has no meaning for it.
    """
    name = text.strip()
    if not name:
        raise TopologyError(f"topology name is empty; expected {_GRAMMAR}, such as mesh:8x8@50GB/s,0.5us")
    head, at, values = name.partition("@")
    kind, colon, shape = head.partition(":")
    entry = _entry(kind, bool(colon))
    if entry is None:
        return _from_file(name, kind)
    if isinstance(entry, _Machine):
        return _machine(name, kind, entry, shape if colon else None, bool(at))
    sizes = _sizes(name, shape, entry)
    bandwidth, latency = _values(name, values) if at else (DEFAULT_BANDWIDTH_GBPS, DEFAULT_LATENCY_US)
    return entry.build(sizes, bandwidth, latency)


def _entry(kind: str, has_shape: bool) -> _Kind | _Machine | None:
    """Return the entry of a kind; a word of block letters is a product where a shape follows."""
    if kind not in _KINDS and has_shape and re.fullmatch("[rfs]+", kind):
        example = f"{kind}:{'x'.join(['4'] * len(kind))}"
        return _Kind(example, "", len(kind), lambda sizes, bandwidth, latency: product(kind, sizes, bandwidth, latency))
    return _KINDS.get(kind)


def _sizes(name: str, shape: str, entry: _Kind) -> tuple[int, ...]:
    """Return the sizes of a shape such as ``8x8``."""
    shown = f"topology {shortened(name)!r}"
    if not shape.strip():
        raise TopologyError(f"{shown}: the shape is missing; expected {_GRAMMAR}, such as {entry.example}")
    sizes: list[int] = []
    for part in shape.split("x"):
        if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", part):
            hint = "; values follow an @" if re.search("[/.,]|us", shape) else ""
            raise TopologyError(
                f"{shown}: shape {shortened(shape)!r} has the part {shortened(part)!r}; expected whole numbers joined "
                f"by x, such as {entry.example}{hint}"
            )
        if len(part.strip()) > 18:
            raise TopologyError(f"{shown}: size {shortened(part.strip(), 24)} is absurdly large; choose a smaller one")
        least = 0 if len(sizes) == entry.seed else 1
        if int(part) < least:
            raise TopologyError(f"{shown}: size {int(part)}; expected {least} or more, such as {entry.example}")
        sizes.append(int(part))
    wanted = [entry.num_sizes] if isinstance(entry.num_sizes, int) else entry.num_sizes
    if wanted is not None and len(sizes) not in wanted:
        expected = " or ".join(map(str, wanted))
        raise TopologyError(f"{shown}: found {len(sizes)} sizes, expected {expected}, such as {entry.example}")
    return tuple(sizes)


def _values(name: str, values: str) -> tuple[PerDimension, PerDimension]:
    """Return the bandwidths and latencies of ``50x75GB/s,0.5us``; the latency may be left out."""
    shown = f"topology {shortened(name)!r}"
    parts = values.split(",")
    if len(parts) > 2:
        raise TopologyError(
            f"{shown}: found {len(parts)} values after @, expected BANDWIDTH,LATENCY, as in 50GB/s,0.5us"
        )
    try:
        bandwidth = parse_per_dimension(parts[0], parse_bandwidth, "bandwidth")
        latency = parse_per_dimension(parts[1], parse_time, "latency") if len(parts) == 2 else [DEFAULT_LATENCY_US]
    except UnitError as error:
        raise UnitError(f"{shown}: {error}") from None
    return bandwidth, latency


def _machine(name: str, kind: str, entry: _Machine, boxes: str | None, has_values: bool) -> Topology:
    """Build a machine; without a number of boxes it is one."""
    shown = f"topology {shortened(name)!r}"
    if has_values:
        raise TopologyError(f"{shown}: the figures of {kind} are fixed; leave out what follows the @")
    if not entry.boxes:
        if boxes is not None:
            raise TopologyError(f"{shown}: {kind} is one box and takes no shape; several are ndv2:2")
        return entry.build()
    if boxes is None:
        return entry.build(1)
    return entry.build(*_sizes(name, boxes, _Kind(entry.example, entry.description, 1, mesh)))


def _from_file(name: str, kind: str) -> Topology:
    """Read the file that `name` names, with what is said after an @, or say that it is neither file nor short name."""
    examples = "mesh:8x8, torus:4x4x4 or dgx1 (collbench list topologies shows all kinds)"
    path, _, said = name.rpartition("@")
    if _is("is_file", name) or (path and _is("is_file", path)):
        from topologies.readers import read_topology
        from topologies.readers.source import parse_given

        return read_topology(name) if _is("is_file", name) else read_topology(path, parse_given(path, said))
    if _is("is_dir", name):
        raise TopologyError(f"{name} is a folder; expected a topology file or a short name such as {examples}")
    near = difflib.get_close_matches(kind.lower().replace("-", "_"), _KINDS, 1, 0.6)
    if near:
        wanted = f"did you mean {near[0]}, as in {KINDS[near[0]][0]}? (collbench list topologies shows all kinds)"
    else:
        wanted = f"expected {_GRAMMAR}, such as {examples}"
    raise TopologyError(f"topology {shortened(name)!r}: no such file, and unknown kind {shortened(kind)!r}; {wanted}")


def _is(what: str, path: str) -> bool:
    """Return whether a path is a file or a folder; none that is longer than a path can be, or with a NUL."""
    try:
        return bool(getattr(Path(path), what)())
    except (OSError, ValueError):
        return False
