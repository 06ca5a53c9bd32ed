"""Tests of `synthesizers.sends`: sends on routes."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from schedules.verifier import verify
from synthesizers.sends import exchanged, on_routes, routed
from topologies import TopologyError, fully_connected, line, ring, switch


class TestRouted:
    """The function `routed`."""

    def test_one_hop_needs_no_flow(self):
        """Sends over single links are plain hops in fifo order."""
        schedule = routed(fully_connected(3), collective("broadcast", 3), [0, 0], [0, 0], [1, 2])
        assert schedule.order == "fifo"
        assert schedule.flow is None
        assert schedule.message is None
        assert schedule.topology.dst[schedule.link].tolist() == [1, 2]

    def test_long_route_is_a_flow(self):
        """A send over several links is one flow; a single hop beside it is none."""
        schedule = routed(line(3), collective("broadcast", 3), [0, 0], [0, 0], [2, 1])
        assert schedule.topology.dst[schedule.link].tolist() == [1, 2, 1]
        assert schedule.flow.tolist() == [0, 0, -1]
        verify(schedule)

    def test_forwarding_npu_does_not_keep_the_chunk(self):
        """An NPU that only forwards does not receive."""
        from topologies import VerificationError

        with pytest.raises(VerificationError):
            verify(routed(line(3), collective("broadcast", 3), [0], [0], [2]))

    def test_bundle_is_a_message_on_every_link(self):
        """Bundled sends share one message on each link of their route, another on the next."""
        bundled = routed(switch(2), collective("broadcast", 2, chunks=3), [0, 1, 2], [0, 0, 0], [1, 1, 1],
                         bundle=np.array([0, 0, -1]))  # fmt: skip
        first, second, alone = bundled.message.reshape(3, 2)
        assert first.tolist() == second.tolist()
        assert first[0] != first[1]
        assert alone.tolist() == [-1, -1]
        verify(bundled)

    def test_columns_follow_the_sends(self):
        """Reduce and step are repeated on every hop of a send."""
        schedule = routed(line(3), collective("reduce", 3), [0, 0], [2, 1], [0, 0], reduce=np.array([True, True]),
                          step=np.array([0, 4]))  # fmt: skip
        assert schedule.reduce.tolist() == [True] * 3
        assert schedule.step.tolist() == [0, 0, 4]
        verify(schedule)

    def test_no_sends(self):
        """No sends are an empty schedule."""
        assert routed(ring(1), collective("all_gather", 1), [], [], []).num_hops == 0

    def test_unreachable_target(self):
        """A target without a route is refused by name."""
        two = ring(4).without(links=range(8))
        with pytest.raises(TopologyError, match="NPU 0 cannot reach NPU 1"):
            routed(two, collective("broadcast", 4), [0], [0], [1])


class TestExchanged:
    """The function `exchanged`."""

    def test_one_message_for_each_pair_and_step(self):
        """Sends are put in order of their steps; those of one pair and step are a message, a single one is none."""
        schedule = exchanged(fully_connected(3), collective("broadcast", 3, chunks=2), step=[1, 0, 1, 0, 1],
                             chunk=[1, 1, 0, 0, 1], source=[1, 0, 1, 0, 0], target=[2, 1, 2, 1, 2])  # fmt: skip
        assert schedule.topology.dst[schedule.link].tolist() == [1, 1, 2, 2, 2]
        assert schedule.chunk.tolist() == [0, 1, 1, 0, 1]
        assert schedule.step.tolist() == [0, 0, 1, 1, 1]
        first, second = schedule.message[:2].tolist(), schedule.message[3:].tolist()
        assert first[0] == first[1] >= 0
        assert second[0] == second[1] >= 0
        assert first != second
        assert schedule.message[2] == -1

    def test_simultaneous(self):
        """Two NPUs that exchange and add in one step both send what they had before."""
        wanted = collective("all_reduce", 2).resharded(1, 1)
        verify(exchanged(fully_connected(2), wanted, [0, 0], [0, 0], [0, 1], [1, 0], reduce=[True, True]))

    def test_nothing(self):
        """No sends are an empty schedule."""
        assert exchanged(ring(1), collective("all_gather", 1), [], [], [], []).num_hops == 0


class TestOnRoutes:
    """The function `on_routes`."""

    def test_given_routes_are_kept(self):
        """A send takes the links of its route, even a longer one."""
        network = ring(4)
        links = [int(np.flatnonzero((network.src == a) & (network.dst == b))[0]) for a, b in ((0, 3), (3, 2), (2, 1))]
        schedule = on_routes(network, collective("send_recv", 4, pairs=[(0, 1)]), [0], np.array([0]), np.array([0, 3]),
                             np.array(links))  # fmt: skip
        assert schedule.link.tolist() == links
        verify(schedule)
