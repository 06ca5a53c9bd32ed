"""The problem that every synthesizer gets: network, collective, size, link model, seed, time budget."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from schedules import Collective
from simulator.link_model import LinkModel
from topologies import Fabric, Topology, require_connected
from topologies.exceptions import CollectiveError


@dataclass(frozen=True)
class Problem:
    """One piece of work, the same for all synthesizers.

    Parameters
    ----------
    topology : Topology
        The network. Every member of the collective must reach every other member of its group. Or a `Fabric`, for
        synthesizers that choose the network: their schedules are on a topology that they wired.
    collective : Collective
        What to compute; its `chunks` is a request that a schedule may refine.
    size : int
        Bytes, by the rule of nccl-tests.
    model : LinkModel
        What the schedule will be scored with.
    seed : int
        The only source of randomness.
    time_limit_s : float or None
        Budget for solvers; None: none.

    Raises
    ------
    TopologyError
        Members that cannot reach each other; names the two parts.
    CollectiveError
        A collective for another number of NPUs, or a negative size.
    """

    topology: Topology
    collective: Collective
    size: int
    model: LinkModel = field(default_factory=LinkModel)
    seed: int = 0
    time_limit_s: float | None = None

    def __post_init__(self) -> None:
        if self.collective.num_npus != self.topology.num_npus:
            raise CollectiveError(
                f"the collective is for {self.collective.num_npus} NPUs, topology {self.topology.name} has "
                f"{self.topology.num_npus}"
            )
        if isinstance(self.size, bool) or not isinstance(self.size, int | np.integer):
            raise CollectiveError(
                f"size {self.size!r} is not a whole number of bytes; topologies.parse_bytes reads texts such as '1MB'"
            )
        object.__setattr__(self, "size", int(self.size))
        if self.size < 0:
            raise CollectiveError(f"size {self.size} is negative; expected 0 bytes or more")
        if isinstance(self.topology, Fabric):
            return
        groups = self.collective.groups or (self.collective.members,)
        require_connected(self.topology, None if len(groups[0]) == self.topology.num_npus else ())
        for group in groups:
            if len(groups) > 1 or len(group) < self.topology.num_npus:
                require_connected(self.topology, group)
