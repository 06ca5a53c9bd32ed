"""The whole synthesizer: known answers, all collectives, sketches and none, budgets, and what it records."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from schedules import KINDS, collective, custom, save_schedule, verify
from simulator import algbw_gbps, simulate_us
from synthesizers import Problem, parse_options
from synthesizers.direct import Direct
from synthesizers.ring import Ring
from synthesizers.taccl import Taccl, profile_topology, read_profile
from synthesizers.taccl.budget import Budget
from synthesizers.taccl.fallback import fallback
from synthesizers.taccl.synthesizer import CHALLENGE, CLOCK
from synthesizers.taccl.warm_start import OTHERS, tuned_by_others
from synthesizers.tacos import Tacos
from synthesizers.tuning import LADDER, PATIENCE
from topologies import OptionError, Topology, parse_topology
from topologies.exceptions import SynthesisError

#: The sketches by hand that the experiments use.
SKETCHES = Path(__file__).parents[3] / "experiments" / "configs" / "sketches"

COPYING = [kind for kind in KINDS if kind not in ("custom", "send_recv")]


def solved(topology, kind, size, time_limit_s=None, root=0, **options):
    """Return the verified schedule of a problem and its simulated time."""
    topology = parse_topology(topology) if isinstance(topology, str) else topology
    problem = Problem(topology, collective(kind, topology.num_npus, root=root), size, time_limit_s=time_limit_s)
    schedule = Taccl().synthesize(problem, parse_options(Taccl(), options))
    verify(schedule)
    time_us = simulate_us(schedule, size)
    planned = schedule.notes.get("planned_us")
    if planned is not None:
        assert time_us <= planned + 1e-6
    return schedule, time_us


class TestCostUnits:
    """The measured table of the published models, on the networks of the published profiles."""

    @pytest.mark.parametrize(
        ("nodes", "gpus", "kind", "published"),
        [(2, 2, "all_gather", 215), (2, 2, "all_to_all", 409), (2, 4, "all_gather", 427), (3, 2, "all_gather", 421)],
    )
    def test_hub(self, hub, write, sketch_content, nodes, gpus, kind, published):
        """On hubs it needs no more than the published code with a commercial solver; the two proven optima are met."""
        content = sketch_content(nodes, offsets=[[gpus, nodes * gpus]])
        content["intranode_sketch"] = {"strategy": "switch", "switches": [list(range(gpus))],
                                       "switch_hyperedge_strategy": ["uc-min"]}  # fmt: skip
        topology = profile_topology(hub(gpus), "hub_and_spoke", nodes)
        _, time_us = solved(topology, kind, nodes * gpus * 10**6, sketch=write(content))
        assert time_us <= published + 1e-3
        if nodes == gpus:
            assert time_us == pytest.approx(published, abs=1e-3)

    @pytest.mark.parametrize(
        ("nodes", "kind", "published"), [(2, "all_gather", 945), (4, "all_gather", 2658.8), (2, "all_to_all", 6824)]
    )
    def test_ndv2(self, ndv2_profile, write, sketch_content, nodes, kind, published):
        """On NDv2 with the relay 0 → 1 it is at least as good as the published models solved by HiGHS."""
        path = write(sketch_content(nodes, offsets=[[8, 8 * nodes]]))
        _, time_us = solved(profile_topology(ndv2_profile, "ndv2", nodes), kind, 8 * nodes * 10**6, sketch=path)
        assert time_us <= published

    @pytest.mark.parametrize(("kind", "published"), [("all_gather", 69), ("all_to_all", 184)])
    def test_one_node(self, ndv2_profile, write, sketch_content, kind, published):
        """One NDv2 node: AllGather in the 69 that are optimal, AllToAll in no more than 184."""
        _, time_us = solved(profile_topology(ndv2_profile, "ndv2"), kind, 8 * 10**6, sketch=write(sketch_content(1)))
        assert time_us <= published + 1e-3
        if kind == "all_gather":
            assert time_us == pytest.approx(69, abs=1e-3)

    def test_published_files(self, published):
        """The published sketch and profile, unchanged."""
        topology = profile_topology(read_profile(published("topo-ndv2-1MB.json")), "ndv2", 2)
        schedule, time_us = solved(topology, "all_gather", 16 * 10**6, sketch=published("sk1-ndv2-n2.json"))
        assert time_us <= 945
        routing = next(stage for stage in schedule.notes["stages"] if stage["stage"] == "routing")
        assert (routing["status"], routing["gap"]) == ("optimal", 0)
        assert routing["bound_us"] == pytest.approx(856, rel=1e-3)


class TestBandwidth:
    @pytest.mark.parametrize(("kind", "pieces", "least"), [("all_gather", 8, 24.0), ("all_to_all", 1, 3.1)])
    @pytest.mark.parametrize("sketched", [False, True])
    def test_ndv2(self, write, sketch_content, kind, pieces, least, sketched):
        """1 GB on two NDv2 boxes comes near the bounds of 25.0 and 3.125 GB/s, with the sketch and without."""
        options = {"sketch": write(sketch_content(offsets=[[8, 16]]))} if sketched else {}
        _, time_us = solved("ndv2:2", kind, 10**9, pieces=pieces, **options)
        assert algbw_gbps(10**9, time_us) >= least

    @pytest.mark.parametrize(
        ("topology", "sketch", "kind"),
        [
            ("ndv2:2", "ndv2x2.json", "all_gather"),
            ("ndv2:2", "ndv2x2.json", "all_to_all"),
            ("ndv2:2", "ndv2x2.json", "all_reduce"),
            ("dgx2:2", "dgx2x2.json", "all_gather"),
            ("dgx2:2", "dgx2x2.json", "broadcast"),
            ("ndv2:4", "ndv2x4.json", "all_gather"),
        ],
    )
    @pytest.mark.parametrize("size", [10**3, 10**6])
    def test_auto_against_hand(self, topology, sketch, kind, size):
        """The derived sketch is no more than 10 % slower than the one by hand."""
        by_hand = solved(topology, kind, size, sketch=str(SKETCHES / sketch))[1]
        assert solved(topology, kind, size)[1] <= 1.1 * by_hand

    def test_large_broadcast(self):
        """A Broadcast of 100 MB, whole or in pieces, is no more than 10 % slower by the derived sketch either."""
        for pieces in (1, "auto"):
            by_hand = solved("dgx2:2", "broadcast", 10**8, sketch=str(SKETCHES / "dgx2x2.json"), pieces=pieces)[1]
            assert solved("dgx2:2", "broadcast", 10**8, pieces=pieces)[1] <= 1.1 * by_hand


class TestCollectives:
    @pytest.mark.parametrize("kind", COPYING)
    def test_sketched(self, write, sketch_content, kind):
        """All collectives keep to a one-way relay, the reducing ones by reversal."""
        schedule, _ = solved("ndv2:2", kind, 10**6, sketch=write(sketch_content(offsets=[[8, 16]])))
        topology = schedule.topology
        into_fabric = topology.src[schedule.link[topology.dst[schedule.link] >= 16]]
        assert set(into_fabric[into_fabric < 16].tolist()) <= {0, 8}

    @pytest.mark.parametrize("topology", ["dgx1", "mesh:4x4", "torus:4x4", "switch:8"])
    @pytest.mark.parametrize("kind", ["all_gather", "all_to_all", "all_reduce"])
    def test_derived(self, topology, kind):
        """Without a sketch any topology will do."""
        assert solved(topology, kind, 10**6)[1] > 0

    def test_random_network(self):
        """An uneven network with switches, too."""
        rows = [
            (0, 5, 0.3, 12.0), (5, 1, 0.2, 40.0), (1, 2, 0.7, 9.0), (2, 3, 0.1, 80.0), (3, 6, 1.0, 5.0),
            (6, 4, 0.5, 5.0), (4, 0, 0.5, 33.0), (2, 0, 0.5, 33.0), (6, 1, 0.5, 7.0),
        ]  # fmt: skip
        for kind in ("all_gather", "all_to_all", "all_reduce"):
            solved(Topology.from_links(5, rows, num_switches=2), kind, 10**5)

    def test_custom(self):
        """A custom collective that copies is solved; one that reduces is refused with a reason."""
        topology = parse_topology("ring:4")
        copies = Problem(topology, custom(4, [[0], [1, 2]], [[2, 3], [0]]), 1000)
        verify(Taccl().synthesize(copies, Taccl.Options()))
        reduces = Problem(topology, custom(4, [[0, 1]], [[2]], reduces=True), 1000)
        assert "custom reduction" in Taccl().supports(reduces)

    def test_too_large(self):
        """A problem beyond any model is refused with its size."""
        problem = Problem(parse_topology("switch:128"), collective("all_to_all", 128), 1000)
        assert "2097152 pairs" in Taccl().supports(problem)

    def test_chunkup(self, write, sketch_content):
        """A sketch's chunk-up cuts the inputs."""
        schedule, _ = solved("ndv2:2", "all_gather", 10**6, sketch=write(sketch_content(chunkup=2)))
        assert schedule.collective.chunks == 2


