"""What would not fit in memory is refused with its estimate."""

from __future__ import annotations

import pytest

from schedules import collective
from simulator import bound
from synthesizers import Problem, find
from topologies import CollbenchError, Topology, TopologyError, mesh, ring
from topologies import memory as module
from topologies.memory import MemoryShortage, available_bytes, require_memory


@pytest.fixture
def small(monkeypatch):
    """A machine with half a gigabyte free."""
    monkeypatch.setattr(module, "available_bytes", lambda: 2**29)


class TestRequireMemory:
    def test_what_fits_is_let_through(self):
        """A little memory is always there, and the system says how much in all."""
        require_memory(1, "nothing")
        assert 2**20 < available_bytes() <= 2**62

    def test_message(self, small):
        """The message says what, how much it would need, and how much there is."""
        with pytest.raises(MemoryShortage, match=r"a castle would need about 1\.0 GB of memory, 0\.5 GB are free"):
            require_memory(10**9, "a castle")
        assert issubclass(MemoryShortage, CollbenchError)
        assert issubclass(MemoryShortage, MemoryError)


class TestRefusals:
    def test_chunks(self, small):
        """A collective of too many chunks is refused before its columns are made."""
        with pytest.raises(MemoryShortage, match="all_gather in 268435456 chunks would need about 17.2 GB"):
            bound(mesh([4, 4]), collective("all_gather", 16, chunks=2**24), 2**30)

    @pytest.mark.parametrize("name", ["direct", "halving_doubling"])
    def test_hops(self, small, name):
        """Routes of too many hops are refused before they are listed."""
        problem = Problem(ring(300), collective("all_gather", 300), 2**30)
        synthesizer = find(name)
        with pytest.raises(MemoryShortage, match=r"hops|routes"):
            synthesizer.synthesize(problem, synthesizer.Options())

    def test_nodes(self):
        """A network of more nodes than anybody has is refused, whatever its links."""
        with pytest.raises(TopologyError, match="100000000 nodes; expected at most 4194304"):
            Topology.from_links(100_000_000, [(0, 1, 0.5, 50.0)])
