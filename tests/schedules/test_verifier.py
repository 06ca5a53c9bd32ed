"""The verifier: right schedules pass, and mutated ones fail where a plain execution on multisets says so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective, custom, verify
from schedules.reversal import pruned
from schedules.verifier import EXACT_HOPS
from simulator import LinkModel, simulate_ps
from tests.schedules import generator, oracle
from tests.schedules.generator import doubling, hops, link_of, one_shot
from topologies import ScheduleError, Topology, VerificationError, fully_connected, line, mesh, ring, switch

MODES = ("exact", "random")


def verdict(schedule: Schedule, mode: str) -> VerificationError | None:
    """Return the error of a mode, None if it accepts."""
    try:
        verify(schedule, mode)
    except VerificationError as error:
        return error
    return None


def kind_of(error: VerificationError | None) -> str:
    """Return the oracle's word for an error."""
    if error is None:
        return "right"
    if "sends what is not there" in str(error):
        return "empty"
    return "end" if "ends with" in str(error) and "chunk" in str(error) else "route"


def refused(schedule: Schedule, message: str, hop: int | None = None) -> None:
    """Assert that both modes refuse a schedule with a message and the same hop."""
    for mode in MODES:
        with pytest.raises(VerificationError, match=message) as caught:
            verify(schedule, mode)
        assert caught.value.hop == hop


@pytest.fixture
def gathering() -> Schedule:
    """An AllGather over a line of three: the ends' chunks pass the middle."""
    rows = [(0, 0, 1), (0, 1, 2), (1, 1, 0), (1, 1, 2), (2, 2, 1), (2, 1, 0)]
    return hops(line(3), collective("all_gather", 3), rows)


@pytest.fixture
def scattering() -> Schedule:
    """A ReduceScatter over a line of three."""
    rows = [(0, 2, 1), (0, 1, 0), (1, 0, 1), (1, 2, 1), (2, 0, 1), (2, 1, 2)]
    return hops(line(3), collective("reduce_scatter", 3), rows, reduce=np.ones(6, bool))


@pytest.fixture
def routed() -> Schedule:
    """An AllGather over two NPUs and a switch; the two routes interleave."""
    topology = switch(2)
    rows = [(0, 0, 2), (1, 1, 2), (0, 2, 1), (1, 2, 0)]
    return hops(topology, collective("all_gather", 2), rows, flow=[0, 1, 0, 1])


