"""What a strategy makes servers send in one iteration, and how long they compute.

As TopoOpt (NSDI 2023) and FlexFlow (MLSys 2019), on whose strategies it builds, see it:

- A layer that every server has: its gradient is added up by all of them, an AllReduce of its parameters.
- A table that every server has: the same, and of all its rows: gradients are dense.
- A table that one server has: the owner sends each other server the vectors of its batch, one for each sample, and gets
  the gradients of those vectors back. Indices, 8 bytes a lookup, are not counted.
- A layer shared by g servers: they do the batches of all g together. For its own batch each sends the inputs to the
  others and gets their shares of the outputs; backwards, each sends the gradients of those shares and gets back what
  the others' shares say of its inputs. That is as much, the other way. Outputs go home even if the next layer is shared
  by the same servers, so that layers do not depend on each other. The servers with equal shares add up their
  gradients: an AllReduce of every g-th server.
"""

from __future__ import annotations

import numpy as np

from experiments.workloads.holding import Strategy, require, shares
from experiments.workloads.model import Workload
from topologies import Demand


def forward_bytes(workload: Workload, strategy: Strategy, servers: int) -> np.ndarray:
    """Return the bytes that each server (row) sends to each other one (column) in the forward pass.

    The backward pass sends the same in the opposite direction.

    Parameters
    ----------
    workload : Workload
    strategy : Strategy
    servers : int

    Returns
    -------
    (servers, servers) int array

    Raises
    ------
    WorkloadError
        See `demand`.
    """
    require(workload, strategy, servers)
    vectors = np.zeros(servers, np.int64)
    for table, owner in zip(workload.tables, strategy.owners, strict=True):
        if owner is not None:
            vectors[owner] += table.width
    values = np.repeat(vectors[:, None], servers, axis=1)
    within: dict[int, np.ndarray] = {}
    for layer, split in zip(workload.layers, strategy.splits, strict=True):
        if split > 1:
            share = shares(layer, split) * (layer.output_values // layer.width)
            within.setdefault(split, np.zeros(split, np.int64))
            within[split] += layer.repeat * (layer.input_values + share)
    for split, sent in within.items():
        values += np.kron(np.eye(servers // split, dtype=np.int64), np.repeat(sent[:, None], split, axis=1))
    np.fill_diagonal(values, 0)
    return values * (workload.batch * workload.bytes_per_value)


def demand(workload: Workload, strategy: Strategy, servers: int) -> Demand:
    """Return what one iteration must move.

    Parameters
    ----------
    workload : Workload
    strategy : Strategy
    servers : int
        Two or more.

    Returns
    -------
    Demand
        A group of all servers, if there is one, comes first; then those of smaller and smaller splits' shards, by
        their first server. Groups of layers split alike are one.

    Raises
    ------
    WorkloadError
        The strategy is not one for these servers, or does not fit into their memory.
    """
    forward = forward_bytes(workload, strategy, servers)
    added: dict[int, np.ndarray] = {1: np.zeros(1, np.int64)}
    for layer, split in zip(workload.layers, strategy.splits, strict=True):
        added.setdefault(split, np.zeros(split, np.int64))
        added[split] += layer.repeat * (layer.parameters // layer.width) * shares(layer, split)
    for table, owner in zip(workload.tables, strategy.owners, strict=True):
        if owner is None:
            added[1] += table.parameters
    groups, sizes = [], []
    for split in sorted(added):
        for first, parameters in enumerate(added[split].tolist()):
            if parameters and split < servers:
                groups.append(range(first, servers, split))
                sizes.append(parameters * workload.bytes_per_value)
    return Demand(servers, groups, sizes, forward + forward.T)


def compute_s(workload: Workload, strategy: Strategy, servers: int) -> float:
    """Return the seconds for which the busiest server computes in one iteration, forward and backward.

    Layers take the same whoever shares them: g servers do 1/g each of g batches. A server reads the rows of its own
    tables for all batches, and of those that every server has for its own batch, at the bandwidth of its memory;
    backwards it reads and writes them. Updates of weights are not counted.

    Parameters
    ----------
    workload : Workload
    strategy : Strategy
    servers : int

    Raises
    ------
    WorkloadError
        See `demand`.
    """
    require(workload, strategy, servers)
    values = np.zeros(servers)
    for table, owner in zip(workload.tables, strategy.owners, strict=True):
        of_batch = workload.batch * table.lookups * table.width
        if owner is None:
            values += of_batch
        else:
            values[owner] += servers * of_batch
    read_s = 3 * float(values.max()) * workload.bytes_per_value / (workload.server.memory_gbps * 1e9)
    return workload.layer_s + read_s
