"""What the matching kernels need of a network, and one trial: a rule and a seed on it.

The paper's problem (AllGather, Broadcast): some NPUs hold chunks, every NPU wants them all, links are point to point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.link_model import MAX_PS, wire_ps
from synthesizers.tacos.boxes import boxes_of, gates
from synthesizers.translations import Translations, translations_of
from topologies import Topology
from topologies.memory import require_memory

RULES = ("oldest", "newest", "rarest", "random")

#: The rule of `synthesizers.tacos.translated`, which matches no chunks link by link.
TRANSLATED = "translated"

#: Entries of a log that links have yet to look at, at most, as a rule.
_LAG = 2**14

#: NPUs for each thread that goes step by step: with fewer it is over before it has begun.
_PART = 256

#: Words of holdings, 64 chunks each, that two cores' own caches keep well enough to go step by step.
_NEAR = 2**20


@dataclass(frozen=True)
class Trial:
    """One run of the matching.

    Attributes
    ----------
    rule : str
        One of `RULES`, or `TRANSLATED`.
    skip_slow : bool
        Leave a slow link idle where faster ones do sooner.
    seed : int
    once : bool
        Let each chunk enter each box, a part of the network joined by its faster links, once only.
    """

    rule: str
    skip_slow: bool
    seed: int
    once: bool = False


@dataclass(frozen=True)
class Matching:
    """The outcome of a trial: hops in order of start, and when the last one arrives."""

    chunk: np.ndarray
    link: np.ndarray
    time_ps: int


@dataclass(frozen=True)
class Network:
    """A point-to-point network with chunks to spread.

    Parameters
    ----------
    topology : Topology
        No switches.
    holders : (C,) int array
        The NPU that holds each chunk at the start.
    chunk_bytes : int
        Bytes of a chunk; of the largest where they differ, so that what is planned is never too short.
    """

    topology: Topology
    holders: np.ndarray
    chunk_bytes: int

    @cached_property
    def duration(self) -> np.ndarray:
        """(L,) int64: picoseconds that a chunk takes on each link."""
        return self.topology.latency_ps + wire_ps(np.array(self.chunk_bytes), self.topology.bytes_per_s)

    @cached_property
    def transfers(self) -> int:
        """Deliveries that must be made: each chunk to all but its holder."""
        return len(self.holders) * (self.topology.num_npus - 1)

    @property
    def even(self) -> bool:
        """Whether all links take equally long."""
        return bool((self.duration == self.duration[:1]).all())

    @property
    def holding_words(self) -> int:
        """Words of a bit for each chunk of each NPU."""
        return self.topology.num_npus * ((len(self.holders) + 63) // 64)

    @property
    def near(self) -> bool:
        """Whether holdings are so few that an even network is best matched step by step."""
        return self.holding_words <= _NEAR

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(in_start, in_links fastest first, first_start, first_chunks, queue_of) for the kernels."""
        topology = self.topology
        in_start = topology.in_links[0]
        in_links = np.lexsort((np.arange(topology.num_links), self.duration, topology.dst)).astype(np.int32)
        first_chunks = np.argsort(self.holders, kind="stable").astype(np.int32)
        first_start = np.zeros(topology.num_npus + 1, np.int64)
        np.cumsum(np.bincount(self.holders, minlength=topology.num_npus), out=first_start[1:])
        queue_of = np.unique(self.duration, return_inverse=True)[1].astype(np.int32)
        return in_start, in_links, first_start, first_chunks, queue_of

    @cached_property
    def translations(self) -> Translations | None:
        """What carries one NPU's links and chunks to those of all others; None where NPUs are not all alike."""
        npus = self.topology.num_npus
        alike = np.array_equal(self.holders, np.repeat(np.arange(npus), len(self.holders) // npus))
        return translations_of(self.topology) if alike else None

    @cached_property
    def boxes(self) -> np.ndarray:
        """(levels, num_npus) int: the boxes of each NPU, numbered through, those of the fastest links first."""
        return boxes_of(self.topology)

    def gates(self, once: bool) -> tuple[np.ndarray, np.ndarray, int]:
        """Return (gate_of, box_of, num_boxes) for the kernel; no boxes unless chunks enter each of them once."""
        return gates(self.topology, self.boxes if once else np.empty((0, self.topology.num_npus), np.int32))

    @cached_property
    def ingress_bound_ps(self) -> int:
        """The time before which the in-links of some NPU cannot have brought what it wants: reaching it is optimal."""
        topology = self.topology
        wanted = len(self.holders) - np.bincount(self.holders, minlength=topology.num_npus)
        # A link that takes no time (no latency, no bytes) brings at once all that is wanted; no link brings nothing.
        wanted[topology.dst[self.duration == 0]] = 0
        links_in = np.bincount(topology.dst, minlength=topology.num_npus)
        wanted[links_in == 0] = 0
        rate = np.bincount(topology.dst, 1 / np.maximum(self.duration, 1), topology.num_npus)
        rate[links_in == 0] = 1
        # Rounded down, each link brings at most one chunk less than its rate says. Floats are right to 15 digits; what
        # takes longer than any schedule may need not be known.
        low = np.floor(np.minimum(wanted / rate * (1 - 1e-9), 2.0**61)).astype(np.int64)
        high = np.ceil(np.minimum((wanted + links_in) / rate * (1 + 1e-9), 2.0**61)).astype(np.int64)
        high[wanted == 0] = low[wanted == 0]
        worst = np.flatnonzero(high >= low.max(initial=0))  # the others end before
        links = np.flatnonzero(np.isin(topology.dst, worst))
        into, duration = np.searchsorted(worst, topology.dst[links]), np.maximum(self.duration[links], 1)
        low, high, wanted = low[worst], high[worst], wanted[worst]
        while (low < high).any():
            middle = (low + high) // 2
            enough = np.bincount(into, middle[into] // duration, len(worst)) >= wanted
            high = np.where(enough, middle, high)
            low = np.where(enough, low, np.minimum(middle + 1, high))
        return int(high.max(initial=0))

    def bytes_needed(self, trial: Trial) -> int:
        """Return about how many bytes a run of a trial takes at its peak: its columns, and what only the run needs."""
        npus, chunks = self.topology.num_npus, len(self.holders)
        chunk_bytes, link_bytes = (column.itemsize for column in self._column_types)
        holdings = self.holding_words * 8 * (2 if trial.skip_slow else 1)
        # In rounds, logs are only as long as links lag behind: much less than a row of all chunks.
        in_rounds = trial.rule == "oldest" and self.even and not self.near
        logs = npus * (min(2 * chunks, _LAG) if in_rounds else chunks + 1) * chunk_bytes
        # NPUs and links have some words of their own, and the hops of a round that are not yet in the columns.
        return self.transfers * (chunk_bytes + link_bytes) + logs + holdings + 128 * (npus + self.topology.num_links)

    @property
    def _column_types(self) -> tuple[np.dtype, np.dtype]:
        """The types of a matching's chunks and links: the narrowest, as in schedules."""
        short, long = np.dtype(np.uint16), np.dtype(np.uint32)
        return short if len(self.holders) <= 2**16 else long, short if self.topology.num_links <= 2**16 else long

    def run(self, trial: Trial, cutoff_ps: int = MAX_PS, threads: int = 1) -> Matching | None:
        """Return the matching of a trial; None where it takes longer than `cutoff_ps` or cannot be completed.

        The matching does not depend on the number of threads.

        Raises
        ------
        MemoryShortage
            It would not fit in memory.
        """
        if trial.rule == TRANSLATED:
            return self._carried(trial, cutoff_ps)
        topology = self.topology
        require_memory(self.bytes_needed(trial), f"TACOS: {self.transfers:,} transfers among {topology.num_npus} NPUs")
        in_start, in_links, first_start, first_chunks, queue_of = self._columns
        chunks = len(self.holders)
        chunk, link = (np.empty(self.transfers, of_type) for of_type in self._column_types)
        if trial.rule == "oldest" and self.even:
            from synthesizers.tacos.even import match_even, match_near

            span = int(self.duration[0]) if topology.num_links else 0
            if self.near:
                threads = min(threads, topology.num_npus // _PART)
            hops, steps = (match_near if self.near else match_even)(
                topology.num_npus, chunks, topology.src, in_start, in_links, first_start, first_chunks, trial.seed,
                cutoff_ps // max(span, 1), chunk, link, threads,
            )  # fmt: skip
            time = steps * span
        else:
            from synthesizers.tacos.matching import match

            out_start, out_links = topology.out_links
            hops, time = match(
                topology.num_npus, chunks, topology.src, topology.dst, in_start, in_links, out_start, out_links,
                self.duration, queue_of, int(queue_of.max(initial=-1)) + 1, first_start, first_chunks,
                *self.gates(trial.once), RULES.index(trial.rule), trial.skip_slow, trial.seed, cutoff_ps, chunk, link,
            )  # fmt: skip
        for column in (chunk, link):
            column.setflags(write=False)  # so that the schedule takes them over without a copy
        return Matching(chunk, link, int(time)) if hops == self.transfers else None

    def compile_rounds(self) -> None:
        """Compile what matches even networks step by step and in rounds, with few links and with many."""
        from synthesizers.tacos.even import match_even, match_near

        in_start, in_links, first_start, first_chunks, _ = self._columns
        for link_type in (np.uint16, np.uint32):
            chunk, link = np.empty(self.transfers, np.uint16), np.empty(self.transfers, link_type)
            for match in (match_near, match_even):
                match(self.topology.num_npus, len(self.holders), self.topology.src, in_start, in_links, first_start,
                      first_chunks, 0, MAX_PS, chunk, link, threads=2)  # fmt: skip

    def _carried(self, trial: Trial, cutoff_ps: int) -> Matching | None:
        """Return one NPU's trees, carried to all; None where that takes longer or NPUs are not all alike."""
        if self.translations is None:
            return None
        from synthesizers.tacos.translated import carried

        found = carried(
            self.translations, self.topology.dst, self.duration, self.boxes, trial.once,
            len(self.holders) // self.topology.num_npus, trial.seed, self.ingress_bound_ps, cutoff_ps,
        )  # fmt: skip
        return found and Matching(*found)
