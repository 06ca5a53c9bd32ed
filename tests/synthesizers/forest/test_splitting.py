"""Tests of splitting relays off: the trees that fit before fit after, over routes that were there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from synthesizers.forest import splitting
from synthesizers.forest.capacities import Arcs, least_flow, tree_capacities
from synthesizers.forest.splitting import Logical, split_off
from topologies import parse_topology


def used(logical):
    """Return how much of each arc of the network the routes take."""
    total = {}
    for routes in logical.routes.values():
        for route, count in routes.items():
            for ends in pairwise(route):
                total[ends] = total.get(ends, 0) + count
    return total


@pytest.mark.parametrize("name", ["switch:7", "dgx_a100:2", "ndv2:2", "fat_tree:4", "dgx2:3"])
@pytest.mark.parametrize("dealt", [True, False])
def test_capacities_are_kept(name, dealt, monkeypatch):
    """Dealt out evenly or one by one, arcs between NPUs alone let each receive all, within the links."""
    topology = parse_topology(name)
    npus = tuple(range(topology.num_npus))
    count, _, arcs = tree_capacities(topology, npus, npus)
    supply, wanted = dict.fromkeys(npus, count), count * len(npus)
    if not dealt:
        monkeypatch.setattr(splitting, "_dealt", lambda *_: Logical(Arcs(arcs.num_nodes, *np.zeros((3, 0), int))))
    logical = split_off(arcs, range(len(npus), topology.num_nodes), supply, npus)
    assert all(max(pair) < len(npus) for pair in logical.routes)
    assert least_flow(logical.arcs(), supply, npus, wanted) == wanted
    room = dict(zip(zip(arcs.src.tolist(), arcs.dst.tolist(), strict=True), arcs.room.tolist(), strict=True))
    assert all(taken <= room[ends] for ends, taken in used(logical).items())


def test_routes_have_no_circles():
    """What comes back to a node it has passed goes straight on."""
    arcs = Arcs(5, *np.array([(0, 4, 1), (4, 3, 1), (3, 4, 1), (4, 1, 1)]).T)
    logical = Logical(arcs)
    logical.split(0, 4, 3, 1)
    logical.split(3, 4, 1, 1)
    logical.split(0, 3, 1, 1)
    assert logical.routes == {(0, 1): {(0, 4, 1): 1}}
