"""Strategies to start from, the random changes between them, and those that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.workloads import (
    Placement,
    Strategy,
    WorkloadError,
    compute_s,
    data_parallel,
    demand,
    hybrid,
    memory_bytes,
    read_workload,
)
from tests.experiments.workloads.generator import SERVER, TINY, cases


def walk(placement, seed, steps):
    """Return a chain of neighbours, the first strategy included."""
    rng = np.random.default_rng(seed)
    chain = [placement.start()]
    for _ in range(steps):
        chain.append(placement.neighbour(chain[-1], rng))
    return chain


class TestStart:
    def test_hybrid(self):
        """Tables go round robin, layers are on every server."""
        assert hybrid(read_workload("dlrm"), 12) == Strategy(tuple(at % 12 for at in range(64)), (1,) * 4)
        assert Placement(TINY, 4).start() == Strategy((0, 1), (1, 1))

    def test_data_parallel(self):
        """Every server has everything."""
        assert data_parallel(TINY, 4) == Strategy((None, None), (1, 1))

    def test_without_tables(self):
        """A model without tables starts data-parallel."""
        workload = read_workload("resnet50")
        assert Placement(workload, 16).start() == data_parallel(workload, 16)

    def test_tables_that_do_not_fit(self):
        """Data-parallel DLRM is refused with the bytes that it would take: 327.68 GB of tables, and their gradients."""
        with pytest.raises(WorkloadError, match=r"DLRM: server 0 would hold 658\.02 GB \(copies of tables 327\.68 GB, "
                                                r"their gradients as much\) but has 80 GB; place tables"):  # fmt: skip
            data_parallel(read_workload("dlrm"), 128)

    def test_layers_that_do_not_fit(self):
        """Without copies of tables the way out is more servers, or layers split."""
        small = replace(TINY, server=replace(SERVER, memory_bytes=500))
        with pytest.raises(WorkloadError, match="server 1 would hold 0.00 GB but has 5e-07 GB; take more servers"):
            Placement(small, 4).start()


class TestNeighbour:
    @given(cases(), st.integers(0, 2**32 - 1))
    def test_one_change(self, case, seed):
        """A neighbour is a strategy that fits and differs in one owner, one exchange, or one split of all alike."""
        workload, strategy, servers = case
        found = Placement(workload, servers).neighbour(strategy, np.random.default_rng(seed))
        demand(workload, found, servers)
        owners = [pair for pair in zip(strategy.owners, found.owners, strict=True) if pair[0] != pair[1]]
        splits = [pair for pair in zip(strategy.splits, found.splits, strict=True) if pair[0] != pair[1]]
        if len(owners) == 2:
            assert owners[0] == owners[1][::-1]
            assert not any(None in pair for pair in owners)
            owners = owners[:1]
        if len(splits) > 1:
            assert len(set(splits)) == 1
            splits = splits[:1]
        assert len(owners) + len(splits) <= 1
        if workload.tables or any(layer.width > 1 for layer in workload.layers if servers % 2 == 0):
            assert len(owners) + len(splits) == 1

    def test_everything_is_reached(self):
        """From the start every strategy of a small workload is reached: 5² owners, 3 · 2 splits on 4 servers."""
        placement = Placement(TINY, 4)
        assert len(set(walk(placement, 0, 4000))) == 5**2 * 3 * 2

    def test_every_kind(self):
        """Half of all changes are splits; moves, exchanges and copies share the rest, as nothing can be evened out."""
        placement, counts = Placement(read_workload("dlrm"), 16), {"moved": 0, "swapped": 0, "copied": 0, "split": 0}
        start, rng = placement.start(), np.random.default_rng(1)
        for _ in range(400):
            found = placement.neighbour(start, rng)
            owners = [new for old, new in zip(start.owners, found.owners, strict=True) if old != new]
            kind = "split" if not owners else "swapped" if len(owners) == 2 else "copied" if None in owners else "moved"
            counts[kind] += 1
        assert 170 <= counts.pop("split") <= 230
        assert all(45 <= count <= 90 for count in counts.values()), counts

    def test_evened_out(self):
        """Where one server has all tables it gives one away; where all have one, nothing can be evened out."""
        placement, rng = Placement(read_workload("ncf"), 128), np.random.default_rng(0)
        strategy = replace(placement.start(), owners=(0,) * 100 + (None,) * 28)
        changes = {placement._evened(strategy, rng).owners.count(0) for _ in range(5)}
        assert changes == {99}
        assert placement._evened(placement.start(), rng) is None

    def test_all_alike(self):
        """Layers of a kind that are split alike also change together, as far as they can."""
        placement, rng = Placement(read_workload("vgg16"), 16), np.random.default_rng(0)
        start = placement.start()
        changed = [sum(new > 1 for new in placement.neighbour(start, rng).splits) for _ in range(60)]
        dense = sum(layer.kind == "dense" for layer in placement.workload.layers)
        assert {1, dense} < set(changed)

    def test_same_seed(self):
        """The same seed gives the same chain, another seed another."""
        placement = Placement(read_workload("ncf"), 12)
        assert walk(placement, 5, 50) == walk(placement, 5, 50)
        assert walk(placement, 5, 50) != walk(placement, 6, 50)

    def test_memory(self):
        """No step of a long walk exceeds the memory of a server, and it is a limit that the walk meets."""
        workload = read_workload("dlrm")
        most = max(int(memory_bytes(workload, each, 128).max()) for each in walk(Placement(workload, 128), 0, 500))
        assert 60 * 10**9 < most <= 80 * 10**9

    def test_no_way_out(self):
        """Where nothing else fits, or there is nothing to change, the strategy stays as it is."""
        rng = np.random.default_rng(0)
        alone = replace(TINY, tables=(), layers=(replace(TINY.layers[0], width=1),))
        assert Placement(alone, 4).neighbour(Strategy((), (1,)), rng) == Strategy((), (1,))
        both = replace(TINY, layers=alone.layers, server=replace(SERVER, memory_bytes=4 * (2 * 20 + 2 * 12 + 160)))
        assert Placement(both, 2).neighbour(Strategy((0, 1), (1,)), rng) == Strategy((1, 0), (1,))

    def test_hashable(self):
        """Equal strategies are one key."""
        assert {hybrid(TINY, 4): 1}[Strategy((0, 1), (1, 1))] == 1


class TestPlacement:
    @given(cases())
    def test_same_as_functions(self, case):
        """What a placement says of a strategy is what the functions say."""
        workload, strategy, servers = case
        placement = Placement(workload, servers)
        found, expected = placement.demand(strategy), demand(*case)
        assert (found.groups, found.group_bytes) == (expected.groups, expected.group_bytes)
        assert (found.traffic == expected.traffic).all()
        assert placement.compute_s(strategy) == compute_s(*case)


class TestMistakes:
    @pytest.mark.parametrize(
        ("strategy", "servers", "message"),
        [
            (Strategy((0, 0), (1, 1)), 1, "tiny on 1 servers; expected two or more"),
            (Strategy((0,), (1, 1)), 4, "1 owners for the 2 of tiny"),
            (Strategy((0, 0), (1, 1, 1)), 4, "3 splits for the 2 of tiny"),
            (Strategy((0, 4), (1, 1)), 4, "many on server 4; expected 0…3, or None for all"),
            (Strategy((-1, 0), (1, 1)), 4, "few on server -1"),
            (Strategy((0, 0), (3, 1)), 4, "in shared by 3 servers; expected one of 1, 2, 4"),
            (Strategy((0, 0), (1, 4)), 4, "out shared by 4 servers; expected one of 1, 2"),
            (Strategy((0, 0), (0, 1)), 4, "in shared by 0 servers"),
        ],
    )
    def test_no_strategy(self, strategy, servers, message):
        """A strategy that is none for these servers is refused by whoever is asked about it."""
        placement = Placement(TINY, servers)
        for ask in (placement.demand, placement.compute_s, lambda each: placement.neighbour(each, None)):
            with pytest.raises(WorkloadError, match=message):
                ask(strategy)