@pytest.mark.parametrize("mode", MODES)
class TestRight:
    """Schedules that compute what they must."""

    def test_one_shot_exchange(self, mode):
        """Two ranks that add each other's buffer in one step have the sum."""
        verify(one_shot(2), mode)

    def test_recursive_doubling(self, mode):
        """Four ranks are done after two exchanges."""
        verify(doubling(4), mode)

    def test_without_the_step_an_exchange_adds_twice(self, mode):
        """The same hops one after another are wrong: the second carries what the first brought."""
        with pytest.raises(VerificationError, match="ends with a wrong chunk 0") as caught:
            verify(one_shot(2).replaced(step=None), mode)
        assert caught.value.hop == 1

    @pytest.mark.parametrize("npus", [3, 4, 8])
    def test_interleaved_routes(self, mode, npus):
        """A shift by two places round a ring: all first hops, then all second hops, in two units of time."""
        topology = ring(npus, 1.0, 0.0)
        pairs = [(rank, (rank + 2) % npus) for rank in range(npus)]
        rows = [(c, (c + turn) % npus, (c + turn + 1) % npus) for turn in (0, 1) for c in range(npus)]
        problem = collective("send_recv", npus, pairs=pairs)
        schedule = hops(topology, problem, rows, flow=np.tile(np.arange(npus), 2))
        verify(schedule, mode)
        # 1000 bytes at 1 GB/s take 1 µs a link; every link carries one first and one second hop.
        for model in (LinkModel(), LinkModel("pipelined"), LinkModel("blocking", "store_and_forward")):
            assert simulate_ps(schedule, 1000, model) == 2_000_000

    def test_an_inner_arrival_is_not_stored(self, mode):
        """What a route brings past an NPU cannot be sent from there by anyone else."""
        problem = custom(3, [[0]], [[1, 2]])
        rows = [(0, 0, 1), (0, 1, 2)]
        verify(hops(line(3), problem, rows), mode)
        with pytest.raises(VerificationError, match="NPU 1 ends without chunk 0: no hop brings it there"):
            verify(hops(line(3), problem, rows, flow=[0, 0]), mode)

    def test_a_route_carries_what_was_there_when_it_started(self, mode):
        """A delivery listed between a route's hops is not in what the route carries."""
        rows = [(0, 1, 2), (0, 0, 1), (0, 2, 3), (0, 1, 2), (0, 2, 3)]
        problem = custom(4, [[0, 1]], [[3]], reduces=True)
        schedule = hops(line(4), problem, rows, reduce=[True] * 5, flow=[1, -1, 1, 0, 0])
        with pytest.raises(VerificationError, match="chunk 0"):
            verify(schedule, mode)  # NPU 1's own contribution, sent early and again within the sum
        verify(schedule.replaced(reduce=[False, True, False, False, False]), mode)

    def test_memory_is_versioned(self, mode):
        """A later delivery never changes what an earlier-listed send carries, though it arrives before that send."""
        # NPU 1 sends its chunk on to NPU 2 and only then, by the list, takes in NPU 0's contribution.
        problem = custom(3, [[0, 1, 2]], [[1, 2]], reduces=True)
        rows = [(0, 1, 2), (0, 2, 1), (0, 0, 1), (0, 1, 2)]
        schedule = hops(line(3), problem, rows, reduce=[True, False, True, False])
        verify(schedule, mode)
        verify(schedule.replaced(order="fifo"), mode)

    def test_in_place_reduction_without_versions_would_break(self, mode):
        """Three ranks that all add each other's buffer need the step: one after another, they would send sums."""
        problem = collective("all_reduce", 3, shards=1)
        topology = fully_connected(3)
        rows = [(0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 1, 0), (0, 2, 0), (0, 2, 1)]
        together = hops(topology, problem, rows, reduce=[True] * 6, step=[0] * 6)
        verify(together, mode)
        assert verdict(together.replaced(step=[0, 1, 2, 3, 4, 5]), mode) is not None

    def test_copies_may_come_twice(self, mode, gathering):
        """A chunk that is delivered again does no harm."""
        verify(gathering.selected(np.array([0, 0, 1, 2, 3, 1, 4, 5, 2])), mode)

    def test_a_copy_to_the_holder_does_no_harm(self, mode):
        """A chunk may come back to where it was from the start."""
        verify(hops(line(2), collective("broadcast", 2), [(0, 0, 1), (0, 1, 0)]), mode)

    def test_reduce_into_an_empty_place_stores(self, mode):
        """A sum may gather at an NPU that contributes nothing."""
        problem = custom(3, [[0, 2]], [[1]], reduces=True)
        verify(hops(line(3), problem, [(0, 0, 1), (0, 2, 1)], reduce=[True, True]), mode)

    def test_copying_collectives_may_use_reduce_into_empty_places(self, mode, gathering):
        """The flag means nothing where nothing lies, and doubles where something does."""
        flagged = gathering.replaced(reduce=np.ones(6, bool))
        verify(flagged, mode)
        with pytest.raises(VerificationError, match="chunk 0"):
            verify(flagged.selected(np.array([0, 1, 2, 3, 4, 5, 1])), mode)

    def test_what_is_not_asked_is_ignored(self, mode):
        """Places outside the postcondition may hold anything, even a contribution counted twice."""
        problem = custom(3, [[0, 1]], [[0]], reduces=True)
        schedule = hops(line(3), problem, [(0, 1, 0), (0, 1, 2), (0, 1, 2)], reduce=[True] * 3)
        verify(schedule, mode)

    def test_nothing_to_do(self, mode):
        """No hops are right where everything is in place, with no chunks, one rank or no pairs."""
        empty = np.zeros(0, np.int64)
        for problem in (
            collective("all_gather", 2, groups=[[0], [1]]),
            collective("send_recv", 2),
            custom(2, [], []),
            custom(2, [[0], []], [[0], []]),
        ):
            verify(Schedule(line(2), problem, empty, empty), mode)

    def test_several_groups(self, mode):
        """Each group is judged by itself."""
        problem = collective("all_reduce", 4, groups=[[1, 0], [2, 3]], shards=1)
        rows = [(0, 0, 1), (0, 1, 0), (1, 2, 3), (1, 3, 2)]
        verify(hops(line(4), problem, rows, reduce=[True] * 4, step=[0] * 4), mode)

    def test_many_doublings_do_not_wrap_to_right(self, mode):
        """A sum that was doubled until 64 bits forget it is still wrong."""
        # NPUs 1 and 2 exchange k times: both hold 2^(k−1) times both; then NPU 0's part and theirs are added once.
        problem = custom(4, [[0, 1, 2]], [[0]], reduces=True)
        topology = fully_connected(4)
        for doublings in (60, 61, 62, 63, 64, 65, 66):
            rows = [(0, 1, 3), (0, 2, 3)] + [(0, 1, 2), (0, 2, 1)] * doublings + [(0, 1, 0), (0, 3, 0)]
            step = [0, 0, *np.repeat(np.arange(1, doublings + 1), 2), doublings + 1, doublings + 2]
            schedule = hops(topology, problem, rows, reduce=[True] * len(rows), step=step)
            assert verdict(schedule, mode) is not None, doublings


