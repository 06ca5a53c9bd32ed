"""The compiled kernels and their pure-Python twins give the same times on random schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules import ORDERS, Schedule, collective
from simulator import LATENCIES, SWITCHINGS, LinkModel, events, hop_times, in_order, reference, simulate_ps
from simulator.link_model import Durations
from simulator.simulate import bare_tables, hop_wires
from topologies import ScheduleError, Topology

MODELS = [LinkModel(latency, switching) for latency in LATENCIES for switching in SWITCHINGS]


@st.composite
def networks(draw):
    """Draw a strongly connected network of two to five NPUs, up to two switches, maybe with parallel links."""
    npus, switches = draw(st.integers(2, 5)), draw(st.integers(0, 2))
    nodes = draw(st.permutations(range(npus + switches)))
    ends = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    node = st.integers(0, npus + switches - 1)
    ends += [pair for pair in draw(st.lists(st.tuples(node, node), max_size=8)) if pair[0] != pair[1]]
    rows = [
        (a, b, draw(st.sampled_from([0.0, 0.5, 0.5, 1.3])), draw(st.sampled_from([1e-3, 1e-3, 7e-4]))) for a, b in ends
    ]
    return Topology.from_links(npus, rows, num_switches=switches)


@st.composite
def schedules(draw, bundles=("none", "contiguous", "scattered"), plain=False):
    """Draw a schedule of random routes: dataflow is what the list says, whether or not it makes sense."""
    topology = draw(networks())
    chunks = draw(st.integers(1, 2))
    work = collective("all_gather", topology.num_npus, chunks=chunks)
    start, links = topology.out_links
    levels = []  # of each send, the hops of its chunks over one link of its route
    flows = 0
    for _ in range(draw(st.integers(0, 10))):
        node, level = draw(st.integers(0, topology.num_npus - 1)), []
        several = draw(st.lists(st.integers(0, work.num_chunks - 1), min_size=1, max_size=3, unique=True))
        length = 1 if plain else draw(st.integers(1, 4))
        named = length > 1 or draw(st.booleans())
        for _ in range(length):
            link = int(draw(st.sampled_from(links[start[node] : start[node + 1]].tolist())))
            level.append([(c, link, flows + at if named else -1) for at, c in enumerate(several)])
            node = int(topology.dst[link])
        flows += len(several)
        levels.append(level)
    turns = draw(st.permutations([send for send, level in enumerate(levels) for _ in level]))
    hops = [hop for send in turns for hop in levels[send].pop(0)]
    chunk, link, flow = (np.array([hop[field] for hop in hops], np.int64) for field in range(3))
    step = message = None
    if not plain and draw(st.booleans()):
        step = np.sort(np.array(draw(st.lists(st.integers(0, 5), min_size=len(hops), max_size=len(hops))), np.int64))
    bundle = "none" if plain else draw(st.sampled_from(bundles))
    if bundle != "none":
        message = np.full(len(hops), -1)
        latest: dict[int, int] = {}  # link → its latest hop
        for hop in range(len(hops)):
            previous = latest.get(int(link[hop]), -1)
            adjacent = previous >= 0 and (bundle == "scattered" or previous == hop - 1)
            message[hop] = message[previous] if adjacent and draw(st.integers(0, 3)) else hop
            latest[int(link[hop])] = hop
        alone = np.bincount(message, minlength=len(hops)) == 1
        message[alone[message]] = -1
    return Schedule(topology, work, chunk, link, flow=None if plain else flow, step=step, message=message,
                    order=draw(st.sampled_from(ORDERS)))  # fmt: skip


sizes = st.sampled_from([0, 1, 7, 60, 1000])
models = st.sampled_from(MODELS)
thorough = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def same(kernel, twin):
    """Hold (start, end, …) equal."""
    for found, expected in zip(kernel, twin, strict=True):
        np.testing.assert_array_equal(found, expected)


def loop_arguments(schedule, size, model, ordered):
    """Return what `events.run` takes."""
    times, flow = Durations(schedule, size), schedule.dataflow
    _, link, _, _, _, message = schedule.kernel_columns
    edge_start, edges = events.dependents(flow.reads)
    return (link, hop_wires(times), message, (flow.reads >= 0).astype(np.int32), edge_start, edges, flow.follows,
            flow.before, times.alpha, model.latency == "blocking", model.switching == "cut_through",
            ordered)  # fmt: skip


def pass_arguments(schedule, size, model, listed=False):
    """Return what `in_order.in_order` takes; `listed`: with a duration per hop instead of the table."""
    times, flow = Durations(schedule, size), schedule.dataflow
    chunk, link, _, _, _, message = schedule.kernel_columns
    table, per_hop = (np.zeros((1, 1), np.int64), hop_wires(times)) if listed else (times.table, times.per_hop)
    return (chunk, link, message, flow.reads, flow.follows, flow.before, times.alpha, times.size_class,
            times.rate_class, table, per_hop, times.per_message, model.latency == "blocking",
            model.switching == "cut_through")  # fmt: skip


class TestCompletion:
    @thorough
    @given(schedules(plain=True), sizes, models)
    def test_twins(self, schedule, size, model):
        """The bare pass, its twin, the pass with the dataflow and the event loop agree on plain schedules."""
        chunk, link, *_ = schedule.kernel_columns
        times, topology = Durations(schedule, size), schedule.topology
        arguments = (chunk, link, topology.src, topology.dst, times.size_class,
                     *bare_tables(times, model.latency == "blocking"))  # fmt: skip
        places = topology.num_nodes * schedule.collective.num_chunks
        done = in_order.completion(*arguments, np.zeros(places, np.int64))
        assert done == reference.completion(*arguments, np.zeros(places, np.int64))
        for narrow in (np.uint16, np.uint32):
            fits = done <= np.iinfo(narrow).max
            assert in_order.completion(*arguments, np.zeros(places, narrow)) == (done if fits else -1)
        assert done == in_order.in_order(*pass_arguments(schedule, size, model))[1].max(initial=0)
        assert done == events.run(*loop_arguments(schedule, size, model, True))[1].max(initial=0)


class TestInOrder:
    @thorough
    @given(schedules(bundles=("none", "contiguous")), sizes, models, st.booleans())
    def test_twins(self, schedule, size, model, listed):
        """Starts and ends agree, and so does the hop that reads from its own message."""
        arguments = pass_arguments(schedule, size, model, listed)
        kernel, twin = in_order.in_order(*arguments), reference.in_order(*arguments)
        same(kernel, twin)

    @thorough
    @given(schedules(bundles=("none", "contiguous")), sizes, models)
    def test_equals_the_event_loop(self, schedule, size, model):
        """One linear pass and the event loop that keeps the links' order give the same times."""
        looped = events.run(*loop_arguments(schedule, size, model, True))
        assert looped[2] == schedule.num_hops
        same(in_order.in_order(*pass_arguments(schedule, size, model)), looped[:2])


