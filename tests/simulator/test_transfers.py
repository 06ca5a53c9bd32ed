"""The network level: hand-computed answers, ASTRA-sim's answers, and files that are refused in one line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from simulator import LinkModel
from simulator.transfers import TransferList, load_transfers, simulate_transfers, transfer_times
from topologies import FormatError, ScheduleError, Topology, line

ASTRA = Path(__file__).parents[2].parent / "shared" / "cases" / "astra"
ASTRA_NAMES = [
    "mesh4x4_bfs_trees", "mesh4x4_direct_xy", "ring16_direct", "ring16_three_hops", "ring8_both_ways_halves",
    "ring8_direct", "ring8_one_way", "ring8_shortest", "torus4x4_bfs_trees",
]  # fmt: skip
ASTRA_MODEL = LinkModel("pipelined", "store_and_forward")

#: α = 5 ns and β = 1 ns per byte on every link of 0 → 1 → 2 → 3.
LINE = Topology.from_links(4, [(0, 1, 0.005, 1.0), (1, 2, 0.005, 1.0), (2, 3, 0.005, 1.0)])


def listed(*rows, topology=LINE) -> TransferList:
    """Return transfers of (bytes, links, after) rows."""
    starts = [np.cumsum([0, *(len(row[field]) for row in rows)]) for field in (1, 2)]
    joined = [np.array([entry for row in rows for entry in row[field]], np.int64) for field in (1, 2)]
    nbytes = np.array([row[0] for row in rows], np.int64)
    return TransferList(topology, nbytes, starts[0], joined[0], starts[1], joined[1], list(range(len(rows))))


def ns(transfers, latency, switching):
    """Return (start, end) of each hop in nanoseconds."""
    start, end, time = simulate_transfers(transfers, LinkModel(latency, switching))
    assert time == end.max(initial=0)
    return (start / 1000).tolist(), (end / 1000).tolist()


class TestSimulateTransfers:
    @pytest.mark.parametrize("latency", ["blocking", "pipelined"])
    def test_one_message_over_three_hops(self, latency):
        """Store and forward pays 3 (α + bβ); cut-through 3 α + bβ."""
        transfers = listed((100, [0, 1, 2], []))
        assert ns(transfers, latency, "store_and_forward") == ([0, 105, 210], [105, 210, 315])
        assert ns(transfers, latency, "cut_through") == ([0, 5, 10], [105, 110, 115])

    def test_cut_through_into_a_faster_link(self):
        """A faster second link waits, so that its last byte does not leave before it has come in."""
        topology = Topology.from_links(3, [(0, 1, 0.005, 1.0), (1, 2, 0.005, 4.0)])
        # In at 105; 25 ns on the wire: from 80, arrives 5 later.
        assert ns(listed((100, [0, 1], []), topology=topology), "blocking", "cut_through") == ([0, 80], [105, 110])

    def test_two_transfers_contend(self):
        """Both ready at zero: list order; blocking holds the link for α too, pipelined does not."""
        transfers = listed((10, [0], []), (20, [0], []))
        assert ns(transfers, "blocking", "cut_through") == ([0, 15], [15, 40])
        assert ns(transfers, "pipelined", "cut_through") == ([0, 10], [15, 35])

    def test_first_come_first_served(self):
        """A transfer listed first that becomes ready later waits for one that was there before."""
        transfers = listed((10, [1], [1]), (10, [0], []), (30, [1], []))
        assert ns(transfers, "blocking", "cut_through") == ([35, 0, 0], [50, 15, 35])

    def test_ties_go_in_list_order(self):
        """Two transfers that become ready at the same moment go in list order, whichever enabled them."""
        topology = Topology.from_links(3, [(0, 1, 0.005, 1.0), (2, 1, 0.005, 1.0), (1, 0, 0.005, 1.0)])
        transfers = listed((10, [2], [3]), (20, [2], [2]), (10, [0], []), (10, [1], []), topology=topology)
        assert ns(transfers, "blocking", "cut_through")[0] == [15, 30, 0, 0]

    def test_after_waits_for_the_last_of_all(self):
        """A transfer waits for the arrival of all that it is after, whole routes included."""
        transfers = listed((10, [0], []), (40, [1], []), (10, [0, 1], [0, 1]), (5, [2], [2, 2]))
        start, end = ns(transfers, "pipelined", "store_and_forward")
        assert start == [0, 0, 45, 60, 75]
        assert end == [15, 45, 60, 75, 85]

    def test_zero_bytes(self):
        """Zero bytes still cost α on every link."""
        transfers = listed((0, [0, 1, 2], []))
        for switching in ("cut_through", "store_and_forward"):
            assert ns(transfers, "blocking", switching) == ([0, 5, 10], [5, 10, 15])

    def test_no_transfers(self):
        """An empty list takes no time."""
        start, end, time = simulate_transfers(listed())
        assert (len(start), len(end), time) == (0, 0, 0)

    def test_default_model(self):
        """Without a model it is the bench's own: blocking, cut-through."""
        assert simulate_transfers(listed((100, [0, 1, 2], []), (1, [0], [])))[2] == 115_000

    def test_endless(self):
        """Times that would overflow are refused."""
        with pytest.raises(ScheduleError, match="over 53 days"):
            simulate_transfers(listed(*[(2**51, [0], [])] * 3))

    @pytest.mark.parametrize("name", ASTRA_NAMES)
    def test_astra_sim(self, name):
        """ASTRA-sim's times: within 1 ns per hop as they are, and exactly with its truncation to whole ns."""
        path = ASTRA / f"{name}.json"
        if not path.exists():
            pytest.skip("the shared cases are not here")
        transfers = load_transfers(path)
        time = simulate_transfers(transfers, ASTRA_MODEL)[2]
        longest = 1 if name.endswith("trees") else int(np.diff(transfers.route_start).max())
        assert 0 <= time / 1000 - transfers.expected_ns < longest + time / 19_531_250
        # A byte per ns: what takes 19531.25 ns at 50 GiB/s becomes 19531 bytes.
        ends = transfers.topology
        whole = Topology(ends.num_npus, ends.src, ends.dst, ends.latency_us, np.ones(ends.num_links))
        truncated = dataclasses.replace(transfers, topology=whole, nbytes=transfers.nbytes * 10**9 // (50 * 2**30))
        assert simulate_transfers(truncated, ASTRA_MODEL)[2] == transfers.expected_ns * 1000


class TestTransferTimes:
    def test_first_start_and_last_end(self):
        """A transfer starts with its first hop and has arrived with its last."""
        start, end = transfer_times(listed((10, [0, 1], []), (10, [2], [0])), ASTRA_MODEL)
        assert start.tolist() == [0, 30_000]
        assert end.tolist() == [30_000, 45_000]


class TestTransferList:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([(-1, [0], [])], "transfer 0 has a negative number of bytes"),
            ([(1, [0], []), (1, [], [])], "transfer 1 crosses no link"),
            (
                [(1, [0, 2], [])],
                "transfer 0 crosses NPU 0 -> NPU 1 and then NPU 2 -> NPU 3, which does not start there",
            ),
            ([(1, [7], [])], r"transfer 0 crosses link 7; there are links 0…2"),
            ([(1, [0], [5])], r"after names transfers outside 0…0"),
            ([(1, [0], [0])], r"transfer 0 never starts: it waits for itself \(0 after 0\)"),
            ([(1, [0], []), (1, [0], [3]), (1, [0], [0, 1]), (1, [0], [2])], r"\(1 after 3 after 2 after 1\)"),
        ],
    )
    def test_refusals(self, rows, message):
        """What cannot be carried is refused, naming the transfer."""
        with pytest.raises(ScheduleError, match=message):
            listed(*rows)

    def test_shapes(self):
        """Columns that do not fit together are refused."""
        zero, one = np.zeros(1, np.int64), np.array([0, 1])
        with pytest.raises(ScheduleError, match="2 ids for 1 transfers"):
            TransferList(LINE, zero, one, zero, np.zeros(2, int), zero[:0], [1, 2])
        with pytest.raises(ScheduleError, match="route_start must rise from 0 to 1 in 2 entries"):
            TransferList(LINE, zero, zero, zero, np.zeros(2, int), zero[:0], [1])
        with pytest.raises(ScheduleError, match="nbytes holds float64, expected integers"):
            TransferList(LINE, zero + 0.5, one, zero, np.zeros(2, int), zero[:0], [1])

    def test_is_frozen(self):
        """The columns cannot be written to."""
        with pytest.raises(ValueError, match="read-only"):
            listed((1, [0], [])).nbytes[0] = 2

    def test_repr(self):
        """It says how much there is."""
        assert repr(listed((1, [0, 1], []))) == "TransferList(1 transfers, 2 hops on custom)"


