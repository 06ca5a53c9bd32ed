"""Schedules in collbench's own files: exact round trips, and one clear line for everything else."""

from __future__ import annotations

import json
import os
import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schedules import Schedule, collective, custom
from schedules.files import is_schedule_file, load_schedule, save_schedule
from schedules.files.header import checksum
from topologies import CollbenchError, FormatError, ScheduleError, Topology, dgx2, mesh, ring

FORMS = ["json", "parquet"]


def full() -> Schedule:
    """Return a schedule with every column, names and notes."""
    topology, rng, hops = dgx2(1), np.random.default_rng(1), 60
    link = rng.integers(0, topology.num_links, hops)
    work = collective("all_reduce", topology.num_npus, chunks=2)
    return Schedule(
        topology, work, rng.integers(0, work.num_chunks, hops), link,
        reduce=rng.random(hops) < 0.5, flow=rng.integers(-1, hops, hops), step=np.sort(rng.integers(-3, 50, hops)),
        message=np.where(rng.random(hops) < 0.8, link, -1), order="fifo",
        notes={"planned_us": 1.25, "tree": {"α": [1, None, "ü\n"]}},
    )  # fmt: skip


def plain(topology: Topology | None = None, hops: int = 20, **fields) -> Schedule:
    """Return a schedule of random hops without optional columns."""
    topology = topology or mesh((3, 2), (50.0, 75.0))
    work = fields.pop("work", None) or collective("all_gather", topology.num_npus)
    rng = np.random.default_rng(hops)
    return Schedule(topology, work, rng.integers(0, work.num_chunks, hops), rng.integers(0, topology.num_links, hops),
                    **fields)  # fmt: skip


def same(found: Schedule, expected: Schedule) -> bool:
    """Return whether a schedule came back with all that files keep."""
    return (
        found == expected
        and found.collective == expected.collective
        and found.notes == expected.notes
        and (found.topology.name, found.topology.node_names) == (expected.topology.name, expected.topology.node_names)
        and (found.topology.bandwidth_gbps == expected.topology.bandwidth_gbps).all()
        and (found.topology.latency_us == expected.topology.latency_us).all()
    )


def rewritten(path, change, seal: bool = False):
    """Apply a change to the header and columns of a JSON file, with a fresh checksum if `seal`."""
    content = json.loads(path.read_text())
    change(content)
    if seal:
        columns = content["columns"]
        content["checksum"] = checksum({name: value for name, value in content.items() if name not in columns})
    path.write_text(json.dumps(content))


def uneven() -> Schedule:
    """Return a schedule whose collective has groups, a root and weights."""
    work = collective("broadcast", 6, groups=[[4, 1], [0, 2, 3]], root=1).refined(2, weights=np.array([1, 3, 2, 2]))
    return plain(work=work)


CASES = {
    "full": full,
    "plain": plain,
    "uneven": uneven,
    "empty": lambda: plain(hops=0, step=np.zeros(0, np.int64)),
    "pairs": lambda: plain(work=collective("send_recv", 6, pairs=[(0, 5), (5, 0), (2, 1)])),
    "custom": lambda: plain(work=custom(6, [[0], [1, 2]], [[1, 5], []], reduces=True, weights=[1, 2])),
    "wide": lambda: plain(work=collective("all_to_all", 6, chunks=2**12)),
    "odd name": lambda: plain(Topology.from_links(2, [(0, 1, 1 / 3, 0.1), (1, 0, 0.0, 1e9)], name='a\n"\ud800',
                                                  node_names=["", "ü"])),
}  # fmt: skip


