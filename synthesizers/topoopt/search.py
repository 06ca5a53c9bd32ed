"""Search over strategies and topologies together, at random on the same budget, and on a network that is there.

TopoOpt alternates (NSDI 2023, section 4.1): a Markov chain over parallelisation strategies on the network that is there
(a worse one is accepted with probability exp(−(t_new − t_old)/T)), then the topology finder on the demand that the best
strategy makes, and so on for some rounds. Three things are added, as a strategy that is good only on a network made for
it never becomes the best on another one. The first round is a dream, on what no wiring can beat: all servers have their
ports' bandwidth to each other. Its times are below those on any wiring, so the strategies that it met are wired for in
their order, until none is left that could be better. Wiring for a strategy is a choice among the finder's possible
splits of ports (`rules`). And in each later round the chain goes on with the network wired anew in every step, by the
rule that was best. Which strategies there are is the caller's: a `Placement`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from synthesizers.rings import Circuit
from synthesizers.topoopt.estimate import Estimator
from synthesizers.topoopt.permutations import Variant
from synthesizers.topoopt.random_wiring import random_wiring
from synthesizers.topoopt.ring_circuits import circuits
from synthesizers.topoopt.rules import Rule, rules_of, wirings
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
    temperature: float = 0.01,
    variants: Sequence[Variant] = ("paper", "released"),
    seed: int = 0,
) -> Found[Any]:
    """Return the best strategy and wiring that alternating finds.

    Parameters
    ----------
    fabric : Fabric
    placement : Placement
    budget : int
        Pairs of a strategy and a network that are estimated in all. The first round has half of them, the others share
        the rest evenly.
    rounds : int
        Alternations.
    temperature : float
        T at the beginning, as a share of the first strategy's time; it falls linearly to nothing in each chain.
    variants : sequence of str
        Of the topology finder.
    seed : int
        The only source of randomness.

    Raises
    ------
    SynthesisError
        A budget or number of rounds below one.
    """
    _require(budget, rounds)
    search = _Alternation(fabric, placement, rules_of(fabric.ports, variants), budget, temperature, seed)
    for number in range(rounds):
        left = budget - len(search.trace)
        share = left // (rounds - number) if number or rounds == 1 else left // 2
        search.dream(share) if number == 0 else search.alternation(number, share)
    search.best.trace = search.trace
    return search.best


class _Alternation:
    """An alternating search under way.

    Parameters
    ----------
    fabric, placement, budget, temperature, seed
        As for `alternate`.
    rules : sequence of Rule
        By which the fabric may be wired.

    Attributes
    ----------
    best : Found
        So far.
    trace : list of Step
        Every evaluation.
    """

    def __init__(
        self,
        fabric: Fabric,
        placement: Placement[Any],
        rules: Sequence[Rule],
        budget: int,
        temperature: float,
        seed: int,
    ) -> None:
        self._fabric, self._placement, self._rules = fabric, placement, rules
        self._rng = np.random.default_rng(seed)
        self._relaxed = Estimator(fabric.relaxed(), {})
        self._dreams: dict[Any, Found[Any]] = {}
        self._wired: set[Any] = set()
        self.trace: list[Step] = []
        self.best, self._rule = Found(None, None, Demand(fabric.num_npus), math.inf), rules[0]
        self._wire(0, self._dreamt(placement.start()), budget)
        self._scale = temperature * self.best.time_s

    def dream(self, share: int) -> None:
        """Go on from the start on what no wiring can beat, and wire for the best that was met."""
        self._chain(0, self._dreamt(self.best.strategy), self._dreamt, share // 2)
        self._wire_best(0, share - share // 2)

    def alternation(self, number: int, share: int) -> None:
        """Go on from the best on its network, then with each strategy wired for, and wire for the best that was met."""
        wiring, rule = self.best.wiring, self._rule
        assert wiring is not None
        there = Estimator(wiring.topology, circuits(wiring))
        self._chain(number, self.best, lambda each: _estimated(self._placement, each, there, wiring), share // 4)
        self._chain(number, self.best, lambda each: self._ruled(each, rule), share // 2)
        self._wire_best(number, share - share // 4 - share // 2)

    def _dreamt(self, strategy: Any) -> Found[Any]:
        """Return a strategy on what no wiring can beat."""
        if strategy not in self._dreams:
            self._dreams[strategy] = _estimated(self._placement, strategy, self._relaxed)
        return self._dreams[strategy]

    def _ruled(self, strategy: Any, rule: Rule) -> Found[Any]:
        """Return a strategy on the wiring that a rule makes for it; on the dream's where none can be as good."""
        dream = self._dreamt(strategy)
        if dream.time_s > self.best.time_s + self._scale:
            return dream
        (tried,) = wirings(self._fabric, dream.demand, [rule])
        return _estimated(self._placement, strategy, tried.estimator, tried.wiring)

    def _chain(self, number: int, begin: Found[Any], evaluate: Callable[[Any], Found[Any]], steps: int) -> None:
        """Go on from a strategy by a Markov chain."""
        for there, accepted in _markov(begin, self._placement, evaluate, self._rng, steps, self._scale):
            if there.wiring is not None and there.time_s < self.best.time_s:
                self.best = there
            self.trace.append(Step(number, there.time_s, self.best.time_s, accepted))

    def _wire_best(self, number: int, most: int) -> None:
        """Wire for strategies that were met, in the order of their times on what no wiring can beat, while one may win.

        Of those with the same AllReduce, for which ports are split alike, one is enough.
        """
        known = set()
        for dream in sorted(self._dreams.values(), key=lambda each: each.time_s):
            if dream.time_s >= self.best.time_s or most <= 0:
                return
            reduced = dream.demand.groups, dream.demand.group_bytes
            if reduced not in known and dream.strategy not in self._wired:
                most -= self._wire(number, dream, most)
            known.add(reduced)

    def _wire(self, number: int, dream: Found[Any], most: int) -> int:
        """Evaluate at most so many wirings for a strategy, as long as one may be the best, and return how many."""
        compute_s, demand = self._placement.compute_s(dream.strategy), dream.demand
        self._wired.add(dream.strategy)
        for count, tried in enumerate(wirings(self._fabric, demand, self._rules)):
            if count == most or compute_s + tried.at_least_us / 1e6 >= self.best.time_s:
                return count
            time_s = compute_s + tried.estimator.time_us(demand) / 1e6
            accepted = time_s < self.best.time_s
            if accepted:
                self.best, self._rule = Found(tried.wiring, dream.strategy, demand, time_s), tried.rule
            self.trace.append(Step(number, time_s, self.best.time_s, accepted))
        return count + 1


