"""The schedule IR: narrow columns, what says nothing is dropped, what cannot be is refused, equality by meaning."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules import Schedule, collective
from tests.schedules import generator
from tests.schedules.generator import hops
from topologies import ScheduleError, Topology, fully_connected, line, ring

OPTIONAL = ("reduce", "flow", "step", "message")


@pytest.fixture
def full() -> Schedule:
    """Four hops with every column."""
    rows = [(0, 0, 1), (1, 0, 1), (0, 1, 2), (1, 1, 2)]
    return hops(line(3), collective("broadcast", 3, chunks=2), rows, reduce=[True, False, True, False],
                flow=[0, 1, 0, 1], step=[0, 0, 1, 1], message=[0, 0, 1, 1])  # fmt: skip


def cables(count: int) -> Topology:
    """Return two NPUs joined by many parallel links."""
    ones = np.ones(count)
    return Topology(2, np.zeros(count, int), np.ones(count, int), ones, ones)


class TestColumns:
    """Types and memory."""

    @pytest.mark.parametrize(
        ("chunks", "links", "per_hop"),
        [(2**16, 2, 4), (2**16 + 1, 2, 6), (2**16, 2**16 + 1, 6), (2**16 + 1, 2**16 + 1, 8)],
    )
    def test_bytes_per_hop(self, chunks, links, per_hop):
        """A plain schedule takes 8 bytes a hop at most, 6 or less where chunk ids fit 16 bits."""
        schedule = Schedule(
            cables(links), collective("broadcast", 2, chunks=chunks), np.arange(100), np.zeros(100, int)
        )
        assert schedule.nbytes == 100 * per_hop
        assert [schedule.chunk.dtype.itemsize, schedule.link.dtype.itemsize] == [
            2 if chunks <= 2**16 else 4,
            2 if links <= 2**16 else 4,
        ]

    def test_largest_ids_are_kept(self):
        """The last chunk and link of each width come back as they were."""
        for chunks in (2**16, 2**16 + 1, 2**24):
            schedule = Schedule(cables(2**16 + 1), collective("broadcast", 2, chunks=chunks), [chunks - 1], [2**16])
            assert (int(schedule.chunk[0]), int(schedule.link[0])) == (chunks - 1, 2**16)

    def test_optional_types(self, full):
        """A flag a hop, and 32 bits for each id."""
        assert [getattr(full, name).dtype for name in OPTIONAL] == [np.bool_, np.int32, np.int32, np.int32]
        assert full.nbytes == 4 * (2 + 2 + 1 + 4 + 4 + 4)

    @pytest.mark.parametrize(
        "columns",
        [
            {"reduce": [False] * 4},
            {"flow": [-1] * 4},
            {"flow": [3, 1, 0, 2]},
            {"flow": [-5, 10**12, -1, 7]},
            {"message": [-1] * 4},
            {"message": [2, -1, 0, -1]},
            {"step": [-7, 0, 1, 2**31 - 1]},
        ],
        ids=str,
    )
    def test_what_says_nothing_is_dropped(self, full, columns):
        """No addition, no id shared by two hops, no two hops in one step: as if the column were absent."""
        plain = full.replaced(reduce=None, flow=None, step=None, message=None)
        schedule = plain.replaced(**columns)
        assert all(getattr(schedule, name) is None for name in OPTIONAL)
        assert schedule == plain

    def test_no_hops(self):
        """Empty columns say nothing."""
        schedule = Schedule(line(2), collective("broadcast", 2), [], [], reduce=[], flow=[], step=[], message=[])
        assert schedule.num_hops == schedule.nbytes == 0
        assert all(getattr(schedule, name) is None for name in OPTIONAL)

    @given(st.lists(st.integers(-3, 2**40), min_size=2, max_size=30))
    def test_wide_ids_are_renumbered(self, ids):
        """Any ids will do; they come back below the number of hops, in their order, negative ones as −1."""
        ids = [*ids, ids[0]]
        count = len(ids)
        schedule = Schedule(line(2), collective("broadcast", 2), np.zeros(count, int), np.zeros(count, int), flow=ids)
        named = [i for i in ids if i >= 0]
        if len(set(named)) == len(named):
            assert schedule.flow is None
            return
        found = schedule.flow.tolist()
        assert max(found) < count
        assert [i < 0 for i in ids] == [i == -1 for i in found]
        pairs = sorted({(i, j) for i, j in zip(ids, found, strict=True) if i >= 0})
        assert [j for _, j in pairs] == sorted({j for j in found if j >= 0})

    def test_frozen(self, full):
        """Columns cannot be written, and the schedule has copies of its own."""
        given_columns = {name: getattr(full, name).copy() for name in ("chunk", "link", *OPTIONAL)}
        again = Schedule(full.topology, full.collective, **given_columns)
        for name, column in given_columns.items():
            assert column.flags.writeable
            column[:] = 0
            assert getattr(again, name).tolist() == getattr(full, name).tolist()
            assert not getattr(again, name).flags.writeable
        with pytest.raises(AttributeError):
            full.order = "fifo"

    def test_kernel_columns(self, full):
        """Kernels get wide ids, and empty arrays for what is absent."""
        assert [column.tolist() for column in full.kernel_columns] == [
            getattr(full, name).tolist() for name in ("chunk", "link", *OPTIONAL)
        ]
        plain = full.replaced(reduce=None, flow=None, step=None, message=None)
        assert [len(column) for column in plain.kernel_columns] == [4, 4, 0, 0, 0, 0]
        assert plain.kernel_columns[0].dtype == np.uint32


class TestRefused:
    """What is not a schedule, and what the message says."""

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"order": "lifo"}, "schedule order 'lifo': expected one of program, fifo"),
            ({"chunk": [0, 1, 2, 0]}, "hop 2 names chunk 2; there are chunks 0…1"),
            ({"chunk": [0, -1, 0, 0]}, "hop 1 names chunk -1; there are chunks 0…1"),
            ({"link": [0, 0, 4, 0]}, "hop 2 names link 4; there are links 0…3"),
            ({"chunk": [0.0, 1.0, 0.0, 0.0]}, "column chunk: expected integers, found float64"),
            ({"link": [True] * 4}, "column link: expected integers, found bool"),
            ({"link": [0, 0]}, "column link has 2 entries for 4 hops"),
            ({"reduce": [False]}, "column reduce has 1 entries for 4 hops"),
            ({"flow": [-1]}, "column flow has 1 entries for 4 hops"),
            ({"step": [0, 1, 2, 3, 4]}, "column step has 5 entries for 4 hops"),
            ({"message": [-1] * 3}, "column message has 3 entries for 4 hops"),
            ({"reduce": [0, 1, 0, 1]}, "column reduce: expected booleans, found int64"),
            ({"flow": [0.5] * 4}, "column flow: expected integers, found float64"),
            ({"step": [0, 1, 2, 2**31]}, "column step: expected 32-bit values"),
            ({"step": [0, 2, 1, 1]}, "hop 2 goes back to step 1 after step 2"),
            ({"step": [2**31 - 1, -(2**31), 0, 0]}, "hop 1 goes back to step -2147483648 after step 2147483647"),
            ({"message": [0, 0, 0, -1]}, "hop . crosses another link than the rest of its message 0"),
        ],
        ids=str,
    )
    def test_columns(self, full, columns, message):
        """Each fault is named with the hop or column."""
        with pytest.raises(ScheduleError, match=message):
            full.replaced(**columns)

    def test_other_number_of_npus(self):
        """The collective must be for the network."""
        with pytest.raises(ScheduleError, match="the collective is for 3 NPUs, topology ring:4 has 4; build both for"):
            Schedule(ring(4), collective("broadcast", 3), [], [])

    def test_wide_steps_may_stand_still(self, full):
        """The whole range of 32 bits is allowed, and differences of it do not overflow."""
        step = [-(2**31), -(2**31), 2**31 - 1, 2**31 - 1]
        assert full.replaced(step=step).step.tolist() == step


class TestEquality:
    """Fingerprint, hash and pickles."""

    def test_equal(self, full):
        """Lists and arrays of any integer type make equal schedules; notes do not count."""
        again = Schedule(full.topology, full.collective, list(full.chunk), full.link.astype(np.int8),
                         **{name: list(getattr(full, name)) for name in OPTIONAL}, notes={"by": "hand"})  # fmt: skip
        assert again == full
        assert hash(again) == hash(full)
        assert full != "schedule"

    @pytest.mark.parametrize(
        "columns",
        [
            {"order": "fifo"}, {"chunk": [1, 0, 0, 1]}, {"link": [0, 0, 2, 0], "message": None}, {"reduce": None},
            {"reduce": [True] * 4}, {"flow": None}, {"flow": [0, 0, 1, 1]}, {"step": None}, {"step": [0, 1, 1, 1]},
            {"message": None}, {"message": [0, 0, -1, -1]}, {"message": None, "step": None},
            {"topology": line(3, 25.0)}, {"collective": collective("broadcast", 3, chunks=2, root=1)},
        ],
        ids=str,
    )  # fmt: skip
    def test_different(self, full, columns):
        """Everything that means something tells schedules apart."""
        assert full.replaced(**columns) != full

    def test_columns_are_not_mistaken_for_each_other(self, full):
        """The same numbers in another column are another schedule."""
        plain = full.replaced(reduce=None, flow=None, step=None, message=None)
        forms = [plain.replaced(**{name: [0, 0, 1, 1]}) for name in ("flow", "step", "message")]
        assert len({schedule.fingerprint for schedule in [plain, *forms]}) == 4

    def test_fingerprint_is_stable(self, full):
        """The fingerprint is the same on every run: 32 hexadecimal digits."""
        assert full.fingerprint == full.replaced(notes={"a": 1}).fingerprint
        assert len(full.fingerprint) == 32
        int(full.fingerprint, 16)

    def test_pickle(self, full):
        """A schedule comes back from a pickle with read-only columns, and without what was cached."""
        small = len(pickle.dumps(full))
        assert full.dataflow.reads.size == 4
        assert full.kernel_columns
        assert len(pickle.dumps(full)) == small
        again = pickle.loads(pickle.dumps(full))
        assert again == full
        assert not again.chunk.flags.writeable


class TestOwnership:
    """Whose memory the columns are in."""

    def test_given_away(self):
        """A read-only column that owns its memory, in the type that is stored, is taken over; others are copied."""
        topology = ring(4)
        chunk, link = np.array([0, 1], np.uint16), np.array([0, 2], np.uint16)
        mine = Schedule(topology, collective("all_gather", 4), chunk, link)
        assert not np.shares_memory(mine.chunk, chunk)
        for column in (chunk, link):
            column.setflags(write=False)
        given = Schedule(topology, collective("all_gather", 4), chunk, link)
        assert given.chunk is chunk
        assert given.link is link
        assert not np.shares_memory(Schedule(topology, given.collective, chunk[:], link[:]).chunk, chunk)


class TestChanges:
    """Copies with other hops or fields."""

    def test_selected(self, full):
        """Hops are taken in the order given, all columns with them."""
        some = full.selected(np.array([2, 0]), step=None)
        assert some.chunk.tolist() == [0, 0]
        assert some.link.tolist() == full.link[[2, 0]].tolist()
        assert some.flow.tolist() == [0, 0]
        assert some.reduce.tolist() == [True, True]
        assert some.message is None  # either message has one member left

    def test_replaced(self, full):
        """Fields change, the rest stays."""
        assert full.replaced() == full
        assert full.replaced(order="fifo").order == "fifo"

    def test_on(self, full):
        """On a network of the same shape it is the same hops, dataflow kept, and another schedule by its identity."""
        fast = line(3, 100.0)
        dataflow = full.dataflow
        carried = full.on(fast)
        assert carried.topology is fast
        assert carried.dataflow is dataflow
        assert carried == full.replaced(topology=fast)
        assert carried != full
        assert full.topology == line(3)
        assert pickle.loads(pickle.dumps(carried)) == carried

    @pytest.mark.parametrize("other", [ring(3), line(4), line(3).reversed(), line(3).without(links=[0])])
    def test_on_another_shape(self, full, other):
        """A network with other nodes or links is refused in one line."""
        with pytest.raises(ScheduleError, match="cannot be carried to .*expected the same nodes"):
            full.on(other)

    def test_repr(self, full):
        """The representation says collective, network, hops and order."""
        assert repr(full) == "Schedule(broadcast over 3 ranks, 2 chunks on line:3, 4 hops, program)"

    def test_methods_lead_to_the_operations(self):
        """`reverse`, `then` and `dataflow` are those of their modules."""
        gathered = generator.trees(fully_connected(4), collective("all_gather", 4), np.random.default_rng(0))
        mirrored = gathered.reverse().reverse()
        assert mirrored == gathered
        assert mirrored.then(gathered).num_hops == 2 * gathered.num_hops
