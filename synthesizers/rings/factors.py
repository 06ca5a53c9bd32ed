"""Rings from 2-factors: CP-SAT colours the edges, then cycles are joined by switching alternating 4-cycles.

Switching the two colours of a 4-cycle keeps every factor 2-regular and may join two of its cycles: the step by which
Hamiltonian decompositions of tori are proved [1]_. It serves cabled networks with many 4-cycles, such as grids.

References
----------
.. [1] J.-C. Bermond, O. Favaron, M. Maheo, Hamiltonian decomposition of Cayley graphs of degree 4, JCT B 46, 1989.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np

from synthesizers.rings.arcs import Arcs
from synthesizers.rings.effort import Effort

#: Networks of more 4-cycles are left to other searches.
_MAX_FACES = 20_000

#: Limit of a colouring in deterministic seconds; trials of joining cycles at most, and the price of one.
_COLOURING, _MAX_TRIALS, _TRIAL = 0.2, 20_000, 1e-5

#: The price of a look at one 4-cycle in deterministic seconds.
_LOOK = 1e-6


def joined_factors(arcs: Arcs, count: int, effort: Effort) -> list[np.ndarray]:
    """Return edge-disjoint rings of a cabled network: 2-factors whose cycles are joined.

    Parameters
    ----------
    arcs : Arcs
        Every one with its reverse, and over one link.
    count : int
        Rings, both ways counted as one.
    effort : Effort

    Returns
    -------
    orders : list of (p,) int arrays
        Places of the group; empty where not all were found.
    """
    forward = arcs.tail < arcs.head
    edges = [(a, b) for a, b in zip(arcs.tail[forward].tolist(), arcs.head[forward].tolist(), strict=True)]
    faces = _faces(edges, len(arcs.members))
    if len(faces) > _MAX_FACES:
        effort.undecided = True
        return []
    for label in _alike(edges, faces):
        colour = _coloured(edges, label, len(arcs.members), count, effort)
        orders = _joined(edges, faces, colour, len(arcs.members), count, effort) if colour else []
        if orders:
            return orders
    return []


def _alike(edges: list[tuple[int, int]], faces: list[tuple[int, int, int, int]]) -> Iterator[np.ndarray]:
    """Yield classes of edges that shall share a factor, coarse to fine, so that many 4-cycles alternate.

    First opposite edges of a 4-cycle together, and edges that meet but in no 4-cycle (all rows of a grid); then only
    the opposite ones; at last every edge by itself.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {edge: index for index, edge in enumerate(edges)}
    sides = [[number[min(a, b), max(a, b)] for a, b in ((u, v), (v, w), (w, x), (x, u))] for u, v, w, x in faces]
    opposite = [(face[i], face[i + 2]) for face in sides for i in (0, 1)]
    corners = {(min(a, b), max(a, b)) for face in sides for a, b in zip(face, face[1:] + face[:1], strict=True)}
    at: dict[int, list[int]] = {}
    for index, ends in enumerate(edges):
        for end in ends:
            at.setdefault(end, []).append(index)
    straight = [(a, b) for around in at.values() for a in around for b in around if a < b and (a, b) not in corners]
    for joints in (opposite + straight, opposite, []):
        a, b = np.array(joints, np.int64).reshape(-1, 2).T
        graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(edges),) * 2)
        yield connected_components(graph, directed=False)[1]


