"""Speed of MSCCL XML: a ring AllReduce of 8 GPUs in 8 instances is written, read and judged, and taken over."""

from __future__ import annotations

import pytest

from schedules import collective
from schedules.msccl import format_msccl, judge, parse_msccl, program_of, schedule_of
from synthesizers import Problem
from synthesizers.ring import Ring
from topologies import parse_topology


@pytest.fixture(scope="module")
def schedule():
    """The schedule that is written: 896 hops."""
    topology = parse_topology("dgx1")
    ring = Ring()
    return ring.synthesize(Problem(topology, collective("all_reduce", 8, chunks=4), 2**26), ring.Options())


@pytest.fixture(scope="module")
def text(schedule):
    """The file of eight instances."""
    return format_msccl(program_of(schedule, "ring", instances=8))


def test_write(benchmark, schedule):
    """A schedule becomes a file."""
    benchmark(lambda: format_msccl(program_of(schedule, "ring", instances=8)))


def test_read(benchmark, text):
    """A file becomes an algorithm."""
    benchmark(parse_msccl, text)


def test_judge(benchmark, text):
    """An algorithm is run by the interpreter."""
    algorithm = parse_msccl(text)
    assert benchmark(judge, algorithm).status == "valid"


def test_import(benchmark, schedule, text):
    """An algorithm becomes a schedule."""
    benchmark(schedule_of, parse_msccl(text), schedule.topology)