class TestRoundTrip:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("case", CASES)
    def test_everything_comes_back(self, case, form, tmp_path):
        """Fingerprint, collective, names, notes, exact floats and narrow types survive."""
        schedule, path = CASES[case](), tmp_path / f"s.{form}"
        save_schedule(schedule, path)
        again = load_schedule(path)
        assert same(again, schedule)
        for name in ("chunk", "link", "reduce", "flow", "step", "message"):
            before, after = getattr(schedule, name), getattr(again, name)
            assert (before is None) == (after is None)
            assert before is None or before.dtype == after.dtype

    def test_content_decides(self, tmp_path):
        """A file under another name is read by what it holds."""
        save_schedule(full(), tmp_path / "s.parquet")
        save_schedule(full(), tmp_path / "t.JSON")
        os.replace(tmp_path / "s.parquet", tmp_path / "s.json")
        os.replace(tmp_path / "t.JSON", tmp_path / "t.xml")
        assert same(load_schedule(tmp_path / "s.json"), full())
        assert same(load_schedule(tmp_path / "t.xml"), full())

    def test_several_row_groups(self, tmp_path, monkeypatch):
        """Columns longer than a row group come back in order."""
        monkeypatch.setattr("schedules.files.parquet._ROWS", 7)
        save_schedule(full(), tmp_path / "s.parquet")
        assert pq.ParquetFile(tmp_path / "s.parquet").num_row_groups == 9
        assert same(load_schedule(tmp_path / "s.parquet"), full())

    def test_ten_million_hops(self, tmp_path):
        """A schedule of ten million hops saves and loads in seconds, below its size in memory."""
        schedule, path = plain(mesh((64, 64)), hops=10_000_000), tmp_path / "s.parquet"
        begin = time.perf_counter()
        save_schedule(schedule, path)
        again = load_schedule(path)
        assert time.perf_counter() - begin < 10
        assert again == schedule
        assert path.stat().st_size < schedule.nbytes

    def test_notes_of_numpy_and_tuples(self, tmp_path):
        """Numpy values, tuples and infinities in notes come back as plain values."""
        notes = {"a": np.float64(0.1), "b": (1, np.int64(2)), "c": np.arange(3), "d": float("inf"), "e": np.bool_(True)}
        save_schedule(plain(notes=notes), tmp_path / "s.json")
        expected = {"a": 0.1, "b": [1, 2], "c": [0, 1, 2], "d": float("inf"), "e": True}
        assert load_schedule(tmp_path / "s.json").notes == expected


