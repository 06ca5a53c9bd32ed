"""Schedules to be played, and pages that play them."""

from __future__ import annotations

import pytest

from experiments.report.player import player_data, standalone
from schedules import collective
from simulator import LinkModel
from synthesizers import Problem, find, parse_options
from topologies import parse_topology

SIZE = 1_000_003


@pytest.fixture(scope="session")
def solved():
    """Return a function that makes a schedule of `SIZE` bytes: ``solved(network, collective, synthesizer)``."""

    def solve(network, kind, name, chunks=1):
        topology, synthesizer = parse_topology(network), find(name)
        problem = Problem(topology, collective(kind, topology.num_npus, chunks=chunks), SIZE)
        return synthesizer.synthesize(problem, parse_options(synthesizer, {}))

    return solve


@pytest.fixture
def played(opened, tmp_path):
    """Return a function that opens the page of a schedule: ``played(schedule, size, model, name, **context)``."""

    def play(schedule, size=SIZE, model=None, name="", **context):
        path = tmp_path / "player.html"
        path.write_text(standalone(player_data(schedule, size, model or LinkModel(), name)), encoding="utf-8")
        return opened(path, **context)

    return play
