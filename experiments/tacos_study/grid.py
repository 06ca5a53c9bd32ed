"""What is run: networks, collectives, sizes and algorithms, in full and in the quick version.

Networks follow the paper's evaluation (arXiv 2304.05301): α = 0.5 µs and 50 GB/s unless said; its "3-D hypercube" is
the 3-D mesh here, and a binary hypercube is added. In switch dimensions the bandwidth is that of each NPU's port, and α
is paid on each of the two hops through the switch. DGX-1 keeps the figures of the machine (NVLinks of 25 GB/s, 0.7 µs).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

ALGORITHMS = ("ring", "direct", "halving_doubling", "double_binary_tree", "tacos")
KINDS = ("all_reduce", "all_gather")

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Network:
    """A network of the study.

    Attributes
    ----------
    label : str
        What a figure calls it, without its shape.
    name : str
        Its short name.
    """

    label: str
    name: str

    @property
    def shape(self) -> str:
        """The shape for an axis label: ``8×8``, ``2⁶``, or nothing for a machine."""
        kind, _, rest = self.name.partition(":")
        shape = rest.partition("@")[0].replace("x", "×")
        return f"2{shape.translate(_RAISED)}" if kind == "hypercube" else shape


@dataclass(frozen=True)
class Run:
    """One row: an algorithm on a problem."""

    network: Network
    kind: str
    size: int
    algorithm: str


@dataclass(frozen=True)
class Series:
    """A line of the synthesis-time figure: one kind of network growing, one chunk of 1 MiB for each NPU."""

    label: str
    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """All that a version of the study runs.

    Attributes
    ----------
    networks : tuple of Network
    sizes : tuple of int
        Bytes.
    heat_map : Network
        A 2-D mesh whose links the utilisation figure draws.
    heat_size : int
        Bytes of its AllReduce.
    series : tuple of Series
        Lines of the synthesis-time figure.
    algorithms, kinds : tuple of str
    """

    networks: tuple[Network, ...]
    sizes: tuple[int, ...]
    heat_map: Network
    heat_size: int
    series: tuple[Series, ...]
    algorithms: tuple[str, ...] = ALGORITHMS
    kinds: tuple[str, ...] = KINDS

    def runs(self) -> list[Run]:
        """Return every run of the comparison, network by network."""
        return [Run(*row) for row in product(self.networks, self.kinds, self.sizes, self.algorithms)]


def _meshes(values: str, *shapes: str) -> tuple[str, ...]:
    """Return the short names of meshes."""
    return tuple(f"mesh:{shape}{values}" for shape in shapes)


_UNEVEN = "@50x75GB/s,0.5us"

FULL = Grid(
    networks=(
        Network("2-D mesh", "mesh:8x8"),
        Network("2-D torus", "torus:8x8"),
        Network("3-D mesh", "mesh:4x4x4"),
        Network("Hypercube", "hypercube:6"),
        Network("Uneven mesh", f"mesh:8x8{_UNEVEN}"),
        Network("2-D switch", "switch2d:8x4@300x25GB/s,0.5us"),
        Network("3D-RFS", "rfs:2x4x8@200x100x50GB/s,0.5us"),
        Network("DragonFly", "dragonfly:4x5@400x200GB/s,0.5us"),
        Network("DGX-1", "dgx1"),
    ),
    sizes=(10**6, 64 * 10**6, 10**9),
    heat_map=Network("2-D mesh", "mesh:8x8"),
    heat_size=64 * 10**6,
    series=(
        Series("2-D mesh, AllGather", "all_gather",
               _meshes("", "4x4", "6x6", "8x8", "12x12", "16x16", "24x24", "32x32", "48x48", "64x64")),
        Series("3-D mesh, AllGather", "all_gather",
               _meshes("", "3x3x3", "4x4x4", "6x6x6", "8x8x8", "10x10x10", "12x12x12", "16x16x16")),
        Series("Uneven 2-D mesh, AllReduce", "all_reduce",
               _meshes(_UNEVEN, "4x4", "8x4", "8x8", "16x8", "16x16", "32x16", "32x32")),
    ),
)  # fmt: skip

QUICK = Grid(
    networks=(
        Network("2-D mesh", "mesh:4x4"),
        Network("2-D torus", "torus:4x4"),
        Network("3-D mesh", "mesh:3x3x2"),
        Network("Hypercube", "hypercube:4"),
        Network("Uneven mesh", f"mesh:4x4{_UNEVEN}"),
        Network("2-D switch", "switch2d:4x2@300x25GB/s,0.5us"),
        Network("3D-RFS", "rfs:2x2x4@200x100x50GB/s,0.5us"),
        Network("DragonFly", "dragonfly:3x4@400x200GB/s,0.5us"),
        Network("DGX-1", "dgx1"),
    ),
    sizes=(10**6, 64 * 10**6),
    heat_map=Network("2-D mesh", "mesh:6x6"),
    heat_size=64 * 10**6,
    series=(
        Series("2-D mesh, AllGather", "all_gather", _meshes("", "4x4", "8x8", "16x16", "24x24", "32x32")),
        Series("3-D mesh, AllGather", "all_gather", _meshes("", "3x3x3", "4x4x4", "6x6x6", "8x8x8", "10x10x10")),
        Series(
            "Uneven 2-D mesh, AllReduce",
            "all_reduce",
            _meshes(_UNEVEN, "4x4", "8x8", "16x8", "16x16", "24x16", "32x16"),
        ),
    ),
)