class TestSaveSchedule:
    @pytest.mark.parametrize("name", ["s.xml", "s", "s.json.gz"])
    def test_other_suffix(self, name, tmp_path):
        """A suffix that names no form is refused and nothing is written."""
        with pytest.raises(FormatError, match=r"expected a name that ends in \.parquet or \.json"):
            save_schedule(plain(), tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_large_json(self, tmp_path):
        """A schedule too long for JSON is refused, naming the other form, and nothing is left behind."""
        with pytest.raises(
            ScheduleError, match=r"has 1000001 hops; expected at most 1000000 for JSON: save it as \.pa"
        ):
            save_schedule(plain(hops=1_000_001), tmp_path / "s.json")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("form", FORMS)
    def test_notes_that_cannot_be_kept(self, form, tmp_path):
        """A note that is no JSON value is refused by its name."""
        with pytest.raises(ScheduleError, match="note graph, entry of is a set; expected text, numbers"):
            save_schedule(plain(notes={"graph": {"of": {1}}}), tmp_path / f"s.{form}")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("form", FORMS)
    def test_unwritable(self, form, tmp_path):
        """A missing folder and a folder in the file's place are one clear line."""
        with pytest.raises(CollbenchError, match="does not exist; create it first"):
            save_schedule(plain(), tmp_path / "nowhere" / f"s.{form}")
        (tmp_path / f"d.{form}").mkdir()
        with pytest.raises(CollbenchError, match="expected a file name, found a folder"):
            save_schedule(plain(), tmp_path / f"d.{form}")

    def test_failure_keeps_the_old_file(self, tmp_path, monkeypatch):
        """Where the disk is full, the file that was there stays, and nothing beside it."""
        save_schedule(plain(), tmp_path / "s.parquet")

        def full_disk(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(pq.ParquetWriter, "write_table", full_disk)
        with pytest.raises(CollbenchError, match=r"cannot write .*s\.parquet: No space left on device"):
            save_schedule(full(), tmp_path / "s.parquet")
        assert [path.name for path in tmp_path.iterdir()] == ["s.parquet"]
        assert load_schedule(tmp_path / "s.parquet") == plain()


class TestIsScheduleFile:
    @pytest.mark.parametrize("form", FORMS)
    def test_tells_own_files(self, form, tmp_path):
        """Own files are recognised by content, truncated ones too."""
        path = tmp_path / f"s.{form}"
        save_schedule(full(), path)
        assert is_schedule_file(path)
        path.write_bytes(path.read_bytes()[:-30])
        assert is_schedule_file(path)

    def test_others(self, tmp_path):
        """Other JSON, other Parquet, a folder and a missing file are not."""
        (tmp_path / "t.json").write_text('{"format": "collbench-topology"}')
        pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
        for name in ("t.json", "t.parquet", "", "missing"):
            assert not is_schedule_file(tmp_path / name)


class TestLoadSchedule:
    @pytest.mark.parametrize("form", FORMS)
    def test_damage(self, form, tmp_path):
        """Whatever bytes are cut or changed, the schedule comes back whole or the error is one line of ours."""
        schedule, path, rng = full(), tmp_path / f"s.{form}", random.Random(form)
        save_schedule(schedule, path)
        whole = path.read_bytes()
        cuts = [whole[:end] for end in range(0, len(whole) - 1, 37)]
        for _ in range(1500):
            flipped = bytearray(whole)
            for _ in range(rng.choice([1, 1, 1, 2, 4])):
                flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
            cuts.append(bytes(flipped))
        for content in cuts:
            path.write_bytes(content)
            is_schedule_file(path)
            try:
                again = load_schedule(path)
            except FormatError as error:
                again = str(error)
            # Bytes that nothing reads (padding, the writer's name) may change; none may be missing.
            whole_again = isinstance(again, Schedule) and len(content) == len(whole) and same(again, schedule)
            assert whole_again or (isinstance(again, str) and again.startswith(str(path)) and "\n" not in again)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda c: c.update(format="chakra"), "expected format 'collbench-schedule', found 'chakra'"),
            (lambda c: c.update(version=2), "has version 2, expected 1; read it with the release"),
            (lambda c: c.pop("topology"), "missing required field `topology`; write it again"),
            (lambda c: c.update(extra=1), "unknown field `extra`"),
            (lambda c: c.pop("flow"), "the column 'flow' is missing; write it again"),
            (lambda c: c["columns"].pop("chunk"), "the column 'chunk' is missing"),
            (lambda c: c["columns"].update(link="float64"), "column 'link' of type 'float64', expected uint16 or"),
            (lambda c: c["columns"].update(weight="int32"), "column 'weight' of type 'int32', expected chunk, link"),
            (lambda c: c["topology"].update(num_npus="six"), r"Expected `int`, got `str` - at `\$.topology.num_npus`"),
            (lambda c: c["chunk"].__setitem__(3, "x"), r"column 'chunk': Expected `int`, got `str` - at `\$\[3\]`"),
            (lambda c: c["chunk"].__setitem__(3, -1), "column 'chunk': .*out of bounds"),
            (lambda c: c["chunk"].pop(), "column 'chunk' has 59 entries, expected 60"),
            (lambda c: c["reduce"].__setitem__(0, not c["reduce"][0]), "was edited or damaged: expected fingerprint"),
            (lambda c: c["notes"].update(planned_us=1), "was edited or damaged: its header says checksum"),
            (lambda c: c["topology"].update(name="x"), "was edited or damaged: its header says checksum"),
            (lambda c: c["link"].__setitem__(3, 999), "hop 3 names link 999; there are links"),
        ],
    )
    def test_edited(self, change, message, tmp_path):
        """A foreign, newer or edited file is refused, naming the file and the fault."""
        save_schedule(full(), tmp_path / "s.json")
        rewritten(tmp_path / "s.json", change)
        with pytest.raises(FormatError, match=f"s.json: .*{message}"):
            load_schedule(tmp_path / "s.json")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda c: c["topology"]["src"].__setitem__(0, 99), "joins an unknown node"),
            (lambda c: c["topology"]["bandwidth_gbps"].__setitem__(0, -1.0), "has a bandwidth that is not between"),
            (lambda c: c["topology"]["src"].__setitem__(0, 2**80), "s.json"),
            (lambda c: c["collective"].update(kind="all_together"), "unknown collective 'all_together'"),
            (lambda c: c["collective"].update(groups=[[0, 0]]), "NPU 0 is in the groups twice"),
            (lambda c: c["collective"].update(kind="custom", conditions=[[[99]], [[1]], True]), "chunk 0 names NPU 99"),
            (lambda c: c["collective"].update(num_npus=99), "the collective is for 99 NPUs"),
            (lambda c: c["collective"].update(weights=[0]), "positive integer chunk weights"),
            (lambda c: c.update(order="random"), "schedule order 'random': expected one of"),
            (lambda c: c.update(fingerprint="0"), "expected fingerprint '0', found"),
        ],
    )
    def test_corrupt_inside(self, change, message, tmp_path):
        """A file whose checksum is right, but whose network or collective is not valid, is refused."""
        save_schedule(full(), tmp_path / "s.json")
        rewritten(tmp_path / "s.json", change, seal=True)
        with pytest.raises(FormatError, match=message):
            load_schedule(tmp_path / "s.json")

    def test_parquet_columns(self, tmp_path):
        """Parquet with a column missing, added, retyped or shortened under a good header is refused."""
        path = tmp_path / "s.parquet"
        save_schedule(full(), path)
        table = pq.read_table(path)
        metadata = pq.ParquetFile(path).metadata.metadata
        for change, message in [
            (table.drop(["flow"]), "the column 'flow' is missing"),
            (table.append_column("weight", pa.array(range(60))), "has a column 'weight', expected chunk, link"),
            (table.set_column(0, "chunk", pa.array(range(60), pa.int64())), "'chunk' holds int64, expected uint16"),
            (table.slice(0, 59), "has 59 rows, expected 60"),
            (table.set_column(0, "chunk", pa.array([None] * 60, pa.uint16())), "'chunk' has empty cells"),
            (table.set_column(0, "chunk", pa.array([1] * 60, pa.uint16())), "expected fingerprint"),
        ]:
            pq.write_table(change.replace_schema_metadata(metadata), path)
            with pytest.raises(FormatError, match=message):
                load_schedule(path)

    def test_foreign(self, tmp_path):
        """Foreign Parquet, foreign JSON, text, an empty file, deep nesting: each is one line that says so."""
        pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "foreign.parquet")
        (tmp_path / "list.json").write_text("[1]")
        (tmp_path / "algo.xml").write_text("<algo>")
        (tmp_path / "empty.json").write_text("")
        (tmp_path / "deep.json").write_text("[" * 100_000)
        (tmp_path / "digits.json").write_text('{"format": ' + "1" * 10_000 + "}")
        for name, message in [
            ("foreign.parquet", "expected Parquet metadata 'collbench-schedule', found columns a, b"),
            ("list.json", "expected format 'collbench-schedule', found 'a list'"),
            ("algo.xml", "expected Parquet or JSON .* found a file that starts with b'<algo>'"),
            ("empty.json", "found an empty file"),
            ("deep.json", "not JSON"),
            ("digits.json", "not JSON"),
        ]:
            with pytest.raises(FormatError, match=message) as caught:
                load_schedule(tmp_path / name)
            assert "\n" not in str(caught.value)

    def test_unreadable(self, tmp_path):
        """A missing file, a folder and a file without permission cannot be read, and the error says why."""
        with pytest.raises(FormatError, match=r"cannot read .*No such file"):
            load_schedule(tmp_path / "missing.json")
        with pytest.raises(FormatError, match=r"cannot read .*Is a directory"):
            load_schedule(tmp_path)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_permission(self, tmp_path):
        """A file that may not be read is one clear line."""
        save_schedule(plain(ring(3)), tmp_path / "s.json")
        (tmp_path / "s.json").chmod(0)
        with pytest.raises(FormatError, match=r"cannot read .*Permission denied"):
            load_schedule(tmp_path / "s.json")
