"""The columns of the player are what was simulated."""

from __future__ import annotations

import json
from itertools import accumulate

import numpy as np
import pytest

from experiments.report.player import MAX_HOPS, player_data, script_json
from schedules import Schedule, collective, custom
from simulator import LinkModel, timeline
from tests.experiments.varied import MODELS, SIZE, WORK
from topologies import CollbenchError, Topology, mesh, parse_topology


def starts(data):
    """Return the start of each hop."""
    return list(accumulate(data["hops"]["later"]))


def empty(kind="all_gather"):
    """Return a schedule that has nothing to do."""
    return Schedule(parse_topology("ring:1"), collective(kind, 1), np.zeros(0, int), np.zeros(0, int))


@pytest.mark.parametrize(("network", "kind", "name"), WORK)
class TestTimes:
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.latency}-{model.switching}")
    def test_hops(self, solved, network, kind, name, model):
        """Chunk, link, start, release and end of each hop are those of the timeline, to the picosecond."""
        schedule = solved(network, kind, name)
        data, times = player_data(schedule, SIZE, model), timeline(schedule, SIZE, model)
        hops, tail = data["hops"], data["links"]["tail"]
        start = starts(data)
        assert (hops["chunk"], hops["link"]) == (schedule.chunk.tolist(), schedule.link.tolist())
        assert start == times.start_ps.tolist()
        end = [begin + lasts for begin, lasts in zip(start, hops["duration"], strict=True)]
        assert end == times.end_ps.tolist()
        release = [at - tail[link] if tail else at for at, link in zip(end, hops["link"], strict=True)]
        assert release == times.release_ps.tolist()
        assert (data["total"], data["unit_ps"]) == (times.total_ps, 1)
        added = [digit == "1" for digit in hops["reduce"]]
        assert added == ([] if schedule.reduce is None else schedule.reduce.tolist())

    def test_completions(self, solved, network, kind, name):
        """What an NPU holds grows to what it must hold, each chunk when all that it is made of has come in."""
        schedule = solved(network, kind, name)
        data, times = player_data(schedule, SIZE, LinkModel()), timeline(schedule, SIZE)
        work, topology = schedule.collective, schedule.topology
        inner = {int(hop) for hop in schedule.dataflow.before if hop >= 0}
        arrivals = {}
        for hop in set(range(schedule.num_hops)) - inner:
            place = int(topology.dst[schedule.link[hop]]), int(schedule.chunk[hop])
            arrivals.setdefault(place, []).append(int(times.end_ps[hop]))
        wanted = {(int(npu), chunk) for chunk in range(work.num_chunks) for npu in work.set_of(work.final[chunk])}
        expected = {
            place: (max if work.reduces else min)(arrivals[place])
            for place in wanted & arrivals.keys()
            if work.reduces or place[0] not in work.set_of(work.initial[place[1]])
        }
        found = {
            (int(topology.dst[schedule.link[hop]]), int(schedule.chunk[hop])): int(times.end_ps[hop])
            for hop in data["hops"]["completing"]
        }
        assert found == expected
        assert len(found) == len(data["hops"]["completing"])
        for npu in range(topology.num_npus):
            own = sum(place[0] == npu for place in wanted)
            assert data["nodes"]["wanted"][npu] == own
            assert data["nodes"]["held"][npu] + sum(place[0] == npu for place in found) == own

    def test_critical_path(self, solved, network, kind, name):
        """The critical path is the simulator's."""
        schedule = solved(network, kind, name)
        critical = player_data(schedule, SIZE, LinkModel())["critical"]
        found = list(zip(*(critical[key] for key in ("hop", "until", "reason", "waited")), strict=True))
        path = timeline(schedule, SIZE).critical_path()
        assert found == [(each.hop, each.until_ps, each.reason, each.waited_ps) for each in path]

    def test_repeats(self, solved, network, kind, name):
        """The same schedule gives the same text, which is JSON."""
        schedule = solved(network, kind, name)
        texts = [script_json(player_data(schedule, SIZE, LinkModel(), "a </script> b")) for _ in range(2)]
        assert texts[0] == texts[1]
        assert "<" not in texts[0]
        assert json.loads(texts[0]) == player_data(schedule, SIZE, LinkModel(), "a </script> b")