class TestRun:
    @thorough
    @given(schedules(), sizes, models, st.booleans())
    def test_twins(self, schedule, size, model, ordered):
        """Starts, ends and the number of hops carried agree, in both orders, also where messages deadlock."""
        arguments = loop_arguments(schedule, size, model, ordered)
        kernel, twin = events.run(*arguments), reference.run(*arguments)
        assert kernel[2] == twin[2]
        same(kernel[:2], twin[:2])

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("latencies", [[1.0], [1.0, 1.01, 1.37]])
    def test_many_that_are_ready_for_one_link(self, latencies, model):
        """A hundred transfers that wait for one link within one window take it by (time, list position)."""
        senders, draw = 100, np.random.default_rng(3)
        hub, last = senders, senders + 1
        rows = [(npu, hub, float(draw.choice(latencies)), 50.0) for npu in range(senders)]
        rows += [(hub, last, 1.0, 50.0), *((last, npu, 1.0, 50.0) for npu in range(senders))]
        topology = Topology.from_links(senders + 2, rows)
        chunk, link = draw.permutation(senders), np.full(2 * senders, senders)
        link[:senders] = draw.permutation(senders)
        chunks = np.concatenate([link[:senders], chunk])
        schedule = Schedule(topology, collective("all_gather", senders + 2), chunks, link, order="fifo")
        arguments = loop_arguments(schedule, 10**6, model, False)
        assert events._window_bits(*arguments[:2], *arguments[7:9], model.switching == "cut_through") >= 0
        kernel, twin = events.run(*arguments), reference.run(*arguments)
        same(kernel, twin)

    @pytest.mark.parametrize(("latency", "rate"), [(10.0**6, 50.0), (0.0, 1e-9)])
    def test_windows_that_are_too_many(self, latency, rate):
        """Where a link takes a second and another a picosecond, times are those of the twin all the same."""
        topology = Topology.from_links(3, [(0, 1, latency, rate), (1, 2, 1e-6, 1e6), (2, 0, 1.0, 50.0)])
        schedule = Schedule(topology, collective("broadcast", 3), np.zeros(2, np.int64), np.array([0, 1]), order="fifo")
        arguments = loop_arguments(schedule, 1, LinkModel(), False)
        bits = events._window_bits(*arguments[:2], *arguments[7:9], True)
        if latency:
            assert bits == 1  # two picoseconds
            assert events._run(bits, *arguments)[2] == -1
        else:  # known from the bytes on the link
            assert bits == -1
        same(events.run(*arguments), reference.run(*arguments))


class TestSimulate:
    @thorough
    @given(schedules(), sizes, models)
    def test_uses_the_right_kernel(self, schedule, size, model):
        """The public entries give the twin's times, or refuse where it does not finish."""
        start, end, served = reference.run(*loop_arguments(schedule, size, model, schedule.order == "program"))
        if served < schedule.num_hops:
            with pytest.raises(ScheduleError):
                simulate_ps(schedule, size, model)
            return
        same(hop_times(schedule, size, model), (start, end))
        assert simulate_ps(schedule, size, model) == end.max(initial=0)


@pytest.mark.parametrize("latency", ["blocking", "pipelined"])
def test_no_chunks(latency):
    """A schedule of nothing takes no time, however many sorts of links there are."""
    topology = Topology.from_links(2, [(0, 1, 0.5, 1.0), (1, 0, 0.5, 2.0)])
    schedule = Schedule(topology, collective("send_recv", 2, pairs=[]), np.zeros(0, int), np.zeros(0, int))
    assert simulate_ps(schedule, 0, LinkModel(latency)) == 0
