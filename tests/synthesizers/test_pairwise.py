"""Tests of `synthesizers.pairwise`; closed forms from Thakur, Rabenseifner, Gropp (2005)."""

from __future__ import annotations

import numpy as np
import pytest

from schedules import collective
from simulator import LinkModel, simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.pairwise import Pairwise
from topologies import fully_connected, switch

ALPHA, RATE = 500_000, 50 * 10**9  # picoseconds; bytes per second
SHARD = 10**6
WIRE = SHARD * 10**12 // RATE


def _schedule(topology, groups=None, chunks=1):
    """Return the schedule of an AllToAll."""
    wanted = collective("all_to_all", topology.num_npus, groups=groups, chunks=chunks)
    return Pairwise().synthesize(Problem(topology, wanted, 1_000_003), parse_options(Pairwise(), {}))


class TestClosedForms:
    @pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8, 12, 16, 17])
    def test_one_port(self, ranks):
        """At a switch it takes (p−1)α + (p−1)/p·nβ, and the α of the second link of the last send."""
        schedule = _schedule(switch(ranks))
        assert simulate_ps(schedule, ranks * SHARD) == (ranks - 1) * (ALPHA + WIRE) + ALPHA
        # Links that are free while the latency lasts pay for it once on each link.
        assert simulate_ps(schedule, ranks * SHARD, LinkModel("pipelined")) == (ranks - 1) * WIRE + 2 * ALPHA

    @pytest.mark.parametrize("ranks", [2, 3, 4, 8, 12])
    def test_a_port_for_each(self, ranks):
        """Fully connected, everybody sends to all others at once: α + n/p·β."""
        assert simulate_ps(_schedule(fully_connected(ranks)), ranks * SHARD) == ALPHA + WIRE

    @pytest.mark.parametrize("chunks", [2, 5])
    def test_a_shard_is_one_message(self, chunks):
        """A shard of several chunks pays the latency once."""
        assert simulate_ps(_schedule(switch(6), chunks=chunks), 6 * SHARD) == 5 * (ALPHA + WIRE) + ALPHA


class TestStructure:
    @pytest.mark.parametrize("ranks", [3, 4, 8, 11])
    def test_partners(self, ranks):
        """In each step all send and all receive once; powers of two exchange with rank XOR the step, others rotate."""
        schedule = _schedule(fully_connected(ranks))
        ends = schedule.topology.src, schedule.topology.dst
        source, target = (np.asarray(end)[schedule.link].astype(int).reshape(ranks - 1, ranks) for end in ends)
        step = np.arange(1, ranks)[:, None]
        assert (source == np.arange(ranks)).all()
        assert (np.sort(target) == np.arange(ranks)).all()
        expected = source ^ step if ranks in (4, 8) else (source + step) % ranks
        assert (target == expected).all()
