"""Schedules to be played, and pages that play them."""

from __future__ import annotations

import pytest

from experiments.report.player import player_data, standalone
from simulator import LinkModel
from tests.experiments.varied import SIZE, solved


@pytest.fixture(scope="session", name="solved")
def solved_fixture():
    """Return the function that makes a schedule of `SIZE` bytes: ``solved(network, collective, synthesizer)``."""
    return solved


@pytest.fixture
def played(opened, tmp_path):
    """Return a function that opens the page of a schedule: ``played(schedule, size, model, name, **context)``."""

    def play(schedule, size=SIZE, model=None, name="", **context):
        path = tmp_path / "player.html"
        path.write_text(standalone(player_data(schedule, size, model or LinkModel(), name)), encoding="utf-8")
        return opened(path, **context)

    return play