def search_on(
    topology: Topology,
    rings: Mapping[tuple[int, ...], Sequence[Circuit]],
    placement: Placement[Any],
    *,
    budget: int = 400,
    temperature: float = 0.01,
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
    scale = temperature * best.time_s
    for there, accepted in _markov(
        best, placement, lambda each: _estimated(placement, each, estimator), rng, budget - 1, scale
    ):
        best = min(best, there, key=lambda each: each.time_s)
        trace.append(Step(0, there.time_s, best.time_s, accepted))
    best.trace = trace
    return best


def random_search(fabric: Fabric, placement: Placement[Any], *, budget: int = 400, seed: int = 0) -> Found[Any]:
    """Return the best of random strategies on random wirings: what `alternate` is to be measured against.

    The first half is drawn afresh each time: a strategy is a random walk of 1 to 64 changes from the start; a wiring
    has a random split of the ports and random jumps (`random_wiring`), and the first one is what the finder makes of
    the start. The second half changes the best so far: one change of its strategy, another random wiring, or both.

    Parameters
    ----------
    fabric, placement, seed
        As for `alternate`.
    budget : int
        Pairs of strategy and wiring that are evaluated.
    """
    _require(budget, 1)
    rng = np.random.default_rng(seed)
    start = placement.start()
    best = _on(find_topology(fabric, placement.demand(start), split="sent"), placement, start)
    trace = [Step(0, best.time_s, best.time_s, True)]
    for number in range(1, budget):
        strategy, wiring = best.strategy, best.wiring
        change = int(rng.integers(3)) if 2 * number >= budget else 3  # strategy, wiring, both; all anew
        if change == 3:
            strategy = start
        for _ in range(int(rng.integers(1, 65)) if change == 3 else change != 1):
            strategy = placement.neighbour(strategy, rng)
        if change:
            wiring = random_wiring(fabric, placement.demand(strategy), rng)
        assert wiring is not None
        tried = _on(wiring, placement, strategy)
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


def _on(wiring: Wiring, placement: Placement[Any], strategy: Any) -> Found[Any]:
    """Return a strategy on a wiring with its estimated time."""
    return _estimated(placement, strategy, Estimator(wiring.topology, circuits(wiring)), wiring)


def _estimated(
    placement: Placement[Any], strategy: Any, estimator: Estimator, wiring: Wiring | None = None
) -> Found[Any]:
    """Return a strategy with its estimated time."""
    demand = placement.demand(strategy)
    return Found(wiring, strategy, demand, placement.compute_s(strategy) + estimator.time_us(demand) / 1e6)


def _markov(
    here: Found[Any],
    placement: Placement[Any],
    evaluate: Callable[[Any], Found[Any]],
    rng: np.random.Generator,
    steps: int,
    scale: float,
) -> Iterator[tuple[Found[Any], bool]]:
    """Yield what a Markov chain tries in each step from `here`, and whether it moves there."""
    known: dict[Any, Found[Any]] = {}
    for step in range(steps):
        strategy = placement.neighbour(here.strategy, rng)
        if strategy not in known:
            known[strategy] = evaluate(strategy)
        there = known[strategy]
        heat = scale * (1 - step / steps)
        worse_s = there.time_s - here.time_s
        accepted = worse_s <= 0 or (heat > 0 and rng.random() < math.exp(-worse_s / heat))
        if accepted:
            here = there
        yield there, accepted
