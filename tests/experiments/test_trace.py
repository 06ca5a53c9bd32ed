"""Traces: what a viewer is given is what was simulated."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from experiments import trace
from experiments.cli import main
from experiments.trace import MAX_HOPS, slices_of_schedule, write_trace
from schedules import Schedule, collective, save_schedule
from simulator import timeline
from tests.experiments.varied import MODELS, SIZE, WORK, solved
from topologies import Topology, parse_topology


def ps(value):
    """Return microseconds of a trace as picoseconds."""
    return round(value * 1e6)


def tracks(content):
    """Return the slices of each track by process and track name."""
    events = content["traceEvents"]
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    named = {e["tid"]: (process[e["pid"]], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
    found = {name: [] for name in named.values()}
    assert len(found) == len(named)
    for event in events:
        if event["ph"] == "X":
            found[named[event["tid"]]].append(event)
    return found


def require_sound(content, time_ps):
    """Hold that no two slices of a track overlap and that the last one ends at the completion time."""
    last = 0
    for track in tracks(content).values():
        spans = sorted((ps(event["ts"]), ps(event["ts"]) + ps(event["dur"])) for event in track)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
        assert all(start <= end for start, end in spans)
        last = max([last, *(end for _, end in spans)])
    assert last == time_ps


@pytest.fixture
def listed(tmp_path):
    """Return the file of three transfers, of which the third forwards the first."""
    path = tmp_path / "list.json"
    path.write_text(json.dumps({
        "npus": 3, "units": "bandwidth GB/s, latency us", "links": [[0, 1, 1, 1], [1, 2, 1, 1], [2, 0, 1, 1]],
        "transfers": [{"id": "a", "bytes": 1000, "path": [0, 1, 2]}, {"id": "b", "bytes": 10, "path": [0, 1]},
                      {"id": "c", "bytes": 500, "path": [2, 0], "after": ["a"]}],
    }))  # fmt: skip
    return path


def run(*args):
    """Run ``collbench simulate``."""
    return CliRunner().invoke(main, ["simulate", *map(str, args)])


class TestSchedules:
    @pytest.mark.parametrize(("network", "kind", "name"), WORK)
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.latency}-{model.switching}")
    def test_sound(self, tmp_path, network, kind, name, model):
        """A track per link and per NPU, without overlaps, with all bytes, up to the completion time."""
        times = timeline(solved(network, kind, name), SIZE, model)
        write_trace(slices_of_schedule(times), tmp_path / "t.json")
        content = json.loads((tmp_path / "t.json").read_text())
        require_sound(content, times.total_ps)
        found, topology = tracks(content), times.schedule.topology
        assert [len([name for name in found if name[0] == process]) for process in ("links", "NPUs")] == [
            topology.num_links,
            topology.num_npus,
        ]
        for link, carried in enumerate(times.link_bytes().tolist()):
            track = found["links", f"link {link}: {topology.link_name(link)}"]
            assert sum(event["args"]["bytes"] for event in track) == carried
            assert {(event["args"]["from"], event["args"]["to"]) for event in track} <= {
                tuple(topology.link_name(link).split(" -> "))
            }

    @pytest.mark.parametrize(("network", "kind", "name"), WORK)
    def test_arrows(self, tmp_path, network, kind, name):
        """Every arrow has two ends, lies within its slices, and nothing is sent on before it can be."""
        times = timeline(solved(network, kind, name), SIZE)
        slices = slices_of_schedule(times)
        write_trace(slices, tmp_path / "t.json")
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        starts = {event["id"]: event for event in events if event["ph"] == "s"}
        ends = {event["id"]: event for event in events if event["ph"] == "f"}
        assert starts.keys() == ends.keys()
        assert starts
        assert all(starts[key]["ts"] <= ends[key]["ts"] for key in starts)
        topology = slices.topology
        assert (topology.dst[slices.link[slices.cause]] == topology.src[slices.link[slices.effect]]).all()
        reads = times.schedule.dataflow.reads
        assert len(starts) >= len(np.unique(reads[reads >= 0]))

    def test_activity(self, tmp_path):
        """On a ring of two-way links an NPU that exchanges with both neighbours receives two and sends two."""
        topology = parse_topology("ring:3@1GB/s,0us")
        schedule = Schedule(topology, collective("all_gather", 3), topology.src.astype(int), np.arange(6))
        write_trace(slices_of_schedule(timeline(schedule, 3000)), tmp_path / "t.json")
        found = tracks(json.loads((tmp_path / "t.json").read_text()))
        for npu in range(3):
            (span,) = found["NPUs", f"NPU {npu}"]
            assert (span["name"], span["ts"], span["dur"]) == ("2 in, 2 out", 0, 1)

    def test_message(self, tmp_path):
        """Chunks that cross a link as one message are one slice of their bytes together."""
        topology = Topology(2, [0, 1], [1, 0], [1.0, 1.0], [1.0, 1.0])
        work = collective("all_gather", 2, chunks=2)
        schedule = Schedule(topology, work, np.array([0, 2, 1, 3]), np.array([0, 1, 0, 1]), message=[0, 1, 0, 1])
        write_trace(slices_of_schedule(timeline(schedule, 4000)), tmp_path / "t.json")
        found = tracks(json.loads((tmp_path / "t.json").read_text()))
        (event,) = found["links", "link 1: NPU 1 -> NPU 0"]
        assert (event["args"]["chunks"], event["args"]["bytes"], event["dur"]) == ([2, 3], 2000, 3)

    def test_nothing_to_send(self, tmp_path):
        """A schedule without hops has an empty trace."""
        schedule = Schedule(parse_topology("ring:1"), collective("all_gather", 1), np.zeros(0, int), np.zeros(0, int))
        write_trace(slices_of_schedule(timeline(schedule, 1)), tmp_path / "t.json")
        assert list(tracks(json.loads((tmp_path / "t.json").read_text())).values()) == [[]]


class TestCommand:
    def test_schedule(self, tmp_path):
        """The file is the same on every run, is named in the answer, and agrees with its time."""
        save_schedule(solved("torus:3x3", "all_reduce", "tacos"), tmp_path / "a.json")
        for name in ("t.json", "u.json"):
            result = run(tmp_path / "a.json", "-s", "1MB", "--trace", tmp_path / name, "--json")
            assert result.exit_code == 0, result.output
        answer = json.loads(result.stdout)
        assert answer["trace"] == str(tmp_path / "u.json")
        content = json.loads((tmp_path / "t.json").read_text())
        require_sound(content, ps(answer["time_us"]))
        assert content["otherData"]["time_us"] == answer["time_us"]
        assert (tmp_path / "t.json").read_bytes() == (tmp_path / "u.json").read_bytes()
        assert "ui.perfetto.dev" in run(tmp_path / "a.json", "-s", "1MB", "--trace", tmp_path / "t.json").stdout

    @pytest.mark.parametrize("latency", ["blocking", "pipelined"])
    def test_transfers(self, listed, tmp_path, latency):
        """A list of transfers is traced too; arrows lead along routes and from a transfer to those after it."""
        result = run(listed, "--trace", tmp_path / "t.json", "--latency", latency, "--json")
        content = json.loads((tmp_path / "t.json").read_text())
        require_sound(content, ps(json.loads(result.stdout)["time_us"]))
        found = tracks(content)
        first = found["links", "link 0: NPU 0 -> NPU 1"]
        assert [(event["name"], event["args"]["bytes"]) for event in first] == [
            ("transfer a", 1000),
            ("transfer b", 10),
        ]
        assert sum(event["ph"] == "s" for event in content["traceEvents"]) == 2

    def test_refusals(self, listed, tmp_path, monkeypatch):
        """A wrong name is wrong usage; a missing folder, or too many hops, is told before anything is written."""
        before = listed.read_bytes()
        for status, name, says in (
            (2, tmp_path / "t.txt", "ends in .json"),
            (2, tmp_path / "." / "list.json", "would overwrite"),
            (1, tmp_path / "no" / "t.json", "does not exist"),
        ):
            result = run(listed, "--trace", name)
            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (status, "", 1)
            assert says in result.stderr
        monkeypatch.setattr(trace.slices, "MAX_HOPS", 2)
        save_schedule(solved("ring:3", "all_gather", "ring"), tmp_path / "a.json")
        for file in (listed, tmp_path / "a.json"):
            result = run(file, "--trace", tmp_path / "t.json", *(() if file == listed else ("-s", "1MB")))
            assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
            assert "at most 2" in result.stderr
        assert listed.read_bytes() == before
        assert not (tmp_path / "t.json").exists()
        assert MAX_HOPS >= 100_000
