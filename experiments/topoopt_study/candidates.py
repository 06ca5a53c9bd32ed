"""Which strategies on which wiring are worth a simulation: what the search began with, and the best that it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.topoopt_study.settings import Setting
from experiments.workloads import Placement, Strategy
from synthesizers.topoopt import (
    Found,
    alternate,
    circuits,
    find_topology,
    match_rounds,
    random_search,
    rings_on,
    search_on,
)
from synthesizers.topoopt.permutations import Variant
from synthesizers.topoopt.ring_circuits import Rings
from topologies import Demand, Fabric, Topology

#: Rounds of alternating, at most.
_ROUNDS = 4


@dataclass(frozen=True)
class Candidate:
    """A strategy on a network: its demand, and the rings of its groups there."""

    strategy: Strategy
    demand: Demand
    topology: Topology
    rings: Rings


def candidates(setting: Setting, network: Topology, placement: Placement) -> tuple[list[Candidate], list[float]]:
    """Return the start of the search and its best, and the best estimate in seconds after each evaluation.

    Parameters
    ----------
    setting : Setting
    network : Topology
        A fabric is wired: by TopoOpt, by chance, or by matchings.
    placement : Placement
    """
    start = placement.start()
    if isinstance(network, Fabric) and setting.network != "matching":
        variants: tuple[Variant, ...] = (
            ("released",) if setting.network == "topoopt_released" else ("paper", "released")
        )
        found: Found[Any] = (
            random_search(network, placement, budget=setting.budget, seed=setting.seed)
            if setting.network == "topoopt_random"
            else alternate(
                network, placement, budget=setting.budget, rounds=_ROUNDS, variants=variants, seed=setting.seed
            )
        )
        demand = placement.demand(start)
        first = find_topology(network, demand, variants[0], "sent")
        assert found.wiring is not None
        tried = [_on(start, demand, first.topology, circuits(first)),
                 _on(found.strategy, found.demand, found.wiring.topology, circuits(found.wiring))]  # fmt: skip
    else:
        topology = _matched(network, placement) if isinstance(network, Fabric) else network
        wired = rings_on(topology, Demand(setting.servers, [range(setting.servers)], [1]))
        found = search_on(topology, wired, placement, budget=setting.budget, seed=setting.seed)
        tried = [_on(strategy, placement.demand(strategy), topology, wired) for strategy in (start, found.strategy)]
    same = tried[0].strategy == tried[1].strategy and tried[0].topology == tried[1].topology
    return tried[: 1 if same else 2], [step.best_s for step in found.trace]


def _on(strategy: Strategy, demand: Demand, topology: Topology, wired: Rings) -> Candidate:
    """Return a strategy on a network, with rings for all of its groups."""
    return Candidate(strategy, demand, topology, rings_on(topology, demand, wired))


def _matched(unwired: Fabric, placement: Placement) -> Topology:
    """Return the fabric wired by matchings of the demand alone: every AllReduce counts as traffic round its group.

    One port of each server goes to a ring over all, as matchings need not join them.
    """
    demand = placement.demand(placement.start())
    traffic = demand.traffic.copy()
    for group, nbytes in zip(demand.groups, demand.group_bytes, strict=True):
        ranks = np.array(group)
        traffic[ranks, np.roll(ranks, -1)] += 2 * (len(group) - 1) * nbytes // len(group)
    every = np.arange(unwired.num_npus)
    rounds = match_rounds(traffic, np.full(unwired.num_npus, unwired.ports - 1))
    pairs = np.array([pair for each in rounds for pair in each], np.int64).reshape(-1, 2)
    src = np.concatenate([every, pairs[:, 0], pairs[:, 1]])
    dst = np.concatenate([np.roll(every, -1), pairs[:, 1], pairs[:, 0]])
    return unwired.wired(src, dst, f"{unwired.name}, matched")