def _coloured(
    edges: list[tuple[int, int]], label: np.ndarray, count: int, factors: int, effort: Effort
) -> dict[tuple[int, int], int]:
    """Return the 2-factor of each edge (−1: in none), the same for a class of edges, by CP-SAT; empty where none is."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    classes = int(label.max()) + 1
    uses = [[model.new_bool_var("") for _ in range(factors)] for _ in range(classes)]
    for use in uses:
        model.add_at_most_one(use)
    around: list[dict[int, int]] = [{} for _ in range(count)]
    for ends, of in zip(edges, label.tolist(), strict=True):
        for end in ends:
            around[end][of] = around[end].get(of, 0) + 1
    for counts in {tuple(sorted(each.items())) for each in around}:
        for factor in range(factors):
            model.add(sum(number * uses[of][factor] for of, number in counts) == 2)
    solver = effort.solved(model, _COLOURING)
    if solver is None:
        return {}
    chosen = [next((factor for factor in range(factors) if solver.value(use[factor])), -1) for use in uses]
    return {edge: chosen[of] for edge, of in zip(edges, label.tolist(), strict=True)}


def _joined(
    edges: list[tuple[int, int]],
    faces: list[tuple[int, int, int, int]],
    colour: dict[tuple[int, int], int],
    count: int,
    factors: int,
    effort: Effort,
) -> list[np.ndarray]:
    """Return rings from 2-factors by switching alternating 4-cycles until each factor is one cycle, or none."""
    sides = np.full((factors, count, 2), -1)  # the two neighbours of each place in each factor
    filled = np.zeros((factors, count), np.int64)
    for ends in edges:
        if (factor := colour[ends]) >= 0:
            for here, there in (ends, ends[::-1]):
                sides[factor, here, filled[factor, here]] = there
                filled[factor, here] += 1
    count_cycles = _cycle_counter()
    cycles = [count_cycles(each) for each in sides]
    faces, rng, trials, calm = list(faces), random.Random(0), _MAX_TRIALS, 0.5 / (len(faces) + 1)
    before = -1
    # A pass without a trial found no alternating 4-cycle, and the next one would not either.
    while sum(cycles) > factors and trials > 0 and effort.left > 0 and trials != before:
        rng.shuffle(faces)
        effort.left -= _LOOK * len(faces)
        before = trials
        for u, v, w, x in faces:
            one, other = colour[min(u, v), max(u, v)], colour[min(v, w), max(v, w)]
            if one == other or colour[min(w, x), max(w, x)] != one or colour[min(x, u), max(x, u)] != other:
                continue
            touched = [factor for factor in (one, other) if factor >= 0]
            _switch(sides, colour, (u, v, w, x), one, other)
            now = [count_cycles(sides[factor]) for factor in touched]
            trials -= len(touched)
            effort.left -= _TRIAL * len(touched)
            # Equal ones are accepted, and now and then a worse one, so that the search does not stand still.
            if sum(now) <= sum(cycles[factor] for factor in touched) or rng.random() < calm:
                for factor, number in zip(touched, now, strict=True):
                    cycles[factor] = number
            else:
                _switch(sides, colour, (u, v, w, x), other, one)
            if sum(cycles) == factors or trials <= 0:
                break
    return [] if sum(cycles) > factors else [_around(each) for each in sides]


def _faces(edges: list[tuple[int, int]], count: int) -> list[tuple[int, int, int, int]]:
    """Return the 4-cycles (u, v, w, x), each once with u least and v < x; one too many where there are more."""
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    found = ((u, v, w, x) for u in range(count) for v in sorted(near[u]) if v > u for x in sorted(near[u]) if x > v
             for w in sorted(near[v] & near[x]) if w > u)  # fmt: skip
    return list(islice(found, _MAX_FACES + 1))


def _switch(
    sides: np.ndarray, colour: dict[tuple[int, int], int], face: tuple[int, int, int, int], one: int, other: int
) -> None:
    """Give edges uv, wx of factor `one` to `other`, and vw, xu of `other` to `one`."""
    u, v, w, x = face
    for a, b in ((u, v), (w, x)):
        colour[min(a, b), max(a, b)] = other
    for a, b in ((v, w), (x, u)):
        colour[min(a, b), max(a, b)] = one
    for here, in_one, in_other in ((u, v, x), (v, u, w), (w, x, v), (x, w, u)):
        if one >= 0:
            sides[one, here, 0 if sides[one, here, 0] == in_one else 1] = in_other
        if other >= 0:
            sides[other, here, 0 if sides[other, here, 0] == in_other else 1] = in_one


@cache
def _cycle_counter():
    """Return the compiled function that counts the cycles of a 2-factor, given as two neighbours for each place."""
    import numba

    @numba.njit(cache=True, nogil=True)
    def cycles(sides):
        seen = np.zeros(len(sides), np.bool_)
        number = 0
        for first in range(len(sides)):
            if not seen[first]:
                number += 1
                here = first
                while not seen[here]:
                    seen[here] = True
                    here = sides[here, 1] if seen[sides[here, 0]] else sides[here, 0]
        return number

    return cycles


def _around(sides: np.ndarray) -> np.ndarray:
    """Return the places of a 2-factor of one cycle in its order."""
    order, previous = [0], -1
    while len(order) < len(sides):
        a, b = sides[order[-1]].tolist()
        following = b if a == previous else a
        previous = order[-1]
        order.append(following)
    return np.array(order)
