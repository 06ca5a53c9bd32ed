"""The network of an algorithm's own connections: a link for each pair of GPUs of which one sends to the other."""

from __future__ import annotations

import numpy as np

from schedules.msccl.algorithm import Algorithm
from topologies import Topology


def connections_of(algorithm: Algorithm) -> Topology:
    """Return a network with a link for each connection; its speeds mean nothing, for the file says none."""
    pairs = sorted(
        {
            (number, block.send)
            for number, gpu in enumerate(algorithm.gpus)
            for block in gpu.threadblocks
            if block.send >= 0
        }
    )
    src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
    return Topology(len(algorithm.gpus), src, dst, np.zeros(len(pairs)), np.ones(len(pairs)), name="connections")
