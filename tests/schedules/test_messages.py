"""Messages in the verifier: one link, consecutive in its order, and nobody waits for himself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective, custom, verify
from simulator import LinkModel, hop_times, simulate_ps
from tests.schedules import generator, oracle
from tests.schedules.generator import hops
from topologies import ScheduleError, VerificationError, fully_connected, line, ring, switch

MODES = ("exact", "random")


def refused(schedule: Schedule, message: str, hop: int) -> None:
    """Assert that both modes refuse a schedule with a message and the same hop."""
    for mode in MODES:
        with pytest.raises(VerificationError, match=message) as caught:
            verify(schedule, mode)
        assert caught.value.hop == hop


@pytest.fixture
def paired() -> Schedule:
    """Two chunks from 0 over 1 to 2, two messages of two."""
    problem = custom(3, [[0], [0]], [[2], [2]])
    rows = [(0, 0, 1), (1, 0, 1), (0, 1, 2), (1, 1, 2)]
    return hops(line(3, 1.0, 0.5), problem, rows, message=[0, 0, 1, 1])


@pytest.mark.parametrize("mode", MODES)
class TestAccepted:
    """Messages that are one transfer."""

    @pytest.mark.parametrize("order", ["program", "fifo"])
    def test_pair(self, paired, mode, order):
        """Members of one link that do not wait for each other; the latency is paid once per message."""
        schedule = paired.replaced(order=order)
        verify(schedule, mode)
        assert simulate_ps(schedule, 2000) == 2 * (2_000_000 + 500_000)
        assert simulate_ps(schedule.replaced(message=None), 2000) == 3 * (1_000_000 + 500_000)

    def test_members_apart_in_the_list(self, paired, mode):
        """Hops on other links may be listed between the members."""
        problem = custom(3, [[0], [0], [2]], [[2], [2], [1]])
        rows = [(0, 0, 1), (2, 2, 1), (1, 0, 1), (0, 1, 2), (1, 1, 2)]
        verify(hops(paired.topology, problem, rows, message=[0, -1, 0, 1, 1]), mode)

    def test_exchange(self, mode):
        """Messages may cross in one step."""
        problem = collective("all_reduce", 2)
        rows = [(0, 0, 1), (1, 0, 1), (0, 1, 0), (1, 1, 0)]
        verify(hops(line(2), problem, rows, reduce=[True] * 4, step=[0] * 4, message=[0, 0, 1, 1]), mode)

    def test_routes(self, mode):
        """Members may be hops of routes that go on apart."""
        problem = custom(3, [[0], [0]], [[1], [2]])
        rows = [(0, 0, 3), (1, 0, 3), (0, 3, 1), (1, 3, 2)]
        verify(hops(switch(3), problem, rows, flow=[0, 1, 0, 1], message=[0, 0, -1, -1]), mode)

    def test_fifo_needs_no_order_on_the_link(self, paired, mode):
        """Where links keep no list order, members need not be neighbours in it."""
        problem = custom(3, [[0]] * 3, [[1]] * 3)
        schedule = hops(paired.topology, problem, [(0, 0, 1), (1, 0, 1), (2, 0, 1)], message=[0, -1, 0])
        verify(schedule.replaced(order="fifo"), mode)
        with pytest.raises(VerificationError):
            verify(schedule, mode)


class TestRefused:
    """Messages that are not one transfer."""

    def test_two_links(self, paired):
        """A message over two links is no schedule; the verifier does not rely on that."""
        with pytest.raises(ScheduleError, match="crosses another link than the rest of its message 0"):
            paired.replaced(message=[0, 0, 0, 1])
        object.__setattr__(paired, "message", np.array([0, 0, 0, 1], np.int32))
        refused(paired, "hop 2 crosses another link than its message 0", 2)

    def test_torn_in_program_order(self, paired):
        """Another hop of the link stands between the members."""
        problem = custom(3, [[0]] * 3, [[1]] * 3)
        schedule = hops(paired.topology, problem, [(0, 0, 1), (1, 0, 1), (2, 0, 1)], message=[0, -1, 0])
        refused(schedule, "hop 2 of message 0 does not follow the message's other hops on its link", 2)

    @pytest.mark.parametrize("order", ["program", "fifo"])
    def test_depends_on_itself(self, order):
        """A member that carries what another member's delivery led to, round a circle."""
        problem = custom(2, [[0], [0]], [[1], [1]])
        rows = [(0, 0, 1), (0, 1, 0), (0, 0, 1)]
        schedule = hops(line(2), problem, [*rows, (1, 0, 1)], message=[0, -1, 0, -1], order=order)
        refused(schedule, "hop 0 of message 0 depends, directly or through others, on its own message", 0)

    def test_two_messages_wait_for_each_other(self):
        """Each carries what the other brings."""
        problem = custom(2, [[0], [1]], [[0, 1], [0, 1]])
        rows = [(0, 0, 1), (0, 1, 0), (1, 1, 0), (1, 0, 1)]
        refused(hops(line(2), problem, rows, message=[0, 1, 1, 0]), "hop 0 of message 0 depends", 0)

    def test_the_message_on_the_circle_is_named(self):
        """A message that only waits for a circle is not said to be on it."""
        problem = custom(4, [[3], [0], [0]], [[2], [2], [1]])
        # Message 0 (2 ← 3 … ) waits, by its second member, for chunk 1 out of the circle of message 1.
        rows = [(0, 3, 2), (1, 0, 1), (1, 1, 0), (1, 0, 1), (1, 1, 3), (1, 3, 2), (2, 0, 1)]
        schedule = hops(fully_connected(4), problem, rows, message=[0, 1, -1, 1, -1, 0, -1])
        refused(schedule, "hop 1 of message 1 depends", 1)

    def test_link_order_closes_a_circle(self):
        """In program order what a message waits for may queue behind what waits for the message; in fifo order not."""
        rows = [(0, 0, 1), (0, 1, 2), (1, 1, 2), (1, 2, 0), (1, 0, 1)]
        schedule = hops(ring(3), custom(3, [[0], [1]], [[1, 2], [0, 2]]), rows, message=[0, -1, -1, -1, 0])
        refused(schedule, "hop 0 of message 0 depends", 0)
        for mode in MODES:
            verify(schedule.replaced(order="fifo"), mode)


