"""Every discovered synthesizer keeps to the contract, and the suite that says so catches those that do not."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules import KINDS, Schedule, collective, custom
from simulator import LATENCIES, SWITCHINGS, LinkModel
from synthesizers import OptionsBase, Problem, Synthesizer, available, discover
from synthesizers.conformance import Case, ConformanceError, cases, check, check_description
from synthesizers.direct import Direct
from topologies import Topology, ring

NAMES = sorted(available())
CASES = {case.name: case for case in cases()}
#: Of which synthesizers only one case in so many is run here, of all networks and kinds: `auto` runs all the others,
#: which have theirs, and TACCL's solvers take their time. ``collbench synthesizer check`` runs all cases of anybody.
ONE_IN = {"auto": 5, "taccl": 3}
RUNS = [(name, case) for name in NAMES for place, case in enumerate(CASES) if place % ONE_IN.get(name, 1) == 0]
COMMON_KINDS = [kind for kind in KINDS if kind not in ("custom", "send_recv")]

#: Of each built-in synthesizer, how the names of the cases begin, or end, that it refuses.
_NOT_TO_ALL = ("all_to_all-", "gather-", "scatter-", "send_recv-")
_TO_SOME = ("broadcast-", "gather-", "reduce-", "reduce_scatter-", "scatter-", "send_recv-")
REFUSED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "alltoall_lp": ((*_TO_SOME, "all_gather-", "all_reduce-"), ()),
    "auto": ((), ()),
    "binomial": (("all_gather-", "all_reduce-", "all_to_all-", "reduce_scatter-", "send_recv-"), ()),
    "bruck": ((*_TO_SOME, "all_reduce-"), ()),
    "direct": ((), ()),
    "double_binary_tree": ((*_NOT_TO_ALL, "all_gather-", "reduce_scatter-"), ()),
    "forest": (_NOT_TO_ALL, ()),
    "halving_doubling": (("all_to_all-", "send_recv-"), ()),
    "pairwise": ((*_TO_SOME, "all_gather-", "all_reduce-"), ()),
    "recursive_doubling": ((*_TO_SOME, "all_to_all-"), ()),
    "ring": (_NOT_TO_ALL, ()),
    "scatter_allgather": ((*_NOT_TO_ALL, "all_gather-", "all_reduce-", "reduce_scatter-"), ()),
    "taccl": ((), ()),
    "tacos": ((), ()),
}


@st.composite
def networks(draw, max_npus=24):
    """Draw a strongly connected network of 2 to 24 NPUs, maybe with switches, parallel links and very uneven links."""
    npus, switches = draw(st.integers(2, max_npus)), draw(st.integers(0, 3))
    nodes = draw(st.permutations(range(npus + switches)))
    ends = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    node = st.integers(0, npus + switches - 1)
    ends += [pair for pair in draw(st.lists(st.tuples(node, node), max_size=3 * npus)) if pair[0] != pair[1]]
    latencies = draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 7.0]), min_size=1, max_size=3))
    rates = draw(st.lists(st.floats(0.4, 400.0), min_size=1, max_size=3))
    rows = [(a, b, draw(st.sampled_from(latencies)), draw(st.sampled_from(rates))) for a, b in ends]
    return Topology.from_links(npus, rows, num_switches=switches)


@st.composite
def problems(draw):
    """Draw a problem of any collective on a random network."""
    topology = draw(networks())
    work = draw(st.sampled_from([grouped, grouped, grouped, paired, conditioned]))
    work = draw(work(topology.num_npus))
    model = LinkModel(draw(st.sampled_from(LATENCIES)), draw(st.sampled_from(SWITCHINGS)))
    size = draw(st.sampled_from([0, 1, 1000, 10**6, 2**27 + 1]))
    return Problem(topology, work, size, model, draw(st.integers(0, 3)))


@st.composite
def grouped(draw, npus):
    """Draw a common collective over all NPUs, or over one or two groups of them."""
    kind = draw(st.sampled_from(COMMON_KINDS))
    groups = None
    if draw(st.booleans()):
        order = draw(st.permutations(range(npus)))
        cut = sorted(draw(st.lists(st.integers(1, npus), min_size=1, max_size=2, unique=True)))
        groups = [part for part in (order[: cut[0]], order[cut[0] : cut[-1]]) if part]
    smallest = min(map(len, groups or [range(npus)]))
    root = draw(st.integers(0, smallest - 1)) if kind in ("broadcast", "reduce", "gather", "scatter") else 0
    return collective(kind, npus, groups=groups, chunks=draw(st.integers(1, 3)), root=root)


@st.composite
def paired(draw, npus):
    """Draw a list of sends, some perhaps from an NPU to itself or twice."""
    npu = st.integers(0, npus - 1)
    pairs = draw(st.lists(st.tuples(npu, npu), max_size=12))
    return collective("send_recv", npus, pairs=pairs, chunks=draw(st.integers(1, 2)))


@st.composite
def conditioned(draw, npus):
    """Draw a custom collective of a few chunks, with or without reduction."""
    some = st.sets(st.integers(0, npus - 1), min_size=1, max_size=4)
    chunks = draw(st.lists(st.tuples(some, some), max_size=6))
    weights = draw(st.lists(st.integers(1, 5), min_size=len(chunks), max_size=len(chunks)))
    initial, final = [before for before, _ in chunks], [after for _, after in chunks]
    return custom(npus, initial, final, reduces=draw(st.booleans()), weights=weights or None)


class TestCases:
    def test_names_differ(self):
        """Each case has a name of its own."""
        names = [case.name for case in cases()]
        assert [name for name, count in Counter(names).items() if count > 1] == []

    def test_cover(self):
        """All named collectives are there, on one NPU, two NPUs, switches, machines, in groups, and with late roots."""
        problems = [case.problem for case in CASES.values()]
        assert {problem.collective.kind for problem in problems} == set(KINDS) - {"custom"}
        assert {1, 2, 5, 7, 16, 32} <= {problem.topology.num_npus for problem in problems}
        assert any(problem.topology.num_switches for problem in problems)
        assert any(len(problem.collective.groups) > 1 for problem in problems)
        assert any(problem.collective.root for problem in problems)


@pytest.mark.parametrize(("name", "case"), RUNS)
def test_case(name, case, record_property):
    """The synthesizer solves the case as the contract says, or gives a reason why not."""
    record_property("unsupported", check(available()[name], CASES[case]))


@pytest.mark.parametrize("name", NAMES)
class TestCheck:
    def test_description(self, name):
        """Name, reference and options with defaults are there."""
        assert isinstance(check_description(available()[name]), OptionsBase)

    def test_refusals(self, name, record_property):
        """Refusals are counted, and of a built-in one they are exactly those that are known."""
        reasons = {case: available()[name].supports(each.problem) for case, each in CASES.items()}
        refused = {case for case, reason in reasons.items() if reason is not None}
        record_property("refused", dict(Counter(reasons[case] for case in refused)))
        assert len(refused) < len(CASES)
        if name in REFUSED:
            kinds, others = REFUSED[name]
            assert refused == {case for case in CASES if case.startswith(kinds) or case.endswith(others)}

    def test_random_networks(self, name):
        """It keeps to the contract on random uneven networks too; the slow ones are tried on fewer."""
        synthesizer = available()[name]

        @settings(
            max_examples=100 if synthesizer.cost < 0.5 else 30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(problem=problems())
        def keeps_to_the_contract(problem):
            check(synthesizer, Case("random", problem))

        keeps_to_the_contract()


def test_no_plugin_is_broken():
    """Every plugin of the built-in package loads."""
    assert {name: plugin.error for name, plugin in discover().items() if plugin.error} == {}


class Base(Direct):
    """Direct exchange by another name, for the defects below to be put into."""

    name = "base"


class Silent(Base):
    """Refuses without a reason."""

    def supports(self, problem):
        return ""


class Crashing(Base):
    """Supports what it cannot do."""

    def synthesize(self, problem, options):
        raise IndexError("list index out of range")


class Elsewhere(Base):
    """Answers for another network."""

    def synthesize(self, problem, options):
        other = ring(4, 1.0)
        return super().synthesize(Problem(other, problem.collective, problem.size), options)


class Another(Base):
    """Computes another collective."""

    def synthesize(self, problem, options):
        return super().synthesize(Problem(problem.topology, collective("all_to_all", 4), problem.size), options)


class Incomplete(Base):
    """Forgets the last hop."""

    def synthesize(self, problem, options):
        schedule = super().synthesize(problem, options)
        return schedule.selected(np.arange(schedule.num_hops - 1))


class Global(Base):
    """Draws from the process-wide generator."""

    def synthesize(self, problem, options):
        return super().synthesize(problem, self.Options(pieces=random.randint(1, 64)))


class GlobalNumpy(Base):
    """Draws from numpy's process-wide generator."""

    def synthesize(self, problem, options):
        return super().synthesize(problem, self.Options(pieces=np.random.randint(1, 64)))  # noqa: NPY002


