"""Searches over strategies and wirings, on strategies that are a single number, and the estimates they go by."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import demanded
from simulator import simulate_us
from synthesizers.exchange import exchange
from synthesizers.topoopt import (
    Estimator,
    alternate,
    circuits,
    find_topology,
    random_search,
    random_wiring,
    rings_on,
    routes_on,
    search_on,
)
from topologies import Demand, SynthesisError, fabric, torus

FABRIC = fabric(8, 3, 10.0, 1.0)


class Split:
    """A buffer of 10 MB of which `strategy` tenths are traffic between neighbours instead, and some computing."""

    def start(self):
        """Begin with AllReduce alone."""
        return 0

    def neighbour(self, strategy, rng):
        """Go a tenth up or down."""
        return int(np.clip(strategy + rng.choice([-1, 1]), 0, 10))

    def demand(self, strategy):
        """Return AllReduce of what is not traffic."""
        traffic = np.zeros((8, 8), int)
        traffic[np.arange(8), (np.arange(8) + 4) % 8] = strategy * 100_000
        return Demand(8, [range(8)], [10**6 * (10 - strategy) + 1], traffic)

    def compute_s(self, strategy):
        """Compute longer the more is traffic, and much longer past six tenths."""
        return 2e-5 * strategy + (1.0 if strategy > 6 else 0.0)


SEARCHES = {
    "alternate": lambda budget, seed: alternate(FABRIC, Split(), budget=budget, seed=seed),
    "random": lambda budget, seed: random_search(FABRIC, Split(), budget=budget, seed=seed),
    "given": lambda budget, seed: search_on(torus((4, 2), 10.0), {}, Split(), budget=budget, seed=seed),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
class TestSearches:
    @pytest.mark.parametrize("budget", [1, 2, 7, 60])
    def test_within_budget_and_never_worse(self, search, budget):
        """No more is evaluated than allowed, or three each round, and the best so far only gets better."""
        found = search(budget, 0)
        best = [step.best_s for step in found.trace]
        assert len(found.trace) <= max(budget, 14)
        assert best == sorted(best, reverse=True)
        assert found.time_s == best[-1] <= best[0]

    def test_repeats(self, search):
        """The same seed gives the same trace, another seed another one."""
        one, same, other = search(40, 3), search(40, 3), search(40, 4)
        assert one.trace == same.trace
        assert (one.strategy, one.time_s) == (same.strategy, same.time_s)
        assert one.trace != other.trace

    def test_finds_the_optimum(self, search):
        """Six tenths are best: every tenth saves more than it costs, and the seventh costs a second."""
        assert search(200, 1).strategy == 6

    def test_refuses_nothing(self, search):
        """A search of nothing is refused."""
        with pytest.raises(SynthesisError, match="expected at least one of each"):
            search(0, 0)


def test_estimate_is_the_formula():
    """Of an AllReduce on its rings, the estimate is what it simulates to, up to the rounding of chunks."""
    demand = Demand(8, [range(8)], [24 * 10**6])
    wiring = find_topology(FABRIC, demand)
    rings = rings_on(wiring.topology, demand, circuits(wiring))
    schedule = exchange(wiring.topology, demanded(demand), rings, routes_on(wiring.topology, demand, rings, 4))
    estimate = Estimator(wiring.topology, circuits(wiring)).time_us(demand)
    assert estimate == pytest.approx(simulate_us(schedule, demand.size), rel=1e-6)
    assert estimate == pytest.approx(14 * (1 + 24e6 / 8 / 3 / 10e3))


def test_estimate_adds_up():
    """Loads are those of rings and routes together; a group without rings goes round on routes."""
    traffic = np.zeros((8, 8), int)
    traffic[0, 3] = 1000
    network = torus((4, 2), 10.0)
    loads = Estimator(network, {}).loads(Demand(8, [[0, 1, 2, 3]], [4000], traffic))
    assert loads.sum() == pytest.approx(4 * 2 * 3 / 4 * 4000 + 1000)
    back = (network.src == 0) & (network.dst == 3)  # the traffic goes the other way round than the group
    assert loads.max() == pytest.approx(6000)
    assert loads[back].tolist() == [1000]


def test_random_wirings_are_wirings():
    """Whatever is drawn keeps to the ports, joins all servers, and gives the rings to the group of all."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        demand = Demand(8, [[0, 1], range(8)], [10, 10])
        wiring = random_wiring(FABRIC, demand, rng)
        assert FABRIC.fault(wiring.topology) is None
        assert len(wiring.topology.components()) == 1
        rings = circuits(wiring)
        assert set(rings) == {tuple(range(8))}
        for ring in rings[tuple(range(8))]:
            assert wiring.topology.src[ring.links].tolist() == ring.order.tolist()
            assert wiring.topology.dst[ring.links].tolist() == np.roll(ring.order, -1).tolist()
