"""A schedule as sends and receives between NPUs, each send with the receives that it waits for.

A route of several links is one transfer from its first NPU to its last, and the chunks of one message are one
transfer. A send waits for the receives that make the version which it carries: the delivery that it reads, and all
that this one follows. It waits for no send: those end in ASTRA-sim when they have arrived, which would serialize them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedules.schedule import Schedule


@dataclass
class Transfer:
    """Bytes from one NPU to another.

    Attributes
    ----------
    source, target : int
    nbytes : int
    after : set of int
        Transfers, by their place in the list, that must have come to `source` before.
    """

    source: int
    target: int
    nbytes: int
    after: set[int]


def transfers_of(schedule: Schedule, size: int) -> list[Transfer]:
    """Return the transfers of a schedule of `size` bytes that the verifier accepts, in its order."""
    flow, count = schedule.dataflow, schedule.num_hops
    source, target = schedule.topology.src[schedule.link].tolist(), schedule.topology.dst[schedule.link].tolist()
    nbytes = schedule.collective.chunk_bytes(size)[schedule.chunk].tolist()
    before = flow.before.tolist() if len(flow.before) else [-1] * count
    message = [-1] * count if schedule.message is None else schedule.message.tolist()
    # A route's hops, under the hop that it ends with so far.
    routes: dict[int, list[int]] = {}
    for hop in range(count):
        routes[hop] = [*routes.pop(before[hop]), hop] if before[hop] >= 0 else [hop]
    names = {last: tuple(message[hop] for hop in hops) for last, hops in routes.items()}
    found: list[Transfer] = []
    owner = np.full(count, -1)
    of_message: dict[tuple[int, ...], int] = {}
    for last, hops in sorted(routes.items(), key=lambda route: route[1][0]):
        alone = min(names[last]) < 0
        place = len(found) if alone else of_message.setdefault(names[last], len(found))
        if place == len(found):
            found.append(Transfer(source[hops[0]], target[last], 0, set()))
        found[place].nbytes += nbytes[last]
        owner[last] = place
    for last, hops in routes.items():
        read = int(flow.reads[hops[0]])
        while read >= 0:
            found[owner[last]].after.add(int(owner[read]))
            read = int(flow.follows[read])
    return found
