"""GPU models: how many links each has and what one carries, which files of its tools do not say.

Bandwidths are one way, in GB/s of 1e9 B/s, half of what data sheets call bidirectional. Sources: NVIDIA's data sheets
of P100, V100, A100, H100, H200 and B200 (NVLink 1 to 5) and AMD's of MI50, MI100, MI210, MI250, MI300X and MI355X.
Latencies are those of `topologies.machines`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from topologies.exceptions import OptionError
from topologies.readers.source import Source
from topologies.shape import shortened

#: Latency of a direct link, of a hop between GPU and switch, and of one to the network between machines, in µs.
LINK_LATENCY_US, HOP_LATENCY_US, NIC_LATENCY_US = 0.7, 0.35, 1.3

#: The most links that any GPU has.
MOST_LINKS = 18


@dataclass(frozen=True)
class Gpu:
    """A model: its name, links (None: it differs from board to board), and GB/s of a link each way."""

    name: str
    links: int | None
    link_gbps: float

    @property
    def amd(self) -> bool:
        """Whether its links are xGMI, not NVLink."""
        return self.name.startswith("MI")


_MODELS = (
    Gpu("P100", 4, 20), Gpu("V100", 6, 25), Gpu("A100", 12, 25), Gpu("A800", 8, 25), Gpu("H100", 18, 25),
    Gpu("H200", 18, 25), Gpu("H20", 18, 25), Gpu("H800", 8, 25), Gpu("B200", 18, 50), Gpu("GB200", 18, 50),
    Gpu("MI50", 2, 46), Gpu("MI100", None, 46), Gpu("MI210", None, 50), Gpu("MI250", None, 50),
    Gpu("MI250X", None, 50), Gpu("MI300X", 7, 64), Gpu("MI355X", 7, 76.8),
)  # fmt: skip

#: Name → model.
GPUS: Mapping[str, Gpu] = {model.name: model for model in _MODELS}

#: `sm` of NCCL's XML (compute capability) and `gcn` of RCCL's → model.
BY_SM = {"60": "P100", "70": "V100", "80": "A100", "90": "H100", "100": "B200"}
BY_GCN = {"906": "MI50", "908": "MI100", "910": "MI250", "gfx906": "MI50", "gfx908": "MI100", "gfx90a": "MI250",
          "942": "MI300X", "gfx942": "MI300X", "gfx950": "MI355X"}  # fmt: skip


def given_gpu(source: Source) -> Gpu | None:
    """Return the model that the user names.

    Raises
    ------
    OptionError
        An unknown one.
    """
    text = source.given.get("gpu")
    if text is None:
        return None
    name = text.upper()
    if name not in GPUS:
        near = difflib.get_close_matches(name, GPUS, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(GPUS)}"
        raise OptionError(f"{source.path}: unknown GPU model {shortened(text)!r}; {hint}, or give its bandwidth")
    return GPUS[name]


def with_links(count: int) -> list[Gpu]:
    """Return the models of NVIDIA that have so many links."""
    return [model for model in _MODELS if model.links == count and not model.amd]
