"""Collectives by name, and custom ones by their conditions: how a user builds what a schedule must achieve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from schedules.collective import Collective
from topologies.exceptions import CollectiveError


def collective(
    kind: str,
    num_npus: int,
    *,
    groups: Sequence[Sequence[int]] | None = None,
    chunks: int = 1,
    root: int = 0,
    shards: int = 0,
    pairs: Sequence[Sequence[int]] = (),
) -> Collective:
    """Return a collective by its name.

    Parameters
    ----------
    kind : str
        ``all_gather``, ``reduce_scatter``, ``all_reduce``, ``all_to_all``, ``broadcast``, ``reduce``, ``gather``,
        ``scatter`` or ``send_recv``.
    num_npus : int
        NPUs of the network.
    groups : sequence of sequences of int, optional
        Disjoint groups in rank order; one group of all NPUs by default.
    chunks, root, shards, pairs
        See `Collective`.

    Raises
    ------
    CollectiveError
        An unknown kind, a member or root out of range, overlapping groups, no groups or chunks, groups or pairs for a
        kind that takes none.
    """
    if kind == "custom":
        raise CollectiveError("a custom collective has no name to build it by; give its conditions to custom()")
    if groups is None:
        groups = () if kind == "send_recv" else (range(num_npus),)
    return Collective(kind, num_npus, tuple(groups), chunks, root, shards, tuple(pairs))  # type: ignore[arg-type]


def custom(
    num_npus: int,
    initial: Sequence[Iterable[int]],
    final: Sequence[Iterable[int]],
    *,
    reduces: bool = False,
    weights: Sequence[int] | None = None,
) -> Collective:
    """Return a collective from its conditions.

    Parameters
    ----------
    num_npus : int
        NPUs of the network.
    initial, final : sequences of iterables of int
        For each chunk, the NPUs that hold it (or a contribution to it) before, and those that must hold it after.
    reduces : bool
        Whether the contributions of all initial holders are added up.
    weights : sequence of int, optional
        Relative chunk sizes; the size of the collective is split over all chunks.

    Raises
    ------
    CollectiveError
        Lists of different length, a chunk that nobody holds, an NPU out of range.
    """
    known: dict[object, tuple[int, ...]] = {}  # sets that come again, as the same tuples
    before, after = (tuple(_ascending(npus, known) for npus in sets) for sets in (initial, final))
    if len(before) != len(after):
        raise CollectiveError(
            f"custom: {len(before)} initial and {len(after)} final sets; expected one of each a chunk"
        )
    for chunk, (holders, wanted) in enumerate(zip(before, after, strict=True)):
        if not holders and wanted:
            raise CollectiveError(f"custom: nobody holds chunk {chunk} at the start")
        for npu in (*holders, *wanted):
            if not 0 <= npu < num_npus:
                raise CollectiveError(f"custom: chunk {chunk} names NPU {npu}; the network has 0…{num_npus - 1}")
    given = None if weights is None else np.asarray(weights, dtype=None if len(weights) else np.int64)
    return Collective("custom", num_npus, (), weights=given, conditions=(before, after, bool(reduces)))


def _ascending(npus: Iterable[int], known: dict[object, tuple[int, ...]]) -> tuple[int, ...]:
    """Return a set as ascending numbers; a tuple that was seen before as the same object."""
    if not isinstance(npus, tuple):
        return tuple(sorted({int(npu) for npu in npus}))
    if npus not in known:
        known[npus] = tuple(sorted({int(npu) for npu in npus}))
    return known[npus]
