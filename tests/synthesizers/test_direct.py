"""Tests of `synthesizers.direct`; closed forms from Chan et al. (2007), routes from ASTRA-sim's direct AllGather."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective, custom
from schedules.verifier import verify
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.direct import Direct
from topologies import fully_connected, mesh, parse_topology, ring, torus

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
MODELS = [LinkModel("blocking"), LinkModel("pipelined")]
KINDS = ["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "reduce", "gather", "scatter"]
NETWORKS = ["mesh:3x3", "torus:4x4", "ring:7", "ring_one_way:6", "dgx1", "ndv2:2", "switch:5", "dgx_a100:2",
            "dragonfly:4x3", "star:6"]  # fmt: skip
PLAIN = {"order": "shift", "routes": "shortest", "pieces": 1}


def _wire(nbytes: int) -> int:
    """Return β·nbytes in whole picoseconds, rounded up."""
    return -(-nbytes * 10**12 // RATE)


def _sizes(ranks: int) -> list[int]:
    """Return sizes with and without remainders."""
    return [0, 1, ranks - 1, 1_000_003, 2**30, 2**34]


def _schedule(topology, wanted, size=1_000_003, **options):
    """Return the direct schedule."""
    return Direct().synthesize(Problem(topology, wanted, size), parse_options(Direct(), options))


class TestClosedForms:
    """Exact times on a fully connected network."""

    @pytest.mark.parametrize("ranks", range(2, 18))
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_one_exchange(self, ranks, model):
        """AllGather, ReduceScatter, Gather and Scatter take α + ⌈n/p⌉β (the full mesh has a link for each pair)."""
        network = fully_connected(ranks)
        for kind, root in (("all_gather", 0), ("reduce_scatter", 0), ("gather", ranks - 1), ("scatter", ranks - 1)):
            schedule = _schedule(network, collective(kind, ranks, root=root), **PLAIN)
            for size in _sizes(ranks):
                assert simulate_ps(schedule, size, model) == ALPHA + _wire(-(-size // ranks)), (kind, size)

    @pytest.mark.parametrize("ranks", range(2, 18))
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_all_reduce(self, ranks, model):
        """AllReduce takes 2α + 2⌈n/p⌉β."""
        schedule = _schedule(fully_connected(ranks), collective("all_reduce", ranks), **PLAIN)
        for size in _sizes(ranks):
            assert simulate_ps(schedule, size, model) == 2 * (ALPHA + _wire(-(-size // ranks))), size

    @pytest.mark.parametrize("ranks", range(2, 18))
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.latency)
    def test_whole_buffers(self, ranks, model):
        """Broadcast and Reduce take α + nβ."""
        for kind in ("broadcast", "reduce"):
            schedule = _schedule(fully_connected(ranks), collective(kind, ranks, root=1), **PLAIN)
            for size in _sizes(ranks):
                assert simulate_ps(schedule, size, model) == ALPHA + _wire(size)

    @pytest.mark.parametrize("pieces", [2, 5, 64])
    def test_pieces(self, pieces):
        """k pieces pay k latencies where they block the link, one where they do not."""
        schedule = _schedule(fully_connected(4), collective("all_gather", 4), **PLAIN | {"pieces": pieces})
        share = -(-1_000_003 // 4)
        wires = [_wire(share // pieces + (piece < share % pieces)) for piece in range(pieces)]
        assert simulate_ps(schedule, 1_000_003, MODELS[0]) == pieces * ALPHA + sum(wires)
        assert simulate_ps(schedule, 1_000_003, MODELS[1]) == ALPHA + sum(wires)

    @pytest.mark.parametrize(("ranks", "nanoseconds"), [(8, 196_310), (16, 704_116)])
    def test_direct_all_gather_on_a_ring(self, ranks, nanoseconds):
        """ASTRA-sim's analytical back end on the same sends, nearest first; it truncates each hop to 1 ns."""
        model = LinkModel("pipelined", "store_and_forward")
        network = parse_topology(f"ring:{ranks}@50GiB/s,0.5us")
        schedule = _schedule(network, collective("all_gather", ranks), order="nearest", routes="shortest", pieces=1)
        assert simulate_ps(schedule, ranks * 2**20, model) / 1000 == pytest.approx(nanoseconds, abs=ranks)


