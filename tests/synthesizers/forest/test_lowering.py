"""Tests of lowering trees: they use no more than they may, and are nearer to their roots."""

from __future__ import annotations

from collections import Counter

import pytest

from synthesizers.forest import spanning
from synthesizers.forest.distances import Distances
from synthesizers.forest.lowering import lowered
from synthesizers.forest.trees import on_links
from topologies import parse_topology


@pytest.mark.parametrize("name", ["mesh:4x4", "dgx1", "mi250:1", "dgx_a100:2"])
def test_same_arcs_lower_trees(name, monkeypatch):
    """The squared distances of all nodes from their roots become less, within the same capacities."""
    topology, seen = parse_topology(name), []

    def recorded(topology, logical, roots, edges, members):
        seen.append((logical, roots, edges, lowered(topology, logical, roots, edges, members)))
        return seen[-1][-1]

    monkeypatch.setattr(spanning, "lowered", recorded)
    monkeypatch.setattr(spanning, "_TRIES", 0)
    spanning.spanning_trees(topology, range(topology.num_npus))
    ((logical, roots, before, after),) = seen
    assert total(topology, after) <= total(topology, before)
    used = Counter(route for tree in after for route in tree)
    assert all(count <= logical.routes[route[0], route[-1]][route] for route, count in used.items())
    assert on_links(topology, roots, after).depth().max() <= on_links(topology, roots, before).depth().max()


def total(topology, edges):
    """Return the sum of the squared distances."""
    distances, result = Distances(topology), 0.0
    for tree in edges:
        away = {tree[0][0]: 0.0}
        for route in tree:
            away[route[-1]] = away[route[0]] + distances.along(route)
        result += sum(distance**2 for distance in away.values())
    return result
