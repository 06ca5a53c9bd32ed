"""The compiled matching kernels of TACOS and their pure-Python twins make the same choices on random networks."""

from __future__ import annotations

import functools
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from synthesizers.tacos import choices, even, matching, relays, translated, twin
from synthesizers.tacos.network import RULES, Network
from topologies import Paths, Topology, mesh, parse_topology, ring, torus

NEVER = 2**62

thorough = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.sampled_from([0, 1, 12345, 2**40, 2**62 - 1])


@st.composite
def networks(draw, alike=False):
    """Draw a network of up to nine NPUs, mostly connected, maybe with parallel links, and chunks to spread on it."""
    npus = draw(st.integers(1, 9))
    order = draw(st.permutations(range(npus)))
    ends = list(zip(order, order[1:] + order[:1], strict=True)) if npus > 1 else []
    npu = st.integers(0, npus - 1)
    ends += [pair for pair in draw(st.lists(st.tuples(npu, npu), max_size=16)) if pair[0] != pair[1]]
    ends = ends[draw(st.sampled_from([0, 0, 0, 1])) :]  # one in four may not be connected
    latencies = draw(st.sampled_from([[0.5]] if alike else [[0.5], [0.0], [0.0, 0.5], [0.1, 0.2, 2.5]]))
    rates = draw(st.sampled_from([[50.0]] if alike else [[50.0], [50.0, 75.0], [1.0, 1000.0], [10.0, 20.0, 100.0]]))
    rows = [(a, b, draw(st.sampled_from(latencies)), draw(st.sampled_from(rates))) for a, b in ends]
    chunks = draw(st.sampled_from([1, 2, npus, 2 * npus, 63, 64, 70]))  # a bitset word is 64 chunks
    holders = draw(st.lists(npu, min_size=chunks, max_size=chunks))
    return Network(Topology.from_links(npus, rows), np.array(holders), draw(st.sampled_from([0, 1, 1000, 10**6])))


def outcome(kernel, network, arguments):
    """Return (hops, time or steps, chunks, links) of a kernel or twin."""
    chunk, link = np.zeros(network.transfers, np.uint16), np.zeros(network.transfers, np.uint16)
    hops, time = kernel(*arguments, chunk, link)
    return hops, time, chunk[:hops].tolist(), link[:hops].tolist()


def queued(network, rule, skip_slow, seed, cutoff, once=False):
    """Return the arguments of `match`."""
    topology = network.topology
    in_start, in_links, first_start, first_chunks, queue_of = network._columns
    return (topology.num_npus, len(network.holders), topology.src, topology.dst, in_start, in_links,
            *topology.out_links, network.duration, queue_of, int(queue_of.max(initial=-1)) + 1, first_start,
            first_chunks, *network.gates(once), RULES.index(rule), skip_slow, seed, cutoff)  # fmt: skip


def stepped(network, seed, max_steps):
    """Return the arguments of `match_even`."""
    in_start, in_links, first_start, first_chunks, _ = network._columns
    return (network.topology.num_npus, len(network.holders), network.topology.src, in_start, in_links, first_start,
            first_chunks, seed, max_steps)  # fmt: skip


class TestMixed:
    @thorough
    @given(st.integers(0, 2**62), st.integers(0, 2**31), st.integers(0, 2**31))
    def test_twins(self, seed, a, b):
        """Both kernels and the twin hash alike."""
        assert matching.mixed(seed, a, b) == choices.turn(seed, a, b) == twin.mixed(seed, a, b)


class TestMatch:
    @thorough
    @given(networks(), st.sampled_from(RULES), st.booleans(), st.booleans(), seeds,
           st.sampled_from([NEVER, NEVER, 10**7, 10**6, 0]))  # fmt: skip
    def test_twins(self, network, rule, skip_slow, once, seed, cutoff):
        """Hops, their order and the time agree for every rule, also where a cutoff or a missing link ends the run."""
        arguments = queued(network, rule, skip_slow, seed, cutoff, once)
        assert outcome(matching.match, network, arguments) == outcome(twin.match, network, arguments)

    @pytest.mark.parametrize("rule", RULES)
    def test_twins_on_an_uneven_mesh(self, rule):
        """Hops, their order and the time agree where slow links are left idle for long."""
        network = Network(mesh([4, 5], [16.0, 73.0], 1.5), np.repeat(np.arange(20), 3), 10**6)
        arguments = queued(network, rule, True, 7, NEVER)
        assert outcome(matching.match, network, arguments) == outcome(twin.match, network, arguments)