class TestSketchOptions:
    def test_own_first(self, write, sketch_content):
        """With enforce_ordering a sender's own chunk crosses before those of others."""
        path = write(sketch_content(enforce_ordering=True))
        schedule, _ = solved("ndv2:2", "all_gather", 10**6, sketch=path, pieces=1)
        topology = schedule.topology
        leaves = (topology.src[schedule.link] == 0) & (topology.dst[schedule.link] == 16)
        assert schedule.chunk[leaves][0] == 0

    @pytest.mark.parametrize(("gpus", "kind"), [(2, "all_gather"), (4, "all_gather"), (2, "all_to_all")])
    def test_own_first_in_all_stages(self, hub, write, sketch_content, gpus, kind):
        """Whatever stage the schedule is from, what relays send for others crosses after all of their own."""
        path = write(sketch_content(conn={"0": [1]}, enforce_ordering=True))
        schedule, _ = solved(profile_topology(hub(gpus), "hub_and_spoke", 2), kind, 10**6, sketch=path, effort=2.0)
        topology = schedule.topology
        into_other = topology.src[schedule.link] // gpus != topology.dst[schedule.link] // gpus
        assert into_other.any()
        for relay in (0, gpus):
            leaves = into_other & (topology.src[schedule.link] == relay)
            holders = schedule.collective.initial[schedule.chunk[leaves]]
            own = [relay in schedule.collective.set_of(int(index)) for index in holders]
            assert own == sorted(own, reverse=True)

    def test_sender_map(self, write, sketch_content):
        """Chunks cross through the sender that the map names for them."""
        path = write(
            sketch_content(conn={"0": [0], "4": [4]}, gpus_to_sender_rev_map={"0": [0, 1, 2, 3], "4": [4, 5, 6, 7]})
        )
        schedule, _ = solved("ndv2:2", "all_gather", 10**6, sketch=path)
        topology = schedule.topology
        for sender in (0, 4):
            leaves = (topology.src[schedule.link] == sender) & (topology.dst[schedule.link] == 16)
            assert set(schedule.chunk[leaves].tolist()) == set(range(sender, sender + 4))

    @pytest.mark.parametrize("strategy", ["minmax", "maxmin"])
    def test_strategies(self, write, sketch_content, strategy):
        """minmax and maxmin are taken, on one node too."""
        content = sketch_content(1)
        content["intranode_sketch"]["strategy"] = strategy
        solved("dgx1", "all_gather", 10**6, sketch=write(content))

    def test_profile(self, write, sketch_content):
        """A profile changes what the solvers count with, not how the schedule is timed."""
        profile = {"name": "NDv2", "gpus_per_node": 8, "node_betas_list": [23, 46], "node_invbws_list": [23, 46],
                   "nics_per_node": 1, "remote_alpha": 2.6, "remote_beta": 105, "remote_invbw": 107}  # fmt: skip
        path = write(profile, "profile.json")
        schedule, time_us = solved("ndv2:2", "all_gather", 16 * 10**6, sketch=write(sketch_content()), profile=path)
        assert time_us == pytest.approx(schedule.notes["planned_us"], rel=0.01)
        with pytest.raises(OptionError, match="gpus_per_node is 7; expected 8, as ndv2:2"):
            solved("ndv2:2", "all_gather", 10**6, profile=write(profile | {"gpus_per_node": 7}, "other.json"))
        with pytest.raises(OptionError, match="gpus_per_node is 16; expected 8"):
            other = profile | {"gpus_per_node": 16, "node_betas_list": [8], "node_invbws_list": [8]}
            solved("ndv2:2", "all_gather", 10**6, profile=write(other, "dgx2.json"))
        with pytest.raises(OptionError, match="1 sorts of links in node_betas_list; expected 2"):
            few = profile | {"node_betas_list": [23], "node_invbws_list": [23]}
            solved("ndv2:2", "all_gather", 10**6, profile=write(few, "few.json"))


