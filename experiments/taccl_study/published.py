"""What others have published of the machines in this study; their figures, on their machines and models.

TACCL's own algorithm bandwidths on two NDv2 nodes, and TE-CCL's (arXiv 2305.13479) on two NDv2 and two DGX-2 nodes.
Sizes are output buffers, as here. TE-CCL's NDv2 has 15 GPUs: its code makes one of them a switch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One published figure.

    Attributes
    ----------
    who : str
        The system.
    topology, collective : str
        As here.
    size : int or None
        Bytes; None where the publication gives the bandwidth of large buffers.
    algbw_gbps : float
    synthesis_s : float or None
    """

    who: str
    topology: str
    collective: str
    size: int | None
    algbw_gbps: float
    synthesis_s: float | None = None


_SIZES = {"1GB": 10**9, "256MB": 256 * 10**6, "64MB": 64 * 10**6, "16MB": 16 * 10**6, "4MB": 4 * 10**6, "1MB": 10**6,
          "256KB": 256 * 10**3, "64KB": 64 * 10**3, "1KB": 10**3}  # fmt: skip

#: GB/s by size; TACCL found no AllGather of 16 MB.
_ALL_GATHER = {"1GB": 18.599, "256MB": 20.489, "64MB": 20.426, "4MB": 18.476, "1MB": 16.090, "256KB": 10.135,
               "64KB": 4.893, "1KB": 0.0984}  # fmt: skip
_ALL_TO_ALL = {"1GB": 3.125, "256MB": 3.123, "64MB": 3.117, "16MB": 3.098, "4MB": 3.021, "1MB": 2.786,
               "256KB": 2.212, "64KB": 1.271, "1KB": 0.027}  # fmt: skip

PUBLISHED: tuple[Published, ...] = (
    *(Published("TACCL", "ndv2:2", "all_gather", _SIZES[size], value, 7.0) for size, value in _ALL_GATHER.items()),
    *(Published("TACCL", "ndv2:2", "all_to_all", _SIZES[size], value, 1215.0) for size, value in _ALL_TO_ALL.items()),
    Published("TE-CCL", "ndv2:2", "all_gather", None, 22.857, 43.0),
    Published("TE-CCL", "ndv2:2", "all_gather", None, 20.0, 4.6),
    Published("TE-CCL", "dgx2:2", "all_gather", None, 129.03, 2700.0),
    Published("TE-CCL", "dgx2:2", "all_gather", None, 100.0, 11.8),
    Published("TE-CCL", "dgx2:2", "all_to_all", None, 12.42),
)


def published(topology: str, collective: str) -> list[Published]:
    """Return what was published of a collective on a network."""
    return [each for each in PUBLISHED if (each.topology, each.collective) == (topology, collective)]
