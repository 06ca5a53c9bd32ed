"""Exact search for disjoint rings with CP-SAT's circuit constraint, and the exchange of a few rings for one more.

One circuit constraint per ring decides small networks. Where many rings at once are too much for it, they are packed
one after another, and when the next one does not fit, a few are taken out and searched again together with it.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from synthesizers.rings.arcs import Arcs, with_reverses
from synthesizers.rings.effort import Effort

#: Models of more choices (arcs × rings) are not built.
_MAX_CHOICES = 12_000

#: Limits of one model in deterministic seconds: all rings at once, and a few of them in an exchange.
_ALL, _FEW = 0.1, 0.1

#: What a model costs in deterministic seconds before the solver counts anything: itself, and each of its choices.
_STARTING, _BUILDING = 1e-3, 5e-6

#: So often as many rings are exchanged, each time others, before one more is.
_TRIES = 3


def exact_rings(
    arcs: Arcs, count: int, two_way: bool, effort: Effort, limit: float = _ALL, seed: int = 0
) -> list[np.ndarray]:
    """Return disjoint rings by one CP-SAT model.

    Parameters
    ----------
    arcs : Arcs
    count : int
        Rings; if two-way, both ways counted as one.
    two_way : bool
        Whether each ring takes up the arcs of its reverse too.
    effort : Effort
    limit : float
        Deterministic seconds for the model.
    seed : int

    Returns
    -------
    orders : list of (p,) int arrays
        Places of the group; empty where there are no such rings, or where the limit was reached (``undecided``).
    """
    from ortools.sat.python import cp_model

    choices = len(arcs.tail) * count
    if choices > _MAX_CHOICES or effort.left <= 0:
        effort.undecided = True
        return []
    effort.left -= _STARTING + choices * _BUILDING
    model = cp_model.CpModel()
    back = arcs.table[arcs.head, arcs.tail]
    usable = np.flatnonzero(back >= 0) if two_way else np.arange(len(arcs.tail))
    users: list[list[cp_model.IntVar]] = [[] for _ in arcs.units]
    chosen: list[list[cp_model.IntVar]] = []
    for _ in range(count):
        chosen.append([model.new_bool_var("") for _ in usable])
        model.add_circuit([(int(arcs.tail[arc]), int(arcs.head[arc]), use)
                           for arc, use in zip(usable, chosen[-1], strict=True)])  # fmt: skip
        for arc, use in zip(usable.tolist(), chosen[-1], strict=True):
            for each in (arc, int(back[arc])) if two_way else (arc,):
                for pair in arcs.pairs[arcs.start[each] : arcs.start[each + 1]].tolist():
                    users[pair].append(use)
    for most, uses in zip(arcs.units.tolist(), users, strict=True):
        if len(uses) > most:
            model.add(sum(uses) <= most)
    solver = effort.solved(model, limit, seed)
    if solver is None:
        return []
    orders = []
    for uses in chosen:
        taken = usable[[bool(solver.value(use)) for use in uses]]
        following = np.empty(len(arcs.members), np.int64)
        following[arcs.tail[taken]] = arcs.head[taken]
        orders.append(_walk(following.tolist()))
    return orders


def exchanged(arcs: Arcs, orders: list[np.ndarray], count: int, two_way: bool, effort: Effort) -> list[np.ndarray]:
    """Return more rings than were given, up to `count`: one is added, or a few are exchanged for one more of them.

    Parameters
    ----------
    arcs : Arcs
    orders : list of (p,) int arrays
        Disjoint rings to begin with; may be empty.
    count : int
        Rings at most; if two-way, both ways counted as one.
    two_way : bool
    effort : Effort
        Is used up unless `count` is reached or shown to be too many.

    Returns
    -------
    orders : list of (p,) int arrays
    """
    rng, failures, seed = random.Random(0), 0, 0
    largest = _MAX_CHOICES // max(1, len(arcs.tail)) - 1  # rings that a model has room for beside the new one
    while largest >= 0 and len(orders) < count and effort.left > 0:
        # Zero rings are taken out once, then one, two, … several times each, then as many as can be, and again one.
        most = min(len(orders), largest)
        out = min(-(-failures // _TRIES), most)
        seed += 1
        kept = rng.sample(orders, len(orders) - out)
        left = arcs.units.copy()
        for order in with_reverses(kept) if two_way else kept:
            left -= arcs.load(order)
        effort.undecided = False
        found = exact_rings(replace(arcs, units=left), out + 1, two_way, effort, _FEW, seed)
        if found:
            orders, failures = kept + found, 0
        elif out < most:
            failures += 1
        elif not most or (out == len(orders) and not effort.undecided):
            break
        else:
            failures = 1
    return orders


def _walk(following: list[int]) -> np.ndarray:
    """Return the places of a ring from that of the first rank on."""
    order = [0]
    while following[order[-1]]:
        order.append(following[order[-1]])
    return np.array(order)
