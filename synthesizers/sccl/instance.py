"""An instance of SCCL's synchronous model (arXiv 2008.08708), and what holds of it before any solver starts.

Time is steps, step s takes r_s rounds, and in a round a link carries as many chunks as its bandwidth is a multiple of
the slowest link's (rounded down). Steps are at least the longest way that a chunk has to go; rounds at least what any
cut lets through, and on networks this small all cuts are tried.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from schedules import Collective
from synthesizers.taccl.demand import Demand, demand_of
from topologies import Topology
from topologies.exceptions import SynthesisError

#: NPUs at most: all their subsets are looked at.
MOST_NPUS = 12

#: A bandwidth this close below a multiple of the slowest counts as that multiple.
_NEARLY = 1e-9


@dataclass(frozen=True)
class Instance:
    """A network and a collective that copies, chunk by chunk.

    Raises
    ------
    SynthesisError
        Switches, or more NPUs than all cuts can be tried of.
    """

    topology: Topology
    collective: Collective

    def __post_init__(self) -> None:
        found = self.topology.num_npus, self.topology.num_switches
        if found[0] > MOST_NPUS or found[1]:
            raise SynthesisError(
                f"sccl: {self.topology.name} has {found[0]} NPUs and {found[1]} switches; expected at most {MOST_NPUS} "
                "NPUs and no switches"
            )

    @cached_property
    def demand(self) -> Demand:
        """Who holds and who wants each chunk; bytes are of no concern here."""
        return demand_of(self.collective, 0)

    @cached_property
    def per_round(self) -> list[int]:
        """Chunks that each link carries in a round."""
        rates = self.topology.bandwidth_gbps
        return np.floor(rates / rates.min(initial=np.inf) + _NEARLY).astype(int).tolist()

    @cached_property
    def distance(self) -> np.ndarray:
        """(nodes, nodes) int array: links between them at least; `num_nodes` where there is no way."""
        nodes = self.topology.num_nodes
        distance = np.full((nodes, nodes), nodes)
        np.fill_diagonal(distance, 0)
        distance[self.topology.src, self.topology.dst] = 1
        for node in range(nodes):
            distance = np.minimum(distance, distance[:, node, None] + distance[None, node])
        return np.minimum(distance, nodes)

    @cached_property
    def least_steps(self) -> int:
        """The longest way that a chunk has to go."""
        demand = self.demand
        return max(
            (int(self.distance[list(demand.sources[chunk]), target].min())
             for chunk in demand.wanted for target in demand.targets[chunk]),
            default=0,
        )  # fmt: skip

    @cached_property
    def least_rounds(self) -> Fraction:
        """What must leave some set of NPUs over what can in a round: no fewer rounds do, however many steps."""
        demand = self.demand
        inside = np.arange(2**self.topology.num_nodes)
        through = np.zeros(len(inside), np.int64)
        for source, target, chunks in zip(self.topology.src, self.topology.dst, self.per_round, strict=True):
            through += chunks * (inside >> source & ~(inside >> target) & 1)
        chunks_of: Counter[tuple[int, int]] = Counter()
        for chunk in demand.wanted:
            masks = [sum(1 << npu for npu in npus) for npus in (demand.sources[chunk], demand.targets[chunk])]
            chunks_of[masks[0], masks[1]] += 1
        out = np.zeros(len(inside), np.int64)
        for (sources, targets), count in chunks_of.items():
            out += count * ((inside & sources == sources) & (inside & targets != targets))
        cuts = np.flatnonzero(out)
        return max(
            (Fraction(int(out[cut]), int(through[cut])) for cut in _densest(out, through, cuts)), default=Fraction(0)
        )

    def refuted(self, steps: int, rounds: int) -> bool:
        """Return whether distances and cuts alone leave no algorithm of so many steps and rounds."""
        return steps < self.least_steps or rounds < self.rounds_at_least(steps)

    def rounds_at_least(self, steps: int) -> int:
        """Return the rounds that cuts ask for, and one for each step."""
        return max(ceil(self.least_rounds), steps) if self.demand.wanted else 0


def _densest(out: np.ndarray, through: np.ndarray, cuts: np.ndarray) -> list[int]:
    """Return the cuts that may be the densest, as floats say: a few, to be compared exactly."""
    if not len(cuts):
        return []
    density = out[cuts] / through[cuts]
    return cuts[density >= density.max() * (1 - 1e-12)][:64].tolist()
