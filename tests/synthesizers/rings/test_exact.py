"""Tests of the exact search and of the exchange of rings, on networks whose rings can be counted by hand."""

from __future__ import annotations

import numpy as np

from synthesizers.rings.arcs import Arcs, arcs_between
from synthesizers.rings.effort import Effort
from synthesizers.rings.exact import exact_rings, exchanged
from topologies import fully_connected, ring


def arcs_of(topology) -> Arcs:
    """Return the arcs of all NPUs on links of 50 GB/s."""
    return arcs_between(topology, np.arange(topology.num_npus), 50.0, two_way=False)


class TestExactRings:
    """The function `exact_rings`."""

    def test_decides_small_networks(self):
        """A ring has one circuit each way and no third; that is shown, not given up."""
        effort = Effort(1.0)
        assert len(exact_rings(arcs_of(ring(6)), 2, False, effort)) == 2
        assert exact_rings(arcs_of(ring(6)), 3, False, effort) == []
        assert not effort.undecided

    def test_says_when_it_gives_up(self):
        """Without effort nothing is found, and the search is undecided."""
        effort = Effort(0.0)
        assert exact_rings(arcs_of(ring(6)), 1, False, effort) == []
        assert effort.undecided


class TestExchanged:
    """The function `exchanged`."""

    def test_adds_rings(self):
        """Five NPUs with all links have four rings (Tillson 1980), whichever the first one is."""
        arcs = arcs_of(fully_connected(5))
        rings = exchanged(arcs, [np.array([0, 2, 1, 4, 3])], 4, False, Effort(2.0))
        assert len(rings) == 4
        assert (sum(arcs.load(order) for order in rings) == 1).all()

    def test_stops_where_there_is_no_more(self):
        """It keeps what it was given, and leaves effort over, when one ring more is shown to be impossible."""
        effort = Effort(5.0)
        assert len(exchanged(arcs_of(ring(5)), [], 4, False, effort)) == 2
        assert effort.left > 1
