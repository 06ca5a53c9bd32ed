"""Demands as collectives and back."""

import numpy as np
import pytest

from schedules import collective, custom, demand_of, demanded
from topologies import CollectiveError, Demand


def test_there_and_back():
    """Groups and traffic come back from the collective, and each chunk has the bytes that were asked for."""
    traffic = np.zeros((4, 4), int)
    traffic[0, 3], traffic[2, 1] = 7, 10**9
    demand = Demand(4, [[0, 1, 2, 3], [1, 3]], [101, 10], traffic)
    work = demanded(demand)
    assert work.reduces
    assert (demand.size, demand.reduced_bytes, demand.mp_bytes) == (111 + 7 + 10**9, 111, 7 + 10**9)
    assert work.chunk_bytes(demand.size).tolist() == [26, 25, 25, 25, 5, 5, 7, 10**9]
    back = demand_of(work, demand.size)
    assert (back.groups, back.group_bytes) == (demand.groups, demand.group_bytes)
    assert (back.traffic == traffic).all()


def test_of_named_collectives():
    """AllReduce keeps its groups and their order; AllToAll and SendRecv are traffic; what copies to many is none."""
    found = demand_of(collective("all_reduce", 6, groups=[[4, 0, 2], [1, 3]]), 1000)
    assert (found.groups, found.group_bytes, found.mp_bytes) == (((4, 0, 2), (1, 3)), (1000, 1000), 0)
    found = demand_of(collective("all_to_all", 3), 9)
    assert found.traffic.tolist() == [[0, 3, 3], [3, 0, 3], [3, 3, 0]]
    assert demand_of(collective("send_recv", 3, pairs=[(0, 2)]), 5).traffic[0, 2] == 5
    assert demand_of(collective("all_gather", 3), 9) is None
    assert demand_of(custom(3, [[0, 1]], [[2]], reduces=True), 9) is None


def test_nothing_to_move():
    """A demand of nothing is refused."""
    with pytest.raises(CollectiveError, match="nothing has to move"):
        demanded(Demand(3))
