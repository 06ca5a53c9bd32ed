"""Contiguity (TACCL, arXiv 2111.04867, section 5.3): which neighbours on a wire between boxes go as one message.

α is paid once for a message, but it starts when all its chunks are there and they arrive together. For sends i, j that
follow each other on a wire, and on every port of it, a variable b[i,j] ∈ {0, 1} merges j into the message of i. With
s, e the start and arrival of a send's message and p the time by which its own bytes are through:

- p[j] ≥ s[j] + α + β; e[j] ≥ p[j];
- b[i,j] = 1 ⇒ s[j] = s[i], p[j] ≥ p[i] + β, e[i] = e[j];
- at most `LONGEST` sends in a row are one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synthesizers.taccl.costs import Costs
from synthesizers.taccl.demand import Demand
from synthesizers.taccl.model import Model
from synthesizers.taccl.network import Network
from synthesizers.taccl.plan import Unit

#: Sends in a message at most.
LONGEST = 6


@dataclass(frozen=True)
class Times:
    """The variables of a send: start and arrival of its message, and when its own bytes are through."""

    start: int
    arrival: int
    through: int


def mergeable(network: Network, demand: Demand, costs: Costs, units: Sequence[Unit]) -> list[tuple[int, int]]:
    """Return the pairs of sends (i, j) that may be one message, in order."""
    last_on: dict[int, int] = {}
    before: list[set[int]] = []
    for index, (wire, chunks) in enumerate(units):
        ports = [hold[0] for hold in costs.of(wire, demand.nbytes[chunks[0]]).holds]
        before.append({last_on.get(port, -1) for port in ports})
        last_on.update(dict.fromkeys(ports, index))
    pairs = []
    for index, (wire, chunks) in enumerate(units):
        if len(before[index]) != 1 or wire not in network.cross or costs.alpha(wire) == 0:
            continue
        (previous,) = before[index]
        if previous < 0 or units[previous][0] != wire or not _grows_evenly(costs, wire, demand.nbytes[chunks[0]]):
            continue
        pairs.append((previous, index))
    return pairs


def _grows_evenly(costs: Costs, wire: int, nbytes: int) -> bool:
    """Return whether more bytes delay no port of a wire against another: its links are equally fast."""
    short, long = costs.of(wire, nbytes), costs.of(wire, LONGEST * nbytes)
    return all(a[1] == b[1] and long.time - short.time >= b[2] - a[2] for a, b in
               zip(short.holds, long.holds, strict=True))  # fmt: skip


def merge(
    model: Model, pairs: Sequence[tuple[int, int]], times: Sequence[Times], wire_time: Sequence[int]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Add the variables and constraints of contiguity; return for each pair (b, 1 − b).

    Parameters
    ----------
    model : Model
    pairs : sequence of (i, j)
    times : sequence of Times
        Of each send.
    wire_time : sequence of int
        β of each send.
    """
    merged = {}
    into = {j: i for i, j in pairs}
    for i, j in pairs:
        together, apart = model.variable(0, 1), model.variable(0, 1)
        model.equal([(1, together), (1, apart)], 1)
        model.at_least([(1, times[j].start), (-1, times[i].start)], 0, when=together)
        model.at_least([(1, times[i].start), (-1, times[j].start)], 0, when=together)
        model.at_least([(1, times[j].through), (-1, times[i].through)], wire_time[j], when=together)
        model.at_least([(1, times[i].arrival), (-1, times[j].arrival)], 0, when=together)
        model.at_least([(1, times[j].arrival), (-1, times[i].arrival)], 0, when=together)
        merged[i, j] = together, apart
    for _, j in pairs:
        run: list[tuple[int, int]] = []
        at = j
        while at in into and len(run) < LONGEST:
            run.append((1, merged[into[at], at][0]))
            at = into[at]
        if len(run) == LONGEST:
            model.at_most(run, LONGEST - 1)
    return merged