class Remembering(Base):
    """Gives another answer every time."""

    runs = 0

    def synthesize(self, problem, options):
        type(self).runs += 1
        return super().synthesize(problem, self.Options(pieces=self.runs))


class Meddling(Base):
    """Changes the network that it was given."""

    def synthesize(self, problem, options):
        schedule = super().synthesize(problem, options)
        rates = problem.topology.bandwidth_gbps
        rates.setflags(write=True)
        rates *= 2
        return schedule


class Timing(Base):
    """Notes what it measured."""

    def __init__(self):
        self.runs = 0

    def synthesize(self, problem, options):
        self.runs += 1
        return super().synthesize(problem, options).with_notes(seconds=self.runs)


class Nothing(Base):
    """Returns nothing."""

    def synthesize(self, problem, options):
        return None


class Nameless(Base):
    """Follows no paper."""

    reference = " "


class Demanding(Base):
    """Has an option without a default."""

    class Options(OptionsBase, frozen=True):
        """One option."""

        pieces: int


class Loose(Base):
    """Has options that are no options."""

    Options = msgspec.Struct


DEFECTS = [
    (Silent, "supports"),
    (Crashing, "IndexError"),
    (Elsewhere, "the problem on"),
    (Another, "computes all_to_all"),
    (Incomplete, "is wrong"),
    (Global, "two runs"),
    (GlobalNumpy, "two runs"),
    (Remembering, "two runs"),
    (Timing, "different notes"),
    (Meddling, "changed the problem"),
    (Nothing, "NoneType"),
    (Nameless, "reference"),
    (Demanding, "default"),
    (Loose, "OptionsBase"),
]


