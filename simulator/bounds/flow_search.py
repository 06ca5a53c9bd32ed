"""The multi-commodity flow LP, flows aggregated by source: the best lengths of links, and flows that load them least.

Lengths y_e ≥ 0 that use up Σ B_e·y_e = 1 bound the time by Σ_s z_s, where z_s, the cost of source s, is no more than
Σ_e load(e)·y_e for any loads by which the source could send. Cutting planes find the best: each round adds, for every
source, the loads of its shortest paths under the lengths at hand (even over those equally short), and HiGHS solves the
small LP that results. Its dual values say in which proportions to mix the loads of the rounds: that is a flow, and once
no path is shorter than the LP thinks, one that takes the least time of all (Dantzig-Wolfe decomposition).
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Rounds, and the share of the time that one more round must still be able to gain.
_ROUNDS, _GAIN = 60, 1e-9

#: Rounds end before as many rows as this.
_MOST_ROWS = 6_000

#: Links shorter than this share of the longest count as so long in the search.
_SHORT = 1e-11


class FlowSearch:
    """The cutting planes for one network.

    Parameters
    ----------
    num_nodes : int
    src, dst : (E,) int arrays
        Ends of the links, parallel ones joined.
    room : (E,) float array
        Bandwidth of each link, in some unit.
    sources : (S,) int array
    wanted : (S, num_nodes) float array
        What each source sends to each node.
    alike : (E,) int array, optional
        Numbers 0, 1, … of kinds of links, where a symmetry carries the one source to all others and links to links of
        their kind: those then get one length and one load, which is what the source puts on all of them.
    detours : float, optional
        How much the mean time of the links counts, the last link's counting for the rest: with a little, flows that
        are done equally early, or nearly, go the shorter ways. Lengths then have this share of the room spread evenly
        over them at least, so that they are not the best for a bound.
    """

    def __init__(
        self,
        num_nodes: int,
        src: np.ndarray,
        dst: np.ndarray,
        room: np.ndarray,
        sources: np.ndarray,
        wanted: np.ndarray,
        alike: np.ndarray | None = None,
        detours: float = 0.0,
    ) -> None:
        import highspy

        self.num_nodes, self.src, self.dst, self.sources, self.wanted = num_nodes, src, dst, sources, wanted
        self.alike = np.arange(len(src)) if alike is None else alike
        self.kinds = int(self.alike.max(initial=-1)) + 1
        self.room = np.zeros(self.kinds)
        self.room[self.alike] = room
        self.into, self.out_of = (_incidence(ends, num_nodes) for ends in (dst, src))
        self.patterns: list[np.ndarray] = []
        count = len(sources)
        self.highs: Any = highspy.Highs()
        self.highs.silent()
        for option, setting in (("threads", 1), ("parallel", "off")):
            self.highs.setOptionValue(option, setting)
        columns = self.kinds + count
        least = np.append(detours / (self.kinds * self.room), np.zeros(count))
        self.highs.addVars(columns, least, np.full(columns, highspy.kHighsInf))
        self.highs.changeColsCost(count, np.arange(self.kinds, columns, dtype=np.int32), np.full(count, -1.0))
        self.highs.addRow(1.0, 1.0, self.kinds, np.arange(self.kinds, dtype=np.int32), self.room)
        self.infinity = highspy.kHighsInf
        self.optimal = highspy.HighsModelStatus.kOptimal

    def run(self, lengths: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the best lengths found, from some positive ones, and whether they are proven best.

        Parameters
        ----------
        lengths : (E,) array
            In any unit; equal for links of one kind.
        """
        by_kind = np.zeros(self.kinds)
        by_kind[self.alike] = lengths
        by_kind /= by_kind @ self.room
        best, best_value = by_kind, 0.0
        for _ in range(max(1, min(_ROUNDS, _MOST_ROWS // len(self.sources)))):
            loads = self._loads(by_kind[self.alike])
            value = float((loads @ by_kind[self.alike]).sum())
            if value > best_value:
                best, best_value = by_kind, value
            for place, load in enumerate(loads):
                of_kind = np.bincount(self.alike, load, self.kinds)
                used = np.flatnonzero(of_kind)
                columns = np.append(used, self.kinds + place).astype(np.int32)
                self.highs.addRow(0.0, self.infinity, len(columns), columns, np.append(of_kind[used], -1.0))
            self.patterns.append(loads)
            self.highs.run()
            if self.highs.getModelStatus() != self.optimal:
                return best[self.alike], False
            possible = -self.highs.getInfo().objective_function_value
            if possible <= best_value * (1 + _GAIN):
                return best[self.alike], True
            by_kind = np.maximum(np.array(self.highs.getSolution().col_value[: self.kinds]), 0.0)
        return best[self.alike], False

    def flows(self) -> np.ndarray:
        """Return (S, E): what each source sends over each link in the best mix of the rounds so far."""
        dual = np.array(self.highs.getSolution().row_dual[1:])
        part = np.zeros((len(self.patterns), len(self.sources)))
        part.flat[: len(dual)] = np.maximum(dual, 0.0)
        total = part.sum(axis=0)
        part[:, total <= 0] = 1.0
        part /= part.sum(axis=0)
        return np.asarray(sum(each[:, None] * loads for each, loads in zip(part, self.patterns, strict=True)))

    def _loads(self, lengths: np.ndarray) -> np.ndarray:
        """Return (sources, links): what each link carries where every source spreads evenly over its shortest paths."""
        longest = float(lengths.max())
        # Links of no length count as very short, so that shortest paths do not go round in circles.
        lengths = np.maximum(lengths, longest * _SHORT)
        way = shortest_lengths(self.num_nodes, self.src, self.dst, lengths, self.sources)
        on_path = (way[:, self.src] + lengths) - way[:, self.dst] <= longest * _SHORT / 10
        ways_in = on_path @ self.into
        share = on_path / np.maximum(ways_in, 1)[:, self.dst]
        loads, passing = np.zeros(on_path.shape), self.wanted
        while passing.any():
            moved = share * passing[:, self.dst]
            loads += moved
            passing = moved @ self.out_of
        return loads


def shortest_lengths(
    num_nodes: int, src: np.ndarray, dst: np.ndarray, lengths: np.ndarray, sources: np.ndarray
) -> np.ndarray:
    """Return (sources, nodes) float64, the lengths of shortest paths; a length may be zero."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(csr_array((lengths.astype(float), (src, dst)), (num_nodes, num_nodes)), indices=sources))


def _incidence(ends: np.ndarray, num_nodes: int) -> Any:
    """Return (links, nodes), 1 where a link has that end."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(ends)), (np.arange(len(ends)), ends)), (len(ends), num_nodes))
