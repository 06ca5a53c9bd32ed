"""Random tiny problems, and the exact optimum as the yardstick of bounds and of all other synthesizers on them."""

from __future__ import annotations

import random

from schedules import collective, verify
from simulator import LinkModel, simulate_ps
from simulator.bounds import bound, quantised_bound_us
from synthesizers import Problem, available, parse_options
from synthesizers.exact import Exact, ExactOptions
from topologies import Topology

KINDS = ("all_gather", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter", "send_recv")
MODELS = [LinkModel(latency, switching) for latency in ("blocking", "pipelined")
          for switching in ("cut_through", "store_and_forward")]  # fmt: skip


def tiny_network(rng: random.Random, npus: int, switches: int = 0) -> Topology:
    """Return a strongly connected network with uneven links."""
    nodes = list(range(npus + switches))
    rng.shuffle(nodes)
    ends = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    ends += [tuple(rng.sample(nodes, 2)) for _ in range(rng.randint(0, npus))]
    latencies, rates = (
        [rng.choice(values) for _ in range(3)] for values in ((0.0, 0.3, 2.0), (10.0, 25.0, 40.0, 50.0))
    )
    rows = [(a, b, rng.choice(latencies), rng.choice(rates)) for a, b in ends]
    return Topology.from_links(npus, rows, num_switches=switches)


def tiny_problem(seed: int, kind: str) -> Problem:
    """Return a random tiny problem."""
    rng = random.Random(f"{seed} {kind}")
    npus = rng.choice([3, 4] if kind == "all_to_all" else [3, 4, 5])
    network = tiny_network(rng, npus, rng.choice([0, 0, 1]))
    given = {"root": rng.randrange(npus)} if kind in ("broadcast", "gather", "reduce", "scatter") else {}
    if kind == "send_recv":
        given = {"pairs": [tuple(rng.sample(range(npus), 2)) for _ in range(3)]}
    return Problem(
        network, collective(kind, npus, **given), rng.choice([6_000, 600_000, 6_000_000]), rng.choice(MODELS)
    )


def optimum(problem: Problem, **options) -> int | None:
    """Return the proven optimum in picoseconds; None where the effort does not prove it."""
    schedule = Exact().synthesize(problem, ExactOptions(effort=5.0, **options))
    verify(schedule)
    (stage,) = schedule.notes["stages"]
    time_ps = simulate_ps(schedule, problem.size, problem.model)
    if stage["status"] != "optimal":
        assert stage["bound_us"] < time_ps / 1e6
        return None
    assert stage["bound_us"] == time_ps / 1e6
    return time_ps


def measured(problem: Problem) -> list[str]:
    """Return the synthesizers that keep the chunks of a problem, once bounds and their schedules are held to it.

    No bound may be above the optimum, the quantised one not above that without messages, and no schedule below. Nothing
    is measured where the problem is too large, or the optimum not proven.
    """
    topology, work, size, model = problem.topology, problem.collective, problem.size, problem.model
    if Exact().supports(problem) is not None:
        return []
    least, alone = optimum(problem), optimum(problem, bundles=False)
    if least is None or alone is None:
        return []
    assert bound(topology, work, size, model).time_us * 1e6 <= least * (1 + 1e-9)
    assert least <= alone
    quantised = quantised_bound_us(topology, work, size, model)
    assert quantised is None or quantised * 1e6 <= alone * (1 + 1e-9)
    compared = []
    for name, other in available().items():
        if name == "exact" or other.supports(problem) is not None:
            continue
        whole = {"pieces": 1} if "pieces" in other.Options.__struct_fields__ else {}
        schedule = other.synthesize(problem, parse_options(other, whole))
        if schedule.collective == work:
            compared.append(name)
            assert simulate_ps(schedule, size, model) >= least, name
    return compared
