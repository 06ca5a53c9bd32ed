"""ForestColl: spanning trees packed to the optimum of throughput, and pieces sent over all of them at once.

AllGather floods each rank's trees; ReduceScatter is the same on the reversed network, with data going to the roots;
Broadcast and Reduce have trees of one root. AllReduce reduces to the roots and floods from them: either to all ranks
with equal shares, as ReduceScatter and AllGather without a barrier, or to the ranks that suit the network best (see
`synthesizers.forest.root_shares`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from schedules import Collective, Schedule, collective
from schedules.kinds import ROOTED
from simulator import bound, simulate_us
from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.opposite_links import opposite_links
from synthesizers.problem import Problem
from synthesizers.tuning import Pieces, fastest, tuned
from topologies import Topology, mesh, require_connected
from topologies.exceptions import OptionError, TopologyError

if TYPE_CHECKING:
    from synthesizers.forest.trees import Trees  # needs numba and scipy, as all that lies behind it

#: Kinds, and whether data goes down from the roots, and up to them.
_WAYS = {
    "all_gather": (True, False), "broadcast": (True, False), "reduce_scatter": (False, True), "reduce": (False, True),
    "all_reduce": (True, True),
}  # fmt: skip

#: Times the bound beyond which few bytes are likely the reason, and one tree for each root is tried too.
_FAR = 1.1

#: Members of a group beyond which the exact optimum takes minutes.
MAX_MEMBERS = 512


class ForestOptions(OptionsBase, frozen=True):
    """Options of `Forest`.

    Attributes
    ----------
    trees : int or "auto"
        Trees of each root; with free root shares, on average. auto: the fewest that reach the optimum; where that takes
        over 16, the fewest that come within 1 % of it, or the best up to 16; and one, where by simulation that is
        faster, as for few bytes.
    pieces : int or "auto"
        How often each tree's share is cut. auto: by simulation.
    allreduce : {"auto", "rsag", "trees"}
        AllReduce over trees of all ranks with equal shares (rsag), or with the shares that suit the network (trees, for
        one group). auto: the faster by simulation.
    """

    trees: Annotated[int, msgspec.Meta(ge=1, le=256)] | Literal["auto"] = "auto"
    pieces: Pieces = "auto"
    allreduce: Literal["auto", "rsag", "trees"] = "auto"


class Forest(Synthesizer):
    """Throughput-optimal trees on any network, with or without switches."""

    name = "forest"
    reference = "Zhao et al., ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network Fabrics, arXiv 2402.06787"  # noqa: E501
    cost = 0.5
    Options = ForestOptions

    def supports(self, problem: Problem) -> str | None:
        """Return None for AllGather, ReduceScatter, AllReduce, Broadcast and Reduce, else the reason why not."""
        kind = problem.collective.kind
        if kind not in _WAYS:
            return f"a forest brings the same to all ranks, or sums; {kind} is not among {', '.join(_WAYS)}"
        most = max(map(len, problem.collective.groups))
        if most > MAX_MEMBERS:
            return f"the exact optimum is searched for up to {MAX_MEMBERS} ranks, not {most}"
        return None

    def warm_up(self) -> None:
        """Compile the kernels."""
        self.synthesize(Problem(mesh((2, 3)), collective("all_reduce", 6), 2**20), ForestOptions())

    def synthesize(self, problem: Problem, options: ForestOptions) -> Schedule:
        """Return the schedule; of AllReduce the faster of both ways where the options leave them open.

        Raises
        ------
        OptionError
            ``allreduce=trees`` for several groups; ``allreduce`` for other collectives.
        SynthesisError
            The network is too large for the exact optimum, or too uneven for whole trees.
        """
        trees = None if options.trees == "auto" else options.trees
        groups = problem.collective.groups
        if problem.collective.kind != "all_reduce" and options.allreduce != "auto":
            raise OptionError(
                f"forest: allreduce={options.allreduce} says nothing of {problem.collective.kind}; leave it out"
            )
        several = problem.collective.kind == "all_reduce" and options.allreduce != "rsag"
        if several and options.allreduce == "trees" and len(groups) > 1:
            raise OptionError(f"forest: allreduce=trees is for one group, not {len(groups)}; expected auto or rsag")
        plans = []
        free = several and len(groups) == 1 and len(groups[0]) > 1
        if not free or options.allreduce == "auto":
            plans.append(_equal_shares(problem, trees))
        if free:
            plans += _free_shares(problem, trees, plans)
        schedules = [tuned(problem, partial(plan.schedule, problem), options.pieces) for plan in plans]
        best = schedules[0] if len(schedules) == 1 else fastest(problem, schedules)
        if trees is None and options.allreduce != "trees" and max(plan.count for plan in plans) > 1:
            least_us = bound(problem.topology, problem.collective, problem.size, problem.model).time_us
            if simulate_us(best, problem.size, problem.model) > _FAR * least_us:
                one = _equal_shares(problem, 1)
                best = fastest(problem, [best, tuned(problem, partial(one.schedule, problem), options.pieces)])
        return best


@dataclass(frozen=True)
class _Plan:
    """Trees for all groups, before it is known in how many pieces."""

    collective: Collective  # in shards of `count` trees each
    count: int
    ways: list[tuple[Trees | None, Trees | None]]  # of each group with several ranks, down and up

    def schedule(self, problem: Problem, pieces: int) -> Schedule:
        """Return the schedule with each tree's share of a chunk in so many pieces."""
        from synthesizers.forest.listing import Flood, listed

        each = self.collective.chunks * pieces  # of a tree; a rooted collective's shards are chunks of the root
        floods, first, ways = [], 0, iter(self.ways)
        for part, group in enumerate(self.collective.groups):
            shards = self.collective.shard_count(part)
            if len(group) > 1:
                down, up = next(ways)
                trees = down or up
                assert trees is not None
                share = shards * self.count * each // len(trees.root)
                floods.append(Flood(first + np.arange(len(trees.root)) * share, down, up))
            first += shards * self.count * each
        rooted = self.collective.kind in ROOTED
        total = pieces * self.collective.chunks * (self.collective.shard_count(0) if rooted else 1)
        refined = self.collective.refined(self.count * pieces)
        return listed(problem.topology, refined, floods, total, problem.size, problem.model)

    def load(self, topology: Topology) -> float:
        """Return the seconds that the fullest link takes for each byte of a buffer."""
        load = np.zeros(topology.num_links)
        for way in self.ways:
            for trees in way:
                if trees is not None:
                    load += trees.load(topology.num_links) / len(trees.root)
        return float((load / topology.bytes_per_s).max(initial=0))