class TestDrawing:
    def test_torus(self):
        """A link that closes a torus leaves the grid on one side; the others have no way out."""
        topology = parse_topology("torus:3x3")
        schedule = Schedule(topology, collective("all_gather", 9), np.zeros(0, int), np.zeros(0, int))
        stub = player_data(schedule, 9, LinkModel())["links"]["stub"]
        apart = np.abs(topology.src - topology.dst)
        assert stub["link"] == np.flatnonzero((apart == 2) | (apart == 6)).tolist()
        for link, dx, dy in zip(stub["link"], stub["dx"], stub["dy"], strict=True):
            across = apart[link] == 2
            assert (dx == 0, dy == 0) == (not across, across)

    def test_parallel_links(self):
        """Parallel links lie in lanes beside each other."""
        topology = Topology(2, [0, 0, 1], [1, 1, 0], [1.0] * 3, [1.0] * 3)
        schedule = Schedule(topology, collective("all_gather", 2), np.array([0, 1]), np.array([1, 2]))
        assert player_data(schedule, 2, LinkModel())["links"]["lane"] == [0, 1, 0]

    @pytest.mark.parametrize(
        ("kind", "chunks", "by", "classes"),
        [
            ("all_gather", 1, "chunk", 4),
            ("all_gather", 3, "first NPU", 4),
            ("all_to_all", 1, "first NPU", 4),
            ("reduce_scatter", 3, "last NPU", 4),
            ("all_reduce", 3, "chunk", 12),
            ("broadcast", 9, "chunk", 9),
        ],
    )
    def test_colours(self, kind, chunks, by, classes):
        """Few chunks have a colour each, more that of the NPU that they come from or end at, if there is one each."""
        work = collective(kind, 4, chunks=chunks)
        data = player_data(Schedule(mesh([4]), work, np.zeros(0, int), np.zeros(0, int)), 1000, LinkModel())
        colour = data["chunks"]["colour"]
        assert data["colours"] == {"count": classes, "by": by}
        if by == "chunk":
            assert colour == list(range(work.num_chunks))
        else:
            sets = work.initial if by == "first NPU" else work.final
            assert colour == [int(work.set_of(index)[0]) for index in sets]

    def test_names(self):
        """Nodes have the names of the network, NPUs without one their numbers; a file's name need not be text."""
        plain = Topology(2, [0, 2, 1, 2], [2, 1, 2, 0], [1.0] * 4, [1.0] * 4, num_switches=1)
        named = Topology(2, [0, 1], [1, 0], [1.0] * 2, [1.0] * 2, node_names=("left", "right"))
        for topology, labels in ((plain, ["0", "1", "switch 0"]), (named, ["left", "right"])):
            schedule = Schedule(topology, collective("all_gather", 2), np.zeros(0, int), np.zeros(0, int))
            data = player_data(schedule, 2, LinkModel(), "a\udcff")
            assert data["nodes"]["label"] == labels
            assert data["name"] == "a?"


class TestLimits:
    def test_nothing_to_do(self):
        """A schedule without hops has everything from the start."""
        data = player_data(empty(), 10, LinkModel())
        assert (data["total"], data["hops"]["link"], data["critical"]["hop"]) == (0, [], [])
        assert data["nodes"]["held"] == data["nodes"]["wanted"] == [1]

    def test_no_bytes(self, solved):
        """Zero bytes take the latencies alone."""
        data = player_data(solved("ring:4", "all_gather", "ring"), 0, LinkModel())
        assert data["total"] > 0
        assert set(data["chunks"]["bytes"]) == {0}

    def test_redundant_delivery(self):
        """A holder that is sent its own chunk again holds no more than before; a second delivery changes nothing."""
        topology = parse_topology("ring:2")
        back = {int(topology.src[link]): link for link in (0, 1)}
        hops = np.array([back[0], back[1], back[0]])
        schedule = Schedule(topology, custom(2, [[0]], [[0, 1]]), np.zeros(3, int), hops)
        data = player_data(schedule, 8, LinkModel())
        assert data["hops"]["completing"] == [0]
        assert data["nodes"]["held"] == [1, 0]

    def test_long_times(self):
        """Times that JavaScript's numbers cannot hold in picoseconds are told in nanoseconds."""
        topology = Topology(2, [0, 1], [1, 0], [1.0, 1.0], [1e-6, 1e-6])
        schedule = Schedule(topology, collective("all_gather", 2), np.array([0, 1]), np.array([0, 1]))
        size = 40_000_000
        data, times = player_data(schedule, size, LinkModel()), timeline(schedule, size)
        assert times.total_ps > 2**53
        assert (data["unit_ps"], data["total"]) == (1000, times.total_ps // 1000)

    @pytest.mark.parametrize(
        ("npus", "chunks", "what"),
        [(3, MAX_HOPS + 1, "chunks"), (MAX_HOPS + 1, 1, "nodes"), (MAX_HOPS // 2 + 2, 1, "links")],
    )
    def test_too_large(self, npus, chunks, what):
        """What no page could play is refused in one line, before anything is worked out."""
        ends = np.arange(npus - 1)
        links = (ends, ends + 1) if what == "nodes" else (np.r_[ends, ends + 1], np.r_[ends + 1, ends])
        topology = Topology(npus, *links, np.ones(len(links[0])), np.ones(len(links[0])))
        schedule = Schedule(topology, collective("broadcast", npus, chunks=chunks), np.zeros(0, int), np.zeros(0, int))
        with pytest.raises(CollbenchError, match=rf"[\d,]+ {what} is too large .* at most {MAX_HOPS:,}") as refused:
            player_data(schedule, 10, LinkModel())
        assert "\n" not in str(refused.value)

    def test_too_many_hops(self):
        """More hops than a page can play are refused too."""
        hops = MAX_HOPS + 1
        work = collective("broadcast", 2)
        schedule = Schedule(parse_topology("ring:2"), work, np.zeros(hops, int), np.arange(hops) % 2)
        with pytest.raises(CollbenchError, match=r"50,001 hops"):
            player_data(schedule, 10, LinkModel())