class TestGrow:
    @settings(max_examples=100, deadline=None)
    @given(st.sampled_from([((3, 4), [50.0]), ((4, 4), [10.0, 100.0]), ((5,), [50.0]), ((2, 2, 3), [1.0, 2.0, 4.0])]),
           st.integers(1, 3), st.booleans(), seeds, st.sampled_from([NEVER, NEVER, 10**8, 0]))  # fmt: skip
    def test_twins(self, grid, chunks, once, seed, cutoff):
        """Hops, their order and the time agree on tori, even and not, also where a cutoff ends the run."""
        topology = torus(*grid)
        network = Network(topology, np.repeat(np.arange(topology.num_npus), chunks), 10**6)
        rank = np.random.default_rng(seed).permutation(chunks * topology.num_npus).reshape(chunks, -1)
        links = network.translations.links
        after = topology.dst[links].T.astype(np.int64)
        before = np.empty_like(after)
        np.put_along_axis(before, after, np.broadcast_to(np.arange(topology.num_npus), after.shape), axis=1)
        found = []
        for kernel in (translated.grow, twin.grow):
            hops = [np.zeros(chunks * (topology.num_npus - 1), np.int64) for _ in range(3)]
            made, time = kernel(before, after, network.duration[links[0]], network.boxes, once, rank, cutoff, *hops)
            found.append((made, time, [column[:made].tolist() for column in hops]))
        assert found[0] == found[1]


