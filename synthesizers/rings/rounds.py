"""Chunks going round a ring, as columns: which chunk takes which step of the ring when."""

from __future__ import annotations

import numpy as np


def going_round(chunks: np.ndarray, begin: np.ndarray, ranks: int, hops: int) -> tuple[np.ndarray, ...]:
    """Return (moment, chunk, place) of every hop, moment by moment; int32 columns that may not be written to.

    Parameters
    ----------
    chunks : (parts, shards) int array
        Chunks of each shard.
    begin : (shards,) int array
        The place on the ring that the chunks of each shard leave first.
    ranks : int
        Places.
    hops : int
        How many each chunk makes.
    """
    moment = np.arange(hops, dtype=np.int32)[:, None, None]
    shape = (hops, *chunks.shape)
    columns = (moment, chunks.astype(np.int32), ((begin + moment) % ranks).astype(np.int32))
    return tuple(np.broadcast_to(column, shape).ravel() for column in columns)
