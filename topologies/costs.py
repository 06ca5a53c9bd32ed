"""What a network costs, so that different ones can be compared on the same budget.

The parts and the count of them follow TopoOpt (W. Wang et al., NSDI 2023, arXiv 2202.00433, section 5.2). The prices
are those of `costs.csv`, or of a file of the same form.

Bandwidths of parts are in Gb/s (bits), as parts are sold, and named `gbit_per_s`: an eighth of it is the bandwidth in
GB/s of everything else here. A bandwidth between two that are sold costs the linear interpolation of their prices. One
below the slowest costs its share of the slowest, down to nothing for none; one above the fastest costs its multiple of
the fastest: several side by side, in fractions.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from topologies.exceptions import TopologyError
from topologies.fabric import Fabric
from topologies.price_list import read_prices
from topologies.shape import checked_sizes
from topologies.topology import Topology

SHIPPED = Path(__file__).with_name("costs.csv")

#: Gb/s of one GB/s.
_BITS = 8


@dataclass(frozen=True)
class Costs:
    """Prices in USD, and what networks cost by them; `Costs.read` gives those of a file.

    Attributes
    ----------
    by_bandwidth : mapping of str to tuple of (float, float)
        `transceiver`, `nic`, `switch_port` → (Gb/s, USD), ascending.
    fixed : mapping of str to float
        `patch_panel_port`, `optical_switch_port`, `switch_1x2` → USD.
    """

    by_bandwidth: Mapping[str, tuple[tuple[float, float], ...]]
    fixed: Mapping[str, float]

    @classmethod
    def read(cls, path: str | os.PathLike[str] | None = None) -> Costs:
        """Return the prices of a file; of the one that comes with collbench by default.

        Parameters
        ----------
        path : path, optional
            A CSV file of the columns ``part,gbit_per_s,usd``; lines that begin with # are comments.

        Raises
        ------
        FormatError
            The file cannot be read, or a line of it; the message says which and why.
        """
        return cls(*read_prices(Path(SHIPPED if path is None else path)))

    def part_usd(self, part: str, gbit_per_s: float) -> float:
        """Return the price of one `transceiver`, `nic` or `switch_port` of a bandwidth.

        Raises
        ------
        TopologyError
            A part without prices by bandwidth, or a bandwidth that is not positive and finite.
        """
        if part not in self.by_bandwidth:
            raise TopologyError(f"costs: part {part!r}; expected one of {', '.join(self.by_bandwidth)}")
        if not (math.isfinite(gbit_per_s) and gbit_per_s > 0):
            raise TopologyError(f"costs: bandwidth {gbit_per_s:g} Gb/s; expected a finite value of more than 0")
        prices = self.by_bandwidth[part]
        place = bisect_left(prices, (gbit_per_s, -1.0))
        if place == 0 or place == len(prices):
            speed, usd = prices[min(place, len(prices) - 1)]
            return usd * (gbit_per_s / speed)
        (slower, low), (faster, high) = prices[place - 1 : place + 1]
        return high - (high - low) * ((faster - gbit_per_s) / (faster - slower))

    def fat_tree_usd(self, hosts: int, gbit_per_s: float, oversubscription: int = 1) -> float:
        """Return the cost of a fat-tree of three layers of switches.

        A host takes a NIC and three cables: to its leaf, one from there to the pod's upper switches and one to the
        core. A cable has a transceiver at each end, and each end but the host's is a switch port, which makes 6
        transceivers and 5 ports. Oversubscribed r:1 at the leaves, a host's share of the two upper cables is 1/r of
        that: 2 + 4/r transceivers and 1 + 4/r ports, so 4 and 3 for 2:1.

        Parameters
        ----------
        hosts : int
        gbit_per_s : float
            Bandwidth of a host, in Gb/s.
        oversubscription : int

        Raises
        ------
        TopologyError
            A size below 1, or a bandwidth that is not positive and finite.
        """
        hosts, ratio = checked_sizes("costs of a fat_tree", (hosts, oversubscription))
        return hosts * self._fat_tree_host_usd(gbit_per_s, ratio)

    def ideal_switch_usd(self, hosts: int, gbit_per_s: float) -> float:
        """Return what stands for the cost of one switch that joins all hosts at a bandwidth in Gb/s.

        There is no such switch; it is priced as the fat-tree of full bisection bandwidth that does the same.

        Raises
        ------
        TopologyError
            A size below 1, or a bandwidth that is not positive and finite.
        """
        return self.fat_tree_usd(hosts, gbit_per_s)

    def fabric_usd(self, fabric: Fabric) -> float:
        """Return the cost of a fabric before it is wired.

        A port takes a NIC, a transceiver, and what joins ports. On a patch panel that is a panel port and a 1x2 switch
        to a second panel, on which the next job's wiring is prepared (the look-ahead of TopoOpt); the switch's price
        and one panel port are counted, as in the paper. An optical switch is rewired in place: a port of it and no 1x2
        switch.
        """
        joining = {
            "patch_panel": self.fixed["patch_panel_port"] + self.fixed["switch_1x2"],
            "optical_switch": self.fixed["optical_switch_port"],
        }[fabric.switching]
        return fabric.num_npus * fabric.ports * (self._port_usd(fabric.port_gbps) + joining)

    def direct_usd(self, topology: Topology) -> float:
        """Return the cost of a network whose cables lead from NPU to NPU and stay: a torus, Jellyfish or Kautz, say.

        Every port takes a NIC and a transceiver, and there is no panel. A port is a link out and a link in, so that an
        NPU has as many as the greater number of its links out and in; the fastest links share a port first.

        Raises
        ------
        TopologyError
            A network with switches, or a fabric that nobody has wired.
        """
        if isinstance(topology, Fabric):
            raise TopologyError(f"{topology.name} is not wired: its cost is fabric_usd's")
        if topology.num_switches:
            raise TopologyError(
                f"topology {topology.name}: found {topology.num_switches} switches, expected links between NPUs only; "
                "fat_tree_usd and ideal_switch_usd price switched networks"
            )
        ports: Counter[float] = Counter()
        for npu in range(topology.num_npus):
            sides = [
                sorted(topology.bandwidth_gbps[links[start[npu] : start[npu + 1]]].tolist(), reverse=True)
                for start, links in (topology.out_links, topology.in_links)
            ]
            ports.update(max(both) for both in zip_longest(*sides, fillvalue=0.0))
        return sum(count * self._port_usd(gbps) for gbps, count in sorted(ports.items()))

    def cost_equal_gbit_per_s(self, budget_per_host_usd: float, oversubscription: int = 1) -> float:
        """Return the bandwidth in Gb/s of the fat-tree that costs as much: the greatest that the budget pays for.

        Parameters
        ----------
        budget_per_host_usd : float
            Such as ``fabric_usd(fabric) / fabric.num_npus``.
        oversubscription : int

        Raises
        ------
        TopologyError
            A budget that is not positive and finite, or prices at which any bandwidth costs nothing.
        """
        (ratio,) = checked_sizes("costs of a fat_tree", oversubscription)
        if not (math.isfinite(budget_per_host_usd) and budget_per_host_usd > 0):
            raise TopologyError(f"costs: budget {budget_per_host_usd:g} USD per host; expected more than 0, and finite")
        # The cost is linear between the bandwidths that are sold, from nothing for none, and beyond the last.
        speeds = sorted({speed for prices in self.by_bandwidth.values() for speed, _ in prices})
        points = [(0.0, 0.0), *((speed, self._fat_tree_host_usd(speed, ratio)) for speed in speeds)]
        fastest, usd = points[-1]
        if not usd:
            raise TopologyError(f"costs: a fat-tree of {fastest:g} Gb/s costs nothing; expected a price above 0")
        if usd <= budget_per_host_usd:
            return fastest * (budget_per_host_usd / usd)
        place = max(index for index, point in enumerate(points) if point[1] <= budget_per_host_usd)
        (slower, low), (faster, high) = points[place : place + 2]
        return slower + (faster - slower) * ((budget_per_host_usd - low) / (high - low))

    def _port_usd(self, gbps: float) -> float:
        """Return the price of a NIC and a transceiver of a bandwidth in GB/s."""
        return self.part_usd("nic", gbps * _BITS) + self.part_usd("transceiver", gbps * _BITS)

    def _fat_tree_host_usd(self, gbit_per_s: float, ratio: int) -> float:
        """Return a host's share of the cost of a fat-tree."""
        return (
            self.part_usd("nic", gbit_per_s)
            + (2 + 4 / ratio) * self.part_usd("transceiver", gbit_per_s)
            + (1 + 4 / ratio) * self.part_usd("switch_port", gbit_per_s)
        )
