"""AllToAll's bound: data that goes from one NPU to one other needs room on links for every step of its way.

Give each link e a length y_e ≥ 0. A byte from s to t crosses links of total length dist_y(s, t) at least, and in time T
the links offer T · Σ B_e·y_e, so T ≥ Σ bytes(s, t)·dist_y(s, t) / Σ B_e·y_e whatever the lengths. The best lengths make
this the multi-commodity flow optimum (its LP dual; F. Shahrokhi, D. W. Matula, J. ACM 37(2), 1990). They are found by
cutting planes: z_s stands for the cost of source s, and each round adds, for every source, the loads of its shortest
paths under the lengths at hand: z_s ≤ Σ_e load(e)·y_e. HiGHS solves the small LPs; the lengths are then rounded to
integers and the bound is taken exactly, so that no tolerance of a solver gets into it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.bounds.cuts import joined_links
from simulator.bounds.demands import Demands
from simulator.bounds.ingress import Candidate
from topologies import Topology

#: Sources × joined links above which lengths are not searched but tried, and pairs of nodes above which nothing is.
_MOST_SEARCHED, _MOST_TRIED = 40_000, 2**21

#: Rounds, and the share of the bound that one more round must still be able to gain.
_ROUNDS, _GAIN = 60, 1e-9

#: Rounds end before as many rows as this.
_MOST_ROWS = 6_000

#: The greatest length; sums of lengths along a path stay exact in double precision.
_LONGEST = 2**24

#: Links shorter than this share of the longest count as so long in the search.
_SHORT = 1e-11

#: Links named in a phrase.
_NAMED = 3


def flow_bound(topology: Topology, needed: Demands) -> tuple[list[Candidate], bool]:
    """Return the bound of all that one NPU must send to one other, and whether no lengths give a greater one.

    What several hold, or several want, is left out, which leaves it a bound.

    Parameters
    ----------
    topology : Topology
        All NPUs that must be reached can be.
    needed : Demands
    """
    alone = (needed.set_size[needed.initial] == 1) & (needed.set_size[needed.final] == 1)
    if needed.reduces or not alone.any():
        return [], True
    source = needed.set_member[needed.set_start[needed.initial[alone]]].astype(np.int64)
    target = needed.set_member[needed.set_start[needed.final[alone]]].astype(np.int64)
    moves = source != target
    source, target, nbytes = source[moves], target[moves], needed.nbytes[alone][moves]
    if not len(source):
        return [], True
    if len(np.unique(source)) * topology.num_nodes > _MOST_TRIED:
        return [], False
    pairs = source * topology.num_npus + target
    lengths, complete = _best_lengths(topology, tuple(pairs.tolist()))
    src, dst, rate = joined_links(topology)
    way = _distances(topology.num_nodes, src, dst, lengths, source)
    # Whole numbers all the way: a sum of floats would be off in the last places.
    crossed = int(np.dot(way[source, target].astype(np.int64).astype(object), nbytes.astype(object)))
    room = int(np.dot(lengths.astype(object), rate))
    return [(Fraction(crossed * 10**6, room), _named(topology, src, dst, lengths))], complete


@lru_cache(maxsize=64)
def _best_lengths(topology: Topology, pairs: tuple[int, ...]) -> tuple[np.ndarray, bool]:
    """Return the best integer lengths of the joined links for equal demands of all pairs, and whether they are best."""
    src, dst, rate = joined_links(topology)
    source, target = np.divmod(np.array(pairs, np.int64), topology.num_npus)
    room = rate.astype(float) / float(max(rate))

    def value(lengths: np.ndarray) -> float:
        """Return the bound of some lengths, in units of one demand over the fastest link."""
        way = _distances(topology.num_nodes, src, dst, lengths, source)
        return float(way[source, target].sum() / (lengths @ room))

    # As long as a unit takes, or each as long as the next: right where all links are alike.
    tried = [_whole(1.0 / room), np.ones(len(room), np.int64)]
    best = max(tried, key=value)
    if len(np.unique(source)) * len(room) > _MOST_SEARCHED:
        return best, False
    search = _Search(topology.num_nodes, src, dst, room, source, target)
    found, complete = search.run(best / (best @ room))
    return max([_whole(found), best], key=value), complete


class _Search:
    """The cutting planes for one network."""

    def __init__(
        self, num_nodes: int, src: np.ndarray, dst: np.ndarray, room: np.ndarray, source: np.ndarray, target: np.ndarray
    ) -> None:
        import highspy

        self.num_nodes, self.src, self.dst, self.room = num_nodes, src, dst, room
        self.sources, row_of = np.unique(source, return_inverse=True)
        self.wanted = np.zeros((len(self.sources), num_nodes))
        np.add.at(self.wanted, (row_of, target), 1.0)
        self.into, self.out_of = (_incidence(ends, num_nodes) for ends in (dst, src))
        links, count = len(src), len(self.sources)
        self.highs: Any = highspy.Highs()
        self.highs.silent()
        for option, setting in (("threads", 1), ("parallel", "off")):
            self.highs.setOptionValue(option, setting)
        self.highs.addVars(links + count, np.zeros(links + count), np.full(links + count, highspy.kHighsInf))
        self.highs.changeColsCost(count, np.arange(links, links + count, dtype=np.int32), np.full(count, -1.0))
        self.highs.addRow(1.0, 1.0, links, np.arange(links, dtype=np.int32), room)
        self.infinity = highspy.kHighsInf
        self.optimal = highspy.HighsModelStatus.kOptimal

    def run(self, lengths: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the best lengths found, from some that use up a room of 1, and whether they are proven best."""
        best, best_value = lengths, 0.0
        for _ in range(min(_ROUNDS, _MOST_ROWS // len(self.sources))):
            loads = self._loads(lengths)
            value = float((loads @ lengths).sum())
            if value > best_value:
                best, best_value = lengths, value
            for place, load in enumerate(loads):
                used = np.flatnonzero(load)
                columns = np.append(used, len(self.src) + place).astype(np.int32)
                self.highs.addRow(0.0, self.infinity, len(columns), columns, np.append(load[used], -1.0))
            self.highs.run()
            if self.highs.getModelStatus() != self.optimal:
                return best, False
            possible = -self.highs.getInfo().objective_function_value
            if possible <= best_value * (1 + _GAIN):
                return best, True
            lengths = np.maximum(np.array(self.highs.getSolution().col_value[: len(self.src)]), 0.0)
        return best, False

    def _loads(self, lengths: np.ndarray) -> np.ndarray:
        """Return (sources, links): what each link carries where every source spreads evenly over its shortest paths."""
        longest = float(lengths.max())
        # Links of no length count as very short, so that shortest paths do not go round in circles.
        lengths = np.maximum(lengths, longest * _SHORT)
        way = _dijkstra(self.num_nodes, self.src, self.dst, lengths, self.sources)
        on_path = (way[:, self.src] + lengths) - way[:, self.dst] <= longest * _SHORT / 10
        ways_in = on_path @ self.into
        share = on_path / np.maximum(ways_in, 1)[:, self.dst]
        loads, passing = np.zeros(on_path.shape), self.wanted
        while passing.any():
            moved = share * passing[:, self.dst]
            loads += moved
            passing = moved @ self.out_of
        return loads


def _dijkstra(num_nodes: int, src: np.ndarray, dst: np.ndarray, lengths: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return (sources, nodes) float64, the lengths of shortest paths; a length may be zero."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(csr_array((lengths.astype(float), (src, dst)), (num_nodes, num_nodes)), indices=sources))


def _distances(num_nodes: int, src: np.ndarray, dst: np.ndarray, lengths: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return (nodes, nodes) float64, finite in the rows of sources: exact sums of integer lengths."""
    sources = np.unique(source)
    result = np.full((num_nodes, num_nodes), np.inf)
    result[sources] = _dijkstra(num_nodes, src, dst, lengths, sources)
    return result


def _incidence(ends: np.ndarray, num_nodes: int) -> Any:
    """Return (links, nodes), 1 where a link has that end."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(ends)), (np.arange(len(ends)), ends)), (len(ends), num_nodes))


def _whole(lengths: np.ndarray) -> np.ndarray:
    """Return integers in nearly the same proportions; what is next to nothing becomes nothing."""
    return np.rint(lengths / lengths.max() * _LONGEST).astype(np.int64)


def _named(topology: Topology, src: np.ndarray, dst: np.ndarray, lengths: np.ndarray) -> str:
    """Return a phrase for the links that have a length, the longest first."""
    count = int((lengths > 0).sum())
    order = np.argsort(-lengths, kind="stable")[: min(count, _NAMED)]
    names = ", ".join(f"{topology.node_name(int(src[at]))} → {topology.node_name(int(dst[at]))}" for at in order)
    return (
        f"flows from NPU to NPU over {count} link{'' if count == 1 else 's'} ({names}{', …' if count > _NAMED else ''})"
    )
