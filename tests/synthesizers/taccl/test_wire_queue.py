"""The queue of a wire: whatever arrives when, what comes out first is what a look at everything would choose."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizers.taccl.costs import Cost
from synthesizers.taccl.wire_queue import WireQueue

#: One link, held for as long as a send takes.
COST = Cost(5, ((0, 0, 5),))


class TestWireQueue:
    @settings(max_examples=100, deadline=None)
    @given(
        arrivals=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=12),
        lost=st.sets(st.integers(0, 11), max_size=3),
        by_rank=st.booleans(),
    )
    def test_order(self, arrivals, lost, by_rank):
        """Sends leave in the order of the key at their start, the lower number first of equals; those gone never."""
        free: dict[int, int] = {}
        ranks = {(chunk, 0): rank for chunk, (_, rank) in enumerate(arrivals)}
        left = {(chunk, 0): ready for chunk, (ready, _) in enumerate(arrivals) if chunk not in lost}

        def key(start, send):
            return (ranks[send], start) if by_rank else (start, ranks[send])

        queue = WireQueue(COST, key, free, lambda send: send[0] in lost)
        for chunk, (ready, _) in enumerate(arrivals):
            queue.add((chunk, 0), ready)
        queue.look()
        while queue.entry:
            starts = {send: max(ready, free.get(0, 0)) for send, ready in left.items()}
            expected = min(starts, key=lambda send: (key(starts[send], send), send))
            assert queue.take() == (expected, starts[expected])
            assert left.pop(expected) <= starts[expected]
            free[0] = starts[expected] + 5
            ranks[max(ranks)] += 1  # keys grow while sends wait
            queue.look()
        assert not left
