"""Re-listing: never slower, every hop carries what it carried, and the circle that no list can say."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective, custom
from simulator.link_model import LinkModel
from simulator.relisting import relist
from simulator.simulate import hop_times, simulate_ps
from topologies import ScheduleError, Topology, hypercube, mesh, ring, torus


def carried(schedule):
    """Return what each hop carries, by executing the list with counts of contributions; routes carry what went in."""
    topology, problem = schedule.topology, schedule.collective
    state = {}
    for c in range(problem.num_chunks):
        for npu in problem.set_of(problem.initial[c]).tolist():
            state[c, npu] = Counter([npu]) if problem.reduces else Counter(["copy"])
    result, on_route = [Counter()] * schedule.num_hops, {}
    step = np.arange(schedule.num_hops) if schedule.step is None else schedule.step
    last_of = {}
    if schedule.flow is not None:
        last_of = {int(flow): hop for hop, flow in enumerate(schedule.flow) if flow >= 0}
    for now in np.unique(step):
        before = dict(state)
        for hop in np.flatnonzero(step == now).tolist():
            c, link = int(schedule.chunk[hop]), int(schedule.link[hop])
            flow = -1 if schedule.flow is None else int(schedule.flow[hop])
            value = on_route.get(flow) if flow >= 0 else None
            if value is None:
                value = before.get((c, int(topology.src[link])), Counter())
            on_route[flow] = value
            result[hop] = value
            if flow < 0 or last_of[flow] == hop:
                place = (c, int(topology.dst[link]))
                adds = schedule.reduce is not None and schedule.reduce[hop]
                state[place] = state.get(place, Counter()) + value if adds else value
    return result, state


def check(schedule, size, model):
    """Assert that re-listing keeps values and order on the links, and costs no time."""
    try:
        listed = relist(schedule, size, model)
    except ScheduleError:
        assert wasteful(schedule) or (schedule.message is not None and size == 0)
        event("no list says it")
        return schedule
    assert listed.order == "program"
    assert listed.num_hops == schedule.num_hops
    assert simulate_ps(listed, size, model) <= simulate_ps(schedule, size, model)
    (was, end_was), (now, end_now) = carried(schedule), carried(listed)
    assert end_was == end_now

    def contents(of, values):
        return Counter(
            (int(c), int(link), tuple(sorted(value.items(), key=str)))
            for c, link, value in zip(of.chunk, of.link, values, strict=True)
        )

    assert contents(schedule, was) == contents(listed, now)
    again = relist(listed, size, model)
    assert simulate_ps(again, size, model) <= simulate_ps(listed, size, model)
    return listed


def wasteful(schedule):
    """Return whether some NPU gets a chunk twice that it could have had once."""
    last = np.ones(schedule.num_hops, bool) if schedule.flow is None else schedule.dataflow.delivers
    adds = np.zeros(schedule.num_hops, bool) if schedule.reduce is None else schedule.reduce
    places = schedule.chunk.astype(int) * 1000 + schedule.topology.dst[schedule.link]
    copies = places[last & ~adds]
    return len(np.unique(copies)) < len(copies)


MODELS = [LinkModel(a, b) for a in ("blocking", "pipelined") for b in ("cut_through", "store_and_forward")]
NETWORKS = [mesh([3, 2], [1.0, 0.3], [0.5, 0.0]), ring(4, 0.7, 0.0), hypercube(3, 0.5, 1.0), torus([3, 3], [0.2, 1.0])]


@st.composite
def floods(draw):
    """Draw an AllGather flooded in random order, now and then with chunks sent twice."""
    topology, seed, twice = draw(st.sampled_from(NETWORKS)), draw(st.integers(0, 10**6)), draw(st.booleans())
    return flood(topology, seed, twice).replaced(order=draw(st.sampled_from(["program", "fifo"])))


def flood(topology, seed, twice):
    """Return an AllGather flooded in random order; `twice`: an NPU may get a chunk that it has."""
    npus, random = topology.num_npus, np.random.default_rng(seed)
    holds = [{npu} for npu in range(npus)]
    hops = []
    while any(len(holding) < npus for holding in holds):
        c, link = int(random.integers(npus)), int(random.integers(topology.num_links))
        a, b = int(topology.src[link]), int(topology.dst[link])
        if a in holds[c] and (twice or b not in holds[c]):
            holds[c].add(b)
            hops.append((c, link))
    chunk, link = np.array(hops).T
    return Schedule(topology, collective("all_gather", npus), chunk, link, order="fifo")


def with_messages(schedule):
    """Return the schedule with neighbours on link 0 sent two at a time."""
    message = np.full(schedule.num_hops, -1)
    on_first = np.flatnonzero(schedule.link == 0)
    message[on_first] = np.arange(len(on_first)) // 2
    return schedule.replaced(message=message)


@settings(max_examples=150, deadline=None)
@given(floods(), st.sampled_from(MODELS), st.sampled_from([0, 10, 900]), st.booleans())
def test_copies(schedule, model, size, bundle):
    """Random AllGathers, with and without messages."""
    if bundle:
        schedule = with_messages(schedule)
        try:
            hop_times(schedule, size, model)
        except ScheduleError:
            return  # members that depend on each other
    check(schedule, size, model)


@settings(max_examples=150, deadline=None)
@given(floods(), st.sampled_from(MODELS), st.sampled_from([0, 10, 900]), st.sampled_from(["program", "fifo"]))
def test_sums(schedule, model, size, order):
    """Random ReduceScatters: reversed floods, whose sums come in as they like."""
    backwards = schedule.reverse().replaced(order=order)
    check(backwards, size, model)


@settings(max_examples=100, deadline=None)
@given(floods(), st.sampled_from(MODELS), st.sampled_from([0, 900]))
def test_sums_then_copies(schedule, model, size):
    """Random AllReduces: sums, then copies over them; the two run into each other."""
    topology = schedule.topology
    opposite = link_numbers(topology, zip(topology.dst, topology.src, strict=True))
    mirrored = schedule.replaced(topology=topology.reversed(), link=opposite[schedule.link])
    check(mirrored.reverse().then(schedule), size, model)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(MODELS), st.sampled_from([0, 800]), st.sampled_from(["program", "fifo"]),
       st.integers(1, 3))  # fmt: skip
def test_exchanges(seed, model, size, order, chunks):
    """Recursive doubling on an uneven hypercube: partners exchange within a step, and some pairs run ahead."""
    even = hypercube(3)
    random = np.random.default_rng(seed)
    topology = Topology(8, even.src, even.dst, random.choice([0.0, 0.5, 2.0], even.num_links),
                        random.choice([0.1, 0.33, 1.0], even.num_links))  # fmt: skip
    link_of = {(int(a), int(b)): link for link, (a, b) in enumerate(zip(even.src, even.dst, strict=True))}
    rows = [(c, link_of[npu, npu ^ (1 << bit)], bit) for bit in range(3) for npu in range(8) for c in range(chunks)]
    chunk, link, step = np.array(rows).T
    schedule = Schedule(topology, collective("all_reduce", 8, shards=1, chunks=chunks), chunk, link,
                        reduce=np.ones(len(rows), bool), step=step, order=order)  # fmt: skip
    listed = check(schedule, size, model)
    event(f"steps {'kept' if listed.step is not None and np.array_equal(listed.step, step) else 'renumbered'}")


@settings(max_examples=100, deadline=None)
@given(floods(), st.sampled_from(MODELS), st.sampled_from([0, 900]), st.sampled_from(["program", "fifo"]))
def test_routes(schedule, model, size, order):
    """Routes over a switch or through an NPU stay in their order."""
    topology = schedule.topology
    hub = Topology.from_links(
        topology.num_npus,
        [(npu, topology.num_npus, 0.5, 1.0) for npu in range(topology.num_npus)]
        + [(topology.num_npus, npu, 0.2, 0.7) for npu in range(topology.num_npus)],
        num_switches=1,
    )
    a, b = topology.src[schedule.link], topology.dst[schedule.link] + topology.num_npus
    hops = np.stack([a, b], axis=1).ravel()
    routed = Schedule(hub, schedule.collective, np.repeat(schedule.chunk, 2), hops,
                      flow=np.repeat(np.arange(schedule.num_hops), 2), order=order)  # fmt: skip
    check(routed, size, model)


def test_sorted_by_start_where_nothing_stands_against_it():
    """The hops of a plain fifo schedule come in order of their start."""
    topology = mesh([3], 1.0, 0.0)
    links = link_numbers(topology, [(0, 1), (1, 2), (2, 1), (1, 0), (1, 0), (1, 2)])
    schedule = Schedule(topology, collective("all_gather", 3), np.array([0, 0, 2, 2, 1, 1]), links, order="fifo")
    listed = relist(schedule, 3000)
    start, _ = hop_times(listed, 3000)
    assert (np.diff(start) >= 0).all()
    assert listed.step is None


def link_numbers(topology, pairs):
    """Return the links between these nodes."""
    return np.array([int(np.flatnonzero((topology.src == a) & (topology.dst == b))[0]) for a, b in pairs])


def test_reader_stays_before_the_delivery_that_it_must_not_see():
    """NPU 1 sends its own part late, after another's part has come in: sorting by start would send the sum."""
    topology = mesh([3], 1.0, 0.0)
    busy = link_numbers(topology, [(1, 2), (0, 1), (1, 2)])
    busy[[1, 2]] = busy[[2, 1]]
    schedule = Schedule(topology, custom(3, [[1], [0, 1]], [[2], [2]], reduces=True), np.array([0, 1, 1]), busy,
                        reduce=np.ones(3, bool))  # fmt: skip
    listed = check(schedule, 2000, LinkModel())
    assert listed.chunk.tolist() == [0, 1, 1]
    assert listed.link.tolist() == busy.tolist()


@pytest.mark.parametrize("seed", [27, 631])
def test_steps_are_kept_when_listed_again(seed):
    """What ends as a hop of its own step starts is not seen by that hop, and the list can be listed once more."""
    listed = check(flood(hypercube(3, 0.5, 1.0), seed, twice=True), 10, LinkModel("pipelined"))
    assert listed.step is not None


def test_a_circle_is_refused():
    """Link 1→2 carries NPU 1's part before 0's, but 2→3 has to send 0's part without 1's: no list says both."""
    topology = Topology.from_links(4, [(0, 1, 9.0, 1.0), (1, 2, 0.0, 1.0), (2, 3, 0.0, 1.0), (3, 0, 0.0, 1.0)])
    schedule = Schedule(topology, custom(4, [[0, 1]], [[3]], reduces=True), np.zeros(4, int), np.array([0, 1, 2, 1]),
                        reduce=np.ones(4, bool), flow=np.array([0, 0, -1, -1]), order="fifo")  # fmt: skip
    with pytest.raises(ScheduleError, match="circle"):
        relist(schedule, 1000)
