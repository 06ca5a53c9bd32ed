"""Tests of `disjoint_rings`: Hamiltonian, sharing no unit of a link, and found where theory has them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizers.rings import disjoint_rings
from synthesizers.rings.effort import Effort
from tests.synthesizers.rings.checks import loads, require_rings, total_gbps
from topologies import Topology, parse_topology


class TestDisjointRings:
    @pytest.mark.parametrize(
        ("name", "two_way", "expected"),
        [
            ("ring:8", True, 2),
            ("ring_one_way:8", False, 1),
            ("mesh:4x4", True, 2),
            ("torus:3x4", True, 4),  # every torus is two Hamiltonian circuits (Kotzig 1973)
            ("torus:4x4", True, 4),
            ("torus:5x5", True, 4),
            ("torus:8x8", True, 4),
            ("torus:4x4x4", True, 6),  # Cayley graphs of degree 6 on products of circuits (Foregger 1978)
            ("hypercube:3", True, 2),  # degree 3 leaves a perfect matching over
            ("hypercube:4", True, 4),  # even hypercubes decompose (Ringel 1955)
            ("hypercube:6", True, 6),
            ("fully_connected:7", True, 6),  # Walecki 1890: ⌊(n−1)/2⌋ circuits
            ("fully_connected:8", True, 6),
            ("fully_connected:8", False, 7),  # Tillson 1980: n−1 directed ones, n ≠ 4, 6
            ("fully_connected:33", True, 32),
            ("fully_connected:34", True, 32),
            ("switch:8", False, 1),
            ("mesh:3x3", True, 0),  # bipartite with sides of 5 and 4
            ("line:5", False, 0),
            ("star:5", False, 0),
        ],
    )
    def test_finds_as_many_rings_as_theory_has(self, name: str, two_way: bool, expected: int):
        """The number of disjoint rings is the one known for the network, and no link carries two."""
        topology = parse_topology(name)
        group = list(range(topology.num_npus))
        rings = disjoint_rings(topology, group, two_way=two_way)
        assert len(rings) == expected
        require_rings(topology, group, rings)
        assert not rings or loads(topology, rings).max() == 1

    @pytest.mark.parametrize(
        ("name", "two_way", "gbps"),
        [
            ("dgx1", True, 150),  # NCCL: three rings of 25 GB/s both ways, all six NVLinks of a GPU
            ("dgx2:2", False, 100),  # eight cross links of 12.5 GB/s
            ("dgx_a100:2", False, 200),  # eight NICs of 25 GB/s for each box
            ("dgx_a100:2", True, 200),
            ("dgx_a100:32", False, 200),
            ("ndv2:2", False, 12.5),  # one NIC for each box
        ],
    )
    def test_fills_the_narrow_links_of_machines(self, name: str, two_way: bool, gbps: float):
        """On a machine the rings carry together what its scarcest links can."""
        topology = parse_topology(name)
        group = list(range(topology.num_npus))
        rings = disjoint_rings(topology, group, two_way=two_way)
        require_rings(topology, group, rings)
        assert total_gbps(topology, rings) == gbps

    def test_one_ring_takes_the_widest_links(self):
        """A single ring on a DGX-1V stays on the NVLink pairs of 50 GB/s."""
        topology = parse_topology("dgx1")
        assert total_gbps(topology, disjoint_rings(topology, range(8), 1)) == 50

    @given(st.tuples(st.integers(2, 7), st.integers(2, 7)), st.booleans())
    @settings(max_examples=25, deadline=None)
    def test_meshes_have_a_ring_unless_both_sides_are_odd(self, shape: tuple[int, int], two_way: bool):
        """A grid graph has a Hamiltonian circuit exactly if one of its sides is even."""
        topology = parse_topology(f"mesh:{shape[0]}x{shape[1]}")
        group = list(range(topology.num_npus))
        rings = disjoint_rings(topology, group, two_way=two_way)
        require_rings(topology, group, rings)
        assert len(rings) == (0 if shape[0] % 2 and shape[1] % 2 else 2)
        assert not rings or loads(topology, rings).max() == 1

    @given(st.lists(st.integers(3, 6), min_size=2, max_size=3))
    @settings(max_examples=12, deadline=None)
    def test_tori_are_used_in_full(self, shape: list[int]):
        """Every link of a torus carries exactly one ring."""
        topology = parse_topology("torus:" + "x".join(map(str, shape)))
        group = list(range(topology.num_npus))
        rings = disjoint_rings(topology, group, two_way=True)
        require_rings(topology, group, rings)
        assert (loads(topology, rings) == 1).all()

    @pytest.mark.parametrize("name", ["mesh:32x32", "torus:31x33", "torus:8x8x8", "torus:32x32"])
    def test_large_grids_are_used_in_full(self, name: str):
        """A grid of some thousand NPUs gets its rings from joined 2-factors."""
        topology = parse_topology(name)
        group = list(range(topology.num_npus))
        rings = disjoint_rings(topology, group, two_way=True)
        require_rings(topology, group, rings)
        degree = topology.num_links // topology.num_npus
        assert len(rings) == (2 if name.startswith("mesh") else degree)
        assert loads(topology, rings).max() == 1

    def test_parallel_links_carry_a_ring_each(self):
        """Two cables between the same NPUs are two rings, each on its own."""
        rows = [(a, (a + 1) % 4, 0.5, 50.0) for a in range(4)] * 2
        topology = Topology.from_links(4, rows)
        rings = disjoint_rings(topology, range(4))
        assert len(rings) == 2
        assert (loads(topology, rings) == 1).all()

    def test_a_group_uses_no_other_npu(self):
        """A ring of a group passes through its members only."""
        topology = parse_topology("mesh:4x4")
        group = [0, 1, 5, 4]
        require_rings(topology, group, disjoint_rings(topology, group, two_way=True))
        assert disjoint_rings(topology, [0, 5, 10, 15]) == []

    def test_repeats(self):
        """The same network gives the same rings."""
        first, second = (disjoint_rings(parse_topology("torus:6x6"), range(36), two_way=True) for _ in range(2))
        assert [ring.order.tolist() for ring in first] == [ring.order.tolist() for ring in second]

    @pytest.mark.parametrize(
        ("name", "two_way", "least"),
        [
            ("fully_connected:16", False, 15),  # Tillson 1980
            ("mi250:2", False, 8),
            ("mi250:2", True, 6),
            ("dragonfly:7x8", False, 4),
            ("dragonfly:7x8", True, 2),
            ("dragonfly:8x9", True, 2),
        ],
    )
    def test_packs_rings_where_exact_search_gives_up(self, name: str, two_way: bool, least: int):
        """Networks that are too much for one model still get several rings that share no link."""
        topology = parse_topology(name)
        group = list(range(topology.num_npus))
        rings = disjoint_rings(topology, group, two_way=two_way)
        require_rings(topology, group, rings)
        assert len(rings) >= least
        assert total_gbps(topology, rings) == topology.bandwidth_gbps.min() * len(rings)

    def test_repeats_where_exact_search_gives_up(self):
        """Packed rings repeat too, since effort is counted, not timed."""
        first, second = (disjoint_rings(parse_topology("dragonfly:5x6"), range(30)) for _ in range(2))
        assert [ring.order.tolist() for ring in first] == [ring.order.tolist() for ring in second]

    @pytest.mark.parametrize("share", [1.0, 0.1])
    def test_bounds_its_searches_among_very_different_links(self, monkeypatch, share: float):
        """Links of 0.001 to 333 GB/s are no reason for thousands of rings, nor for more models than effort pays for."""
        widths = [0.001, 0.1, 1.0, 25.0, 333.0]
        rows = [(a, b, 0.5, widths[(a * 3 + b * 7) % 5]) for a in range(5) for b in range(5) if a != b]
        rows = [(a, b, alpha, 0.001 if (b - a) % 5 == 1 else gbps) for a, b, alpha, gbps in rows]
        topology = Topology.from_links(5, rows)
        models = []
        solved = Effort.solved

        def counted(effort, *arguments):
            models.append(effort)
            return solved(effort, *arguments)

        monkeypatch.setattr(Effort, "solved", counted)
        rings = disjoint_rings(topology, range(5), share=share)
        require_rings(topology, list(range(5)), rings)
        assert 1 <= len(rings) <= 64
        assert len(models) <= share * (1.0 + 0.3 + 0.15) / 1e-3
