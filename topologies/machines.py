"""Machines that synthesizers are compared on: DGX-1V, Azure NDv2, DGX-2, DGX A100 and AMD MI250.

Link figures follow the papers that use them (SCCL, arXiv 2008.08708; TACCL, arXiv 2111.04867; TE-CCL, arXiv
2305.13479; ForestColl, arXiv 2402.06787). NPUs are numbered box by box; switches follow, box by box, and the switches
between the boxes come last. One box alone has no network.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topologies.cables import Cables, wired
from topologies.shape import checked_sizes, refuse_oversize
from topologies.topology import Topology

# (GPU, GPU, NVLinks between them), as `nvidia-smi topo -m` prints NV1 and NV2 on a DGX-1 with V100.
_DGX1_NVLINKS = (
    (0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2),
    (2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2),
)  # fmt: skip

# (GCD, GCD, Infinity Fabric links between them), as ForestColl models a box of eight MI250.
_MI250_LINKS = (
    (0, 1, 4), (0, 4, 2), (0, 8, 1), (1, 5, 1), (1, 9, 1), (1, 10, 1), (2, 3, 4), (2, 6, 1), (2, 9, 1), (2, 10, 1),
    (3, 7, 2), (3, 11, 1), (4, 5, 4), (4, 6, 1), (5, 6, 1), (5, 7, 1), (6, 7, 4), (8, 9, 4), (8, 12, 2), (9, 13, 1),
    (10, 11, 4), (10, 14, 1), (11, 15, 2), (12, 13, 4), (12, 14, 1), (13, 14, 1), (13, 15, 1), (14, 15, 4),
)  # fmt: skip


def dgx1() -> Topology:
    """Return a DGX-1 with eight V100: the NVLink hybrid cube mesh.

    A link has 25 GB/s each way; two parallel ones count as one link of 50 GB/s. α is 0.7 µs.
    """
    return wired("dgx1", 8, _counted_cables(_DGX1_NVLINKS, 1, 8, 25.0, 0.7), 0, _names(1, 8, "GPU"))


def ndv2(boxes: int = 1) -> Topology:
    """Return Azure NDv2 boxes: each a DGX-1V with one NIC, the NICs around one network switch.

    A NIC is a switch node that its eight GPUs reach at 12.5 GB/s each; it has 12.5 GB/s each way to the network. From
    box to box α is 1.3 µs: 0.35 µs for each GPU–NIC hop (so that a detour over the own NIC costs an NVLink's 0.7 µs)
    and 0.3 µs for each NIC–network hop.

    Raises
    ------
    TopologyError
        `boxes` below 1, or too many.
    """
    count = _boxes("ndv2", boxes, 66)
    runs = _counted_cables(_DGX1_NVLINKS, count, 8, 25.0, 0.7)
    if count == 1:
        return wired("ndv2:1", 8, runs, 0, _names(1, 8, "GPU"))
    npus, nics = np.arange(8 * count), 8 * count + np.arange(count)
    runs.append(Cables(npus, np.repeat(nics, 8), 12.5, 0.35))
    runs.append(Cables(nics, np.full(count, 9 * count), 12.5, 0.3))
    names = [*_names(count, 8, "GPU"), *(f"box {box} NIC" for box in range(count)), "network switch"]
    return wired(f"ndv2:{count}", 8 * count, runs, count + 1, names)


def dgx2(boxes: int = 1) -> Topology:
    """Return DGX-2 boxes: sixteen V100 each, at 125 GB/s around an NVSwitch, with eight NICs.

    Two boxes are joined as TE-CCL has them: from each odd GPU of a box a one-way link of 12.5 GB/s leads to the even
    GPU below it (1 → 0, 3 → 2, …) of the other box. For more boxes the eight links become eight rails: the odd GPU of
    every box sends into its rail's switch, and the even GPU below it receives from it, at 12.5 GB/s each, as one NIC
    can. α is 0.35 µs for each GPU–NVSwitch hop and 2.6 µs across (1.3 µs for each hop of a rail).

    Raises
    ------
    TopologyError
        `boxes` below 1, or too many.
    """
    count = _boxes("dgx2", boxes, 48)
    npus = np.arange(16 * count)
    runs = [Cables(npus, 16 * count + npus // 16, 125.0, 0.35)]
    names = [*_names(count, 16, "GPU"), *(_in_box(count, box, "NVSwitch") for box in range(count))]
    odd = npus[npus % 2 == 1]
    if count == 1:
        return wired("dgx2:1", 16, runs, 1, names)
    if count == 2:
        runs.append(Cables(odd, (odd + 16) % 32 - 1, 12.5, 2.6, one_way=True))
        return wired("dgx2:2", 32, runs, 2, names)
    rail = 17 * count + odd % 16 // 2
    runs += [Cables(odd, rail, 12.5, 1.3, one_way=True), Cables(rail, odd - 1, 12.5, 1.3, one_way=True)]
    names += [f"rail {number} switch" for number in range(8)]
    return wired(f"dgx2:{count}", 16 * count, runs, count + 8, names)


def dgx_a100(boxes: int = 1) -> Topology:
    """Return DGX A100 boxes: eight A100 each, at 300 GB/s around an NVSwitch, with a NIC of 25 GB/s for each GPU.

    All NICs meet at one InfiniBand switch. α is 0.35 µs for each GPU–NVSwitch hop and 1.3 µs for each GPU–IB hop.

    Raises
    ------
    TopologyError
        `boxes` below 1, or too many.
    """
    count = _boxes("dgx_a100", boxes, 32)
    npus = np.arange(8 * count)
    runs = [Cables(npus, 8 * count + npus // 8, 300.0, 0.35)]
    names = [*_names(count, 8, "GPU"), *(_in_box(count, box, "NVSwitch") for box in range(count))]
    if count == 1:
        return wired("dgx_a100:1", 8, runs, 1, names)
    runs.append(Cables(npus, np.full(8 * count, 9 * count), 25.0, 1.3))
    return wired(f"dgx_a100:{count}", 8 * count, runs, count + 1, [*names, "IB switch"])


def mi250(boxes: int = 1) -> Topology:
    """Return boxes of eight AMD MI250: sixteen GCDs each, joined by Infinity Fabric, with 16 GB/s of IB for each GCD.

    A fabric link has 50 GB/s each way; the parallel links of two GCDs are one link of the sum. α is 0.7 µs inside and
    1.3 µs for each GCD–IB hop.

    Raises
    ------
    TopologyError
        `boxes` below 1, or too many.
    """
    count = _boxes("mi250", boxes, 88)
    runs = _counted_cables(_MI250_LINKS, count, 16, 50.0, 0.7)
    names = _names(count, 16, "GCD")
    if count == 1:
        return wired("mi250:1", 16, runs, 0, names)
    npus = np.arange(16 * count)
    runs.append(Cables(npus, np.full(16 * count, 16 * count), 16.0, 1.3))
    return wired(f"mi250:{count}", 16 * count, runs, 1, [*names, "IB switch"])


def _boxes(kind: str, boxes: int, links_per_box: int) -> int:
    """Return the checked number of boxes."""
    (count,) = checked_sizes(kind, (boxes,))
    refuse_oversize(f"{kind}:{count}", count * links_per_box)
    return count


def _counted_cables(
    pairs: Sequence[tuple[int, int, int]], boxes: int, npus_per_box: int, unit_gbps: float, latency_us: float
) -> list[Cables]:
    """Return a box's cables, repeated box by box; the links of a pair are one of count × unit bandwidth."""
    return [
        Cables(np.array([base + a]), np.array([base + b]), links * unit_gbps, latency_us)
        for base in range(0, boxes * npus_per_box, npus_per_box)
        for a, b, links in pairs
    ]


def _names(boxes: int, npus_per_box: int, noun: str) -> list[str]:
    """Return the names of the NPUs."""
    return [_in_box(boxes, box, f"{noun} {npu}") for box in range(boxes) for npu in range(npus_per_box)]


def _in_box(boxes: int, box: int, part: str) -> str:
    """Return the name of a part, with its box where there are several."""
    return part if boxes == 1 else f"box {box} {part}"
