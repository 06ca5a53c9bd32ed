"""Tests of the ring baseline: closed forms to the picosecond, every network verified, options and their errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from schedules import Schedule, collective
from schedules.verifier import verify
from simulator import simulate_ps
from simulator.link_model import LinkModel
from synthesizers.base import parse_options
from synthesizers.problem import Problem
from synthesizers.ring import Ring
from topologies import parse_topology
from topologies.exceptions import OptionError

KINDS = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce")
SIZES = (0, 1, 1_000_003, 2**30, 2**34)
ALPHA, RATE = 500_000, 50 * 10**9  # ps and bytes per second of a default link


def ring(name: str, kind: str, size: int = 2**20, **options) -> Schedule:
    """Return the verified ring schedule of a problem."""
    groups, chunks, root = options.pop("groups", None), options.pop("chunks", 1), options.pop("root", 0)
    topology = parse_topology(name)
    wanted = collective(kind, topology.num_npus, groups=groups, chunks=chunks, root=root)
    schedule = Ring().synthesize(Problem(topology, wanted, size), parse_options(Ring(), options))
    verify(schedule)
    return schedule


def hop_ps(nbytes: int) -> int:
    """Return the time of one transfer over a default link, in integers."""
    return ALPHA + -(-nbytes * 10**12 // RATE)


class TestClosedForms:
    """Chan et al. 2007 and Thakur et al. 2005, for a ring of p ranks and n bytes."""

    @pytest.mark.parametrize("latency", ["blocking", "pipelined"])
    @pytest.mark.parametrize("p", range(2, 18))
    @pytest.mark.parametrize(("kind", "rounds"), [("all_gather", 1), ("reduce_scatter", 1), ("all_reduce", 2)])
    def test_one_way(self, kind: str, rounds: int, p: int, latency: str):
        """One way it takes (p−1)(α + ⌈n/p⌉β) for each round, pipelined too: a link carries one chunk each step."""
        schedule = ring(f"ring:{p}", kind, rings=1, direction="one_way", pieces=1)
        for size in (*SIZES, p - 1):
            expected = rounds * (p - 1) * hop_ps(-(-size // p))
            assert simulate_ps(schedule, size, LinkModel(latency)) == expected

    @pytest.mark.parametrize("p", range(3, 18))
    @pytest.mark.parametrize(("kind", "rounds"), [("all_gather", 1), ("reduce_scatter", 1), ("all_reduce", 2)])
    def test_two_way(self, kind: str, rounds: int, p: int):
        """Both ways each direction has half the bytes: (p−1)(α + ⌈⌈n/p⌉/2⌉β) for each round."""
        schedule = ring(f"ring:{p}", kind, rings=1, direction="two_way", pieces=1)
        for size in (*SIZES, p - 1):
            assert simulate_ps(schedule, size) == rounds * (p - 1) * hop_ps((-(-size // p) + 1) // 2)

    @pytest.mark.parametrize("kind", ["broadcast", "reduce"])
    @pytest.mark.parametrize("pieces", [1, 4, 7])
    @pytest.mark.parametrize("p", [2, 5, 17])
    def test_chain(self, kind: str, pieces: int, p: int):
        """A pipelined chain of P equal pieces takes (p−2+P)(α + n/P·β), blocking."""
        schedule = ring(f"ring:{p}", kind, rings=1, direction="one_way", pieces=pieces)
        size = 700_000 * pieces
        assert simulate_ps(schedule, size) == (p - 2 + pieces) * hop_ps(700_000)

    @pytest.mark.parametrize("pieces", [1, 4])
    def test_chain_pipelined(self, pieces: int):
        """With pipelined latency the chain takes (p−1)(α + n/P·β) + (P−1)n/P·β."""
        schedule = ring("ring:6", "broadcast", rings=1, direction="one_way", pieces=pieces)
        wire = hop_ps(700_000) - ALPHA
        expected = 5 * (ALPHA + wire) + (pieces - 1) * wire
        assert simulate_ps(schedule, 700_000 * pieces, LinkModel("pipelined")) == expected


class TestEveryNetwork:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        "name",
        ["ring:8", "ring_one_way:5", "line:5", "star:5", "mesh:3x3", "torus:3x4", "hypercube:3", "fully_connected:8",
         "switch:8", "dragonfly:4x5", "dgx1", "dgx2:2", "ndv2:2", "dgx_a100:2"],
    )  # fmt: skip
    def test_verifies(self, name: str, kind: str):
        """Auto and each fixed direction compute the collective on every network, and auto is no slower."""
        auto = simulate_ps(ring(name, kind, 2**24, root=1), 2**24)
        for direction in ("one_way", "two_way"):
            fixed = ring(name, kind, 2**24, root=1, rings=1, direction=direction, pieces=2, chunks=3)
            assert auto <= simulate_ps(fixed, 2**24)

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_rank_needs_nothing(self, kind: str):
        """A group of one NPU is done at the start."""
        assert ring("ring:1", kind).num_hops == 0
        assert ring("mesh:2x2", kind, groups=[[2]]).num_hops == 0

    @pytest.mark.parametrize("kind", KINDS)
    def test_two_ranks(self, kind: str):
        """Two ranks send to each other, both directions sharing the one cable where that is asked for."""
        for direction in ("auto", "one_way", "two_way"):
            ring("ring:2", kind, direction=direction)

    @pytest.mark.parametrize("kind", KINDS)
    def test_several_groups_at_once(self, kind: str):
        """Disjoint groups of different sizes each go round their own rings."""
        groups = [[0, 1, 5, 4], [10, 2, 3], [15], [12, 13]]
        schedule = ring("mesh:4x4", kind, groups=groups, root=0, chunks=2)
        assert schedule.collective.groups == tuple(map(tuple, groups))

    def test_reshards_an_all_reduce(self):
        """An AllReduce that asks for another number of shards is cut into one for each rank."""
        wanted = collective("all_reduce", 4, shards=3, chunks=2)
        schedule = Ring().synthesize(Problem(parse_topology("ring:4"), wanted, 2**20), Ring.Options())
        verify(schedule)
        assert schedule.collective.num_chunks % 4 == 0


class TestBandwidth:
    def test_torus_reaches_the_all_gather_bound(self):
        """Two rings both ways load all links of a 4×4 torus equally and come to 213.333 GB/s (ForestColl's optimum)."""
        schedule = ring("torus:4x4", "all_gather", 2**34, rings=2, direction="two_way")
        load = np.bincount(schedule.link, minlength=schedule.topology.num_links)
        assert (load == load[0]).all()
        assert 2**34 / simulate_ps(schedule, 2**34) * 1e3 > 0.999 * 213.333

    def test_auto_takes_all_rings_for_large_and_few_for_small(self):
        """Bandwidth wants all rings of a torus; where latency alone counts, more of them would gain nothing."""
        assert len(ring("torus:4x4", "all_gather", 2**30).notes["rings"][0]) == 4
        assert len(ring("torus:4x4", "all_gather", 0).notes["rings"][0]) == 1

    def test_dgx1_has_three_rings_both_ways(self):
        """A DGX-1V reaches 8/7 · 150 GB/s: six directed rings of 25 GB/s, as NCCL has."""
        schedule = ring("dgx1", "all_gather", 2**34)
        assert len(schedule.notes["rings"][0]) == 6
        assert 2**34 / simulate_ps(schedule, 2**34) * 1e3 > 0.999 * 150 * 8 / 7

    def test_large_networks_stay_fast_to_build(self):
        """A million hops are no loop in Python: 1,024 NPUs one way."""
        schedule = ring("ring:1024", "all_gather", 2**30, rings=1, direction="one_way", pieces=1)
        assert schedule.num_hops == 1024 * 1023


class TestOptions:
    def test_given_order(self):
        """A ring given as ranks is followed, as text or as a list."""
        for order in ("0,3,1,2", [0, 3, 1, 2]):
            schedule = ring("fully_connected:4", "all_gather", order=order, direction="one_way")
            assert schedule.notes["rings"] == [[[0, 3, 1, 2]]]

    def test_more_rings_than_there_are(self):
        """A number of rings past what the network has gives those that it has."""
        assert len(ring("ring:4", "all_gather", rings=5, direction="two_way").notes["rings"][0]) == 2

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"order": "0,1,1,2"}, "each rank 0…3 once"),
            ({"order": "0,a"}, "expected such as 0,3,1,2"),
            ({"order": "0,1,2"}, "names 3 ranks for a group of 4"),
            ({"order": "0,1,2,3", "rings": 2}, "leave one of the two out"),
            ({"rings": 0}, "`int` >= 1 - at `$.rings`"),
            ({"pieces": -1}, "`int` >= 1 - at `$.pieces`"),
            ({"direction": "both"}, "direction"),
        ],
    )
    def test_refuses(self, options: dict, words: str):
        """A bad option is an OptionError that says what was expected."""
        with pytest.raises(OptionError, match=re.escape(words)):
            ring("ring:4", "all_gather", **options)

    def test_other_kinds_are_refused_with_a_reason(self):
        """AllToAll is not for a ring, and the reason names what is."""
        problem = Problem(parse_topology("ring:4"), collective("all_to_all", 4), 2**20)
        assert "all_to_all is not among all_gather" in str(Ring().supports(problem))

    @pytest.mark.parametrize("name", ["torus:3x4", "dgx1", "dgx_a100:2"])
    def test_repeats(self, name: str):
        """The same problem gives the same schedule."""
        assert ring(name, "all_reduce") == ring(name, "all_reduce")
