"""What strategies make servers send and compute: against figures made by hand, and every message counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from experiments.workloads import Strategy, compute_s, data_parallel, demand, forward_bytes, hybrid, memory_bytes
from experiments.workloads.holding import shares
from schedules import demand_of, demanded
from tests.experiments.workloads.generator import TINY, cases


def messages(workload, strategy, servers):
    """Return the bytes of both passes, sample by sample and unit by unit, and those added up by each group."""
    sent, added = Counter(), Counter()
    everybody = tuple(range(servers))
    for table, owner in zip(workload.tables, strategy.owners, strict=True):
        for _ in range(table.rows if owner is None else 0):
            added[everybody] += table.width * workload.bytes_per_value
        for server in range(servers if owner is not None else 0):
            for _ in range(workload.batch):
                sent[owner, server] += table.width * workload.bytes_per_value
                sent[server, owner] += table.width * workload.bytes_per_value
    for layer, split in zip(workload.layers, strategy.splits, strict=True):
        # Units go to servers of a group one after another: the holder of a unit is found by counting, not dividing.
        holds = sorted(unit % split for unit in range(layer.width))
        for _ in range(layer.repeat):
            for holder in holds:
                group = tuple(server for server in everybody if server % split == holder)
                added[group] += layer.parameters // layer.width * workload.bytes_per_value
            for home in everybody:
                first = home - home % split
                for _ in range(workload.batch):
                    for other in range(first, first + split):
                        outputs = holds.count(other - first) * layer.output_values // layer.width
                        values = layer.input_values + outputs if split > 1 else 0
                        sent[home, other] += workload.bytes_per_value * values
                        sent[other, home] += workload.bytes_per_value * values
    between = {pair: nbytes for pair, nbytes in sent.items() if pair[0] != pair[1] and nbytes}
    return between, {group: nbytes for group, nbytes in added.items() if len(group) > 1}


class TestDemand:
    def test_tables_of_one_server(self):
        """Owners send every other server a vector a sample, and get as much back."""
        found = demand(TINY, Strategy((0, 3), (1, 1)), 4)
        vectors = 2 * 8 * 4
        assert found.traffic.tolist() == [
            [0, vectors, vectors, 2 * vectors],
            [vectors, 0, 0, vectors],
            [vectors, 0, 0, vectors],
            [2 * vectors, vectors, vectors, 0],
        ]
        assert found.groups == ((0, 1, 2, 3),)
        assert found.group_bytes == ((12 + 8) * 4,)

    def test_tables_of_all(self):
        """The gradient of a table that all have is dense: the whole table is added up."""
        found = demand(TINY, data_parallel(TINY, 4), 4)
        assert found.mp_bytes == 0
        assert found.group_bytes == ((12 + 8 + 80 + 160) * 4,)

    def test_split_layer(self):
        """Pairs exchange 3 inputs and 2 outputs a sample, both ways in both passes; every other server adds up 6."""
        found = demand(replace(TINY, tables=()), Strategy((), (2, 1)), 4)
        assert found.groups == ((0, 1, 2, 3), (0, 2), (1, 3))
        assert found.group_bytes == (8 * 4, 6 * 4, 6 * 4)
        both = 2 * (2 * (3 + 2) * 4)
        assert found.traffic.tolist() == [[0, both, 0, 0], [both, 0, 0, 0], [0, 0, 0, both], [0, 0, both, 0]]

    def test_split_that_leaves_a_remainder(self):
        """Four units on three servers are 2, 1 and 1; nothing is added up of a layer that all share."""
        workload = replace(TINY, tables=(), layers=TINY.layers[:1])
        assert shares(workload.layers[0], 3).tolist() == [2, 1, 1]
        assert forward_bytes(workload, Strategy((), (3,)), 3).tolist() == [[0, 40, 40], [32, 0, 32], [32, 32, 0]]
        found = demand(workload, Strategy((), (3,)), 3)
        assert found.traffic.tolist() == [[0, 72, 72], [72, 0, 64], [72, 64, 0]]
        assert found.groups == ()

    @given(cases())
    def test_every_message(self, case):
        """Traffic and groups are what comes out when each sample, unit and row is counted for itself."""
        between, added = messages(*case)
        found = demand(*case)
        places = {(src, dst): int(found.traffic[src, dst]) for src, dst in np.argwhere(found.traffic).tolist()}
        assert places == between
        assert dict(zip(found.groups, found.group_bytes, strict=True)) == added

    @given(cases())
    def test_sums(self, case):
        """The backward pass mirrors the forward; rows and AllReduce bytes add up to what the strategy says."""
        workload, strategy, servers = case
        forward, found = forward_bytes(*case), demand(*case)
        assert (found.traffic == forward + forward.T).all()
        rows = np.zeros(servers, np.int64)
        for table, owner in zip(workload.tables, strategy.owners, strict=True):
            if owner is not None:
                rows[owner] += (servers - 1) * table.width
        for layer, split in zip(workload.layers, strategy.splits, strict=True):
            outputs = shares(layer, split) * (layer.output_values // layer.width)
            rows += np.tile((split - 1) * layer.repeat * (layer.input_values + outputs), servers // split)
        assert (forward.sum(axis=1) == rows * workload.batch * workload.bytes_per_value).all()
        added = 0
        for layer, split in zip(workload.layers, strategy.splits, strict=True):
            added += layer.repeat * layer.parameters if split < servers else 0
        for table, owner in zip(workload.tables, strategy.owners, strict=True):
            added += table.parameters if owner is None else 0
        assert found.reduced_bytes == added * workload.bytes_per_value

    @given(cases())
    def test_as_collective(self, case):
        """A demand that moves anything is a collective, and comes back from it, groups and traffic to the byte."""
        found = demand(*case)
        if not found.size:
            return
        again = demand_of(demanded(found), found.size)
        assert (again.traffic == found.traffic).all()
        assert dict(zip(again.groups, again.group_bytes, strict=True)) == dict(
            zip(found.groups, found.group_bytes, strict=True)
        )


class TestMemory:
    def test_by_hand(self):
        """44 values of outputs and 2 · 20 of layers on every server; each table once, on its owner."""
        assert memory_bytes(TINY, hybrid(TINY, 4), 4).tolist() == [4 * each for each in (164, 244, 84, 84)]

    def test_copies(self):
        """A table that all have is there with its gradient."""
        assert memory_bytes(TINY, data_parallel(TINY, 4), 4).tolist() == [4 * (84 + 2 * 240)] * 4

    @given(cases())
    def test_splits_save(self, case):
        """Over all servers there are servers / g copies of a layer that g share."""
        workload, strategy, servers = case
        values = servers * workload.batch * workload.activation_values
        for layer, split in zip(workload.layers, strategy.splits, strict=True):
            values += 2 * layer.repeat * layer.parameters * servers // split
        for table, owner in zip(workload.tables, strategy.owners, strict=True):
            values += table.parameters * (2 * servers if owner is None else 1)
        assert memory_bytes(*case).sum() == values * workload.bytes_per_value


class TestCompute:
    def test_by_hand(self):
        """3 · 2 · 40 operations, and three times the rows that the busiest server reads: 192 values of four batches."""
        assert compute_s(TINY, hybrid(TINY, 4), 4) == pytest.approx(0.24 + 3 * 192 * 4 / 1000)

    def test_copies(self):
        """Where all have the tables each reads for its own batch only, 48 and 16 values."""
        assert compute_s(TINY, data_parallel(TINY, 4), 4) == pytest.approx(0.24 + 3 * 64 * 4 / 1000)

    @given(cases())
    def test_splits_cost_nothing(self, case):
        """However layers are split, each server does as many operations."""
        workload, strategy, servers = case
        whole = replace(strategy, splits=(1,) * len(workload.layers))
        assert compute_s(*case) == compute_s(workload, whole, servers)
