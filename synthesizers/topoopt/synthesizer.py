"""TopoOpt: wires the fabric for the traffic, and schedules the traffic on what it wired (NSDI 2023, arXiv 2202.00433).

On a network that is wired already the same routing is at work: rings that the network has, shortest paths that spread
the load. With ``schedule`` the wired network is handed to another synthesizer, so that what the topology gains and what
the schedule gains can be told apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from schedules import Schedule, collective, demand_of
from synthesizers.base import OptionsBase, Synthesizer, parse_options
from synthesizers.exchange import exchange
from synthesizers.problem import Problem
from synthesizers.topoopt.estimate import Estimator
from synthesizers.topoopt.permutations import Variant
from synthesizers.topoopt.ring_circuits import circuits, rings_on
from synthesizers.topoopt.traffic_routes import routes_on
from synthesizers.topoopt.wiring import SPLITS, Split, Wiring, find_topology
from synthesizers.tuning import MAX_HOPS, Pieces, tuned
from topologies import Demand, Fabric, fabric
from topologies.exceptions import OptionError, SynthesisError

#: What carries AllReduce traffic as TopoOpt does.
RINGS = "rings"


class TopoOptOptions(OptionsBase, frozen=True):
    """Options of `TopoOpt`.

    Attributes
    ----------
    variant : {"paper", "released", "exhaustive"}
        How the fabric is wired: as in the paper, as in the authors' code, or with the best jumps of all.
    split : {"auto", "buffers", "sent"}
        What of AllReduce is set against one-to-one traffic where ports are split: its buffers, as in the paper, or the
        bytes that rings send. auto: the wiring on which less is on the busiest link; the first of equals.
    schedule : str
        ``rings``, or another synthesizer, which then schedules on the network that TopoOpt wired.
    routing : {"paths", "coins"}
        What one-to-one traffic takes on a fabric: the shortest paths of the whole network, or, within a group of
        AllReduce, the group's rings alone (CoinChangeMod).
    paths : int
        Shortest paths that one-to-one traffic chooses from; the released variant takes one.
    pieces : int or "auto"
        How often each chunk is cut on each ring. auto: by simulation.
    """

    variant: Variant = "paper"
    split: Split | Literal["auto"] = "auto"
    schedule: str = RINGS
    routing: Literal["paths", "coins"] = "paths"
    paths: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    pieces: Pieces = "auto"

    def __post_init__(self) -> None:
        """Refuse a schedule that nobody makes, before anything is wired."""
        if self.schedule == RINGS:
            return
        from synthesizers.registry import discover

        others = [name for name in discover() if name != TopoOpt.name]
        if self.schedule not in others:
            raise OptionError(f"unknown schedule {self.schedule!r}; expected {RINGS}, or one of {', '.join(others)}")


class TopoOpt(Synthesizer):
    """Topology and routing chosen together; multi-ring AllReduce and routed one-to-one traffic in one schedule."""

    name = "topoopt"
    reference = (
        "W. Wang et al., TopoOpt: Co-optimizing Network Topology and Parallelization Strategy for Distributed Training "
        "Jobs, NSDI 2023 (arXiv 2202.00433)"
    )
    chooses_network = True
    Options = TopoOptOptions

    def supports(self, problem: Problem) -> str | None:
        """Return why not: neither AllReduce nor from one to one, where no other schedule may carry it."""
        if isinstance(problem.topology, Fabric) and problem.collective.kind != "custom":
            return None  # another schedule may carry it
        if demand_of(problem.collective, problem.size) is None:
            return f"carries AllReduce and what one NPU sends to one other; {problem.collective.kind} is neither"
        return None

    def warm_up(self) -> None:
        """Compile the matching, the estimate, the choice of paths, and the simulator."""
        unwired = fabric(4, 2)
        traffic = np.ones((4, 4), np.int64) - np.eye(4, dtype=np.int64)
        demand = Demand(4, traffic=traffic)
        Estimator(find_topology(unwired, demand).topology, {}).time_us(demand)
        for kind in ("all_reduce", "all_to_all"):
            self.synthesize(Problem(unwired, collective(kind, 4), 2**16), TopoOptOptions())

    def synthesize(self, problem: Problem, options: TopoOptOptions) -> Schedule:
        """Return the schedule, on the network that was wired where the problem's is a fabric.

        Raises
        ------
        SynthesisError
            A fabric that cannot be wired so, or a schedule that cannot carry the collective.
        """
        demand = _demand(problem)
        wiring: Wiring | None = None
        topology = problem.topology
        if isinstance(topology, Fabric):
            wiring = _wired(topology, demand, options)
            topology = wiring.topology
        if options.schedule != RINGS:
            return _by_another(replace(problem, topology=topology), options)
        if demand_of(problem.collective, problem.size) is None:
            raise SynthesisError(
                f"topoopt: rings carry AllReduce, and routes what one NPU sends to one other; for "
                f"{problem.collective.kind} name a schedule that can, such as -o schedule=tacos"
            )
        if wiring is None and options.routing == "coins":
            raise OptionError(
                f"topoopt: routing=coins goes over the rings that this synthesizer lays; {topology.name} is wired "
                "already: use routing=paths, or a fabric"
            )
        rings = rings_on(topology, demand, None if wiring is None else circuits(wiring))
        over = wiring.all_rings if wiring is not None and options.routing == "coins" else ()
        routes = routes_on(topology, demand, rings, 0 if options.variant == "released" else options.paths, over)
        notes = {} if wiring is None else {"jumps": [list(each.jumps) for each in wiring.groups],
                                           "cables": wiring.cables.tolist()}  # fmt: skip

        def build(pieces: int) -> Schedule:
            return exchange(topology, problem.collective, rings, routes, pieces, notes)

        pieces = options.pieces
        if pieces == "auto" and problem.collective.num_chunks * topology.num_npus > MAX_HOPS:
            pieces = 1
        return tuned(problem, build, pieces)


def _wired(unwired: Fabric, demand: Demand, options: TopoOptOptions) -> Wiring:
    """Return the wiring of the options; of both readings of the split that with the lower estimate."""
    splits = SPLITS if options.split == "auto" else (options.split,)
    found = [find_topology(unwired, demand, options.variant, split) for split in splits]
    if len({wiring.topology for wiring in found}) == 1:
        return found[0]
    return min(found, key=lambda wiring: Estimator(wiring.topology, circuits(wiring)).time_us(demand))


def _demand(problem: Problem) -> Demand:
    """Return the demand of a problem; that of an AllReduce for other collectives of groups, which are as mutable.

    Where there are fewer bytes than parts, every part counts all the same: it needs a way.
    """
    work = problem.collective
    size = max(problem.size, work.num_chunks if work.weights is None else int(work.weights.sum()))
    demand = demand_of(work, size)
    if demand is None:
        demand = demand_of(collective("all_reduce", work.num_npus, groups=work.groups), size)
    assert demand is not None
    return demand


def _by_another(problem: Problem, options: TopoOptOptions) -> Schedule:
    """Return the schedule of another synthesizer on the network that was wired."""
    from synthesizers.registry import find

    other = find(options.schedule)
    reason = other.supports(problem)
    if reason is not None:
        raise SynthesisError(f"topoopt: {other.name} cannot schedule on what was wired: {reason}")
    given: dict[str, Any] = {"pieces": options.pieces} if "pieces" in other.Options.__struct_fields__ else {}
    schedule = other.synthesize(problem, parse_options(other, given))
    return schedule.with_notes(wired_by=TopoOpt.name)