@st.composite
def bundled(draw) -> Schedule:
    """Draw a right schedule with random neighbours on links, or any hops on them, sent as messages."""
    schedule = draw(generator.right())
    message = np.full(schedule.num_hops, -1)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    density, neighbours, name = draw(st.sampled_from([0.1, 0.4, 0.9])), draw(st.integers(0, 3)), 0
    for link in range(schedule.topology.num_links):
        on_link = np.flatnonzero(schedule.link == link)
        if neighbours == 0:
            on_link = random.permutation(on_link)
        while len(on_link) > 1:
            size = int(random.integers(1, 4))
            if size > 1 and random.random() < density:
                message[on_link[:size]] = name
                name += 1
            on_link = on_link[size:]
    return schedule.replaced(message=message, order=draw(st.sampled_from(["program", "fifo"])))


@settings(max_examples=300, deadline=None)
@given(bundled(), st.sampled_from([LinkModel(), LinkModel("pipelined", "store_and_forward")]))
def test_twin(schedule, model):
    """Verdict and simulator agree with a graph of units searched for circles; the hop named is on one."""
    if schedule.message is None:
        return
    fault, on_circles = oracle.message_fault(schedule)
    event(fault or "right")
    if not fault:
        for mode in MODES:
            verify(schedule, mode)
        assert (hop_times(schedule, 1000, model)[1] > 0).all()
        return
    for mode in MODES:
        with pytest.raises(VerificationError, match={"torn": "does not follow", "circle": "depends"}[fault]) as caught:
            verify(schedule, mode)
        assert fault == "torn" or caught.value.hop in on_circles
    if fault == "circle":
        with pytest.raises(ScheduleError):
            hop_times(schedule, 1000, model)
