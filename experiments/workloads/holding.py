"""Who holds what: which server keeps which table, how many servers share a layer, and what memory that takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.workloads.model import Layer, Workload, WorkloadError


@dataclass(frozen=True)
class Strategy:
    """How a workload is spread over servers.

    Attributes
    ----------
    owners : tuple of int or None
        For each table the server that holds it; None: every server has a copy.
    splits : tuple of int
        For each entry of the layers how many consecutive servers share it; 1: every server has all of it. Servers
        0…g−1 share one copy, g…2g−1 the next, and so on: a split divides the number of servers.
    """

    owners: tuple[int | None, ...]
    splits: tuple[int, ...]


def splits_of(layer: Layer, servers: int) -> list[int]:
    """Return the splits that a layer can have: divisors of the number of servers, at most a unit for each server."""
    return [split for split in range(1, min(servers, layer.width) + 1) if servers % split == 0]


def shares(layer: Layer, split: int) -> np.ndarray:
    """Return how many units of a layer each of the servers that share it has; the first ones have the remainder."""
    each, rest = divmod(layer.width, split)
    return each + (np.arange(split) < rest)


def memory_bytes(workload: Workload, strategy: Strategy, servers: int) -> np.ndarray:
    """Return the memory that each server needs, in bytes.

    Weights and dense gradients of layers and of tables that all have; the weights only of a table that one has, since
    its gradient is applied row by row; and the outputs of all layers and tables for one batch, kept for the backward
    pass. Optimisers are without state (plain SGD).

    Parameters
    ----------
    workload : Workload
    strategy : Strategy
    servers : int
    """
    held = np.full(servers, workload.batch * workload.activation_values, np.int64)
    for layer, split in zip(workload.layers, strategy.splits, strict=True):
        shard = layer.repeat * (layer.parameters // layer.width) * shares(layer, split)
        held += 2 * np.tile(shard, servers // split)
    for table, owner in zip(workload.tables, strategy.owners, strict=True):
        if owner is None:
            held += 2 * table.parameters
        else:
            held[owner] += table.parameters
    return held * workload.bytes_per_value


def require(workload: Workload, strategy: Strategy, servers: int) -> None:
    """Refuse a strategy that is not one for these servers, or that does not fit into their memory.

    Raises
    ------
    WorkloadError
        Fewer than two servers, an owner or split for what is not there, a server out of range, a split that does not
        divide the servers or that a layer cannot have, or more bytes than a server has.
    """
    if servers < 2:
        raise WorkloadError(f"{workload.name} on {servers} servers; expected two or more")
    for what, given, things in (
        ("owners", strategy.owners, workload.tables), ("splits", strategy.splits, workload.layers),
    ):  # fmt: skip
        if len(given) != len(things):
            raise WorkloadError(f"strategy: {len(given)} {what} for the {len(things)} of {workload.name}")
    for table, owner in zip(workload.tables, strategy.owners, strict=True):
        if owner is not None and not 0 <= owner < servers:
            raise WorkloadError(f"strategy: {table.name} on server {owner}; expected 0…{servers - 1}, or None for all")
    for layer, split in zip(workload.layers, strategy.splits, strict=True):
        if not (1 <= split <= min(servers, layer.width) and servers % split == 0):
            known = ", ".join(map(str, splits_of(layer, servers)))
            raise WorkloadError(f"strategy: {layer.name} shared by {split} servers; expected one of {known}")
    needed = memory_bytes(workload, strategy, servers)
    worst = int(needed.argmax())
    if needed[worst] > workload.server.memory_bytes:
        pairs = zip(workload.tables, strategy.owners, strict=True)
        copied = sum(table.parameters for table, owner in pairs if owner is None) * workload.bytes_per_value
        why = f" (copies of tables {copied / 1e9:.2f} GB, their gradients as much)" if copied else ""
        hint = "place tables on one server each" if copied else "take more servers or split layers"
        raise WorkloadError(f"{workload.name}: server {worst} would hold {needed[worst] / 1e9:.2f} GB{why} but has "
                            f"{workload.server.memory_bytes / 1e9:g} GB; {hint}, or give it more memory")  # fmt: skip