def small():
    """Return a case that direct exchange passes."""
    return Case("small", Problem(ring(4), collective("all_gather", 4), 1000))


class TestDefects:
    def test_none(self):
        """Without a defect the case passes."""
        assert check(Base(), small()) is None

    @pytest.mark.parametrize(("defective", "expected"), DEFECTS, ids=lambda value: getattr(value, "__name__", None))
    def test_caught(self, defective, expected):
        """Each defect is caught, and the message names synthesizer, case and what is wrong."""
        with pytest.raises(ConformanceError, match=f"^base on small: .*{expected}"):
            check(defective(), small())

    def test_too_fast(self, monkeypatch):
        """A time below the bound is reported as a defect of the simulator or the bound."""
        monkeypatch.setattr("synthesizers.conformance.simulate_us", lambda *_: 1e-3)
        with pytest.raises(ConformanceError, match="none takes less"):
            check(Base(), small())

    def test_time_limited(self):
        """A run that the clock ended need not repeat."""

        class Limited(Remembering):
            def synthesize(self, problem, options) -> Schedule:
                return super().synthesize(problem, options).replaced(notes={"time_limited": True})

        assert check(Limited(), small()) is None

    def test_unsupported(self):
        """A reason is handed on."""

        class Refusing(Base):
            def supports(self, problem):
                return "not today"

        assert check(Refusing(), small()) == "not today"

    def test_random_state_is_left_alone(self):
        """The process-wide generators go on where they were."""
        random.seed(7)
        expected = random.random()
        random.seed(7)
        check(Base(), small())
        assert random.random() == expected

    def test_is_a_synthesizer(self):
        """The defects are put into a class that is itself a synthesizer."""
        assert issubclass(Base, Synthesizer)
