"""The stages: routing against trying everything, orders and messages against the simulator, symmetries and boxes."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules import Collective, collective, verify
from simulator import LinkModel, simulate_ps, simulate_us
from synthesizers.problem import Problem
from synthesizers.taccl import Taccl
from synthesizers.taccl.auto_sketch import derived_networks
from synthesizers.taccl.boxes import boxes_of
from synthesizers.taccl.budget import Budget, OutOfTime
from synthesizers.taccl.contiguity import LONGEST
from synthesizers.taccl.costs import Costs
from synthesizers.taccl.cp_sat import solve_cp_sat
from synthesizers.taccl.demand import demand_of
from synthesizers.taccl.exact import exact_plan
from synthesizers.taccl.gateways import gateway_wires
from synthesizers.taccl.greedy import greedy_routes
from synthesizers.taccl.highs import solve_highs
from synthesizers.taccl.model import OPTIMAL, Limits
from synthesizers.taccl.network import Network, allowed_wires
from synthesizers.taccl.ordering import best_order
from synthesizers.taccl.plan import delivers, schedule_of, timed
from synthesizers.taccl.routing import routing_model
from synthesizers.taccl.scheduling import merged_at_once, scheduling_model
from synthesizers.taccl.stages import finer, run_stages
from synthesizers.taccl.symmetry import WireMaps, chunk_image, free_symmetries, rotation
from synthesizers.taccl.wires import wires_of
from topologies import Topology, parse_topology

KINDS = ("all_gather", "all_to_all", "broadcast", "gather", "scatter")


@st.composite
def started(draw):
    """Draw a copying problem on a random network, maybe with switches, and its greedy start."""
    npus, switches = draw(st.integers(2, 7)), draw(st.integers(0, 2))
    nodes = draw(st.permutations(range(npus + switches)))
    ends = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    node = st.integers(0, npus + switches - 1)
    ends += [pair for pair in draw(st.lists(st.tuples(node, node), max_size=2 * npus)) if pair[0] != pair[1]]
    rows = [(a, b, draw(st.sampled_from([0.0, 0.5, 3.0])), draw(st.sampled_from([5.0, 20.0]))) for a, b in ends]
    topology = Topology.from_links(npus, rows, num_switches=switches)
    work = collective(draw(st.sampled_from(KINDS)), npus, chunks=draw(st.integers(1, 2)))
    model = LinkModel(draw(st.sampled_from(["blocking", "pipelined"])),
                      draw(st.sampled_from(["cut_through", "store_and_forward"])))  # fmt: skip
    return problem_of(topology, work, draw(st.sampled_from([0, 1, 10**5])), model)


def problem_of(topology, work: Collective, size=10**6, model=None):
    """Return (network, demand, costs, allowed, size, model) of a problem without a sketch."""
    model = model or LinkModel()
    demand = demand_of(work, size)
    network = derived_networks(topology, demand, model)[0]
    return network, demand, Costs(network.wires, model), allowed_wires(network, demand), size, model


class TestPlans:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(problem=started())
    def test_planned(self, problem):
        """On any network and link model the schedule is right, and simulated no later than planned."""
        network, demand, costs, allowed, size, model = problem
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
        schedule = schedule_of(plan, network.wires, demand, costs, {})
        verify(schedule)
        assert simulate_ps(schedule, size, model) <= plan.time_ps

    def test_without_switches_exactly(self):
        """Where no route is longer than a link, planned and simulated times are the same."""
        network, demand, costs, allowed, size, model = problem_of(
            parse_topology("mesh:3x3"), collective("all_gather", 9)
        )
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
        assert simulate_ps(schedule_of(plan, network.wires, demand, costs, {}), size, model) == plan.time_ps

    def test_no_time(self):
        """When time is up the first order is taken, and it is whole."""
        network, demand, costs, allowed, *_ = problem_of(parse_topology("switch:6"), collective("all_gather", 6))
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed, 0.0), 0.0)
        verify(schedule_of(plan, network.wires, demand, costs, {}))


class TestRouting:
    @pytest.mark.parametrize("solve", [solve_highs, solve_cp_sat])
    @pytest.mark.parametrize(
        ("name", "kind", "steps"),
        [
            ("ring:5", "all_gather", 2),
            ("ring:5", "all_to_all", 3),
            ("line:3", "all_gather", 2),
        ],
    )
    def test_known(self, solve, name, kind, steps):
        """T is the known number of steps: of the busiest link, or of the farthest chunk."""
        topology = parse_topology(f"{name}@50GB/s,0us")
        network, demand, costs, allowed, *_ = problem_of(topology, collective(kind, topology.num_npus))
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
        routing = routing_model(network, demand, costs, allowed, plan.time_ps, symmetric=False)
        solution = solve(routing.model, Limits(5.0))
        chunk_ps = costs.of(0, max(demand.nbytes)).time
        assert solution.status == OPTIMAL
        assert solution.values[routing.time] * routing.step_ps == pytest.approx(steps * chunk_ps, rel=1e-3)
        ordered = best_order(network, demand, costs, routing.routes(solution, demand, network))
        verify(schedule_of(ordered, network.wires, demand, costs, {}))
        assert ordered.time_ps >= steps * chunk_ps - 1

    def test_symmetry(self):
        """Joined variables are as many as there are orbits, and give the same T on a ring."""
        network, demand, costs, allowed, *_ = problem_of(parse_topology("ring:6"), collective("all_gather", 6))
        limit = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed)).time_ps
        whole, joined = (routing_model(network, demand, costs, allowed, limit, each) for each in (False, True))
        assert len(set(whole.used.values())) == 6 * len(set(joined.used.values()))
        values = [solve_cp_sat(each.model, Limits(5.0)).values[each.time] for each in (whole, joined)]
        assert values[0] == values[1]

    def test_own_first(self):
        """Routing knows that the chunk a relay sends for another comes after its own: T grows by the way behind it."""
        rows = [(a, b, 1.0, 100.0) for a, b in ((0, 1), (1, 0), (2, 3), (3, 2))] + [(0, 3, 0.0, 1.0), (2, 1, 0.0, 1.0)]
        demand = demand_of(collective("all_gather", 4), 4 * 10**6)
        wires = wires_of(Topology.from_links(4, rows), 10**6)
        costs, times = Costs(wires, LinkModel()), []
        for own_first in (False, True):
            network = Network(wires, (0, 0, 1, 1), relayed=True, own_first=own_first)
            routing = routing_model(network, demand, costs, allowed_wires(network, demand), 4 * 10**9, False)
            solution = solve_cp_sat(routing.model, Limits(5.0))
            assert solution.status == OPTIMAL
            times.append(solution.values[routing.time] * routing.step_ps / 1e6)
        across, inside = 1000, 11
        assert times[0] == pytest.approx(2 * across, rel=1e-3)
        assert times[1] == pytest.approx(2 * across + inside, rel=1e-3)
        assert times[1] > times[0]

    @pytest.mark.parametrize(("strategy", "better"), [("uc-min", min), ("uc-max", max)])
    def test_unique_connections(self, strategy, better):
        """uc-min uses the fewest wires that the least T allows, uc-max the most; both keep T."""
        counts = {}
        for each in ("uc-min", "uc-max"):
            topology = parse_topology("fully_connected:4@50GB/s,0us")
            derived, demand, costs, allowed, *_ = problem_of(topology, collective("broadcast", 4, chunks=2))
            sparing = (1 if each == "uc-min" else -1,) * len(derived.wires)
            network = Network(derived.wires, derived.box, sparing=sparing)
            routing = routing_model(network, demand, costs, allowed, 10 * costs.of(0, demand.nbytes[0]).time, False)
            solution = solve_cp_sat(routing.model, Limits(5.0))
            routes = routing.routes(solution, demand, network)
            counts[each] = len({wire for taken in routes for wire in taken})
            loads = [sum(wire in taken for taken in routes) for wire in range(len(network.wires))]
            assert max(loads) <= 2
        assert counts[strategy] == better(counts.values())
        assert counts["uc-min"] < counts["uc-max"]


def wires_into(network, wire, chunk):
    """Return whether a wire leads from the holder of a chunk of a three-rank AllGather straight to another rank."""
    return network.wires.src[wire] == chunk


class TestExact:
    def test_brute_force(self):
        """On a triangle with one slow side the optimum is that of trying all trees and orders."""
        rows = [
            (0, 1, 0.0, 10.0),
            (1, 0, 0.0, 10.0),
            (1, 2, 0.0, 10.0),
            (2, 1, 0.0, 10.0),
            (0, 2, 0.0, 4.0),
            (2, 0, 0.0, 4.0),
        ]
        topology = Topology.from_links(3, rows)
        network, demand, costs, allowed, *_ = problem_of(topology, collective("all_gather", 3), 3 * 10**4)
        network = Network(network.wires, (0, 0, 0))
        trees = [
            [
                taken
                for taken in itertools.combinations(allowed[chunk], 2)
                if {network.wires.dst[wire] for wire in taken} == set(demand.targets[chunk])
            ]
            for chunk in range(3)
        ]
        best = None
        for routes in itertools.product(*trees):
            sends = [(wire, (chunk,)) for chunk, taken in enumerate(routes) for wire in taken]
            for order in itertools.permutations(sends):
                try:
                    plan = timed(order, network.wires, demand, costs)
                except KeyError:  # a send before its chunk is there
                    continue
                best = plan.time_ps if best is None else min(best, plan.time_ps)
        sends = [(wire, (chunk,)) for wire in range(6) for chunk in range(3) if wires_into(network, wire, chunk)]
        start = timed(sends, network.wires, demand, costs)
        found = exact_plan(network, demand, costs, allowed, start, Limits(5.0), symmetric=False)
        solution, plan, _ = found
        assert solution.status == OPTIMAL
        assert min(start.time_ps, plan.time_ps if plan else start.time_ps) == best


def far_and_near(near_us):
    """Return a ring of five both ways, with three links of 20 ms."""
    ends = [(a, (a + 1) % 5) for a in range(5)]
    far = {(0, 1), (1, 2), (4, 3)}
    rows = [(a, b, 20_000.0 if (a, b) in far else near_us, 25.0) for pair in ends for a, b in (pair, pair[::-1])]
    return Topology.from_links(5, rows)


@st.composite
def mixed(draw):
    """Draw a network of latencies of 0.5 µs and of 20 ms, most of them a ring both ways, and a small problem on it."""
    npus = draw(st.integers(3, 7))
    ends = {(a, (a + 1) % npus) for a in range(npus)}
    ends |= draw(st.sampled_from([set(), {(b, a) for a, b in ends}]))
    node = st.integers(0, npus - 1)
    ends |= {pair for pair in draw(st.lists(st.tuples(node, node), max_size=npus)) if pair[0] != pair[1]}
    rows = [(a, b, draw(st.sampled_from([0.0, 0.5, 20_000.0])), draw(st.sampled_from([25.0, 100.0])))
            for a, b in sorted(ends)]  # fmt: skip
    kind = draw(st.sampled_from(["all_gather", "all_reduce", "broadcast", "all_to_all"]))
    return Problem(Topology.from_links(npus, rows), collective(kind, npus), draw(st.sampled_from([0, 1, 7, 1000])))


class TestWhole:
    """Sends that are next to nothing beside the plan: no stage loses them."""

    def test_far_and_near(self):
        """On a ring of five with three links of 20 ms AllGather takes 40: two share one, or one chunk takes two."""
        problem = Problem(far_and_near(0.5), collective("all_gather", 5), 1000)
        schedule = Taccl().synthesize(problem, Taccl.Options(warm_start="none"))
        verify(schedule)
        assert 40_000 < simulate_us(schedule, 1000) < 40_010

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(problem=mixed(), solver=st.sampled_from(["auto", "highs"]))
    def test_whatever_the_latencies(self, problem, solver):
        """However short some sends are beside others, or without any time, the schedule is whole."""
        schedule = Taccl().synthesize(problem, Taccl.Options(warm_start="none", solver=solver, effort=0.05))
        verify(schedule)
        assert simulate_us(schedule, problem.size) <= schedule.notes["planned_us"] + 1e-6

    @pytest.mark.parametrize("near_us", [0.5, 0.0])
    def test_exact(self, near_us):
        """Short sends, and those of no time, bring nothing round in a circle in the exact model."""
        network, demand, costs, allowed, *_ = problem_of(far_and_near(near_us), collective("all_gather", 5), 0)
        start = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
        worse = replace(start, time_ps=2 * start.time_ps)
        found = exact_plan(network, demand, costs, allowed, worse, Limits(1.0), symmetric=False)
        solution, plan, (variables, constraints) = found
        assert delivers(plan, network.wires, demand)
        assert solution.bound * 1e6 <= plan.time_ps
        assert min(variables, constraints) > 0

    def test_delivers(self):
        """A plan that leaves somebody out, or sends what is not there, is none."""
        network, demand, costs, *_ = problem_of(parse_topology("line:3"), collective("broadcast", 3))
        forth = [wire for wire in range(4) if network.wires.src[wire] < network.wires.dst[wire]]
        whole = timed([(wire, (0,)) for wire in forth], network.wires, demand, costs)
        assert delivers(whole, network.wires, demand)
        for units in (whole.units[:1], whole.units[::-1]):
            assert not delivers(replace(whole, units=units), network.wires, demand)


class TestClock:
    @pytest.mark.parametrize("kind", ["all_gather", "all_to_all"])
    def test_spent(self, kind):
        """Wires, paths, routes and orders give up when time is over and there is no plan yet."""
        topology = parse_topology("mesh:3x3")
        network, demand, costs, allowed, *_ = problem_of(topology, collective(kind, 9))
        routes = greedy_routes(network, demand, costs, allowed)
        for work in (
            lambda: derived_networks(topology, demand, LinkModel(), 0.0),
            lambda: WireMaps(network.wires, costs, 10**6, 0.0),
            lambda: allowed_wires(network, demand, 0.0),
            lambda: greedy_routes(network, demand, costs, allowed, None, 0.0),
            lambda: best_order(network, demand, costs, routes, None, 0.0),
        ):
            with pytest.raises(OutOfTime):
                work()

    def test_finer_gives_up(self):
        """Where smaller chunks are not planned in time, there is no outcome, and the clock is to blame."""
        topology, work = parse_topology("mesh:3x3"), collective("all_gather", 9)
        problem = Problem(topology, work, 10**6)
        demand = demand_of(work, 10**6)
        (network,) = derived_networks(topology, demand, LinkModel())
        drawn = [(network, Costs(network.wires, LinkModel()))]
        outcome = run_stages(problem, drawn, demand, "auto", Budget(0.01, None, None, 0), True, (0,))
        assert finer(outcome, 2, Budget(0.01, None, None, 0), True).plan.time_ps > 0
        late = Budget(0.01, time.perf_counter() + 1000, 0.0, 0)
        assert finer(outcome, 2, late, True) is None
        assert late.clock

    def test_half(self):
        """Half a budget has half the effort and ends before the whole one."""
        end = time.perf_counter() + 1000
        half = Budget(0.5, end, end + 100, 0).half()
        assert half.effort == 0.25
        assert half.until < end
        assert half.last < end + 100


class TestWires:
    @pytest.mark.parametrize("name", ["ring:6", "dgx1", "torus:3x4", "switch:5"])
    def test_hops(self, name):
        """Hops are the shortest ways of Floyd and Warshall over the wires."""
        wires = wires_of(parse_topology(name), 10**6)
        npus = wires.topology.num_npus
        far = [[0 if a == b else npus + 1 for b in range(npus)] for a in range(npus)]
        for a, b in zip(wires.src, wires.dst, strict=True):
            far[a][b] = 1
        for via, a, b in itertools.product(range(npus), repeat=3):
            far[a][b] = min(far[a][b], far[a][via] + far[via][b])
        assert wires.hops().tolist() == far

    def test_no_way(self):
        """Where wires lead nowhere, hops say so."""
        wires = wires_of(parse_topology("line:3"), 10**6)
        one_way = wires.kept([wire for wire in range(len(wires)) if wires.src[wire] < wires.dst[wire]])
        assert one_way.hops().tolist() == [[0, 1, 2], [4, 0, 1], [4, 4, 0]]


class TestContiguity:
    @pytest.mark.parametrize("solve", [solve_highs, solve_cp_sat])
    @pytest.mark.parametrize("chunks", [2, 6, 9])
    def test_one_link(self, solve, chunks):
        """k chunks over one link between boxes go as ⌈k / 6⌉ messages: α that often, and all bytes."""
        topology = Topology.from_links(2, [(0, 1, 5.0, 1.0), (1, 0, 5.0, 1.0)])
        work = collective("broadcast", 2, chunks=chunks)
        demand = demand_of(work, 1000 * chunks)
        network = Network(wires_of(topology, 1000), (0, 1))
        costs = Costs(network.wires, LinkModel())
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed_wires(network, demand)))
        assert plan.time_ps == chunks * 6_000_000
        scheduling = scheduling_model(network, demand, costs, plan)
        solution = solve(scheduling.model, Limits(20.0))
        merged = scheduling.plan(solution, network, demand, costs)
        assert solution.status == OPTIMAL
        assert merged.time_ps == -(-chunks // LONGEST) * 5_000_000 + chunks * 1_000_000
        schedule = schedule_of(merged, network.wires, demand, costs, {})
        verify(schedule)
        assert simulate_ps(schedule, 1000 * chunks) == merged.time_ps
        assert max(len(members) for _, members in merged.units) <= LONGEST

    @pytest.mark.parametrize("chunks", [2, 6, 9])
    def test_at_once(self, chunks):
        """Merging without a solver finds those messages, too."""
        topology = Topology.from_links(2, [(0, 1, 5.0, 1.0), (1, 0, 5.0, 1.0)])
        demand = demand_of(collective("broadcast", 2, chunks=chunks), 1000 * chunks)
        network = Network(wires_of(topology, 1000), (0, 1))
        costs = Costs(network.wires, LinkModel())
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed_wires(network, demand)))
        merged = merged_at_once(network, demand, costs, plan)
        assert merged.time_ps == -(-chunks // LONGEST) * 5_000_000 + chunks * 1_000_000
        assert merged_at_once(network, demand, costs, plan, 0.0) is plan

    @pytest.mark.parametrize("name", ["ndv2:2", "dgx2:2"])
    @pytest.mark.parametrize("kind", ["all_gather", "all_to_all", "broadcast"])
    def test_at_once_is_whole(self, name, kind):
        """Merged plans are whole schedules that the simulator runs in the planned time at most, none being slower."""
        topology = parse_topology(name)
        work, size = collective(kind, topology.num_npus), 10**4
        demand = demand_of(work, size)
        for network in derived_networks(topology, demand, LinkModel()):
            costs, allowed = Costs(network.wires, LinkModel()), allowed_wires(network, demand)
            plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
            merged = merged_at_once(network, demand, costs, plan)
            schedule = schedule_of(merged, network.wires, demand, costs, {})
            verify(schedule)
            assert simulate_ps(schedule, size) <= merged.time_ps <= plan.time_ps

    def test_inside_a_box(self):
        """Inside a box nothing is merged, so nothing is left to decide."""
        network, demand, costs, allowed, *_ = problem_of(parse_topology("ring:4"), collective("all_gather", 4))
        plan = best_order(network, demand, costs, greedy_routes(network, demand, costs, allowed))
        assert scheduling_model(network, demand, costs, plan) is None


class TestSymmetry:
    @pytest.mark.parametrize(
        ("name", "size"),
        [("ring:6", 6), ("torus:4x4", 16), ("mesh:4x4", 4), ("dgx1", 4), ("hypercube:3", 8), ("line:3", 1)],
    )
    def test_free(self, name, size):
        """What is found leaves no NPU in place, keeps the network, and makes orbits of at least the known size."""
        topology = parse_topology(name)
        wires = wires_of(topology, 10**6)
        maps = WireMaps(wires, Costs(wires, LinkModel()), 10**6)
        found = free_symmetries(maps, topology.num_npus)
        orbit = {0}
        for _ in range(topology.num_npus):
            orbit |= {permutation[npu] for permutation in found for npu in orbit}
        assert len(orbit) >= size
        for permutation in found:
            assert maps.image(permutation)[0] is not None
            assert all(permutation[npu] != npu for npu in range(topology.num_npus))

    def test_rotation(self):
        """[offset, group] turns each group by itself."""
        assert rotation(6, 1, 3) == (1, 2, 0, 4, 5, 3)

    def test_chunks(self):
        """AllGather and AllToAll are symmetric, a Broadcast is not."""
        turn = rotation(4, 1, 4)
        assert chunk_image(demand_of(collective("all_gather", 4, chunks=2), 64), turn) == [2, 3, 4, 5, 6, 7, 0, 1]
        assert chunk_image(demand_of(collective("all_to_all", 4), 64), turn) is not None
        assert chunk_image(demand_of(collective("broadcast", 4), 64), turn) is None


class TestBoxes:
    @pytest.mark.parametrize(
        ("name", "boxes"),
        [("ndv2:2", 2), ("dgx2:2", 2), ("dgx_a100:4", 4), ("mesh:4x4", 1), ("switch:8", 1), ("dgx1", 1)],
    )
    def test_of_machines(self, name, boxes):
        """The boxes of machines are found, and networks of one sort of links are one box."""
        assert len(set(boxes_of(wires_of(parse_topology(name), 10**6)))) == boxes


class TestGateways:
    @pytest.mark.parametrize(
        ("name", "counts"),
        [("ndv2:2", [2]), ("ndv2:4", [12]), ("dgx2:2", []), ("dgx1", []), ("mesh:4x4", []), ("switch:8", [])],
    )
    def test_of_machines(self, name, counts):
        """One wire for each pair of NICs; none where no port is shared."""
        wires = wires_of(parse_topology(name), 10**6)
        box = boxes_of(wires)
        cross = [wire for wire in range(len(wires)) if box[wires.src[wire]] != box[wires.dst[wire]]]
        assert list(map(len, gateway_wires(wires, box, cross))) == counts

    def test_ends(self):
        """On two NDv2 boxes GPU 1 sends and GPU 0 receives."""
        wires = wires_of(parse_topology("ndv2:2"), 10**6)
        cross = [wire for wire in range(len(wires)) if wires.src[wire] // 8 != wires.dst[wire] // 8]
        (found,) = gateway_wires(wires, boxes_of(wires), cross)
        assert [(wires.src[wire], wires.dst[wire]) for wire in found] == [(1, 8), (9, 0)]

    def test_two_nics(self):
        """With two NICs in each box they are joined each to each, or those of the same place."""
        fast = [(a, b, 0.5, 100.0) for a, b in itertools.permutations(range(4), 2)]
        rows = fast + [(a + 4, b + 4, *costs) for a, b, *costs in fast]
        slow = [(npu, 8 + npu // 2) for npu in range(8)] + [(nic, 12) for nic in range(8, 12)]
        rows += [(*ends, 0.5, 10.0) for a, b in slow for ends in ((a, b), (b, a))]
        wires = wires_of(Topology.from_links(8, rows, num_switches=5), 10**6)
        cross = [wire for wire in range(len(wires)) if wires.src[wire] // 4 != wires.dst[wire] // 4]
        each, same = gateway_wires(wires, boxes_of(wires), cross)
        ends = [[(wires.src[wire], wires.dst[wire]) for wire in choice] for choice in (each, same)]
        assert ends[0] == [(1, 4), (1, 6), (3, 4), (3, 6), (5, 0), (5, 2), (7, 0), (7, 2)]
        assert ends[1] == [(1, 4), (3, 6), (5, 0), (7, 2)]
