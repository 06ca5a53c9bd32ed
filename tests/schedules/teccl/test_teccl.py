"""Flows of TE-CCL become schedules, or are refused in one line that names the flow."""

from __future__ import annotations

import json

import pytest

from schedules import verify
from schedules.teccl import connections_of, is_teccl_file, load_teccl, parse_teccl, schedule_of
from simulator import simulate_us
from tests.schedules.teccl.samples import ALL_GATHER, RING, TEXT, flows_file
from topologies import FormatError, ScheduleError, VerificationError, fully_connected, parse_topology


class TestParse:
    def test_content(self):
        """GPUs are the nodes of the demand, flows come by epoch whatever the order in the file."""
        flows = parse_teccl(flows_file(RING[::-1], ALL_GATHER))
        assert flows.gpus == (1, 2, 3)
        assert [flow.epoch for flow in flows.flows] == [0, 0, 0, 1, 1, 1]
        assert flows.demand == ALL_GATHER

    def test_forms(self):
        """A flow may name switches and a whole volume, and the flows may be the sixth entry."""
        rows = ["Chunk 0 from 1 traveled over 1->2 with volume 1.0 in epoch 3 via switches 0",
                "Chunk 7 from 2 traveled over 2->1 in epoch 0 via switches 0, 9"]  # fmt: skip
        flows = parse_teccl(json.dumps({"1-Epoch_Duration": 1, "6-Flows": rows}))
        assert [tuple(flow) for flow in flows.flows] == [(7, 2, 2, 1, 0), (0, 1, 1, 2, 3)]
        assert (flows.demand, flows.gpus) == ({}, (1, 2))

    def test_known_by_content(self, tmp_path):
        """The start of the text tells, not the name."""
        (tmp_path / "x.txt").write_text(TEXT)
        (tmp_path / "x.json").write_text('{"links": []}')
        assert is_teccl_file(tmp_path / "x.txt")
        assert not is_teccl_file(tmp_path / "x.json")
        assert not is_teccl_file(tmp_path / "nowhere")
        assert load_teccl(tmp_path / "x.txt") == parse_teccl(TEXT)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("{", "line 1: not JSON"),
            (b"\xff", "no UTF-8"),
            ("[" * 100_000, "nested too deeply"),
            ("[]", "expected an object with 7-Flows"),
            ("{}", "expected 7-Flows"),
            ('{"7-Flows": []}', "expected 7-Flows"),
            ('{"7-Flows": [3]}', "flow 0 is '3': expected 'Chunk c from s"),
            (flows_file([(0, 1, 2, 2, 0)]), "leads nowhere"),
            (flows_file([(0, 1, 1, 99999, 0)]), "at most 16384 nodes"),
            (TEXT.replace("1->2 in", "1->2 with volume 0.5 in", 1), "flow 0 carries 0.5 of a chunk"),
            (flows_file(RING, None, **{"6-Demand_Met": {"GPU x": {}}}), "'GPU x': expected 'GPU n'"),
            (flows_file(RING, None, **{"6-Demand_Met": {"GPU 1": 3}}), "'3' where an object with 'GPU n'"),
        ],
    )
    def test_refused(self, text, says):
        """What is no output of TE-CCL is refused in one line."""
        with pytest.raises(FormatError) as error:
            parse_teccl(text)
        assert says in str(error.value)
        assert "\n" not in str(error.value)


class TestSchedule:
    def test_ring(self):
        """On a ring of 3 it takes as long as two steps of α + bβ: (0.5 + 10) µs each for 10 MB at 1 TB/s."""
        schedule = schedule_of(parse_teccl(TEXT), parse_topology("ring:3@1000GB/s,0.5us"))
        verify(schedule)
        assert schedule.collective.kind == "all_gather"
        assert simulate_us(schedule, 30 * 10**6) == pytest.approx(21)

    def test_switches_are_seen_through(self):
        """Flows into a switch and out of it to two GPUs are two sends of the GPU behind it."""
        rows = [(0, s, s, 0, 0) for s in (1, 2, 3)] + [(0, s, 0, d, 1) for s in (1, 2, 3) for d in (1, 2, 3) if d != s]
        flows = parse_teccl(flows_file(rows, ALL_GATHER))
        schedule = schedule_of(flows, fully_connected(3))
        verify(schedule)
        assert schedule.num_hops == 6
        assert connections_of(flows).num_links == 6

    def test_routes(self):
        """GPUs without a link between them send along the shortest route."""
        rows = [(0, s, s, d, 0) for s in (1, 2, 3, 4) for d in (1, 2, 3, 4) if d != s]
        flows = parse_teccl(flows_file(rows, {(s, 0): [d for d in (1, 2, 3, 4) if d != s] for s in (1, 2, 3, 4)}))
        schedule = schedule_of(flows, parse_topology("ring:4"))
        verify(schedule)
        assert schedule.num_hops == 8 + 4 * 2

    @pytest.mark.parametrize(
        ("demand", "kind", "chunks"),
        [
            ({(1, c): (2, 3) for c in range(2)}, "broadcast", 2),
            ({(s, d): (d,) for s in (1, 2, 3) for d in (1, 2, 3) if s != d}, "all_to_all", 1),
            ({(1, 0): (2,), (3, 4): (1, 2)}, "custom", 1),
        ],
    )
    def test_other_collectives(self, demand, kind, chunks):
        """The demand says what is computed; what has no name is custom, and verified too."""
        rows = [(c, s, s, d, 0) for (s, c), wanted in demand.items() for d in wanted]
        schedule = schedule_of(parse_teccl(flows_file(rows, demand)), fully_connected(3))
        verify(schedule)
        assert (schedule.collective.kind, schedule.collective.chunks) == (kind, chunks)

    @pytest.mark.parametrize(
        ("rows", "says"),
        [
            (RING[1:], "chunk 0 from 1 over 2->3 in epoch 1: node 2 does not have it yet"),
            ([*RING[:3], (0, 1, 2, 3, 0), *RING[4:]], "over 2->3 in epoch 0: node 2 does not have it yet"),
            (RING[:-1], "chunk 0 from 3 never comes to node 2, which wants it"),
            ([*RING, (5, 1, 1, 2, 0)], "that chunk is not in the demand"),
        ],
    )
    def test_wrong_flows(self, rows, says):
        """A lost or early flow, and an unmet demand, are named."""
        with pytest.raises(VerificationError, match=says):
            schedule_of(parse_teccl(flows_file(rows, ALL_GATHER)), fully_connected(3))

    def test_refused(self):
        """Without a demand nothing can be said, and the network must have as many NPUs as there are GPUs."""
        with pytest.raises(ScheduleError, match="no Demand_Met"):
            schedule_of(parse_teccl(flows_file(RING)), fully_connected(3))
        with pytest.raises(ScheduleError, match="for 3 GPUs, .* has 4 NPUs"):
            schedule_of(parse_teccl(TEXT), fully_connected(4))
