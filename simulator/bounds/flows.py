"""AllToAll's bound: data that goes from one NPU to one other needs room on links for every step of its way.

Give each link e a length y_e ≥ 0. A byte from s to t crosses links of total length dist_y(s, t) at least, and in time T
the links offer T · Σ B_e·y_e, so T ≥ Σ bytes(s, t)·dist_y(s, t) / Σ B_e·y_e whatever the lengths. The best lengths make
this the multi-commodity flow optimum (its LP dual; F. Shahrokhi, D. W. Matula, J. ACM 37(2), 1990). They are searched
for by `simulator.bounds.flow_search`, then rounded to integers, and the bound is taken exactly, so that no tolerance of
a solver gets into it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from simulator.bounds.cuts import joined_links
from simulator.bounds.demands import Demands
from simulator.bounds.flow_search import FlowSearch, shortest_lengths
from simulator.bounds.ingress import Candidate
from topologies import Topology

#: Sources × joined links above which lengths are not searched but tried, and pairs of nodes above which nothing is.
_MOST_SEARCHED, _MOST_TRIED = 40_000, 2**21

#: The greatest length; sums of lengths along a path stay exact in double precision.
_LONGEST = 2**24

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
    sources, row = np.unique(source, return_inverse=True)
    wanted = np.zeros((len(sources), topology.num_nodes))
    np.add.at(wanted, (row, target), 1.0)
    found, complete = FlowSearch(topology.num_nodes, src, dst, room, sources, wanted).run(best)
    return max([_whole(found), best], key=value), complete


def _distances(num_nodes: int, src: np.ndarray, dst: np.ndarray, lengths: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return (nodes, nodes) float64, finite in the rows of sources: exact sums of integer lengths."""
    sources = np.unique(source)
    result = np.full((num_nodes, num_nodes), np.inf)
    result[sources] = shortest_lengths(num_nodes, src, dst, lengths, sources)
    return result


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