def _equal_shares(problem: Problem, trees: int | None) -> _Plan:
    """Return trees of all ranks, or of the root, with the same share each."""
    wanted = problem.collective
    if wanted.kind == "all_reduce" and wanted.shards:
        wanted = wanted.resharded(0, wanted.chunks)
    groups = [group for group in wanted.groups if len(group) > 1]
    ways = [_ways(problem, group, trees) for group in groups]
    counts = {_per_root(each) for way in ways for each in way if each is not None} or {1}
    if len(counts) > 1:  # chunks are cut alike in all groups and both ways
        ways = [way if {_per_root(each) for each in way if each is not None} == {max(counts)}
                else _ways(problem, group, max(counts)) for way, group in zip(ways, groups, strict=True)]  # fmt: skip
    return _Plan(wanted, max(counts), ways)


def _per_root(trees: Trees) -> int:
    """Return how many trees each root has."""
    return len(trees.root) // len(np.unique(trees.root))


def _ways(problem: Problem, group: tuple[int, ...], trees: int | None) -> tuple[Trees | None, Trees | None]:
    """Return the trees of one group over which data goes down from the roots, and up to them."""
    from synthesizers.forest.spanning import spanning_trees

    topology, links = _own_part(problem, group)
    roots = (group[problem.collective.root],) if problem.collective.kind in ROOTED else None
    goes_down, goes_up = _WAYS[problem.collective.kind]
    down = up = None
    if goes_down:
        down, _ = spanning_trees(topology, group, roots, trees)
    if goes_up:
        opposite = opposite_links(topology) if down else None
        if down is not None and opposite is not None:
            up = down.renumbered(opposite)
        else:
            up, _ = spanning_trees(topology.reversed(), group, roots, trees)
        up = up.turned()
    if links is not None:
        down, up = (each and each.renumbered(links) for each in (down, up))
    return down, up


def _own_part(problem: Problem, group: tuple[int, ...]) -> tuple[Topology, np.ndarray | None]:
    """Return the network without the NPUs of other groups, where the group can do without, and what links are left."""
    topology = problem.topology
    foreign = np.zeros(topology.num_nodes, bool)
    foreign[list(problem.collective.members)] = True
    foreign[list(group)] = False
    if not foreign.any():
        return topology, None
    links = np.flatnonzero(~foreign[topology.src] & ~foreign[topology.dst])
    part = Topology(
        topology.num_npus, topology.src[links], topology.dst[links], topology.latency_us[links],
        topology.bandwidth_gbps[links], topology.num_switches, topology.name, topology.node_names,
    )  # fmt: skip
    try:
        require_connected(part, group)
    except TopologyError:
        return topology, None
    return part, links


def _free_shares(problem: Problem, trees: int | None, others: list[_Plan]) -> list[_Plan]:
    """Return trees of the roots that suit the network, where these load its links less than the other plans."""
    from synthesizers.forest.root_shares import root_share_trees

    (group,) = problem.collective.groups
    least = min((plan.load(problem.topology) for plan in others), default=np.inf)
    found = root_share_trees(problem.topology, group, trees and trees * len(group), least)
    if not found:
        return []
    down, up = found
    wanted = problem.collective.resharded(len(down.root), problem.collective.chunks)
    return [_Plan(wanted, 1, [(down, up)])]
