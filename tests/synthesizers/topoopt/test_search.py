"""Searches over strategies and wirings, on strategies that are a single number, and the estimates they go by."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from schedules import demanded
from simulator import simulate_us
from synthesizers.exchange import exchange
from synthesizers.rings import Circuit
from synthesizers.topoopt import (
    Estimator,
    alternate,
    circuits,
    even_split,
    find_topology,
    random_search,
    random_wiring,
    rings_on,
    routes_on,
    search_on,
)
from synthesizers.topoopt.rules import rules_of, wirings
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


class Exchanges:
    """Rings within the halves of a fabric, traffic across that grows with the strategy, and a few bytes of all."""

    def start(self):
        """Begin without traffic."""
        return 0

    def neighbour(self, strategy, rng):
        """Go up or down."""
        return int(np.clip(strategy + rng.choice([-1, 1]), 0, 4))

    def demand(self, strategy):
        """Return two halves' AllReduce, that of all, and traffic to the other half."""
        traffic = np.zeros((8, 8), int)
        traffic[np.arange(8), (np.arange(8) + 4) % 8] = strategy * 10**6
        return Demand(8, [range(8), range(4), range(4, 8)], [100, 10**7 // (strategy + 1), 10**7 // (strategy + 1)],
                      traffic)  # fmt: skip

    def compute_s(self, strategy):
        """Compute nothing."""
        return 0.0


class TestWirings:
    """What a search wires a fabric by."""

    def test_each_once_and_in_order(self):
        """Every rule's network comes once, the least bound first, and no estimate is below its bound."""
        demand = Exchanges().demand(2)
        found = list(wirings(FABRIC, demand, rules_of(3, ("paper", "released"))))
        assert len({each.wiring.topology for each in found}) == len(found) > 2
        bounds = [each.at_least_us for each in found]
        assert bounds == sorted(bounds)
        assert all(each.estimator.time_us(demand) >= each.at_least_us for each in found)

    def test_released_needs_pairs_of_ports(self):
        """The released variant is a rule on an even number of ports, or where it is all there is."""
        assert "released" not in {rule.variant for rule in rules_of(3, ("paper", "released"))}
        assert (
            rules_of(4, ("paper", "released"))[-1] == rules_of(3, ("released",))[0] == ("released", "sent", "ceiling")
        )

    def test_level_leaves_out_what_has_few_bytes(self):
        """A group of all servers with 100 bytes takes a port of each by the paper's ceiling, and none by level."""
        demand = Exchanges().demand(1)
        assert [len(find_topology(FABRIC, demand, split=2, shares=shares).groups[0].jumps)
                for shares in ("ceiling", "level")] == [1, 0]  # fmt: skip

    @pytest.mark.parametrize("budget", [40, 200])
    def test_never_worse_than_one_wiring(self, budget):
        """Alternating is at least as good as each rule's wiring for the start, and as any for what it ends with."""
        fabric_of = fabric(8, 4, 10.0, 1.0)
        rules = rules_of(4, ("paper", "released"))
        found = alternate(fabric_of, Exchanges(), budget=budget)
        for strategy in (0, found.strategy):
            demand = Exchanges().demand(strategy)
            best = min(each.estimator.time_us(demand) for each in wirings(fabric_of, demand, rules)) / 1e6
            assert found.time_s <= best
        assert found.time_s >= Estimator(fabric_of.relaxed(), {}).time_us(found.demand) / 1e6


class TestEvenLoads:
    """The function `even_loads`."""

    def test_first_round_splits_evenly(self):
        """In one round each pair's bytes are split evenly over its shortest routes, as networkx lists them."""
        rng = np.random.default_rng(5)
        network = torus((4, 3), 10.0)
        traffic = rng.integers(0, 100, (12, 12)).astype(float)
        np.fill_diagonal(traffic, 0)
        graph = nx.DiGraph(zip(network.src.tolist(), network.dst.tolist(), strict=True))
        link = {ends: at for at, ends in enumerate(zip(network.src.tolist(), network.dst.tolist(), strict=True))}
        expected = np.zeros(network.num_links)
        for source, target in np.argwhere(traffic).tolist():
            routes = list(nx.all_shortest_paths(graph, source, target))
            for route in routes:
                for ends in itertools.pairwise(route):
                    expected[link[ends]] += traffic[source, target] / len(routes)
        start = np.searchsorted(np.sort(network.src), np.arange(13))
        out = np.argsort(network.src, kind="stable")
        loads = even_split._split(traffic, network.dst.astype(np.int64), start, out, np.ones(network.num_links))
        assert loads == pytest.approx(expected)

    def test_avoids_what_is_loaded(self):
        """Of two routes of two links, nearly all goes over the one that nothing else loads."""
        network = torus((4,), 10.0)
        rings = {(0, 1): [Circuit(np.array([0, 1]), np.array([0, 1, 2]), np.flatnonzero(
            ((network.src == 0) & (network.dst == 1)) | ((network.src == 1) & (network.dst == 0))))]}  # fmt: skip
        traffic = np.zeros((4, 4), int)
        traffic[0, 2] = 1000
        estimator = Estimator(network, rings)
        alone = estimator.loads(Demand(4, traffic=traffic))
        assert alone.max() == pytest.approx(500)
        beside = estimator.loads(Demand(4, [[0, 1]], [5 * 10**7], traffic * 50_000))
        assert beside.max() < 5 * 10**7 * 1.25


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
