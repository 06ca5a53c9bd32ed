"""Demands as one schedule: ring formulas to the picosecond, one-to-one traffic, and both at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import collective, demanded, verify
from simulator import LinkModel, simulate_us
from synthesizers.exchange import Routes, exchange
from synthesizers.rings import Circuit
from topologies import Demand, Paths, SynthesisError, fabric, switch

NONE = Routes(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))


def circulant(servers, jumps, gbps=12.5, latency_us=0.0):
    """Return a network of rings i → i + p, and its rings."""
    every = np.arange(servers)
    wired = fabric(servers, len(jumps), gbps, latency_us).wired(
        np.tile(every, len(jumps)), np.concatenate([(every + jump) % servers for jump in jumps]), "rings"
    )
    orders = [every * jump % servers for jump in jumps]
    return wired, [
        Circuit(order, np.arange(servers + 1), order + place * servers) for place, order in enumerate(orders)
    ]


def shortest(topology):
    """Return the shortest route of every pair."""
    pairs = np.array([s * topology.num_npus + t for s in range(topology.num_npus) for t in range(topology.num_npus)])
    return Routes(pairs, *Paths(topology).routes(pairs // topology.num_npus, pairs % topology.num_npus))


class TestRings:
    @pytest.mark.parametrize(
        ("servers", "jumps", "ms"),
        [(16, [1], 24), (16, [1, 15], 12), (16, [1, 3, 7], 8), (16, [1, 15, 5, 11], 6), (12, [1, 5], 11.733)],
    )
    def test_published_formula(self, servers, jumps, ms):
        """An AllReduce of 160 MB at 100 Gb/s takes 2(n−1)·S/(nRB), to 0.01 %."""
        topology, rings = circulant(servers, jumps)
        schedule = exchange(topology, collective("all_reduce", servers), {tuple(range(servers)): rings}, NONE)
        verify(schedule)
        assert simulate_us(schedule, 160_000_000) / 1e3 == pytest.approx(ms, rel=1e-4)

    def test_formula_with_latency(self):
        """128 servers of four ports: 2(n−1)(α + S/(nRB)) to the picosecond where chunks are equal."""
        topology, rings = circulant(128, [1, 3, 11, 37], 12.5, 1.0)
        schedule = exchange(topology, collective("all_reduce", 128), {tuple(range(128)): rings}, NONE)
        size = 128 * 4 * 10**5
        assert simulate_us(schedule, size) == pytest.approx(2 * 127 * (1 + size / 128 / 4 / 12.5e3), abs=1e-6)

    def test_time_does_not_depend_on_jumps(self):
        """Whichever coprime jumps are chosen, the AllReduce takes the same time: it is mutable (TopoOpt, section 3)."""
        times = set()
        for jumps in ([1, 3], [1, 7], [5, 11], [9, 13]):
            topology, rings = circulant(16, jumps, 12.5, 1.0)
            schedule = exchange(topology, collective("all_reduce", 16), {tuple(range(16)): rings}, NONE, pieces=2)
            times.add(simulate_us(schedule, 64 * 10**6))
        assert len(times) == 1

    @pytest.mark.parametrize("switching", ["cut_through", "store_and_forward"])
    def test_forwarded_ring(self, switching):
        """A ring of jump nine carried as 1 + 1 + 7 takes 48 ms: its links of jump one carry everything twice."""
        topology, _ = circulant(16, [1, 3, 7])
        order = np.arange(16) * 9 % 16
        links = np.stack([order, (order + 1) % 16, 2 * 16 + (order + 2) % 16], axis=1).ravel()
        ring = Circuit(order, np.arange(0, 49, 3), links)
        for pieces in (4, 8):
            schedule = exchange(topology, collective("all_reduce", 16), {tuple(range(16)): [ring]}, NONE, pieces)
            verify(schedule)
            assert simulate_us(schedule, 160_000_000, LinkModel(switching=switching)) == pytest.approx(48e3, rel=0.01)


class TestTraffic:
    @pytest.mark.parametrize(("pieces", "ms"), [(1, 72.0), (2, 48.0)])
    def test_forwarded_whole(self, pieces, ms):
        """A jump of nine carried as 1 + 1 + 7 by store and forward: each hop takes the whole time, or each piece."""
        topology, _ = circulant(16, [1, 3, 7])
        links = [0, 1, 2 * 16 + 2]
        routes = Routes(np.array([9]), np.array([0, 3]), np.array(links))
        work = collective("send_recv", 16, pairs=[(0, 9)]).refined(pieces)
        schedule = exchange(topology, work, {}, routes)
        verify(schedule)
        stored = simulate_us(schedule, 300_000_000, LinkModel(switching="store_and_forward")) / 1e3
        assert stored == pytest.approx(ms, rel=1e-6)
        assert simulate_us(schedule, 300_000_000) / 1e3 == pytest.approx(24.0, rel=1e-6)

    def test_nobody_is_swamped(self):
        """Around one switch an AllToAll takes turns: all receive all the time, and it takes what the ports take."""
        topology = switch(8, 10.0, 0.0)
        schedule = exchange(topology, collective("all_to_all", 8), {}, shortest(topology))
        assert simulate_us(schedule, 8 * 10**6) == pytest.approx(700.0, rel=1e-6)

    def test_pieces_follow_their_chunk(self):
        """`pieces` cuts one-to-one chunks too, and nothing is lost."""
        topology, _ = circulant(5, [1, 2])
        schedule = exchange(topology, collective("all_to_all", 5), {}, shortest(topology), pieces=3)
        verify(schedule)
        assert schedule.collective.chunks == 3


class TestBoth:
    def test_groups_that_overlap(self):
        """Two groups with different numbers of rings, and traffic, in one verified schedule."""
        topology, rings = circulant(6, [1, 5], 10.0, 0.5)
        traffic = np.zeros((6, 6), int)
        traffic[0, 3], traffic[4, 1] = 12_345, 678
        half = Circuit(np.array([0, 2, 4]), np.array([0, 2, 4, 6]), np.arange(6))
        demand = Demand(6, [range(6), [0, 2, 4]], [10**6, 999], traffic)
        groups = {tuple(range(6)): rings, (0, 2, 4): [half]}
        schedule = exchange(topology, demanded(demand), groups, shortest(topology), notes={"by": "hand"})
        verify(schedule)
        assert (schedule.collective.chunks, schedule.notes) == (2, {"by": "hand", "pieces": 1})
        assert simulate_us(schedule, demand.size) > 0

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def test_any_demand_is_done(self, data):
        """Whatever the groups, bytes and traffic, the schedule is right."""
        servers = data.draw(st.integers(3, 7))
        topology, rings = circulant(servers, [1, servers - 1])
        traffic = np.zeros((servers, servers), int)
        for source, target in data.draw(st.lists(st.tuples(*[st.integers(0, servers - 1)] * 2), max_size=6)):
            if source != target:
                traffic[source, target] = data.draw(st.integers(1, 10**6))
        groups = [tuple(range(servers))] if data.draw(st.booleans()) or not traffic.any() else []
        demand = Demand(servers, groups, [data.draw(st.integers(1, 10**6)) for _ in groups], traffic)
        schedule = exchange(topology, demanded(demand), dict.fromkeys(groups, rings), shortest(topology),
                            data.draw(st.integers(1, 3)))  # fmt: skip
        verify(schedule)


class TestStraight:
    def test_two_steps(self):
        """Where bytes take no time, an AllReduce that is sent straight takes as long as its messages."""
        star = switch(8, 1e6, 0.5)
        schedule = exchange(star, collective("all_reduce", 8), {tuple(range(8)): []}, shortest(star))
        verify(schedule)
        # 7 messages out of each port of half a microsecond, the last one another one to arrive; twice.
        assert simulate_us(schedule, 8) == pytest.approx(2 * (7 * 0.5 + 0.5), rel=1e-3)

    def test_beside_rings(self):
        """A group that sends straight beside one with three rings is right, and its messages are not cut."""
        topology, rings = circulant(16, [1, 3, 7])
        demand = Demand(16, [range(16), range(0, 16, 2)], [16 * 10**6, 80])
        schedule = exchange(topology, demanded(demand), {tuple(range(16)): rings, tuple(range(0, 16, 2)): []},
                            shortest(topology))  # fmt: skip
        verify(schedule)
        assert np.unique(schedule.message[schedule.message >= 0]).size > 0


class TestRefusals:
    def test_what_is_missing(self):
        """A group without rings, a pair without a route, and a collective that is no demand."""
        topology, rings = circulant(4, [1])
        with pytest.raises(SynthesisError, match="no ring is given for the group"):
            exchange(topology, collective("all_reduce", 4), {}, NONE)
        with pytest.raises(SynthesisError, match="no route from NPU 1 to NPU 0"):
            exchange(topology, collective("all_reduce", 4), {(0, 1, 2, 3): []}, NONE)
        with pytest.raises(SynthesisError, match="no route from NPU 0 to NPU 2"):
            exchange(topology, collective("send_recv", 4, pairs=[(0, 2)]), {}, NONE)
        with pytest.raises(SynthesisError, match="neither an AllReduce nor from one"):
            exchange(topology, collective("all_gather", 4), {(0, 1, 2, 3): rings}, NONE)
