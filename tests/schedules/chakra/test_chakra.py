"""Execution traces say what the schedule says: who sends what to whom, and after what."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import Schedule, collective
from schedules.chakra import transfers_of, write_chakra
from schedules.chakra.encoding import varint
from tests.schedules.chakra.decoding import number, trace
from tests.schedules.generator import COPYING, NETWORKS, hops, trees
from tests.schedules.msccl.samples import made
from topologies import ScheduleError, fully_connected, parse_topology, ring

SIZE = 2**20


def written(schedule, folder, size=SIZE):
    """Return the nodes of each NPU, as decoded from the files."""
    write_chakra(schedule, size, folder)
    found = [trace(folder / f"trace.{npu}.et") for npu in range(schedule.topology.num_npus)]
    assert {version for version, _ in found} == {"0.0.4"}
    return [nodes for _, nodes in found]


class TestEncoding:
    @given(st.integers(0, 2**64 - 1))
    @settings(max_examples=30, deadline=None)
    def test_varint(self, value):
        """A number is read back, and one of 64 bits takes ten bytes at most."""
        assert number(varint(value), 0) == (value, len(varint(value)))
        assert len(varint(value)) <= 10

    def test_golden(self):
        """300 is AC 02 (protobuf.dev, encoding)."""
        assert varint(300) == b"\xac\x02"


class TestTraces:
    @pytest.mark.parametrize(
        ("synthesizer", "network", "kind"),
        [("ring", "ring:4", "all_reduce"), ("direct", "switch:4", "all_to_all"), ("tacos", "mesh:2x3", "all_gather")],
    )
    def test_sends_match_receives(self, synthesizer, network, kind, tmp_path):
        """Each send has its receive at the NPU that it names; nothing waits for a send, and all can be carried out."""
        nodes = written(made(synthesizer, network, kind), tmp_path / "out")
        sends = {
            (npu, n.comm_dst, n.comm_tag, n.comm_size) for npu, mine in enumerate(nodes) for n in mine if n.kind == 5
        }
        receives = {(n.comm_src, npu, n.comm_tag, n.comm_size)
                    for npu, mine in enumerate(nodes) for n in mine if n.kind == 6}  # fmt: skip
        assert sends == receives
        assert 2 * len(sends) == sum(map(len, nodes))
        done: set = set()
        for mine in nodes:
            assert len({n.id for n in mine}) == len(mine)
            assert {dep for n in mine for dep in n.after} <= {n.id for n in mine if n.kind == 6}
        while len(done) < len(sends):
            ready = {n.comm_tag for mine in nodes for n in mine if n.kind == 5
                     and all((dep - 1) // 2 in done for dep in n.after)}  # fmt: skip
            assert ready > done
            done = ready

    @given(st.integers(0, 2**32), st.sampled_from(COPYING), st.sampled_from(NETWORKS))
    @settings(max_examples=25, deadline=None)
    def test_waits_for_what_it_carries(self, seed, kind, topology):
        """A send waits for all deliveries of its chunk to its NPU that are listed before it, and no others."""
        schedule = trees(topology, collective(kind, topology.num_npus), np.random.default_rng(seed), 0.3)
        found = transfers_of(schedule, SIZE)
        flow = np.arange(schedule.num_hops) + schedule.num_hops if schedule.flow is None else np.where(
            schedule.flow < 0, np.arange(schedule.num_hops) + schedule.num_hops, schedule.flow)  # fmt: skip
        routes = [np.flatnonzero(flow == name) for name in dict.fromkeys(flow.tolist())]
        step = np.arange(schedule.num_hops) if schedule.step is None else schedule.step
        src, dst = topology.src[schedule.link], topology.dst[schedule.link]
        assert [(t.source, t.target) for t in found] == [(src[route[0]], dst[route[-1]]) for route in routes]
        for transfer, route in zip(found, routes, strict=True):
            first = route[0]
            assert transfer.after == {
                place for place, other in enumerate(routes)
                if schedule.chunk[other[0]] == schedule.chunk[first] and dst[other[-1]] == src[first]
                and step[other[-1]] < step[first]
            }  # fmt: skip

    def test_reduction(self):
        """What is passed on after two additions waits for both; by hand."""
        problem = collective("reduce", 4, root=3)
        rows = [(0, 0, 2), (0, 1, 2), (0, 2, 3)]
        found = transfers_of(hops(fully_connected(4), problem, rows, reduce=np.ones(3, bool)), 1000)
        assert [transfer.after for transfer in found] == [set(), set(), {0, 1}]
        assert [transfer.nbytes for transfer in found] == [1000] * 3

    def test_steps(self):
        """Within a step nobody waits for what arrives in it: two NPUs exchange, then pass on what came."""
        problem = collective("all_gather", 3)
        rows = [(0, 0, 1), (1, 1, 0), (2, 2, 0), (0, 1, 2), (1, 0, 2), (2, 0, 1)]
        found = transfers_of(hops(ring(3), problem, rows, step=np.array([0, 0, 0, 1, 1, 1])), 3000)
        assert [transfer.after for transfer in found] == [set(), set(), set(), {0}, {1}, {2}]

    def test_messages(self):
        """Chunks of one message are one transfer of all their bytes."""
        rows = [(0, 0, 1), (1, 0, 1), (2, 0, 1), (0, 1, 2), (1, 1, 2)]
        problem = collective("broadcast", 3, chunks=3)
        found = transfers_of(hops(ring(3), problem, rows, message=np.array([0, 0, -1, 1, 1])), 3000)
        assert [(t.source, t.target, t.nbytes, t.after) for t in found] == [
            (0, 1, 2000, set()), (0, 1, 1000, set()), (1, 2, 2000, {0}),
        ]  # fmt: skip


class TestFiles:
    def test_what_runs_them(self, tmp_path):
        """The system file names the traces, the workload asks for the collective, the network file is right."""
        schedule = made("ring", "ring:4@50GB/s,0.5us", "reduce_scatter")
        assert write_chakra(schedule, SIZE, tmp_path / "out") == ""
        assert json.loads((tmp_path / "out" / "system.json").read_text())["reduce-scatter-implementation-custom"] == [
            "trace"
        ]
        for npu in range(4):
            (asked,) = trace(tmp_path / "out" / f"workload.{npu}.et")[1]
            assert (asked.kind, asked.comm_type, asked.comm_size, asked.is_cpu_op) == (7, 7, SIZE, 0)
        assert parse_topology(str(tmp_path / "out" / "network.yml")).num_links == schedule.topology.num_links

    def test_unequal_links(self, tmp_path):
        """A network that ASTRA-sim's file cannot say has none, and the reason is returned."""
        assert "with equal links in each" in write_chakra(made("ring", "dgx1", "all_gather"), SIZE, tmp_path / "out")
        assert not (tmp_path / "out" / "network.yml").exists()

    def test_dimensions(self, tmp_path):
        """Several dimensions are written, with a word on which of ASTRA-sim's networks takes them."""
        assert "takes one" in write_chakra(made("ring", "torus:3x3", "all_gather"), SIZE, tmp_path / "out")
        assert (tmp_path / "out" / "network.yml").exists()

    def test_without_work(self, tmp_path):
        """An NPU that takes no part has one node, and collectives without a name at ASTRA-sim have no workload."""
        problem = collective("send_recv", 3, pairs=[(0, 1)])
        nodes = written(hops(ring(3), problem, [(0, 0, 1)]), tmp_path / "out")
        assert [[n.kind for n in mine] for mine in nodes] == [[5], [6], [4]]
        assert not list((tmp_path / "out").glob("workload*"))

    def test_repeats(self, tmp_path):
        """The same schedule and size give the same bytes."""
        for name in ("a", "b"):
            write_chakra(made("ring", "ring:4", "all_reduce"), SIZE, tmp_path / name)
        for path in (tmp_path / "a").iterdir():
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()

    def test_refused(self, tmp_path):
        """A folder with something in it, one that cannot be made, and empty chunks are refused in one line."""
        schedule: Schedule = made("ring", "ring:4", "all_reduce")
        (tmp_path / "x").write_text("")
        with pytest.raises(ScheduleError, match="has files in it"):
            write_chakra(schedule, SIZE, tmp_path)
        with pytest.raises(ScheduleError, match="cannot write"):
            write_chakra(schedule, SIZE, tmp_path / "no" / "out")
        with pytest.raises(ScheduleError, match="some chunks have none"):
            write_chakra(schedule, 1, tmp_path / "out")
