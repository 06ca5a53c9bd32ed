"""A small results file and small schedules, for every kind of plot."""

from __future__ import annotations

import pytest

from experiments.plots.simulated import Simulated
from experiments.record import Record
from schedules import collective
from simulator import timeline
from synthesizers import Problem, find, parse_options
from topologies import parse_topology


def record(topology: str, size: int, synthesizer: str, time_us: float, **fields) -> Record:
    """Return a record that worked, but for what `fields` say."""
    npus = parse_topology(topology).num_npus
    fixed = {"num_npus": npus, "ranks": npus, "chunks": 1, "groups": 1, "latency": "blocking",
             "switching": "cut_through", "bound_us": 8.0, "efficiency": 8.0 / time_us,
             "busbw_gbps": size / time_us / 1e3, "synthesis_s": 1e-6 * npus**2, "verified": True}  # fmt: skip
    return Record(topology=topology, collective="all_reduce", size=size, synthesizer=synthesizer, time_us=time_us,
                  **(fixed | fields))  # fmt: skip


@pytest.fixture
def records() -> list[Record]:
    """Three meshes and a machine, two sizes, two synthesizers and one that fails on the machine."""
    found = []
    for topology in ("mesh:2x2", "mesh:3x3", "mesh:4x4", "dgx1"):
        for size in (10**6, 10**9):
            found += [record(topology, size, "ring", 16.0), record(topology, size, "tacos", 10.0, synthesis_s=1.0)]
            broken = {"status": "failed", "reason": "no luck", "efficiency": None, "busbw_gbps": None}
            found.append(record(topology, size, "mine", 20.0, **(broken if topology == "dgx1" else {})))
    return found


def _simulated(name: str, topology: str, kind: str, synthesizer: str) -> Simulated:
    """Return a simulated schedule."""
    network = parse_topology(topology)
    problem = Problem(network, collective(kind, network.num_npus), 10**6)
    maker = find(synthesizer)
    schedule = maker.synthesize(problem, parse_options(maker, {}))
    return Simulated(name, timeline(schedule.with_notes(synthesizer=synthesizer), 10**6))


@pytest.fixture(scope="session")
def schedules() -> list[Simulated]:
    """Two schedules of one problem on a mesh."""
    return [_simulated(name, "mesh:3x3", "all_reduce", name) for name in ("ring", "tacos")]


@pytest.fixture(scope="session")
def switched() -> Simulated:
    """A schedule on a network with a switch."""
    return _simulated("switched", "switch:4", "all_gather", "ring")
