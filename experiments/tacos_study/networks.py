"""What the paper's evaluation (arXiv 2304.05301) calls its networks.

α = 0.5 µs and 50 GB/s unless said; its "3-D hypercube" is the 3-D mesh here, and a binary hypercube is added. In switch
dimensions the bandwidth is that of each NPU's port, and α is paid on each of the two hops through the switch. DGX-1
keeps the figures of the machine (NVLinks of 25 GB/s, 0.7 µs).
"""

from __future__ import annotations

_NAMES = {
    "hypercube": "Hypercube",
    "switch2d": "2-D switch",
    "rfs": "3D-RFS",
    "dragonfly": "DragonFly",
    "dgx1": "DGX-1",
}

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def network_label(topology: str) -> str:
    """Return what the study calls the network of a short name, without its shape; the name where it has no other.

    >>> network_label("mesh:8x8"), network_label("mesh:8x8@50x75GB/s,0.5us"), network_label("rfs:2x4x8")
    ('2-D mesh', 'Uneven mesh', '3D-RFS')
    """
    kind, _, rest = topology.partition(":")
    shape, _, values = rest.partition("@")
    if kind in ("mesh", "torus"):
        if "x" in values:
            return f"Uneven {kind}"
        return f"{shape.count('x') + 1}-D {kind}"
    return _NAMES.get(kind, topology)


def network_shape(topology: str) -> str:
    """Return the shape for an axis label: ``8×8``, ``2⁶``, or nothing for a machine."""
    kind, _, rest = topology.partition(":")
    shape = rest.partition("@")[0].replace("x", "×")
    return f"2{shape.translate(_RAISED)}" if kind == "hypercube" else shape
