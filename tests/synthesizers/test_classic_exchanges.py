"""What holds for every exchange without a root: any number of ranks, any network, groups, a reason for other kinds."""

from __future__ import annotations

import pytest

from schedules import KINDS, collective
from schedules.verifier import verify
from simulator import simulate_ps
from synthesizers import Problem, parse_options
from synthesizers.bruck import Bruck
from synthesizers.pairwise import Pairwise
from synthesizers.recursive_doubling import RecursiveDoubling
from topologies import fully_connected, mesh, parse_topology, torus

DONE = {
    Bruck: ["all_gather", "all_to_all"],
    Pairwise: ["all_to_all"],
    RecursiveDoubling: ["all_gather", "all_reduce"],
}
EACH = [(made, kind) for made, kinds in DONE.items() for kind in kinds]
OTHERS = [(made, kind) for made, kinds in DONE.items() for kind in sorted({*KINDS} - {*kinds, "custom"})]


def _schedule(made, topology, wanted):
    """Return the schedule of a synthesizer without options."""
    return made().synthesize(Problem(topology, wanted, 1_000_003), parse_options(made(), {}))


@pytest.mark.parametrize("ranks", range(1, 18))
@pytest.mark.parametrize(("made", "kind"), EACH)
def test_fully_connected(made, kind, ranks):
    """Every number of ranks and chunks verifies."""
    for chunks in (1, 3):
        verify(_schedule(made, fully_connected(ranks), collective(kind, ranks, chunks=chunks)))


@pytest.mark.parametrize("name", ["mesh:3x3", "ring:7", "ring_one_way:6", "dgx1", "ndv2:2", "switch:5"])
@pytest.mark.parametrize(("made", "kind"), EACH)
def test_networks(made, kind, name):
    """It verifies, and ends, where routes are long or lead through switches."""
    network = parse_topology(name)
    schedule = _schedule(made, network, collective(kind, network.num_npus, chunks=2))
    verify(schedule)
    assert simulate_ps(schedule, 0) > 0


@pytest.mark.parametrize(("made", "kind"), EACH)
def test_groups(made, kind):
    """Several groups of different sizes, ranks in any order."""
    groups = [[15, 3, 8], [0, 1], [7], [12, 10, 5, 4, 2]]
    schedule = _schedule(made, torus((4, 4)), collective(kind, 16, groups=groups))
    verify(schedule)
    assert schedule.collective.groups == tuple(map(tuple, groups))


@pytest.mark.parametrize(("made", "kind"), OTHERS)
def test_others_are_refused(made, kind):
    """Every other kind gets a reason that names it."""
    wanted = collective(kind, 9, pairs=[(0, 1)] if kind == "send_recv" else ())
    assert f"not {kind}" in made().supports(Problem(mesh((3, 3)), wanted, 1))
