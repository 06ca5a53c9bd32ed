"""Tests of the list scheduler: what it plans is what is simulated, and links take what matters most."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective, verify
from simulator import LinkModel, hop_times, simulate_ps
from synthesizers.forest.distances import MESSAGE
from synthesizers.forest.listing import Flood, flooding_times, listed
from synthesizers.forest.spanning import spanning_trees
from topologies import parse_topology


@pytest.mark.parametrize("name", ["mesh:3x4", "dgx1", "ring_one_way:4", "switch:5"])
def test_plan(name):
    """One message over each tree takes the time that was planned, or less once run backwards and forwards."""
    topology = parse_topology(name)
    npus = topology.num_npus
    trees, _ = spanning_trees(topology, range(npus))
    per_root = len(trees.root) // npus
    work, size = collective("all_gather", npus, chunks=per_root), MESSAGE * len(trees.root)
    schedule = listed(topology, work, [Flood(np.arange(len(trees.root)), trees)], 1, size, LinkModel("pipelined"))
    verify(schedule)
    planned, least = flooding_times(topology, trees)
    assert least <= simulate_ps(schedule, size, LinkModel("pipelined")) <= planned


def test_oldest_piece_first():
    """Every link of a Broadcast carries the pieces of each tree in their order, and the list is one of starts."""
    topology = parse_topology("mesh:3x3")
    trees, _ = spanning_trees(topology, range(9), (4,))
    pieces = 5
    work = collective("broadcast", 9, root=4, chunks=len(trees.root) * pieces)
    schedule = listed(topology, work, [Flood(np.arange(len(trees.root)) * pieces, trees)], pieces, 10**6, LinkModel())
    verify(schedule)
    for link in np.unique(schedule.link):
        for tree in range(len(trees.root)):
            mine = schedule.chunk[(schedule.link == link) & (schedule.chunk // pieces == tree)]
            assert (np.diff(mine.astype(int)) > 0).all()
    starts, _ = hop_times(schedule, 10**6, LinkModel())
    assert (np.diff(starts) >= 0).all()
