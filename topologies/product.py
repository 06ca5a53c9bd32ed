"""Multi-dimensional networks as products of building blocks, the notation of ASTRA-sim 2.0 (ISPASS'23) and TACOS.

Each line of NPUs along a dimension is wired by that dimension's block: ring, fully connected or switch. The 3D-RFS
network of the TACOS paper (2×4×8 at 200, 100 and 50 GB/s) is ring × fully connected × switch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topologies.cables import Cables, wired
from topologies.exceptions import TopologyError
from topologies.grid import neighbours, num_neighbours
from topologies.shape import (
    DEFAULT_BANDWIDTH_GBPS,
    DEFAULT_LATENCY_US,
    PerDimension,
    checked_sizes,
    per_dimension,
    refuse_oversize,
    short_name,
)
from topologies.topology import Topology

#: Letter of each block in a short name such as ``rfs:2x4x8``.
BLOCKS = {"r": "ring", "f": "fully_connected", "s": "switch"}


def product(
    blocks: str | Sequence[str],
    shape: int | Sequence[int],
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
) -> Topology:
    """Return the product of one building block for each dimension.

    Parameters
    ----------
    blocks : str or sequence of str
        ``ring``, ``fully_connected`` or ``switch`` for each dimension, or their letters in one word (``rfs``).
    shape : int or sequence of int
        NPUs along each dimension; the first varies fastest.
    bandwidth_gbps : float or sequence of float
        Of each link in ring and fully connected dimensions, each way; of each NPU's port in switch dimensions. An NPU
        of a bidirectional ring dimension so has twice it, one of a fully connected dimension size − 1 times it.
    latency_us : float or sequence of float
        Of each link; in switch dimensions of each NPU–switch hop.

    Returns
    -------
    topology : Topology
        Switches come dimension by dimension, one for each line of NPUs, by the least NPU of the line. A dimension of 1
        has neither link nor switch.

    Raises
    ------
    TopologyError
        An unknown block, a block for each of another number of dimensions, a size below 1, a wrong number of values.
    """
    letters = _letters(blocks)
    kind = "switch2d" if letters == "ss" else letters
    sizes = checked_sizes(kind, shape)
    title = f"{kind}:{'x'.join(map(str, sizes))}"
    if len(sizes) != len(letters):
        names = " x ".join(BLOCKS[letter] for letter in letters)
        raise TopologyError(f"{title}: found {len(sizes)} sizes, expected {len(letters)} (one for each of {names})")
    bandwidths = per_dimension(title, "bandwidth", bandwidth_gbps, len(sizes))
    latencies = per_dimension(title, "latency", latency_us, len(sizes))
    refuse_oversize(title, 2 * sum(_num_cables(letter, sizes, d) for d, letter in enumerate(letters)))
    num_npus = math.prod(sizes)
    num_switches = 0
    runs = []
    for dimension, letter in enumerate(letters):
        if letter == "r":
            ends = neighbours(sizes, dimension, wrap=True)
        elif letter == "f":
            ends = _all_pairs(sizes, dimension)
        else:
            ends = _to_switches(sizes, dimension, num_npus + num_switches)
            num_switches += num_npus // sizes[dimension] if sizes[dimension] > 1 else 0
        runs.append(Cables(*ends, bandwidths[dimension], latencies[dimension]))
    return wired(short_name(kind, sizes, bandwidths, latencies), num_npus, runs, num_switches)


def _letters(blocks: str | Sequence[str]) -> str:
    """Return the blocks as a word of their letters."""
    word = list(blocks) if isinstance(blocks, str) and blocks not in BLOCKS.values() else blocks
    names = [word] if isinstance(word, str) else list(word)
    letter_of = {name: letter for letter, name in BLOCKS.items()} | {letter: letter for letter in BLOCKS}
    for name in names:
        if name not in letter_of:
            known = ", ".join(f"{block} ({letter})" for letter, block in BLOCKS.items())
            raise TopologyError(f"product: unknown building block {name!r}; expected {known}")
    if not names:
        raise TopologyError("product: no building block; expected one for each dimension, such as rfs")
    return "".join(letter_of[name] for name in names)


def _num_cables(letter: str, sizes: Sequence[int], dimension: int) -> int:
    """Return how many cables a dimension takes."""
    if letter == "r":
        return num_neighbours(sizes, dimension, wrap=True)
    if letter == "f":
        return math.prod(sizes) * (sizes[dimension] - 1) // 2
    return math.prod(sizes) if sizes[dimension] > 1 else 0


def _all_pairs(sizes: Sequence[int], dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cables of a fully connected dimension, by ascending lower NPU."""
    size, stride = sizes[dimension], math.prod(sizes[:dimension])
    npu = np.arange(math.prod(sizes), dtype=np.int64)[:, None]
    ahead = np.arange(1, size)[None, :]
    inner = npu // stride % size + ahead < size
    return np.broadcast_to(npu, inner.shape)[inner], (npu + ahead * stride)[inner]


def _to_switches(sizes: Sequence[int], dimension: int, first_switch: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cables of a switch dimension, from each NPU to the switch of its line."""
    size, stride = sizes[dimension], math.prod(sizes[:dimension])
    npu = np.arange(math.prod(sizes) if size > 1 else 0, dtype=np.int64)
    return npu, first_switch + npu % stride + npu // (stride * size) * stride