class TestEveryKind:
    """Whatever is asked, the schedule computes it."""

    @pytest.mark.parametrize("ranks", range(1, 18))
    @pytest.mark.parametrize("kind", KINDS)
    def test_fully_connected(self, kind, ranks):
        """Every kind, number of ranks and root verifies with every order and route."""
        for root in {0, ranks // 2, ranks - 1}:
            verify(_schedule(fully_connected(ranks), collective(kind, ranks, root=root, chunks=2), **PLAIN))

    @pytest.mark.parametrize("name", NETWORKS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_networks(self, kind, name):
        """Every kind verifies where routes are long or lead through switches."""
        network = parse_topology(name)
        verify(_schedule(network, collective(kind, network.num_npus)))
        for order in ("shift", "farthest", "nearest"):
            for routes in ("shortest", "balanced"):
                wanted = collective(kind, network.num_npus, root=2)
                verify(_schedule(network, wanted, order=order, routes=routes, pieces=3))

    @pytest.mark.parametrize("kind", KINDS)
    def test_groups(self, kind):
        """Several groups of different sizes, ranks in any order, keep the kind."""
        groups = [[15, 3, 8], [0, 1], [7], [12, 10, 5, 4, 2]]
        schedule = _schedule(torus((4, 4)), collective(kind, 16, groups=groups))
        verify(schedule)
        assert schedule.collective.kind == kind
        assert schedule.collective.groups == tuple(map(tuple, groups))

    @pytest.mark.parametrize("order", ["shift", "farthest", "auto"])
    def test_send_recv(self, order):
        """SendRecv pairs, one of them to itself, verify."""
        pairs = [(0, 8), (3, 3), (8, 0), (0, 8)]
        verify(_schedule(mesh((3, 3)), collective("send_recv", 9, pairs=pairs), order=order))

    def test_custom_copy_comes_from_the_nearest(self):
        """A chunk with several holders is sent by the nearest, of equals by the lowest."""
        schedule = _schedule(parse_topology("line:7"), custom(7, [[0, 6]], [[1, 3, 5]]))
        verify(schedule)
        hops = zip(
            schedule.topology.src[schedule.link].tolist(), schedule.topology.dst[schedule.link].tolist(), strict=True
        )
        assert sorted(hops) == [(0, 1), (0, 1), (1, 2), (2, 3), (6, 5)]

    @pytest.mark.parametrize("pieces", [1, "auto"])
    def test_custom_reduce(self, pieces):
        """Contributors that are also final holders send their own contribution, never a sum."""
        wanted = custom(
            9, [[0, 1, 2], [3], [4, 5], []], [[1, 2, 8], [3, 4], [6], []], reduces=True, weights=[3, 1, 1, 1]
        )
        verify(_schedule(mesh((3, 3)), wanted, pieces=pieces))

    @pytest.mark.parametrize("size", [0, 1, 5, 2**40])
    def test_any_size(self, size):
        """Sizes without bytes for every chunk, and large ones, work."""
        for kind in KINDS:
            verify(_schedule(torus((3, 3)), collective(kind, 9), size))

    def test_resharded_all_reduce(self):
        """An AllReduce with shards of its own gets one for each rank."""
        verify(_schedule(ring(5), collective("all_reduce", 5, shards=3)))

    def test_weights_are_refined(self):
        """Pieces of a weighted chunk weigh the same as each other."""
        weighted = collective("all_gather", 3).refined(2, np.array([2, 1] * 3))
        schedule = _schedule(ring(3), weighted, pieces=2)
        assert schedule.collective.chunk_bytes(360).tolist() == [40, 40, 20, 20] * 3
        verify(schedule)


class TestTuning:
    """The options order, routes and pieces."""

    @pytest.mark.parametrize("name", ["mesh:4x4", "torus:4x4", "ring:8", "dgx1", "dgx_a100:2"])
    @pytest.mark.parametrize("kind", ["all_gather", "all_reduce"])
    def test_auto_is_the_best(self, name, kind):
        """Auto is as fast as the best of all orders and routes, and no slower with pieces."""
        network, size = parse_topology(name), 2**26
        wanted = collective(kind, network.num_npus)
        best = min(
            simulate_ps(_schedule(network, wanted, size, order=order, routes=routes, pieces=1), size)
            for order in ("shift", "farthest", "nearest") for routes in ("shortest", "balanced")
        )  # fmt: skip
        assert simulate_ps(_schedule(network, wanted, size, pieces=1), size) == best
        assert simulate_ps(_schedule(network, wanted, size), size) <= best

    def test_bisection_is_reached(self):
        """On a 4×4 mesh 64 sends must cross the middle on 4 links, 16 in a row, and balanced routes do that."""
        size = 16 * 2**20
        schedule = _schedule(mesh((4, 4)), collective("all_gather", 16), size, pieces=1)
        crossing = 16 * (ALPHA + _wire(2**20))
        assert crossing <= simulate_ps(schedule, size) <= crossing + 3 * ALPHA

    def test_deterministic(self):
        """The same problem gives the same schedule."""
        wanted = collective("all_to_all", 16)
        assert _schedule(torus((4, 4)), wanted) == _schedule(torus((4, 4)), wanted)

    def test_large_problems_are_not_compared(self, monkeypatch):
        """Above the limit auto takes the first order and routes without a simulation."""
        import synthesizers.direct as module

        monkeypatch.setattr(module, "_MAX_COMPARED_HOPS", 10)
        monkeypatch.setattr(module, "fastest", None)
        schedule = _schedule(mesh((3, 3)), collective("all_gather", 9), pieces=1)
        assert (schedule.notes["order"], schedule.notes["routes"]) == ("farthest", "balanced")
