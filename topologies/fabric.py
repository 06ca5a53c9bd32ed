"""A fabric: servers with ports that nobody has wired yet, for synthesizers that choose the network too.

TopoOpt (W. Wang et al., NSDI 2023, arXiv 2202.00433) gives each of n servers d optical ports and lets a patch panel, or
an optical switch, join any port that sends to any port that receives. A port is one link out and one link in, each of
the port's bandwidth; a wiring gives every server at most d of either.

A `Fabric` is a `Topology` without links, so that a problem can be posed on it; its name is its short name,
``fabric:128x4@12.5GB/s,1us``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from topologies.basic import switch
from topologies.exceptions import TopologyError
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

#: What joins the ports, and how long it is out of order when it joins them anew, in µs: people patch panels once a job
#: (minutes), and a 3-D MEMS switch takes 10 ms (TopoOpt, section 2.4).
RECONFIGURATION_US = {"patch_panel": 60e6, "optical_switch": 10e3}


@dataclass(frozen=True, eq=False, repr=False)
class Fabric(Topology):
    """Servers and ports before they are wired; build it with `fabric`.

    Attributes
    ----------
    ports : int
        Ports of each server.
    port_gbps, port_latency_us : float
        Bandwidth in GB/s and latency in µs of the link between two ports.
    switching : {"patch_panel", "optical_switch"}
        What joins the ports.
    """

    ports: int = 1
    port_gbps: float = DEFAULT_BANDWIDTH_GBPS
    port_latency_us: float = DEFAULT_LATENCY_US
    switching: Literal["patch_panel", "optical_switch"] = "patch_panel"

    @property
    def reconfiguration_us(self) -> float:
        """How long a new wiring takes, in µs."""
        return RECONFIGURATION_US[self.switching]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of what a wiring depends on."""
        return hashlib.sha256(f"{self.name},{self.switching}".encode()).hexdigest()[:32]

    def wired(self, src: np.ndarray, dst: np.ndarray, name: str) -> Topology:
        """Return the topology in which port after port of `src[i]` is joined to one of `dst[i]`.

        Parameters
        ----------
        src, dst : (L,) int arrays
            Servers at the ends of each link; a pair that stands there twice has two links.
        name : str
            Of the topology.

        Raises
        ------
        TopologyError
            A server with more links than ports, or a link that `Topology` refuses.
        """
        count = len(src)
        result = Topology(self.num_npus, np.asarray(src), np.asarray(dst), np.full(count, self.port_latency_us),
                          np.full(count, self.port_gbps), name=name)  # fmt: skip
        fault = self.fault(result)
        if fault:
            raise TopologyError(f"topology {result.name}: {fault}")
        return result

    def fault(self, topology: Topology) -> str | None:
        """Return why a topology is no wiring of this fabric; None if it is one."""
        if topology.num_npus != self.num_npus or topology.num_switches:
            return (f"it has {topology.num_npus} servers and {topology.num_switches} switches; {self.name} has "
                    f"{self.num_npus} servers and none")  # fmt: skip
        for what, ends in (("out of", topology.src), ("into", topology.dst)):
            degree = np.bincount(ends, minlength=self.num_npus)
            if degree.max(initial=0) > self.ports:
                worst = int(degree.argmax())
                return f"{degree[worst]} links {what} {self.node_name(worst)}, but {self.ports} ports in {self.name}"
        example = self._two()
        for what, found, port in (("bandwidth", topology.bytes_per_s, example.bytes_per_s),
                                  ("latency", topology.latency_ps, example.latency_ps)):  # fmt: skip
            other = np.flatnonzero(found != port[0])
            if len(other):
                return f"link {int(other[0])} ({topology.link_name(int(other[0]))}) has another {what} than a port"
        return None

    def _two(self) -> Topology:
        """Return two servers joined by a port each: what links of this fabric are like."""
        return Topology(2, np.array([0, 1]), np.array([1, 0]), np.full(2, self.port_latency_us),
                        np.full(2, self.port_gbps), name=self.name)  # fmt: skip

    def relaxed(self) -> Topology:
        """Return a network that can do all that any wiring can: what bounds it bounds them all.

        Every server has its ports' bandwidth to and from one switch in the middle, and a link's latency on the way in.
        """
        refuse_oversize(self.name, 2 * self.num_npus)  # in this name, not that of the switch in the middle
        total = self.ports * self.port_gbps
        middle = switch(self.num_npus, total, 0.0)
        latency = np.where(middle.dst >= self.num_npus, self.port_latency_us, 0.0)
        return Topology(self.num_npus, middle.src, middle.dst, latency, middle.bandwidth_gbps, middle.num_switches,
                        f"{self.name}, any wiring")  # fmt: skip


def fabric(
    servers: int,
    ports: int,
    bandwidth_gbps: PerDimension = DEFAULT_BANDWIDTH_GBPS,
    latency_us: PerDimension = DEFAULT_LATENCY_US,
    switching: Literal["patch_panel", "optical_switch"] = "patch_panel",
) -> Fabric:
    """Return the fabric of `servers` with `ports` ports each.

    Parameters
    ----------
    servers, ports : int
        Servers, and ports of each.
    bandwidth_gbps, latency_us : float
        Of the link between two ports.
    switching : {"patch_panel", "optical_switch"}
        What joins the ports.

    Raises
    ------
    TopologyError
        A size below 1, or a bandwidth or latency that no link can have.
    """
    servers, ports = checked_sizes("fabric", (servers, ports))
    if switching not in RECONFIGURATION_US:
        raise TopologyError(f"fabric: unknown switching {switching!r}; expected {' or '.join(RECONFIGURATION_US)}")
    (bandwidth,) = per_dimension("fabric", "bandwidth", bandwidth_gbps, 1)
    (latency,) = per_dimension("fabric", "latency", latency_us, 1)
    name = short_name("fabric", (servers, ports), (bandwidth,), (latency,))
    none = np.zeros(0, np.int64)
    result = Fabric(servers, none, none, none.astype(float), none.astype(float), name=name, ports=ports,
                    port_gbps=bandwidth, port_latency_us=latency, switching=switching)  # fmt: skip
    result._two()  # refuses what no link can have
    return result
