"""Routes of many transfers at once, and what they say of a network: bandwidth tax, path lengths, link loads.

The measures are those of TopoOpt, arXiv 2202.00433, section 5: forwarding by servers in between costs their links'
bandwidth, the *bandwidth tax*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Routing:
    """Transfers, each along one route.

    Attributes
    ----------
    num_links : int
        Links of the network.
    source, target : (K,) int64 arrays
        Ends of each transfer.
    nbytes : (K,) int64 array
        Its bytes.
    start : (K + 1,) int64 array
    links : int32 array
        Transfer k takes ``links[start[k]:start[k + 1]]``, in order.
    """

    num_links: int
    source: np.ndarray
    target: np.ndarray
    nbytes: np.ndarray
    start: np.ndarray
    links: np.ndarray

    def route(self, transfer: int) -> list[int]:
        """Return the links of a transfer, in order."""
        links: list[int] = self.links[self.start[transfer] : self.start[transfer + 1]].tolist()
        return links

    @property
    def hops(self) -> np.ndarray:
        """(K,) int64: links of each route."""
        return np.diff(self.start)

    @property
    def bandwidth_tax(self) -> float:
        """Σ(bytes × hops) / Σ bytes: bytes on all links for each byte asked for; 0 without any."""
        total = int(self.nbytes.sum())
        return int((self.nbytes * self.hops).sum()) / total if total else 0.0

    @cached_property
    def link_bytes(self) -> np.ndarray:
        """(num_links,) int64: bytes over each link."""
        load = np.zeros(self.num_links, np.int64)
        np.add.at(load, self.links, np.repeat(self.nbytes, self.hops))
        load.setflags(write=False)
        return load

    @property
    def path_lengths(self) -> np.ndarray:
        """(longest + 1,) int64: how many transfers take 0, 1, 2, … hops."""
        return np.bincount(self.hops)

    def of(self, transfers: np.ndarray) -> Routing:
        """Return some of the transfers, in the given order."""
        hops = self.hops[transfers]
        start = np.concatenate((np.zeros(1, np.int64), hops.cumsum()))
        inside = np.arange(start[-1]) - np.repeat(start[:-1], hops)
        links = self.links[np.repeat(self.start[:-1][transfers], hops) + inside]
        return Routing(self.num_links, self.source[transfers], self.target[transfers], self.nbytes[transfers], start,
                       links)  # fmt: skip

    @classmethod
    def joined(cls, routings: Sequence[Routing]) -> Routing:
        """Return the transfers of several routings on one network, in their order; one at least."""
        source, target, nbytes, links = (
            np.concatenate([getattr(each, name) for each in routings])
            for name in ("source", "target", "nbytes", "links")
        )
        start = np.concatenate([np.zeros(1, np.int64), *(each.hops for each in routings)]).cumsum()
        return cls(routings[0].num_links, source, target, nbytes, start, links)
