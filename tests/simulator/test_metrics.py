"""algbw and busbw as nccl-tests defines them."""

import math

import pytest

from schedules import KINDS, collective, custom
from simulator.metrics import algbw_gbps, busbw_factor, busbw_gbps
from topologies import CollectiveError


@pytest.mark.parametrize(
    ("kind", "factor"),
    [("all_reduce", 1.75), ("all_gather", 0.875), ("reduce_scatter", 0.875), ("all_to_all", 0.875), ("gather", 0.875),
     ("scatter", 0.875), ("broadcast", 1.0), ("reduce", 1.0), ("send_recv", 1.0), ("custom", 1.0)],
)  # fmt: skip
def test_factor_of_eight_ranks(kind, factor):
    """The factors are those of nccl-tests, doc/PERFORMANCE.md."""
    assert busbw_factor(kind, 8) == factor


@pytest.mark.parametrize("kind", KINDS)
def test_one_rank_moves_nothing(kind):
    """A group of one has factor 0."""
    assert busbw_factor(kind, 1) == 0


def test_bandwidths():
    """1 GB in 10 ms is 100 GB/s, and an AllReduce of four ranks one and a half times that on the bus."""
    assert algbw_gbps(10**9, 10_000) == pytest.approx(100)
    assert busbw_gbps(collective("all_reduce", 4), 10**9, 10_000) == pytest.approx(150)


def test_factor_is_for_the_group():
    """Two groups of four have the factor of four ranks."""
    groups = collective("all_gather", 8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]])
    assert busbw_gbps(groups, 10**9, 10_000) == pytest.approx(75)
    assert busbw_gbps(custom(3, [[0]], [[1]]), 10**9, 10_000) == pytest.approx(100)
    assert busbw_gbps(collective("send_recv", 4, pairs=[]), 10**9, 10_000) == 0


def test_no_time_no_bandwidth():
    """A time of zero has no bandwidth."""
    assert math.isnan(algbw_gbps(0, 0))
    assert math.isnan(busbw_gbps(collective("all_reduce", 2), 5, 0))


def test_refusals():
    """Unknown kinds and empty groups are refused."""
    with pytest.raises(CollectiveError, match="all_gather"):
        busbw_factor("allgather", 4)
    with pytest.raises(CollectiveError, match="at least one"):
        busbw_factor("all_gather", 0)