class TestOptions:
    @pytest.mark.parametrize(
        ("option", "value"), [("slack", str(10**21)), ("slack", "-1"), ("effort", "1e999"), ("effort", "0")]
    )
    def test_limits(self, option, value):
        """A number that no solver takes is refused as an option, not somewhere in a kernel."""
        with pytest.raises(OptionError, match=f"taccl: bad option.*{option}"):
            parse_options(Taccl(), {option: value})


class TestBudget:
    @pytest.mark.parametrize("solver", ["highs", "cp_sat"])
    def test_repeats(self, solver):
        """One seed gives one schedule."""
        first, second = (solved("mesh:3x3@50x75GB/s,0.5us", "all_to_all", 10**6, solver=solver)[0] for _ in range(2))
        assert first.fingerprint == second.fingerprint

    def test_short_limit(self):
        """A time limit of a tenth of a second still gives a whole schedule, and says that the clock ended it."""
        schedule, _ = solved("dgx2:2", "all_gather", 10**8, time_limit_s=0.1)
        assert schedule.notes["time_limited"]
        *stages, last = schedule.notes["stages"]
        assert {stage["status"] for stage in stages} == {"no solution in time"}
        assert last["stage"] == CLOCK

    @pytest.mark.parametrize("kind", COPYING)
    def test_spent(self, kind):
        """A limit that is over before any plan gives the whole schedule of another synthesizer, named in `origin`."""
        schedule, _ = solved("mesh:3x3", kind, 10**6, time_limit_s=1e-6, pieces=2)
        assert schedule.notes["time_limited"]
        assert schedule.notes["origin"] in (["direct"], ["tacos"])
        first, last = schedule.notes["stages"]
        assert (first["status"], last["stage"]) == ("no solution in time", CLOCK)
        assert schedule.collective.chunks == 2

    def test_pieces_have_time_of_their_own(self, monkeypatch):
        """Solvers that take all they may leave time for cutting into pieces, which is worth more on two NDv2 nodes."""
        real = Budget.limits

        def greedy(budget, stage):
            while budget.left:  # a solver on a busy machine
                time.sleep(0.01)
            return real(budget, stage)

        monkeypatch.setattr(Budget, "limits", greedy)
        schedule, _ = solved("ndv2:2", "all_gather", 10**9, time_limit_s=4.0, pieces="auto")
        assert schedule.notes["pieces"] > 1
        assert schedule.notes["stages"][-1]["stage"] == CLOCK

    def test_spent_with_sketch(self, write, sketch_content):
        """Where a sketch or an option forbids the schedules of others, a limit that is over is a clear error."""
        for options in ({"sketch": write(sketch_content())}, {"warm_start": "none"}):
            with pytest.raises(SynthesisError, match="no schedule within the time limit of 1e-06 s; give more"):
                solved("ndv2:2", "all_reduce", 10**6, time_limit_s=1e-6, **options)

    def test_pieces_anew(self, monkeypatch):
        """`pieces=auto` plans pieces anew from the number that cutting chose, not on the way there."""
        asked = []
        monkeypatch.setattr("synthesizers.taccl.synthesizer.finer", lambda _, pieces, *__: asked.append(pieces))
        schedule, _ = solved("ring:4", "broadcast", 10**8, pieces="auto", warm_start="none")
        first = schedule.notes["pieces"]
        assert first > 2
        assert asked == [pieces for pieces in LADDER if pieces >= first][:PATIENCE]

    @pytest.mark.parametrize(("topology", "most_us"), [("mesh:4x4", 945.0), ("torus:4x4", 477.0)])
    def test_pieces_gain(self, topology, most_us):
        """Smaller chunks that are planned anew beat whole ones where cutting those gains nothing."""
        assert solved(topology, "all_gather", 10**8, warm_start="none")[1] > most_us
        assert solved(topology, "all_gather", 10**8, pieces="auto")[1] <= most_us

    @pytest.mark.parametrize("topology", ["ndv2:2", "mesh:3x3"])
    def test_pieces_backwards(self, topology):
        """In pieces, too, a ReduceScatter takes as long as the AllGather, and an AllReduce no longer than both."""
        gather, scatter, both = (solved(topology, kind, 10**9, pieces=8)[1]
                                 for kind in ("all_gather", "reduce_scatter", "all_reduce"))  # fmt: skip
        assert scatter <= gather + 1e-6
        assert both <= gather + scatter + 1e-6

    @pytest.mark.parametrize(("topology", "kind"), [("dgx2:2", "all_gather"), ("ring:5", "all_reduce")])
    def test_no_worse_than_others_in_pieces(self, topology, kind):
        """With `pieces=auto`, TACOS and the ring are upper bounds in the pieces that suit them; the origin tells."""
        schedule, time_us = solved(topology, kind, 10**9, pieces="auto")
        problem = Problem(schedule.topology, collective(kind, schedule.topology.num_npus), 10**9)
        for other in (Tacos(), Ring()):
            assert time_us <= simulate_us(other.synthesize(problem, parse_options(other, {"pieces": "auto"})), 10**9)
        assert topology != "dgx2:2" or schedule.notes["origin"] == ["tacos"]

    @pytest.mark.parametrize(
        ("topology", "kind", "size", "origin"),
        [
            ("ndv2:3", "all_gather", 3 * 10**6, "tacos"),
            ("ndv2:3", "reduce_scatter", 3 * 10**6, "tacos"),
            ("ndv2:3", "all_reduce", 3 * 10**6, "tacos"),
            ("switch:8", "all_gather", 64 * 10**6, ""),
            ("torus:4x4", "all_gather", 10**3, "tacos"),
            ("mesh:3x3", "all_to_all", 10**6, ""),
        ],
    )
    def test_no_worse_than_others(self, topology, kind, size, origin):
        """As simulated no other synthesizer it begins from is faster; where theirs is the result the record says so."""
        schedule, time_us = solved(topology, kind, size)
        problem = Problem(schedule.topology, collective(kind, schedule.topology.num_npus), size)
        for other in (Tacos(), Ring(), Direct()):
            if other.supports(problem) is None:
                theirs = other.synthesize(problem, parse_options(other, {"pieces": 1}))
                assert time_us <= simulate_us(theirs, size)
        said = [stage["status"] for stage in schedule.notes["stages"] if stage["stage"] == CHALLENGE]
        assert (origin in schedule.notes["origin"]) == bool(said) == bool(origin)
        assert all(origin in status for status in said)

    @pytest.mark.parametrize(("kind", "names"), [("all_gather", OTHERS), ("all_to_all", ("tacos", "direct"))])
    def test_others(self, kind, names):
        """Everybody who knows the collective gives a schedule in the pieces asked for; nobody where time is over."""
        problem = Problem(parse_topology("mesh:3x3"), collective(kind, 9), 10**6)
        found = dict(tuned_by_others(problem, 2, Budget(0.1, None, None, 0)))
        assert tuple(found) == names
        for schedule in found.values():
            verify(schedule)
            assert schedule.collective.chunks % 2 == 0
        late = Budget(0.1, 0.0, 0.0, 0)
        assert not list(tuned_by_others(problem, 2, late))
        assert late.clock

    @pytest.mark.parametrize("kind", ["all_gather", "all_reduce"])
    def test_own_only(self, kind):
        """With warm_start=none the schedule is TACCL's own, though another one is faster, and the record names none."""
        schedule, time_us = solved("ndv2:3", kind, 3 * 10**6, warm_start="none")
        assert set(schedule.notes["origin"]) <= {"greedy", "routing", "exact"}
        assert CHALLENGE not in {stage["stage"] for stage in schedule.notes["stages"]}
        assert time_us > solved("ndv2:3", kind, 3 * 10**6)[1]

    def test_others_come_first_with_a_clock(self):
        """However short the limit, the result is no slower than the cheapest schedules of others."""
        problem = Problem(parse_topology("ndv2:3"), collective("all_gather", 24), 3 * 10**6)
        theirs = fallback(problem, 1)[1]
        for limit in (1e-6, 0.05, 0.5):
            assert solved("ndv2:3", "all_gather", 3 * 10**6, limit)[1] <= simulate_us(theirs, 3 * 10**6)

    def test_record(self):
        """Each stage is recorded with its solver, status, gap and size, and the seconds that it took beside."""
        schedule, _ = solved("dgx1", "all_gather", 10**6, effort=1.0)
        for stage in schedule.notes["stages"]:
            assert set(stage) == {"stage", "solver", "status", "gap", "bound_us", "variables", "constraints"}
        assert len(schedule.measured["stages_s"]) == len(schedule.notes["stages"])
        assert any(schedule.measured["stages_s"])
        solvers = {stage["stage"]: stage["solver"] for stage in schedule.notes["stages"]}
        assert solvers["routing"] == "cp_sat"

    def test_same_bytes(self, tmp_path):
        """Two runs write the same file, whatever time each stage took."""
        files = []
        for name in ("first.json", "then.json"):
            save_schedule(solved("dgx1", "all_reduce", 10**6)[0], tmp_path / name)
            files.append((tmp_path / name).read_bytes())
        assert files[0] == files[1]

    def test_record_of_little_effort(self):
        """Where effort ends a stage without a solution the record says that, and how large its model was."""
        schedule, _ = solved("mesh:3x3", "all_to_all", 10**6, effort=0.0005)
        stages = {stage["stage"]: stage for stage in schedule.notes["stages"]}
        for name in ("routing", "exact"):
            assert stages[name]["status"] == "no solution within the effort"
            assert stages[name]["variables"] > 0 < stages[name]["constraints"]
        assert "time_limited" not in schedule.notes

    def test_one_solver(self):
        """With solver=highs no stage is CP-SAT's; the one that only CP-SAT knows is left out, with the reason."""
        schedule, _ = solved("mesh:3x3", "all_to_all", 10**6, solver="highs")
        stages = {stage["stage"]: stage for stage in schedule.notes["stages"]}
        assert {stage["solver"] for stage in stages.values()} == {"highs", ""}
        assert "solver=highs" in stages["exact"]["status"]

    def test_too_many_sends(self, monkeypatch, write, sketch_content):
        """More sends than scheduling can read within its effort are merged without a solver, and the record says so."""
        monkeypatch.setattr("synthesizers.taccl.stages._MOST_SENDS", 100)
        schedule, _ = solved("ndv2:2", "all_gather", 10**6, sketch=write(sketch_content()))
        (scheduling,) = (stage for stage in schedule.notes["stages"] if stage["stage"] == "scheduling")
        assert scheduling["status"] == "not tried: 240 sends, 100 at most"

    def test_bound_of_scheduling(self, ndv2_profile, write, sketch_content):
        """Durations are rounded for the solver, but what it records as a bound is not above the schedule's time."""
        path = write(sketch_content(offsets=[[8, 16]]))
        schedule, time_us = solved(profile_topology(ndv2_profile, "ndv2", 2), "all_gather", 16 * 10**6, sketch=path)
        (scheduling,) = (stage for stage in schedule.notes["stages"] if stage["stage"] == "scheduling")
        assert (scheduling["status"], time_us) == ("optimal", 917.0)
        assert 0.999 * time_us < scheduling["bound_us"] <= time_us

    def test_never_worse_than_its_start(self):
        """The schedule of the warm start is the result where nothing better is found."""
        with_start = solved("torus:4x4", "all_gather", 10**6, effort=0.001)[1]
        assert with_start <= solved("torus:4x4", "all_gather", 10**6, effort=0.001, warm_start="none")[1]