class TestWrong:
    """Each kind of fault, and what the error says of it."""

    def test_dropped_hop(self, gathering):
        """A hop that is missing leaves its reader with nothing to send."""
        message = r"hop 0 \(chunk 0, NPU 1 -> NPU 2\) sends what is not there: no earlier hop has brought chunk 0 to "
        refused(gathering.selected(np.arange(1, 6)), message + "NPU 1", 0)

    def test_dropped_last_hop(self, gathering):
        """A hop that nobody reads leaves its place empty."""
        refused(gathering.selected(np.arange(5)), "NPU 0 ends without chunk 2: no hop brings it there", None)

    def test_dropped_contribution(self, scattering):
        """A hop that is missing from a sum is named by whose contribution lacks."""
        schedule = scattering.selected(np.array([0, 1, 2, 4, 5]))
        with pytest.raises(VerificationError, match="a wrong chunk 1: it lacks the contribution of NPU 2"):
            verify(schedule, "exact")
        refused(schedule, "hop 2 was the last to write it", 2)

    def test_swapped_dependent_hops(self, gathering):
        """A hop listed before the one that supplies it."""
        refused(gathering.selected(np.array([1, 0, 2, 3, 4, 5])), "hop 0 .* sends what is not there", 0)

    def test_first_by_list_position(self, gathering):
        """Of several hops that send what is not there, the first in the list is named, whatever its chunk."""
        refused(gathering.selected(np.array([5, 1, 0, 2, 3, 4])), r"hop 0 \(chunk 2, NPU 1 -> NPU 0\)", 0)

    def test_first_comes_before_what_the_end_lacks(self):
        """A hop at fault is named rather than a place that ends wrong."""
        problem = custom(3, [[0], [0]], [[2], [2]])
        refused(hops(line(3), problem, [(1, 1, 2)]), "hop 0 .* sends what is not there", 0)

    def test_duplicated_reducing_hop(self, scattering):
        """A contribution that is added twice."""
        schedule = scattering.selected(np.array([0, 1, 2, 3, 3, 4, 5]))
        with pytest.raises(VerificationError, match="it holds that of NPU 2 more than once; hop 4 was the last"):
            verify(schedule, "exact")
        refused(schedule, "NPU 1 ends with a wrong chunk 1", 4)

    def test_many_names_are_cut_short(self):
        """A message names four contributors at most."""
        problem = collective("reduce", 8)
        schedule = Schedule(line(8), problem, np.zeros(0, int), np.zeros(0, int))
        with pytest.raises(VerificationError, match="lacks the contribution of NPU 1, NPU 2, NPU 3, NPU 4, …"):
            verify(schedule, "exact")

    def test_misrouted_hop(self, gathering):
        """A hop over another link."""
        link = gathering.link.copy()
        link[1] = link_of(gathering.topology, 1, 0)
        refused(gathering.replaced(link=link), "NPU 2 ends without chunk 0", None)

    def test_wrong_chunk(self, gathering):
        """A hop that carries another chunk."""
        chunk = gathering.chunk.copy()
        chunk[0] = 2
        refused(gathering.replaced(chunk=chunk), r"hop 0 \(chunk 2, NPU 0 -> NPU 1\) sends what is not there", 0)

    def test_missing_reduce_flag(self, scattering):
        """A hop that overwrites the sum instead of adding to it."""
        schedule = scattering.replaced(reduce=[True, True, True, False, True, True])
        with pytest.raises(VerificationError, match="it lacks the contribution of NPU 0, NPU 1"):
            verify(schedule, "exact")
        refused(schedule, "NPU 1 ends with a wrong chunk 1", 3)

    def test_copy_added_to_itself(self):
        """A copying collective whose chunk is doubled."""
        schedule = hops(line(2), collective("broadcast", 2), [(0, 0, 1), (0, 0, 1)], reduce=[False, True])
        with pytest.raises(VerificationError, match="NPU 1 ends with a wrong chunk 0: it holds it added to itself"):
            verify(schedule, "exact")
        refused(schedule, "hop 1 was the last to write it", 1)

    def test_a_wrong_place_without_a_writer(self):
        """A holder that nobody wrote to is wrong from the start: no hop is named."""
        schedule = Schedule(line(2), collective("reduce", 2), np.zeros(0, int), np.zeros(0, int))
        refused(schedule, "NPU 0 ends with a wrong chunk 0: (it lacks|a contribution is missing)", None)

    def test_flow_broken_in_the_middle(self):
        """A route whose links do not meet."""
        schedule = hops(line(4), custom(4, [[0]], [[3]]), [(0, 0, 1), (0, 2, 3)], flow=[0, 0])
        message = r"hop 1 \(chunk 0, NPU 2 -> NPU 3\) does not start where the hop before it in its route ended"
        refused(schedule, message, 1)

    def test_flow_ends_at_a_switch(self, routed):
        """A route that leads nowhere."""
        hop = "hop 1 .*ends at a switch: a route must lead on to an NPU"
        refused(routed.selected(np.array([0, 1, 2])), hop, 1)

    def test_flow_starts_at_a_switch(self, routed):
        """A hop out of a switch that nothing led there."""
        refused(routed.replaced(flow=[0, 1, 0, -1]).selected(np.array([0, 3, 1, 2])), "hop 1 .*starts at a switch", 1)

    def test_flow_changes_chunk(self, routed):
        """A route whose hops carry different chunks."""
        refused(routed.replaced(chunk=[0, 1, 1, 1]), "hop 2 .*carries another chunk than the hop before it", 2)

    def test_first_route_fault_by_list_position(self, routed):
        """A hop that starts at a switch is named before a later one that does not connect."""
        schedule = routed.selected(np.array([3, 0, 1, 2])).replaced(flow=[-1, 0, 0, -1])
        refused(schedule, "hop 0 .*starts at a switch", 0)

    def test_hops_through_a_switch_without_a_flow(self, routed):
        """Switches do not store."""
        refused(routed.replaced(flow=None), "hop 0 .*ends at a switch", 0)

    @pytest.mark.parametrize(("name", "limit"), [("link", 4), ("chunk", 3)])
    def test_tampered_columns(self, gathering, name, limit):
        """The verifier trusts no constructor: what does not exist is refused again."""
        column = getattr(gathering, name).copy()
        column[2] = limit
        object.__setattr__(gathering, name, column)
        refused(gathering, f"hop 2 names {name} {limit}, which does not exist", 2)

    def test_tampered_steps(self):
        """Steps that go back are refused again."""
        schedule = doubling(4)
        object.__setattr__(schedule, "step", schedule.step[::-1].copy())
        refused(schedule, "hop 4 goes back to an earlier step", 4)

    def test_node_names_are_used(self):
        """Messages speak of the network's own names."""
        topology = Topology.from_links(2, [(0, 1, 0.0, 1.0)], node_names=["left", "right"])
        schedule = Schedule(topology, collective("broadcast", 2), np.zeros(0, int), np.zeros(0, int))
        refused(schedule, "right ends without chunk 0", None)

    def test_an_error_is_a_schedule_error(self, gathering):
        """Callers that catch ScheduleError or ValueError catch it too."""
        with pytest.raises(ScheduleError):
            verify(gathering.selected(np.arange(5)))


