"""Sends that wait for a wire, by a key that may grow while they wait: list scheduling looks at one of them only.

A send starts when its chunk is there and its ports are free. Of those that only wait for ports, all of one size on one
wire could start together, so that which of them goes first does not depend on when that is; each that is taken would
otherwise put all the others off, one by one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from synthesizers.taccl.costs import Cost

Send = tuple[int, int]  # (chunk, wire)

#: Of the earliest start and the send; the least goes first. It never falls, and of two sends of one size on one wire
#: that start together the same one is first, whenever that is.
Key = Callable[[int, Send], tuple]


class WireQueue:
    """Sends of one size that wait for one wire.

    Parameters
    ----------
    cost : Cost
        Of each.
    key : callable
    free : dict of int to int
        When each port is free; kept by the caller.
    gone : callable, optional
        Whether a send is no longer wanted.

    Attributes
    ----------
    entry : tuple
        (key, send) of the first when it was last looked for; empty without any.
    """

    def __init__(self, cost: Cost, key: Key, free: dict[int, int], gone: Callable[[Send], bool] | None = None) -> None:
        self.cost, self.key, self.free, self.gone = cost, key, free, gone
        self.waiting: list[tuple[tuple, Send]] = []  # for ports alone, by the key of a start at 0
        self.coming: list[tuple[tuple, Send, int]] = []  # by the key of a start when ready
        self.entry: tuple = ()

    def add(self, send: Send, ready: int) -> bool:
        """Take in a send; return whether it may be the first now."""
        item = self.key(ready, send), send
        heapq.heappush(self.coming, (*item, ready))
        if self.entry and self.entry <= item:
            return False
        self.entry = item
        return True

    def look(self) -> bool:
        """Look for the first; return whether it is the one that it was."""
        before, since, coming, waiting = self.entry, self._free_since(), self.coming, self.waiting
        while coming:
            known, send, ready = coming[0]
            if self._is_gone(send):
                heapq.heappop(coming)
            elif ready <= since:
                heapq.heappop(coming)
                heapq.heappush(waiting, (self.key(0, send), send))
            elif (now := self.key(ready, send)) != known:
                heapq.heapreplace(coming, (now, send, ready))
            else:
                break
        while waiting:
            known, send = waiting[0]
            if self._is_gone(send):
                heapq.heappop(waiting)
            elif (now := self.key(0, send)) != known:
                heapq.heapreplace(waiting, (now, send))
            else:
                break
        self.entry = coming[0][:2] if coming else ()
        if waiting:
            item = self.key(since, waiting[0][1]), waiting[0][1]
            if not self.entry or item < self.entry:
                self.entry = item
        return self.entry == before

    def take(self) -> tuple[Send, int]:
        """Take out the first, just looked for; return it with its start."""
        if self.waiting and self.waiting[0][1] == self.entry[1]:
            return heapq.heappop(self.waiting)[1], self._free_since()
        _, send, start = heapq.heappop(self.coming)
        return send, start

    def _is_gone(self, send: Send) -> bool:
        """Return whether a send is no longer wanted."""
        return self.gone is not None and self.gone(send)

    def _free_since(self) -> int:
        """Return when a send could start at the earliest as far as the ports go."""
        return max(self.free.get(port, 0) - offset for port, offset, _ in self.cost.holds)
