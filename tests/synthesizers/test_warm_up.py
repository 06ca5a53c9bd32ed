"""After the bench and a synthesizer have warmed up nothing is compiled any more: what is measured is synthesis."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from synthesizers.registry import names

#: Prints the kernels that each problem compiled after warming up, or loaded from a cache.
CODE = """
import json, sys
from numba.core.dispatcher import Dispatcher
from experiments.evaluate import compile_bench
from schedules import collective
from synthesizers import Problem, parse_options
from synthesizers.base import refusal
from synthesizers.registry import find
from topologies import parse_topology

def kernels():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("synthesizers", "simulator", "schedules", "topologies"):
            for key, value in vars(module).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == name:
                    found[f"{name}.{key}"] = len(value.signatures)
    return found

name, problems = json.loads(sys.argv[1])
synthesizer = find(name)
compile_bench()
synthesizer.warm_up()
late = {}
for network, kind, size in problems:
    before = kernels()
    topology = parse_topology(network)
    problem = Problem(topology, collective(kind, topology.num_npus), size)
    if refusal(synthesizer, problem) is not None:
        continue
    synthesizer.synthesize(problem, parse_options(synthesizer, {}))
    after = kernels()
    late[f"{kind} on {network}"] = [key for key in after if after[key] != before.get(key, 0)]
print(json.dumps(late))
"""

#: Network, collective, size.
PROBLEMS = [
    ("mesh:4x4", "all_gather", 2**20),
    ("mesh:4x4@50x75GB/s,0.5us", "all_reduce", 2**20),
    ("mesh:4x4", "reduce_scatter", 2**20),
    ("torus:4x4", "all_reduce", 2**20),
    ("mesh:3x3", "all_to_all", 2**20),
    ("dgx_a100", "all_gather", 2**20),
    ("ndv2", "all_reduce", 2**20),
    ("switch:5", "all_to_all", 2**20),
    ("dgx1", "broadcast", 2**20),
    ("dgx1", "scatter", 2**10),
]

#: Larger ones, which other kernels make.
LARGER = {
    "tacos": [
        ("mesh:23x23", "all_gather", 2**30),  # two threads
        ("fully_connected:520", "all_gather", 2**30),  # 32 bits for a link
    ],
}


@pytest.mark.parametrize("name", names())
def test_compiles_nothing_more(name):
    """Small networks and large ones, even and not, with switches and without, find every kernel ready."""
    arguments = json.dumps([name, PROBLEMS + LARGER.get(name, [])])
    done = subprocess.run([sys.executable, "-c", CODE, arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    late = json.loads(done.stdout)
    assert {problem: kernels for problem, kernels in late.items() if kernels} == {}