class TestMode:
    """Choice of the mode."""

    def test_unknown(self, gathering):
        """An unknown mode is refused with the known ones."""
        with pytest.raises(ValueError, match="mode 'fast': expected one of auto, exact, random"):
            verify(gathering, "fast")

    @pytest.mark.parametrize(("extra", "words"), [(0, "lacks the contribution of"), (1, "foreign or counted twice")])
    def test_auto(self, extra, words):
        """Up to EXACT_HOPS hops the contributors are named, beyond them not."""
        count = EXACT_HOPS + extra
        schedule = Schedule(line(2), collective("reduce", 2), np.zeros(count, int), np.zeros(count, int))
        with pytest.raises(VerificationError, match=words):
            verify(schedule)

    def test_seed(self, scattering):
        """Any seed gives the same verdict."""
        for seed in (0, 1, 2**63 - 1):
            verify(scattering, "random", seed)
            with pytest.raises(VerificationError):
                verify(scattering.selected(np.arange(5)), "random", seed)

    def test_many_chunks_on_both_threads(self):
        """The first fault by list position is found whichever thread has its chunk."""
        problem = custom(3, [[0]] * 50, [[2]] * 50)
        good = [(c, a, b) for c in range(50) for a, b in ((0, 1), (1, 2))]
        for first, second in ((10, 40), (40, 10)):
            rows = [(first, 1, 2), (second, 1, 2), *good]
            refused(hops(line(3), problem, rows), rf"hop 0 \(chunk {first}, NPU 1 -> NPU 2\) sends", 0)