class TestSearch:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(networks(), st.booleans(), st.booleans(), st.integers(0, 3), seeds)
    def test_twins(self, network, straight, once, switches, seed):
        """Hops and their starts agree on random networks, some nodes of which are switches, also with no way left."""
        topology, draw = network.topology, np.random.default_rng(seed)
        nodes = topology.num_npus
        npus = max(nodes - switches, 1)
        delay = np.maximum(network.duration, 1)
        width = np.maximum(delay // draw.integers(1, 3), delay.max(initial=0) // 100 + 1)
        far = np.ascontiguousarray(Paths(topology, message_bytes=network.chunk_bytes).cost.T[:npus])
        chunks = len(network.holders)
        sets = [[draw.choice(npus, draw.integers(1, npus + 1), replace=False) for _ in range(chunks)] for _ in "hw"]
        columns = [part for each in sets for part in (np.cumsum([0, *map(len, each)]), np.concatenate(each))]
        arguments = (npus, *topology.out_links, topology.src, topology.dst, width, delay, far, straight,
                     *network.gates(once), draw.permutation(chunks), *columns)  # fmt: skip
        found = [[list(column) for column in search(*arguments)] for search in (relays.search, twin.search)]
        assert found[0] == found[1]


#: Both ways to match an even network, by threads.
WAYS = [
    *(pytest.param(even.match_even, threads, id=f"rounds-{threads}") for threads in (1, 2, 3)),
    *(pytest.param(even.match_near, threads, id=f"steps-{threads}") for threads in (1, 2, 3)),
]


class TestMatchEven:
    @pytest.mark.parametrize(("match", "threads"), WAYS)
    @pytest.mark.parametrize(
        "name", ["mesh:11x13", "torus:10x10", "mesh:5x5x5", "line:70", "ring_one_way:67", "dragonfly:4x9", "kautz:24x2"]
    )
    def test_long(self, name, match, threads):
        """Over many rounds, in which NPUs wait for each other and are visited again, choices are those step by step."""
        topology = parse_topology(name)
        # Unlike numbers of chunks, so that some NPUs are done long before others.
        holders = np.sort(np.random.default_rng(7).integers(0, topology.num_npus // 2, 3 * topology.num_npus))
        network = Network(topology, holders, 1000)
        found = outcome(functools.partial(match, threads=threads), network, stepped(network, 5, NEVER))
        assert found[0] == network.transfers
        assert found[1] > even.ROUND
        assert found == outcome(twin.match_even, network, stepped(network, 5, NEVER))

    @pytest.mark.parametrize("match", [even.match_even, even.match_near])
    @thorough
    @given(network=networks(alike=True), seed=seeds, max_steps=st.sampled_from([NEVER, 0, 1, 3]))
    def test_twins(self, match, network, seed, max_steps):
        """Hops, their order and the steps agree, also where a limit or a missing link ends the run."""
        arguments = stepped(network, seed, max_steps)
        assert outcome(match, network, arguments) == outcome(twin.match_even, network, arguments)

    @pytest.mark.parametrize("match", [even.match_even, even.match_near])
    @thorough
    @given(network=networks(alike=True), seed=seeds, max_steps=st.sampled_from([NEVER, 0, 1, 3]),
           threads=st.integers(2, 4))  # fmt: skip
    def test_threads_do_not_matter(self, match, network, seed, max_steps, threads):
        """Several threads make the hops of one, in its order, even where there are more of them than NPUs."""
        arguments = stepped(network, seed, max_steps)
        shared = functools.partial(match, threads=threads)
        assert outcome(shared, network, arguments) == outcome(match, network, arguments)

    def test_follower_that_is_late(self, monkeypatch):
        """A thread that keeps the leading one waiting is told to leave after one step; hops are the same."""
        steps = []

        def lead(*state):
            """Lead as if a thread had come to follow."""
            signals = state[-3]
            signals[1, choices.DONE] = max(signals[1, choices.DONE], choices.READY)
            return choices.lead(*state)

        def follow(*state):
            """Come 50 ms later than one said."""
            time.sleep(0.05)
            steps.append(choices.follow(*state))

        monkeypatch.setattr(even, "lead", lead)
        monkeypatch.setattr(even, "follow", follow)
        network = Network(mesh([11, 13]), np.arange(143), 1)
        arguments = stepped(network, 3, NEVER)
        late = functools.partial(even.match_near, threads=2)
        assert outcome(late, network, arguments) == outcome(twin.match_even, network, arguments)
        assert steps == [1]

    @pytest.mark.parametrize("calls", [0, 3])
    def test_interrupted(self, monkeypatch, calls):
        """Threads that follow do not outlive an interrupt of the one that leads, which hears it between some steps."""
        done = []

        def interrupted(*state):
            """Be interrupted after some calls."""
            if len(done) == calls:
                raise KeyboardInterrupt
            done.append(choices.lead(*state))
            return done[-1]

        network = Network(mesh([4, 4]), np.arange(16), 1)
        monkeypatch.setattr(even, "lead", interrupted)
        monkeypatch.setattr(even, "_VISITS", 1)
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            outcome(functools.partial(even.match_near, threads=4), network, stepped(network, 0, NEVER))
        assert [steps for _, steps in done] == list(range(1, calls + 1))
        assert threading.active_count() == before

    @pytest.mark.parametrize("started", [0, 2])
    def test_without_threads(self, monkeypatch, started):
        """Where the system gives no more threads, this one makes the hops of those that are missing."""
        found = []

        class Scarce(threading.Thread):
            """A thread that may not start."""

            def start(self):
                """Start the first ones."""
                if len(found) == started:
                    raise RuntimeError("can't start new thread")
                found.append(self)
                super().start()

        monkeypatch.setattr(even, "Thread", Scarce)
        monkeypatch.setattr(even, "_VISITS", 1)
        network = Network(mesh([11, 13]), np.arange(143), 1)
        arguments = stepped(network, 3, NEVER)
        shared = functools.partial(even.match_near, threads=4)
        assert outcome(shared, network, arguments) == outcome(twin.match_even, network, arguments)
        assert len(found) == started

    @pytest.mark.parametrize("match", [even.match_even, even.match_near])
    @thorough
    @given(network=networks(alike=True), seed=seeds)
    @example(network=Network(ring(8), np.arange(8), 1), seed=0)
    def test_chooses_as_match_does(self, match, network, seed):
        """The kernels without a queue make the transfers of the one with a queue, in as many steps."""
        if not network.topology.num_links:
            return
        hops, time, *columns = outcome(matching.match, network, queued(network, "oldest", False, seed, NEVER))
        same, steps, *own = outcome(match, network, stepped(network, seed, NEVER))
        assert (hops, time) == (same, steps * int(network.duration[0]))
        assert sorted(zip(*columns, strict=True)) == sorted(zip(*own, strict=True))
