"""Tests of `synthesizers.hierarchical`; closed forms from BlueConnect (MLSys 2019) and Chan et al. (2007)."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import KINDS, collective
from schedules.verifier import verify
from simulator import LinkModel, bound, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.hierarchical import Hierarchical
from synthesizers.ring import Ring
from topologies import mesh, parse_topology, product, torus
from topologies.exceptions import OptionError

ALPHA = 500_000  # picoseconds
SHARE = 10**5
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]
DONE = ["all_gather", "all_reduce", "reduce_scatter"]

#: Steps of a line of q ranks and the shares of each, in units of what a rank has before ReduceScatter over q.
FORMS = {
    "ring": lambda q: [1 / q] * (q - 1),
    "direct": lambda q: [1 / q],
    "halving_doubling": lambda q: [1 / 2 ** (step + 1) for step in range(q.bit_length() - 1)],
}


def _schedule(topology, wanted, size=1_000_003, **options):
    """Return the schedule, in one piece and one collective unless told otherwise."""
    options = {"spread": "one", "pieces": 1} | options
    return Hierarchical().synthesize(Problem(topology, wanted, size), parse_options(Hierarchical(), options))


def _closed(sizes, rates, algorithm, order, share=SHARE):
    """Return Σ over dimensions of the line's closed form, in picoseconds, each with what those before left."""
    left, time = int(np.prod(sizes)), 0
    for dim in order:
        for part in FORMS[algorithm](sizes[dim]):
            time += ALPHA + -(-round(left * part) * share * 1000 // rates[dim])
        left //= sizes[dim]
    return time


class TestClosedForms:
    """Exact times on product networks: Σ of the dimensions' ring, direct and halving forms with shrinking sizes."""

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    @pytest.mark.parametrize(
        ("blocks", "sizes", "algorithm"),
        [
            ("rr", (3, 5), "ring"),
            ("rrr", (4, 2, 3), "ring"),
            ("ff", (4, 6), "direct"),
            ("fff", (2, 3, 4), "direct"),
            ("ff", (4, 8), "halving_doubling"),
        ],
    )
    def test_product_networks(self, blocks, sizes, algorithm, model):
        """Every order takes its sum over dimensions, AllReduce twice that, whatever the bandwidths."""
        rates = (50, 25, 100)[: len(sizes)]
        network = product(blocks, sizes, rates)
        ranks = int(np.prod(sizes))
        for order in permutations(range(len(sizes))):
            expected = _closed(sizes, rates, algorithm, order)
            for kind in DONE:
                schedule = _schedule(network, collective(kind, ranks), algorithm=algorithm, order=list(order))
                times = 2 if kind == "all_reduce" else 1
                assert simulate_ps(schedule, ranks * SHARE, model) == times * expected, (order, kind)

    @pytest.mark.parametrize("algorithm", FORMS)
    def test_shares_not_equal(self, algorithm):
        """Where the size does not divide it is right, and takes no more than with ⌈n/p⌉ for n/p."""
        network = product("ff", (4, 4))
        for size in (0, 1, 15, 1_000_003):
            schedule = _schedule(network, collective("all_reduce", 16), algorithm=algorithm, order="1,0")
            verify(schedule)
            most = 2 * _closed((4, 4), (50, 50), algorithm, (1, 0), -(-size // 16))
            assert 2 * _closed((4, 4), (50, 50), algorithm, (1, 0), 0) <= simulate_ps(schedule, size) <= most

    def test_slow_dimension_last(self):
        """With a slow second dimension, the order that sends it least is chosen: 0 before 1."""
        network = product("ff", (4, 4), (100.0, 10.0))
        assert _schedule(network, collective("all_reduce", 16), 10**9).notes["order"] == [0, 1]
        network = product("ff", (4, 4), (10.0, 100.0))
        assert _schedule(network, collective("all_reduce", 16), 10**9).notes["order"] == [1, 0]


class TestKnownAnswers:
    @pytest.mark.parametrize("name", ["torus:4x4", "hypercube:4", "ff:4x4", "torus:3x3"])
    def test_all_links_busy(self, name):
        """Begun in every dimension and both ways, large buffers reach 99 % of the bound where dimensions are alike."""
        network = parse_topology(name)
        problem = Problem(network, collective("all_reduce", network.num_npus), 10**9)
        schedule = Hierarchical().synthesize(problem, Hierarchical.Options())
        share = bound(network, problem.collective, problem.size).time_us * 1e6 / simulate_ps(schedule, problem.size)
        assert share > 0.99

    def test_fewer_latencies_than_a_ring(self):
        """64 ranks of an 8×8 torus take 2 · 2 · 7 steps, round one ring 2 · 63."""
        network = torus((8, 8))
        problem = Problem(network, collective("all_reduce", 64), 0)
        assert simulate_ps(_schedule(network, problem.collective, 0, algorithm="ring"), 0) == 28 * ALPHA
        assert simulate_ps(Ring().synthesize(problem, Ring.Options()), 0) == 126 * ALPHA

    @pytest.mark.parametrize("name", ["dgx_a100:2", "ndv2:2", "rfs:2x2x4@200x100x50GB/s,0.5us"])
    def test_boxes(self, name):
        """An AllGather of 1 GB between boxes, and on a small 3D network as TACOS has it, is faster than rings."""
        network = parse_topology(name)
        problem = Problem(network, collective("all_gather", network.num_npus), 10**9)
        mine = Hierarchical().synthesize(problem, Hierarchical.Options(pieces=8))
        assert simulate_ps(mine, 10**9) < simulate_ps(Ring().synthesize(problem, Ring.Options(pieces=8)), 10**9)


class TestEveryKind:
    @pytest.mark.parametrize("spread", ["one", "two_way", "rotated", "all"])
    @pytest.mark.parametrize("algorithm", FORMS)
    @pytest.mark.parametrize("kind", DONE)
    def test_networks(self, kind, algorithm, spread):
        """It verifies in pieces on grids, products and boxes."""
        for name in ("mesh:3x4", "torus:2x3x2", "fs:3x4", "dgx1"):
            network = parse_topology(name)
            wanted = collective(kind, network.num_npus, chunks=2)
            verify(_schedule(network, wanted, algorithm=algorithm, spread=spread, pieces=2))

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_groups(self, data):
        """Groups that are rectangles of any NPUs, in any order of ranks, verify; others are refused."""
        network, shape = mesh((4, 6)), (4, 6)
        picked = [data.draw(st.sets(st.integers(0, size - 1), min_size=2)) for size in shape]
        group = data.draw(st.permutations([x + 4 * y for x in picked[0] for y in picked[1]]))
        rest = sorted({*range(24)} - {*group})
        wanted = collective(data.draw(st.sampled_from(DONE)), 24, groups=[group])
        problem = Problem(network, wanted, 1000)
        assert Hierarchical().supports(problem) is None
        verify(Hierarchical().synthesize(problem, Hierarchical.Options()))
        if len(picked[0]) < 4 and len(picked[1]) < 6:
            wanted = collective("all_gather", 24, groups=[group, rest])
            assert "no rectangle" in Hierarchical().supports(Problem(network, wanted, 1000))


class TestRefusals:
    @pytest.mark.parametrize("kind", sorted({*KINDS} - {*DONE, "custom"}))
    def test_other_kinds(self, kind):
        """Every other kind gets a reason that names it."""
        wanted = collective(kind, 9, pairs=[(0, 1)] if kind == "send_recv" else ())
        assert f"not {kind}" in Hierarchical().supports(Problem(mesh((3, 3)), wanted, 1))

    def test_one_dimension(self):
        """A ring has no second dimension, and a row of a mesh is in one."""
        assert "no dimensions" in Hierarchical().supports(Problem(torus(8), collective("all_gather", 8), 1))
        row = collective("all_gather", 9, groups=[[0, 1, 2]])
        assert "one dimension" in Hierarchical().supports(Problem(mesh((3, 3)), row, 1))

    @pytest.mark.parametrize(
        ("order", "message"), [("x", "expected auto"), ("0,0", "each dimension"), ([0, 1, 2], "2 dimensions")]
    )
    def test_orders(self, order, message):
        """An order that does not fit the network is refused with what would fit."""
        with pytest.raises(OptionError, match=message):
            _schedule(mesh((3, 3)), collective("all_gather", 9), order=order)
