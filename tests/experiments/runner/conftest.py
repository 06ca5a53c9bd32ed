"""Experiment files, and a dask cluster."""

from __future__ import annotations

import pytest

from tests.experiments.runner.dask_cluster import Cluster


@pytest.fixture
def experiment(program):
    """Return a function that writes an experiment file and returns its name."""

    def write(text, name="one.yaml"):
        (program.folder / name).write_text(text)
        return name

    return write


@pytest.fixture
def start_cluster(program, tmp_path):
    """Return a function that starts a scheduler without workers, in the environment of the misbehaving synthesizers."""
    started = []

    def start(**environment):
        settings = program.environment | {"DASK_CONFIG": str(tmp_path / "none")} | environment
        started.append(Cluster(tmp_path / f"cluster-{len(started)}", settings))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def cluster(start_cluster):
    """Return a scheduler without workers."""
    return start_cluster()
