"""What a collective makes necessary, whatever the schedule: bytes per pair of (initial set, final set).

All bounds read this table. It is built from shards, never from chunks, so no bound depends on the chunking (the chunks
that a custom collective was given are its shards).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from schedules import Collective


@dataclass(frozen=True, eq=False)
class Demands:
    """Rows of equal (initial set, final set).

    Attributes
    ----------
    num_npus : int
    reduces : bool
        Whether every initial holder contributes (else any one of them will do).
    initial, final : (D,) int64 arrays
        Sets before and after.
    nbytes, chunks : (D,) int64 arrays
        Bytes and chunks of all shards of the row.
    set_start, set_member : int arrays
        Set s is ``set_member[set_start[s]:set_start[s + 1]]``, ascending.
    """

    num_npus: int
    reduces: bool
    initial: np.ndarray
    final: np.ndarray
    nbytes: np.ndarray
    chunks: np.ndarray
    set_start: np.ndarray
    set_member: np.ndarray

    @cached_property
    def set_size(self) -> np.ndarray:
        """(sets,) int64."""
        return np.diff(self.set_start)

    def set_of(self, index: int) -> np.ndarray:
        """Return the NPUs of a set."""
        return self.set_member[self.set_start[index] : self.set_start[index + 1]]

    @cached_property
    def held_and_wanted(self) -> tuple[np.ndarray, np.ndarray]:
        """(row, npu) of every NPU that is in both sets of a row: members of the smaller set found in the larger."""
        swap = self.set_size[self.initial] > self.set_size[self.final]
        small, large = np.where(swap, self.final, self.initial), np.where(swap, self.initial, self.final)
        rows, npus = self._members(small)
        # Sets are stored one after another, each ascending, so these keys ascend.
        keys = np.repeat(np.arange(len(self.set_size)), self.set_size) * self.num_npus + self.set_member
        wanted = large[rows] * self.num_npus + npus
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found = keys[at] == wanted if len(keys) else np.zeros(0, bool)
        return rows[found], npus[found]

    def _members(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (position in `sets`, npu) of every member of each set listed."""
        size = self.set_size[sets]
        rows = np.repeat(np.arange(len(sets)), size)
        first = np.cumsum(size) - size
        return rows, self.set_member[self.set_start[sets][rows] + np.arange(len(rows)) - first[rows]].astype(np.int64)

    def into(self, amount: np.ndarray) -> np.ndarray:
        """Return (npus,) int64: how much of `amount` (per row) must enter each NPU at least once.

        That is what it must hold in the end, except what it holds already; a sum still has to come in, because the
        others' contributions do.
        """
        per_set = np.zeros(len(self.set_size), np.int64)
        np.add.at(per_set, self.final, np.where(self.set_size[self.initial] > 0, amount, 0))
        result = np.zeros(self.num_npus, np.int64)
        np.add.at(result, self.set_member, np.repeat(per_set, self.set_size))
        rows, npus = self.held_and_wanted
        alone = np.ones(len(rows), bool) if not self.reduces else self.set_size[self.initial[rows]] == 1
        np.subtract.at(result, npus[alone], amount[rows[alone]])
        return result

    def out_of(self, amount: np.ndarray) -> np.ndarray:
        """Return (npus,) int64: how much of `amount` (per row) must leave each NPU at least once.

        That is what nobody else can give: its contributions to sums, and what it alone holds.
        """
        due = self.set_size[self.final] > 0
        if not self.reduces:
            due &= self.set_size[self.initial] == 1
        per_set = np.zeros(len(self.set_size), np.int64)
        np.add.at(per_set, self.initial, np.where(due, amount, 0))
        result = np.zeros(self.num_npus, np.int64)
        np.add.at(result, self.set_member, np.repeat(per_set, self.set_size))
        rows, npus = self.held_and_wanted
        stays = due[rows] & (self.set_size[self.final[rows]] == 1)
        np.subtract.at(result, npus[stays], amount[rows[stays]])
        return result

    def crossing(self, inside: np.ndarray) -> int:
        """Return the bytes that must cross from the NPUs where `inside` ((npus,) bool) holds to the others."""
        in_set = np.repeat(np.arange(len(self.set_size)), self.set_size)
        within = np.bincount(in_set, inside[self.set_member], len(self.set_size)).astype(np.int64)
        all_within = within == self.set_size
        some = within[self.initial] > 0
        crosses = ~all_within[self.final] & (some if self.reduces else some & all_within[self.initial])
        return int(self.nbytes[crosses].sum())


def demands(collective: Collective, size: int) -> Demands:
    """Return what a collective of `size` bytes makes necessary.

    Raises
    ------
    CollectiveError
        A negative size.
    """
    per_shard = collective.chunks
    nbytes = collective.chunk_bytes(size) if size < 0 else collective.part_bytes(size)
    sets = max(len(collective.set_start) - 1, 1)
    key = collective.initial[::per_shard].astype(np.int64) * sets + collective.final[::per_shard]
    rows, row_of = np.unique(key, return_inverse=True)
    totals = np.zeros(len(rows), np.int64)
    np.add.at(totals, row_of, nbytes)
    chunks = np.bincount(row_of, minlength=len(rows)) * per_shard
    return Demands(
        collective.num_npus, collective.reduces, rows // sets, rows % sets, totals, chunks, collective.set_start,
        collective.set_member,
    )  # fmt: skip
