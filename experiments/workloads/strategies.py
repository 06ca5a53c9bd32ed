"""The strategies that a search may choose from: two to start with, and the random changes that lead from one to others.

TopoOpt (NSDI 2023) searches the placement of operators by Markov chain Monte Carlo, as FlexFlow does
(MLSys 2019); `Placement` is what such a search asks of a workload.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from experiments.workloads.demands import compute_s, demand
from experiments.workloads.holding import Strategy, memory_bytes, require, splits_of
from experiments.workloads.model import Workload
from topologies import Demand

#: Random changes that are tried before a strategy is taken to have no neighbour.
_TRIES = 100


def data_parallel(workload: Workload, servers: int) -> Strategy:
    """Return the strategy in which every server has everything.

    Raises
    ------
    WorkloadError
        It does not fit into the memory of a server.
    """
    strategy = Strategy((None,) * len(workload.tables), (1,) * len(workload.layers))
    require(workload, strategy, servers)
    return strategy


def hybrid(workload: Workload, servers: int) -> Strategy:
    """Return the strategy in which tables go round robin, one server each, and every server has all layers.

    Raises
    ------
    WorkloadError
        It does not fit into the memory of a server.
    """
    owners = tuple(index % max(servers, 1) for index in range(len(workload.tables)))  # `require` refuses 0
    strategy = Strategy(owners, (1,) * len(workload.layers))
    require(workload, strategy, servers)
    return strategy


class Placement:
    """A workload on servers, as a search of strategies sees it.

    Parameters
    ----------
    workload : Workload
    servers : int
        Two or more.
    """

    def __init__(self, workload: Workload, servers: int) -> None:
        self.workload = workload
        self.servers = servers

    def start(self) -> Strategy:
        """Return `hybrid`, which is data-parallel where there are no tables.

        Raises
        ------
        WorkloadError
            It does not fit into the memory of a server.
        """
        return hybrid(self.workload, self.servers)

    def neighbour(self, strategy: Strategy, rng: np.random.Generator) -> Strategy:
        """Return the strategy after one random change that fits into memory.

        Where there are both, tables and layers change with equal probability. One table goes to another server, one of
        a server that holds most goes to one that holds least, two tables on different servers change places, or one
        table is copied to every server, each as likely; a table that every server has goes to one server by the first.
        One entry of the layers is split otherwise, or, as likely, all entries of its kind that are split as it is and
        can be split so.

        Parameters
        ----------
        strategy : Strategy
            One of this workload on these servers.
        rng : numpy.random.Generator
            The only source of chance.

        Returns
        -------
        Strategy
            The same one if no change fits in many tries.

        Raises
        ------
        WorkloadError
            `strategy` is not one for these servers.
        """
        require(self.workload, strategy, self.servers)
        changes = [[self._moved, self._evened, self._swapped, self._copied]] if self.workload.tables else []
        changes += [[self._resplit, self._resplit_alike]] if self._splittable else []
        for _ in range(_TRIES if changes else 0):
            of_kind = changes[rng.integers(len(changes))]
            changed = of_kind[rng.integers(len(of_kind))](strategy, rng)
            if changed is not None and self._fits(changed):
                return changed
        return strategy

    def demand(self, strategy: Strategy) -> Demand:
        """Return what one iteration must move: see `demands.demand`."""
        return demand(self.workload, strategy, self.servers)

    def compute_s(self, strategy: Strategy) -> float:
        """Return how long one iteration computes, in seconds: see `demands.compute_s`."""
        return compute_s(self.workload, strategy, self.servers)

    @cached_property
    def _splittable(self) -> list[int]:
        """Layers that have more than one split."""
        layers = self.workload.layers
        return [index for index, layer in enumerate(layers) if len(splits_of(layer, self.servers)) > 1]

    def _fits(self, strategy: Strategy) -> bool:
        """Return whether every server has the memory."""
        return bool(memory_bytes(self.workload, strategy, self.servers).max() <= self.workload.server.memory_bytes)

    def _moved(self, strategy: Strategy, rng: np.random.Generator) -> Strategy | None:
        """Return the strategy with a table on another server."""
        table, server = int(rng.integers(len(strategy.owners))), int(rng.integers(self.servers))
        return None if strategy.owners[table] == server else _owned(strategy, {table: server})

    def _evened(self, strategy: Strategy, rng: np.random.Generator) -> Strategy | None:
        """Return the strategy with a table of a server that holds most on one that holds least; None of even ones."""
        held = np.bincount(
            np.array([each for each in strategy.owners if each is not None], int), minlength=self.servers
        )
        if held.max() - held.min() < 2:
            return None
        tables = [at for at, owner in enumerate(strategy.owners) if owner is not None and held[owner] == held.max()]
        idle = np.flatnonzero(held == held.min())
        return _owned(strategy, {tables[rng.integers(len(tables))]: int(idle[rng.integers(len(idle))])})

    def _swapped(self, strategy: Strategy, rng: np.random.Generator) -> Strategy | None:
        """Return the strategy with two tables in each other's place; None if that changes nothing."""
        one, other = rng.integers(len(strategy.owners), size=2).tolist()
        owners = strategy.owners[one], strategy.owners[other]
        if None in owners or owners[0] == owners[1]:
            return None
        return _owned(strategy, {one: owners[1], other: owners[0]})

    def _copied(self, strategy: Strategy, rng: np.random.Generator) -> Strategy | None:
        """Return the strategy with a table on every server."""
        table = int(rng.integers(len(strategy.owners)))
        return None if strategy.owners[table] is None else _owned(strategy, {table: None})

    def _resplit(self, strategy: Strategy, rng: np.random.Generator) -> Strategy:
        """Return the strategy with a layer split otherwise: the next way up or down, or as likely any other."""
        layer = self._splittable[rng.integers(len(self._splittable))]
        ways = splits_of(self.workload.layers[layer], self.servers)
        at, splits = ways.index(strategy.splits[layer]), list(strategy.splits)
        others = ways[max(at - 1, 0) : at] + ways[at + 1 : at + 2] if rng.integers(2) else ways[:at] + ways[at + 1 :]
        splits[layer] = others[rng.integers(len(others))]
        return replace(strategy, splits=tuple(splits))

    def _resplit_alike(self, strategy: Strategy, rng: np.random.Generator) -> Strategy:
        """Return the strategy with a layer and those like it split otherwise."""
        changed, layers = self._resplit(strategy, rng), self.workload.layers
        (at,) = (index for index, split in enumerate(changed.splits) if split != strategy.splits[index])
        alike = [layer.kind == layers[at].kind and split == strategy.splits[at]
                 and changed.splits[at] in splits_of(layer, self.servers)
                 for layer, split in zip(layers, strategy.splits, strict=True)]  # fmt: skip
        splits = (changed.splits[at] if like else split for like, split in zip(alike, strategy.splits, strict=True))
        return replace(strategy, splits=tuple(splits))


def _owned(strategy: Strategy, owners: dict[int, int | None]) -> Strategy:
    """Return the strategy with some tables held otherwise."""
    return replace(strategy, owners=tuple(owners.get(at, owner) for at, owner in enumerate(strategy.owners)))