GOOD = {
    "npus": 3,
    "bandwidth_unit": "GB/s",
    "latency_unit": "ns",
    "links": [[0, 1, 50, 500], [1, 2, 0.1, 0.5]],
    "transfers": [{"id": 7, "bytes": 10, "path": [0, 1, 2]}, {"id": "b", "bytes": 0, "path": [1, 2], "after": [7]}],
}


@pytest.fixture
def written(tmp_path):
    """Give the function that writes a changed good file (None removes a key) and returns its path."""

    def write(**changes):
        content = {key: value for key, value in (GOOD | changes).items() if value is not None}
        (tmp_path / "t.json").write_text(json.dumps(content))
        return tmp_path / "t.json"

    return write


def one(**changes):
    """Return a list of one transfer with some keys changed."""
    return [{"id": 1, "bytes": 1, "path": [0, 1]} | changes]


class TestLoadTransfers:
    def test_reads_everything(self, written):
        """Network, routes, dependencies, ids, and what is carried along."""
        transfers = load_transfers(written(name="two", expected_ns=12.5, units="as the keys say"))
        assert transfers.topology.name == "two"
        assert transfers.topology.bandwidth_gbps.tolist() == [50, 0.1]
        assert transfers.topology.latency_us.tolist() == [0.5, 0.0005]
        assert transfers.links.tolist() == [0, 1, 1]
        assert transfers.route_start.tolist() == [0, 2, 3]
        assert transfers.after.tolist() == [0]
        assert transfers.ids == (7, "b")
        assert (transfers.expected_ns, transfers.units) == (12.5, "as the keys say")

    def test_units_in_a_text(self, written):
        """The text form of the units is read, and keys win over it."""
        text = "bandwidth GiB/s (2^30), latency us, pipelined latency"
        transfers = load_transfers(written(units=text, bandwidth_unit=None, latency_unit=None))
        assert transfers.topology.bandwidth_gbps[0] == 53.6870912
        assert transfers.topology.latency_us[0] == 500
        assert load_transfers(written(units=text)).topology.bandwidth_gbps[0] == 50

    def test_switches_and_parallel_links(self, written):
        """A path may lead through a switch; where parallel links leave it open, links are given by position."""
        links = [[0, 2, 50, 1], [0, 2, 50, 1], [2, 1, 50, 1]]
        by_link = written(npus=2, switches=1, links=links, transfers=[{"id": 1, "bytes": 8, "links": [1, 2]}])
        assert load_transfers(by_link).links.tolist() == [1, 2]
        by_path = written(npus=2, switches=1, links=links, transfers=one(path=[0, 2, 1]))
        with pytest.raises(FormatError, match="goes from 0 to 2, which several links join; give it 'links'"):
            load_transfers(by_path)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"bandwidth_unit": None}, 'unit of bandwidth is not stated; add it, such as "bandwidth_unit": "GB/s"'),
            ({"latency_unit": None, "units": "bandwidth GB/s"}, "unit of latency is not stated"),
            ({"bandwidth_unit": None, "units": "bandwidth GB/s (2^30)"}, "contradict themselves; write GiB/s"),
            ({"bandwidth_unit": "ns"}, "unknown unit 'ns'"),
            ({"links": [[0, 1, 0, 500]]}, "expected more than zero"),
            ({"links": [[0, 0, 50, 500]]}, "is a self-loop"),
            ({"links": [[0, 9, 50, 500]]}, "joins an unknown node"),
            ({"links": [[0, 2**70, 50, 500]]}, "a number is too large; expected at most 2^63-1"),
            ({"npus": 0}, "expected at least one NPU"),
            ({"transfers": None}, "missing required field `transfers`"),
            ({"transfers": one(bytes=-1)}, "transfer 1 has a negative number of bytes"),
            ({"transfers": one(bytes=2**70)}, "a number is too large; expected at most 2^63-1"),
            ({"transfers": one(bytes=1.5)}, r"Expected `int`, got `float` - at `\$.transfers\[0\].bytes`"),
            ({"transfers": one(path=[0])}, "transfer 1 has a path of one node; expected at least two"),
            ({"transfers": one(path=[])}, "expected either a path of nodes or links, found neither"),
            ({"transfers": one(links=[0])}, "expected either a path of nodes or links, found both"),
            ({"transfers": one(path=[0, 9])}, "transfer 1 passes node 9; the network has 0…2"),
            ({"transfers": one(path=[0, 2])}, "transfer 1 goes from 0 to 2, which no link joins"),
            ({"transfers": one(after=[2])}, "transfer 1 is after 2, which is no transfer's id"),
            ({"transfers": one(after=["1"])}, "transfer 1 is after '1', which is no transfer's id"),
            ({"transfers": one() + one()}, "transfer id 1 is there twice"),
            ({"transfers": one(after=[1])}, "transfer 1 never starts: it waits for itself"),
            ({"transfers": one(size=1)}, "unknown field `size`"),
        ],
    )
    def test_refusals(self, written, changes, message):
        """A file that does not describe transfers on a network is one line that names it and the fault."""
        with pytest.raises(FormatError, match=r"t\.json: .*") as caught:
            load_transfers(written(**changes))
        assert message.replace("\\", "") in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_every_truncation_is_refused(self, written):
        """Wherever the file is cut, the error is a line of ours."""
        path = written()
        text = path.read_text()
        for end in range(len(text)):
            path.write_text(text[:end])
            with pytest.raises(FormatError, match=r"not a file of transfers .*; expected one whole JSON object"):
                load_transfers(path)

    def test_unreadable(self, tmp_path):
        """A missing file, a folder and bytes that are no text are refused."""
        with pytest.raises(FormatError, match=r"cannot read .*No such file"):
            load_transfers(tmp_path / "missing.json")
        with pytest.raises(FormatError, match=r"cannot read .*Is a directory"):
            load_transfers(tmp_path)
        (tmp_path / "bytes.json").write_bytes(b'{"npus": "\xff"}')
        with pytest.raises(FormatError, match="not a file of transfers"):
            load_transfers(tmp_path / "bytes.json")

    def test_a_large_list(self):
        """Two hundred thousand transfers in a chain are simulated at once, exactly."""
        count = 200_000
        ring = line(2)
        links = np.arange(count) % 2
        after_start = np.concatenate([[0], np.arange(count)])
        chain = TransferList(ring, np.full(count, 50), np.arange(count + 1), links, after_start, np.arange(count - 1),
                             range(count))  # fmt: skip
        assert simulate_transfers(chain)[2] == count * (500_000 + 1_000)
