"""Search over strategies and topologies together, at random on the same budget, and on a network that is there.

TopoOpt alternates (NSDI 2023, section 4.1): a Markov chain over parallelisation strategies on the network that is there
(a worse one is accepted with probability exp(−(t_new − t_old)/T)), then the topology finder on the demand that the best
strategy makes, and so on for some rounds. A strategy that is good only on a network made for it never becomes the best
on another one; so the first round is on what no wiring can beat, where all servers have their ports' bandwidth to each
other, and wires for what is best there. Which strategies there are is the caller's: a `Placement`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from synthesizers.rings import Circuit
from synthesizers.topoopt.estimate import Estimator
from synthesizers.topoopt.permutations import Variant
from synthesizers.topoopt.random_wiring import random_wiring
from synthesizers.topoopt.ring_circuits import circuits
from synthesizers.topoopt.wiring import Wiring, find_topology
from topologies import Demand, Fabric, Topology
from topologies.exceptions import SynthesisError

S = TypeVar("S")


class Placement(Protocol[S]):
    """The strategies of a training job on some servers."""

    def start(self) -> S:
        """Return the strategy that a search begins from."""

    def neighbour(self, strategy: S, rng: np.random.Generator) -> S:
        """Return a strategy that differs in one random way."""

    def demand(self, strategy: S) -> Demand:
        """Return what an iteration moves."""

    def compute_s(self, strategy: S) -> float:
        """Return what an iteration computes, in seconds."""


@dataclass(frozen=True)
class Step:
    """One evaluation of a search.

    Attributes
    ----------
    round : int
        Which alternation; of the random search always 0.
    time_s, best_s : float
        The estimated iteration of what was tried, and of the best so far.
    accepted : bool
        Whether the chain moved there.
    """

    round: int
    time_s: float
    best_s: float
    accepted: bool


@dataclass
class Found(Generic[S]):
    """What a search has found.

    Attributes
    ----------
    wiring : Wiring or None
        None where the network was given.
    strategy : S
    demand : Demand
        Of the strategy.
    time_s : float
        Its estimated iteration.
    trace : list of Step
        Every evaluation, in order: the convergence.
    """

    wiring: Wiring | None
    strategy: S
    demand: Demand
    time_s: float
    trace: list[Step] = field(default_factory=list)


def alternate(
    fabric: Fabric,
    placement: Placement[Any],
    *,
    budget: int = 400,
    rounds: int = 4,
    temperature: float = 0.05,
    variant: Variant = "paper",
    seed: int = 0,
) -> Found[Any]:
    """Return the best strategy and wiring that alternating finds.

    Parameters
    ----------
    fabric : Fabric
    placement : Placement
    budget : int
        Strategies that are evaluated in all, shared evenly by the rounds.
    rounds : int
        Alternations.
    temperature : float
        T at the beginning, as a share of the first strategy's time; it falls linearly to nothing in each round.
    variant : str
        Of the topology finder.
    seed : int
        The only source of randomness.

    Raises
    ------
    SynthesisError
        A budget or number of rounds below one.
    """
    _require(budget, rounds)
    rng = np.random.default_rng(seed)
    best = _rewired(fabric, placement, placement.start(), variant)
    trace = [Step(0, best.time_s, best.time_s, True)]
    scale = temperature * best.time_s
    per_round = max(1, (budget - 1) // rounds - 1)
    for number in range(rounds):
        strategy = best.strategy
        if number == 0:
            dream = Estimator(fabric.relaxed(), {})
            begin = _estimated(placement, strategy, dream)
            strategy = _chain(begin, placement, dream, rng, per_round, scale, number, trace, best.time_s).strategy
        else:
            assert best.wiring is not None
            estimator = Estimator(best.wiring.topology, circuits(best.wiring))
            best = _chain(best, placement, estimator, rng, per_round, scale, number, trace)
            strategy = best.strategy
        wired = _rewired(fabric, placement, strategy, variant)
        accepted = wired.time_s < best.time_s
        if accepted:
            best = wired
        trace.append(Step(number, wired.time_s, best.time_s, accepted))
    best.trace = trace
    return best


def search_on(
    topology: Topology,
    rings: Mapping[tuple[int, ...], Sequence[Circuit]],
    placement: Placement[Any],
    *,
    budget: int = 400,
    temperature: float = 0.05,
    seed: int = 0,
) -> Found[Any]:
    """Return the best strategy that a Markov chain finds on a network that is there.

    Parameters
    ----------
    topology, rings
        As for `Estimator`.
    placement, budget, temperature, seed
        As for `alternate`.
    """
    _require(budget, 1)
    rng = np.random.default_rng(seed)
    estimator = Estimator(topology, rings)
    best = _estimated(placement, placement.start(), estimator)
    trace = [Step(0, best.time_s, best.time_s, True)]
    best = _chain(best, placement, estimator, rng, budget - 1, temperature * best.time_s, 0, trace)
    best.trace = trace
    return best


def random_search(
    fabric: Fabric, placement: Placement[Any], *, budget: int = 400, variant: Variant = "paper", seed: int = 0
) -> Found[Any]:
    """Return the best of random strategies on random wirings: what `alternate` is to be measured against.

    A strategy is a random walk of 1 to 64 changes from the start; a wiring has a random split of the ports and random
    jumps (`random_wiring`), and the first one is what the finder makes of the start.

    Parameters
    ----------
    fabric, placement, variant, seed
        As for `alternate`.
    budget : int
        Pairs of strategy and wiring that are evaluated.
    """
    _require(budget, 1)
    rng = np.random.default_rng(seed)
    best = _rewired(fabric, placement, placement.start(), variant)
    trace = [Step(0, best.time_s, best.time_s, True)]
    for _ in range(budget - 1):
        strategy = placement.start()
        for _ in range(int(rng.integers(1, 65))):
            strategy = placement.neighbour(strategy, rng)
        tried = _evaluated(random_wiring(fabric, placement.demand(strategy), rng), placement, strategy)
        accepted = tried.time_s < best.time_s
        if accepted:
            best = tried
        trace.append(Step(0, tried.time_s, best.time_s, accepted))
    best.trace = trace
    return best


def _require(budget: int, rounds: int) -> None:
    """Refuse a search of nothing."""
    if budget < 1 or rounds < 1:
        raise SynthesisError(f"search: budget {budget} and rounds {rounds}; expected at least one of each")


def _rewired(fabric: Fabric, placement: Placement[Any], strategy: Any, variant: Variant) -> Found[Any]:
    """Return a strategy on the wiring that its own demand asks for, ports split by the bytes that are sent."""
    return _evaluated(find_topology(fabric, placement.demand(strategy), variant, "sent"), placement, strategy)


def _evaluated(wiring: Wiring, placement: Placement[Any], strategy: Any) -> Found[Any]:
    """Return a strategy on a wiring with its estimated time."""
    return _estimated(placement, strategy, Estimator(wiring.topology, circuits(wiring)), wiring)


def _estimated(
    placement: Placement[Any], strategy: Any, estimator: Estimator, wiring: Wiring | None = None
) -> Found[Any]:
    """Return a strategy with its estimated time."""
    demand = placement.demand(strategy)
    return Found(wiring, strategy, demand, placement.compute_s(strategy) + estimator.time_us(demand) / 1e6)


def _chain(
    best: Found[Any],
    placement: Placement[Any],
    estimator: Estimator,
    rng: np.random.Generator,
    steps: int,
    scale: float,
    number: int,
    trace: list[Step],
    real_s: float | None = None,
) -> Found[Any]:
    """Return the best strategy of a Markov chain from the best one, on one network.

    Where that network cannot be built, `real_s` is the best time so far on one that can, for the trace.
    """
    here = best
    known: dict[Any, Found[Any]] = {}
    for step in range(steps):
        strategy = placement.neighbour(here.strategy, rng)
        if strategy not in known:
            known[strategy] = _estimated(placement, strategy, estimator, best.wiring)
        there = known[strategy]
        heat = scale * (1 - step / steps)
        worse_s = there.time_s - here.time_s
        accepted = worse_s <= 0 or (heat > 0 and rng.random() < math.exp(-worse_s / heat))
        if accepted:
            here = there
        if there.time_s < best.time_s:
            best = there
        trace.append(Step(number, there.time_s, best.time_s if real_s is None else real_s, accepted))
    return best
