"""Work of every kind that drawings and traces of schedules must show: networks, collectives, synthesizers, models."""

from __future__ import annotations

from schedules import collective
from simulator import LinkModel
from synthesizers import Problem, find, parse_options
from topologies import parse_topology

SIZE = 1_000_003

#: Networks, collectives and synthesizers: plain, one-way, through switches, with reduction, with messages and steps.
WORK = [
    ("torus:3x4", "all_gather", "tacos"),
    ("mesh:3x3@50x75GB/s,0.5us", "all_reduce", "tacos"),
    ("ring_one_way:4", "reduce_scatter", "ring"),
    ("dgx2:2", "all_to_all", "direct"),
    ("ndv2:2", "all_reduce", "halving_doubling"),
    ("switch:6", "all_reduce", "double_binary_tree"),
]
MODELS = [LinkModel(latency, switching) for latency in ("blocking", "pipelined")
          for switching in ("cut_through", "store_and_forward")]  # fmt: skip


def solved(network, kind, name, chunks=1):
    """Return the schedule that a synthesizer makes of `SIZE` bytes."""
    topology, synthesizer = parse_topology(network), find(name)
    problem = Problem(topology, collective(kind, topology.num_npus, chunks=chunks), SIZE)
    return synthesizer.synthesize(problem, parse_options(synthesizer, {}))
