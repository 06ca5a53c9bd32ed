"""Demands as collectives and back: AllReduce groups and model-parallel traffic, done together in one schedule.

A `Demand` becomes a custom collective that adds up. A group of m servers has m shards, held and wanted by all of it;
bytes from one server to one other are a chunk that one holds and the other wants. Weights are bytes, so that at the
demand's own size every chunk has the bytes that were asked for.
"""

from __future__ import annotations

import numpy as np

from schedules.builders import custom
from schedules.chunk_columns import split_evenly
from schedules.collective import Collective
from topologies import Demand
from topologies.exceptions import CollectiveError


def demanded(demand: Demand) -> Collective:
    """Return the collective of a demand; its size is ``demand.size``.

    Raises
    ------
    CollectiveError
        Nothing to move.
    """
    initial: list[tuple[int, ...]] = []
    final: list[tuple[int, ...]] = []
    weights: list[int] = []
    for group, nbytes in zip(demand.groups, demand.group_bytes, strict=True):
        shards = split_evenly(nbytes, np.zeros(len(group), np.int64))
        for share in shards[shards > 0].tolist():
            initial.append(tuple(group))
            final.append(tuple(group))
            weights.append(share)
    for source, target in np.argwhere(demand.traffic).tolist():
        initial.append((source,))
        final.append((target,))
        weights.append(int(demand.traffic[source, target]))
    if not weights:
        raise CollectiveError("demand: nothing has to move; expected a group or traffic of one byte or more")
    return custom(demand.num_npus, initial, final, reduces=True, weights=weights)


def demand_of(collective: Collective, size: int) -> Demand | None:
    """Return the demand that a collective of `size` bytes makes; None if it is neither AllReduce nor one to one.

    AllReduce, AllToAll, SendRecv and what `demanded` makes are demands. A custom collective's groups are in the order
    of their servers' numbers.
    """
    nbytes = collective.part_bytes(size)
    groups: dict[tuple[int, ...], int] = {}
    traffic = np.zeros((collective.num_npus, collective.num_npus), np.int64)
    order = {tuple(sorted(group)): group for group in collective.groups}
    for before, after, count in zip(
        collective.initial[:: collective.chunks].tolist(), collective.final[:: collective.chunks].tolist(),
        nbytes.tolist(), strict=True,
    ):  # fmt: skip
        holders, wanted = (tuple(collective.set_of(index).tolist()) for index in (before, after))
        if len(holders) == len(wanted) == 1:
            if holders != wanted:
                traffic[holders[0], wanted[0]] += count
        elif before == after and collective.reduces:
            group = order.get(holders, holders)
            groups[group] = groups.get(group, 0) + count
        else:
            return None
    return Demand(collective.num_npus, tuple(groups), tuple(groups.values()), traffic)
