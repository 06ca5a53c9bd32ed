"""Speed of TACCL: each stage by each solver, from which `solver=auto` takes its rule, and whole runs.

Two NDv2 nodes with the published costs and the relay 0 → 1 (sk1), chunks of 1 MB.
"""

from __future__ import annotations

import json

import pytest

from schedules import collective
from simulator import LinkModel
from synthesizers import Problem, parse_options
from synthesizers.taccl import Profile, Taccl, profile_topology, read_sketch
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.cp_sat import solve_cp_sat
from synthesizers.taccl.demand import demand_of
from synthesizers.taccl.greedy import greedy_routes
from synthesizers.taccl.highs import solve_highs
from synthesizers.taccl.model import Limits
from synthesizers.taccl.network import allowed_wires
from synthesizers.taccl.ordering import best_order
from synthesizers.taccl.routing import routing_model
from synthesizers.taccl.scheduling import scheduling_model
from synthesizers.taccl.sketched import sketched_network
from topologies import parse_topology

SOLVERS = {"highs": solve_highs, "cp_sat": solve_cp_sat}
KINDS = ("all_gather", "all_to_all")
MB = 10**6


def ndv2(nodes: int):
    """Return NDv2 nodes with the published costs."""
    profile = Profile(
        name="NDv2", gpus_per_node=8, node_betas_list=[23, 46], node_invbws_list=[23, 46], remote_alpha=2.6,
        remote_beta=105, remote_invbw=107,
    )  # fmt: skip
    return profile_topology(profile, "ndv2", nodes)


@pytest.fixture
def sketch(tmp_path):
    """The sketch sk1 of two nodes, as a file."""
    path = tmp_path / "sk1.json"
    conn = {"strategy": "relay", "internode_conn": {"0": [1]}}
    path.write_text(json.dumps({"nnodes": 2, "internode_sketch": conn, "symmetry_offsets": [[8, 16]]}))
    return str(path)


def started(sketch, kind):
    """Return what the stages of a problem begin with."""
    demand = demand_of(collective(kind, 16), 16 * MB)
    network = sketched_network(ndv2(2), read_sketch(sketch), max(demand.nbytes))
    costs = Costs(network.wires, LinkModel(), network.extra_ports)
    allowed = allowed_wires(network, demand)
    plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
    return network, demand, costs, allowed, plan


def note(benchmark, solution):
    """Note what came out."""
    benchmark.extra_info["status"] = solution.status
    benchmark.extra_info["gap"] = solution.gap


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_routing(benchmark, sketch, solver, kind):
    """Stage 1: model and solution."""
    *problem, plan = started(sketch, kind)

    def run():
        return SOLVERS[solver](routing_model(*problem, plan.time_ps, True).model, Limits(1.0))

    note(benchmark, benchmark.pedantic(run, rounds=3, warmup_rounds=1))


@pytest.mark.parametrize("kind", KINDS)
def test_start_and_ordering(benchmark, sketch, kind):
    """The greedy start and stage 2."""
    benchmark.pedantic(started, (sketch, kind), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_scheduling(benchmark, sketch, solver, kind):
    """Stage 3: model and solution."""
    network, demand, costs, _, plan = started(sketch, kind)

    def run():
        return SOLVERS[solver](scheduling_model(network, demand, costs, plan).model, Limits(1.0))

    note(benchmark, benchmark.pedantic(run, rounds=3, warmup_rounds=1))


@pytest.mark.parametrize("pieces", [1, "auto"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [("switch:64", "all_gather"), ("torus:7x8", "all_to_all"), ("dgx2:2", "all_to_all"), ("switch:440", "all_gather")],
)
def test_short_limit(benchmark, name, kind, pieces):
    """A limit of 1 s, of which the runner allows 2.1 s, on problems whose start alone may take longer."""
    topology, synthesizer = parse_topology(name), Taccl()
    synthesizer.warm_up()
    problem = Problem(topology, collective(kind, topology.num_npus), MB, time_limit_s=1.0)
    options = parse_options(synthesizer, {"pieces": pieces})
    schedule = benchmark.pedantic(synthesizer.synthesize, (problem, options), rounds=3, warmup_rounds=1)
    benchmark.extra_info["origin"] = schedule.notes["origin"]


@pytest.mark.parametrize("kind", KINDS)
def test_whole(benchmark, sketch, kind):
    """All stages with the default options."""
    problem, synthesizer = Problem(ndv2(2), collective(kind, 16), 16 * MB), Taccl()
    synthesizer.warm_up()
    options = parse_options(synthesizer, {"sketch": sketch})
    schedule = benchmark.pedantic(synthesizer.synthesize, (problem, options), rounds=3, warmup_rounds=1)
    benchmark.extra_info["planned_us"] = schedule.notes["planned_us"]