class TestMutations:
    """The verifier against the oracle of multisets, on right schedules and on mutated ones."""

    @settings(max_examples=150, deadline=None)
    @given(generator.right())
    def test_right_schedules_pass(self, schedule):
        """What is right by construction is accepted by both modes and by the oracle."""
        assert oracle.judge(schedule) == ("right", None)
        for mode in MODES:
            verify(schedule, mode)

    @settings(max_examples=600, deadline=None)
    @given(st.data())
    def test_mutated_schedules_are_judged_rightly(self, data):
        """Both modes agree with the oracle on the verdict, and name the same hop."""
        schedule = data.draw(generator.mutated(data.draw(generator.right())))
        word, hop = oracle.judge(schedule)
        event(word)
        errors = [verdict(schedule, mode) for mode in MODES]
        assert [kind_of(error) for error in errors] == [word, word]
        if word != "right":
            assert errors[0].hop == errors[1].hop
            assert word == "route" or errors[0].hop == hop
        if word in ("empty", "route"):
            assert str(errors[0]) == str(errors[1])

    @settings(max_examples=60, deadline=None)
    @given(generator.copying(("all_gather", "broadcast")), st.booleans())
    def test_a_tree_has_no_hop_to_spare(self, schedule, backwards):
        """Without any one hop both modes refuse."""
        schedule = pruned(schedule.replaced(flow=None) if schedule.topology.num_switches == 0 else schedule)
        schedule = schedule.reverse() if backwards else schedule
        for hop in range(schedule.num_hops):
            keep = np.delete(np.arange(schedule.num_hops), hop)
            assert all(verdict(schedule.selected(keep), mode) is not None for mode in MODES)


@pytest.mark.parametrize("mode", MODES)
def test_larger_schedules(mode):
    """A mesh of 64 NPUs: AllGather, ReduceScatter and their join are accepted, one lost hop is not."""
    gathered = generator.trees(mesh((8, 8)), collective("all_gather", 64), np.random.default_rng(1))
    scattered = generator.trees(mesh((8, 8)).reversed(), gathered.collective, np.random.default_rng(2)).reverse()
    joined = scattered.then(gathered)
    for schedule in (gathered, scattered, joined):
        verify(schedule, mode)
        assert verdict(schedule.selected(np.delete(np.arange(schedule.num_hops), 1234)), mode) is not None
