"""Shared by the topology tests: distances, and the exact AllGather optimum by cuts, without the code under test."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from topologies import Topology


def _hops(topology: Topology) -> np.ndarray:
    """Return the (nodes, nodes) least numbers of links between nodes, infinite where there is no way."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    shape = (topology.num_nodes, topology.num_nodes)
    graph = coo_array((np.ones(topology.num_links), (topology.src, topology.dst)), shape=shape).tocsr()
    hops: np.ndarray = shortest_path(graph, method="D", unweighted=True)
    return hops


def _allgather_gbps(topology: Topology) -> float:
    """Return N / max over S of |S ∩ NPUs| / B⁺(S) by Newton steps over min cuts (ForestColl, arXiv 2402.06787)."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    npus, source = topology.num_npus, topology.num_nodes
    links = list(
        zip(topology.src.tolist(), topology.dst.tolist(), (topology.bandwidth_gbps * 1000).tolist(), strict=True)
    )
    assert all(capacity == round(capacity) for _, _, capacity in links), "bandwidths are whole MB/s"
    ratio = Fraction(npus - 1, int(min(topology.ingress_gbps(npu) for npu in range(npus)) * 1000))
    for sink in range(npus):
        while True:
            flow = SimpleMaxFlow()
            for a, b, capacity in links:
                flow.add_arc_with_capacity(a, b, int(capacity) * ratio.numerator)
            for npu in range(npus):
                flow.add_arc_with_capacity(source, npu, ratio.denominator)
            assert flow.solve(source, sink) == SimpleMaxFlow.OPTIMAL
            if flow.optimal_flow() >= npus * ratio.denominator:
                break
            side = set(flow.get_source_side_min_cut()) - {source}
            leaving = sum(int(capacity) for a, b, capacity in links if a in side and b not in side)
            ratio = Fraction(sum(node < npus for node in side), leaving)
    return float(npus / ratio / 1000)


@pytest.fixture
def allgather_gbps() -> Callable[[Topology], float]:
    """Give the function that computes the AllGather optimum in GB/s of algbw."""
    return _allgather_gbps


@pytest.fixture
def hops() -> Callable[[Topology], np.ndarray]:
    """Give the function that counts the links between all nodes."""
    return _hops


@pytest.fixture
def case_file() -> Callable[[str], Path]:
    """Give the function that finds a file of the shared cases, or skips where they are absent."""

    def find(name: str) -> Path:
        path = Path(__file__).parents[3] / "shared" / "cases" / "topologies" / name
        if not path.exists():
            pytest.skip(f"the shared case {name} is not here")
        return path

    return find
