"""TACOS: the topology-aware greedy synthesizer (W. Won et al., MICRO'24, arXiv 2304.05301), made causal and fast.

AllGather and Broadcast are matched directly; ReduceScatter and Reduce are the matching on the reversed network played
backwards; AllReduce is ReduceScatter then AllGather. Switches are unwound into point-to-point links for the matching,
and the result is carried back onto the real links, where it is scored. All other collectives, and groups that are not
connected by themselves, are led along paths past NPUs that do not want the chunks, which the paper does not do; so are
all collectives through switches, where that is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from schedules import Collective, Schedule
from schedules import collective as collective_named
from simulator import simulate_ps
from synthesizers.base import OptionsBase, Synthesizer, parse_options
from synthesizers.opposite_links import opposite_links
from synthesizers.problem import Problem
from synthesizers.sends import on_routes
from synthesizers.tacos.network import RULES, Network
from synthesizers.tacos.portfolio import best, trials_for
from synthesizers.tacos.wiring import Wiring, unwound, wirings
from synthesizers.tuning import Pieces, fastest, tuned
from topologies import Topology, mesh, ring
from topologies.cores import usable_cores
from topologies.exceptions import SynthesisError
from topologies.memory import require_memory

#: Kinds in which every NPU of a group wants every chunk, forwards or backwards.
_MATCHED = ("all_gather", "broadcast", "reduce_scatter", "reduce", "all_reduce")
_BACKWARD = ("reduce_scatter", "reduce")

#: An AllReduce of more hops keeps the planned order: listing it anew takes more memory than it gains time.
_RELIST_HOPS = 2**21

#: With more hops, along shortest paths or through unwound switches, no others are looked for: that takes longer.
_MOST_COMPARED_HOPS = 2**20


class TacosOptions(OptionsBase, frozen=True, kw_only=True):
    """Options of `Tacos`.

    Attributes
    ----------
    trials : int
        Runs with different rules and seeds, of which the best is kept; fewer where one is provably optimal, or on
        networks so large that they would take long.
    rule : str
        Which chunk a link takes: ``oldest``, ``newest``, ``rarest``, ``random``; ``once``: those that have not entered
        its box, the part of the network that hangs together by faster links; ``translated``: one NPU's trees, carried
        to all, where NPUs are alike; or ``auto``: several, by trial.
    variant : str
        ``paper``: the plain greedy of the paper, random choice, no link left idle, ports wired to the next ones.
    pieces : int or "auto"
        How often each chunk is cut; 1 keeps the chunks that were asked for.
    degree : int or "auto"
        Links per port into which a switch is unwound; ``auto`` takes the fastest.
    wiring : str
        Whether a switch's ports are wired to the ``next`` ones, or first to those of other boxes, ``apart``; ``auto``
        takes the fastest.
    switches : str
        Whether switches are ``unwound`` into links between their ports, as in the paper, or ``kept`` and led through,
        as for the collectives of chunks that pass by; ``auto`` takes the faster, unless a rule, a degree or a wiring
        is asked for.
    paths : str
        What chunks that pass through NPUs which do not want them may take: ``shortest`` ways, ``any``, or ``auto``: the
        faster of the two.
    threads : int
        Trials at a time; 0: one per core. The schedule does not depend on it.
    """

    trials: Annotated[int, msgspec.Meta(ge=1)] = 16
    rule: Literal["auto", "oldest", "newest", "rarest", "random", "once", "translated"] = "auto"
    variant: Literal["default", "paper"] = "default"
    pieces: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"] = 1
    degree: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"] = "auto"
    wiring: Literal["auto", "next", "apart"] = "auto"
    switches: Literal["auto", "unwound", "kept"] = "auto"
    paths: Literal["auto", "shortest", "any"] = "auto"
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Tacos(Synthesizer):
    """Greedy matching of chunks to links over time."""

    name = "tacos"
    version = "3"
    reference = "W. Won et al., TACOS: Topology-Aware Collective Algorithm Synthesizer, MICRO 2024 (arXiv 2304.05301)"
    cost = 0.02
    Options = TacosOptions

    def supports(self, problem: Problem) -> str | None:
        """Return why not: what is neither matched nor led along paths."""
        collective = problem.collective
        if collective.kind == "custom" and collective.reduces:
            return "a custom collective that adds up is beyond its matching and its paths; one that copies is not"
        return None

    def synthesize(self, problem: Problem, options: Any) -> Schedule:
        """Return the best schedule of the trials, on the problem's own links."""
        topology, given = problem.topology, problem.collective
        pieces: Pieces = options.pieces if given.kind != "custom" else 1
        if given.kind not in _MATCHED or not _connected(topology, given.groups):
            return self._kept(problem, options, pieces)
        by_matching = partial(self._matched, problem, options)
        if topology.num_switches == 0:
            return tuned(
                problem, lambda count: _both_ways(problem, given.refined(count), topology, by_matching), pieces
            )
        if options.switches == "kept":
            return self._kept(problem, options, pieces)
        degree = None if options.degree == "auto" else options.degree
        wiring = "next" if options.variant == "paper" else options.wiring
        tried = wirings(topology, given.groups, degree, None if wiring == "auto" else wiring)

        def build(count: int) -> Schedule:
            """Return the fastest schedule over the wirings, and leave the better half of them for finer pieces."""
            found = [self._on_wires(problem, options, given.refined(count), wiring) for wiring in tried]
            times = [simulate_ps(schedule, problem.size, problem.model) for schedule in found]
            ranked = sorted(range(len(tried)), key=times.__getitem__)
            tried[:] = [tried[place] for place in ranked[: (len(ranked) + 1) // 2]]
            return found[ranked[0]]

        unwound = tuned(problem, build, pieces)
        # Rules and wirings that are asked for are those of unwound switches.
        asked = (options.rule, options.degree, options.wiring) != ("auto",) * 3 or options.variant == "paper"
        if options.switches == "unwound" or asked or unwound.num_hops > _MOST_COMPARED_HOPS:
            return unwound
        return fastest(problem, [unwound, self._kept(problem, options, pieces)])

    def _kept(self, problem: Problem, options: TacosOptions, pieces: Pieces) -> Schedule:
        """Return the schedule of paths through the switches as they are."""
        by_paths = partial(self._led, problem, options)
        given, topology = problem.collective, problem.topology
        return tuned(problem, lambda count: _both_ways(problem, given.refined(count), topology, by_paths), pieces)

    def warm_up(self) -> None:
        """Compile every kernel on the smallest networks that need it."""
        for bandwidths in ([50.0, 50.0], [50.0, 75.0]):
            topology = mesh([2, 2], bandwidths)
            problem = Problem(topology, collective_named("all_reduce", 4), 2**20)
            for rule in RULES:
                self.synthesize(problem, parse_options(self, {"rule": rule, "trials": 1}))
        Network(ring(4), np.arange(4), 2**18).compile_rounds()
        for kind, rule in (("all_to_all", "auto"), ("all_gather", "translated")):
            problem = Problem(ring(4), collective_named(kind, 4), 2**20)
            self.synthesize(problem, parse_options(self, {"rule": rule, "trials": 1}))

    def _on_wires(self, problem: Problem, options: TacosOptions, collective: Collective, wiring: Wiring) -> Schedule:
        """Return the schedule on the real links behind the wires, in the planned order or first come, first served."""
        planned = _both_ways(problem, collective, wiring.wires, partial(self._matched, problem, options))
        notes = {**planned.notes, "degree": wiring.degree, "wiring": wiring.kind}
        if wiring.degree > 1 or problem.model.switching != "cut_through":
            # The plan knows nothing of wires that share a port, nor of a switch that waits for the last byte.
            del notes["planned_us"]
        candidates = [
            on_routes(problem.topology, planned.collective, planned.chunk, planned.link, wiring.start, wiring.links,
                      reduce=planned.reduce, order=order, notes=notes)
            for order in ("program", "fifo")
        ]  # fmt: skip
        return fastest(problem, candidates)

    def _led(self, problem: Problem, options: TacosOptions, collective: Collective, topology: Topology) -> Schedule:
        """Return the faster schedule along paths, for any collective that copies."""
        from synthesizers.tacos.relays import along_paths  # needs numba from its first line

        found = [along_paths(problem, collective, topology, straight=options.paths != "any")]
        if found[0].num_hops <= _MOST_COMPARED_HOPS:
            if options.paths == "auto":
                found.append(along_paths(problem, collective, topology, straight=False))
            if collective.kind in _MATCHED:
                found.append(along_paths(problem, collective, topology, straight=False, once=True))
        # On a reversed network times are not those of the problem, but which is the faster is the same.
        return fastest(problem, found) if len(found) > 1 else found[0]

    def _matched(self, problem: Problem, options: TacosOptions, collective: Collective, topology: Topology) -> Schedule:
        """Return the best matching for each group of an AllGather or Broadcast, put together."""
        chunk_bytes = int(collective.chunk_bytes(problem.size).max(initial=0))
        chunks, links, rules, latest_ps, first = [], [], [], 0, 0
        for part, group in enumerate(collective.groups):
            count = collective.shard_count(part) * collective.chunks
            ranks = np.repeat(np.arange(len(group)), collective.chunks)
            holders = ranks if collective.kind == "all_gather" else np.full(count, collective.root)
            network = Network(topology.subset(group), holders, chunk_bytes)
            trials = trials_for(network, options.trials, problem.seed, options.rule, options.variant == "paper")
            matching, trial = best(network, trials, options.threads or usable_cores())
            if matching is None or trial is None:
                raise SynthesisError(
                    f"TACOS found no schedule of less than 53 days for the group {_shown(group)}; give a smaller size "
                    "or larger bandwidths, and see that the group is connected without NPUs outside it"
                )
            chunks.append(matching.chunk if first == 0 else matching.chunk + np.int64(first))
            # A subset of all NPUs in order has the links of the whole; else they are renumbered.
            own = topology.subset_links(group)
            links.append(matching.link if len(own) == topology.num_links else own[matching.link])
            rules.append(f"{trial.rule}, once" if trial.once else trial.rule)
            latest_ps = max(latest_ps, matching.time_ps)
            first += count
        several = len(chunks) > 1
        return Schedule(
            topology,
            collective,
            np.concatenate(chunks) if several else chunks[0],
            np.concatenate(links) if several else links[0],
            notes={"planned_us": latest_ps / 1e6, "rule": rules if several else rules[0]},
        )


def _require_room(collective: Collective, topology: Topology) -> None:
    """Refuse schedules that would not fit in memory, with all that is kept of them while they are put together."""
    chunks = sum(collective.shard_count(part) for part in range(collective.num_parts)) * collective.chunks
    hops = chunks * (max(map(len, collective.groups), default=1) - 1)
    hop_bytes = (2 if chunks <= 2**16 else 4) + (2 if topology.num_links <= 2**16 else 4)
    needed = hop_bytes * hops  # one matching; what it takes while it is made, `Network` knows
    if collective.kind in _BACKWARD:
        needed += (hop_bytes + 2) * hops  # and played backwards, with what each hop adds
    elif collective.kind == "all_reduce":
        needed += (4 * hop_bytes + 6) * hops  # and both played one after the other
    require_memory(needed, f"TACOS: a schedule of {hops:,} transfers or more")


def _both_ways(
    problem: Problem, collective: Collective, topology: Topology, spread: Callable[[Collective, Topology], Schedule]
) -> Schedule:
    """Return the schedule of any collective from what makes those that copy."""
    if collective.kind in _MATCHED:
        _require_room(collective, topology)
    if collective.kind in _BACKWARD:
        mirrored = spread(collective.reversed(), topology.reversed())
        return mirrored.reverse().with_notes(**mirrored.notes)
    if collective.kind != "all_reduce":
        return spread(collective, topology)
    gathering = Collective("all_gather", collective.num_npus, collective.groups, collective.chunks)
    gathered, back = spread(gathering, topology), opposite_links(topology)
    if back is None:
        mirrored = spread(gathering, topology.reversed())
    else:
        link = back.astype(gathered.link.dtype)[gathered.link]
        link.setflags(write=False)
        mirrored = gathered.replaced(topology=topology.reversed(), link=link)
    joined = mirrored.reverse().then(gathered)
    notes = dict(gathered.notes)
    if "planned_us" in notes:
        notes["planned_us"] += mirrored.notes["planned_us"]
    # As planned, one after the other; or what is ready goes, and that order is then kept, if that is faster.
    ordered = joined.replaced(order="program", notes=notes)
    if problem.topology.num_switches or joined.num_hops > _RELIST_HOPS:
        return ordered
    from simulator.relisting import relisted  # needs numba from its first line
    from simulator.timelines import timeline

    overlapped = timeline(joined, problem.size, problem.model)
    if overlapped.total_ps >= simulate_ps(ordered, problem.size, problem.model):
        return ordered
    return relisted(overlapped).with_notes(**ordered.notes)


def _connected(topology: Topology, groups: Sequence[tuple[int, ...]]) -> bool:
    """Return whether every group is connected, through switches or not, without NPUs outside it."""
    if all(len(group) == topology.num_npus for group in groups):
        return True
    wires, _ = unwound(topology, groups, 1)
    return all(len(wires.subset(group).components()) == 1 for group in groups)


def _shown(group: tuple[int, ...]) -> str:
    """Return a group for a message."""
    return "{" + ", ".join(map(str, group[:6])) + (", …}" if len(group) > 6 else "}")
