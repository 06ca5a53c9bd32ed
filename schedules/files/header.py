"""What a schedule file says beside its columns: network, collective, order, notes, and two checks.

The header is JSON in both forms of the file. `fingerprint` is the schedule's own and proves the columns; `checksum`
is over the header and proves what the fingerprint leaves out, such as names and notes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from schedules.builders import custom
from schedules.collective import Collective
from schedules.schedule import Schedule
from topologies import Topology
from topologies.exceptions import CollbenchError, FormatError, ScheduleError

FORMAT = "collbench-schedule"
VERSION = 1
COLUMNS = ("chunk", "link", "reduce", "flow", "step", "message")
#: Types in which `Schedule` stores its columns.
DTYPES = {"chunk": ("uint16", "uint32"), "link": ("uint16", "uint32"), "reduce": ("bool",)} | dict.fromkeys(
    COLUMNS[3:], ("int32",)
)

_AGAIN = "write it again with save_schedule"


class TopologyFields(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `Topology`."""

    name: str
    num_npus: int
    num_switches: int
    node_names: list[str]
    src: list[int]
    dst: list[int]
    latency_us: list[float]
    bandwidth_gbps: list[float]


class CollectiveFields(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `Collective`."""

    kind: str
    num_npus: int
    groups: list[list[int]]
    chunks: int
    root: int
    shards: int
    pairs: list[tuple[int, int]]
    weights: list[int] | None
    conditions: tuple[list[list[int]], list[list[int]], bool] | None


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """All of a schedule file but the columns; `columns` gives the stored type of each."""

    format: str
    version: int
    checksum: str
    fingerprint: str
    hops: int
    order: str
    columns: dict[str, str]
    topology: TopologyFields
    collective: CollectiveFields
    notes: dict[str, Any]


def refused(path: str | os.PathLike[str], fault: object) -> FormatError:
    """Return the error for a file, in one line whatever the fault's text holds."""
    return FormatError(f"{path}: {' '.join(str(fault).split())}")


def header_of(schedule: Schedule) -> dict[str, Any]:
    """Return the header of a schedule as plain JSON values.

    Raises
    ------
    ScheduleError
        A note that JSON cannot hold, or a collective that does not come back from its fields.
    """
    topology, collective = schedule.topology, schedule.collective
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "checksum": "",
        "fingerprint": schedule.fingerprint,
        "hops": schedule.num_hops,
        "order": schedule.order,
        "columns": {name: str(column.dtype) for name in COLUMNS if (column := getattr(schedule, name)) is not None},
        "topology": {name: _plain(getattr(topology, name), name) for name in TopologyFields.__struct_fields__},
        "collective": {name: _plain(getattr(collective, name), name) for name in CollectiveFields.__struct_fields__},
        "notes": {str(name): _plain(value, f"note {name}") for name, value in schedule.notes.items()},
    }
    if not collective.conditions:
        header["collective"]["conditions"] = None
    if _collective(msgspec.convert(header["collective"], CollectiveFields)) != collective:
        raise ScheduleError(
            "cannot save the schedule: its collective's fields are not the tuples of int that collective() and "
            "custom() make; build it with one of them"
        )
    header["checksum"] = checksum(header)
    return header


def parsed(path: str | os.PathLike[str], content: object) -> Header:
    """Return the typed header, checked to be of this format and version and as it was written.

    Raises
    ------
    FormatError
        Another format or version, a missing or mistyped field, an edited header.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else f"a {type(content).__name__}"
        raise refused(path, f"not a schedule of collbench: expected format {FORMAT!r}, found {found!r:.60}")
    if content.get("version") != VERSION:
        raise refused(
            path,
            f"has version {content.get('version')!r:.20}, expected {VERSION}; read it with the release of collbench "
            "that wrote it",
        )
    try:
        header = msgspec.convert(content, Header)
    except msgspec.ValidationError as error:
        raise refused(path, f"{error}; {_AGAIN}") from error
    for name, dtype in header.columns.items():
        if dtype not in DTYPES.get(name, ()):
            known = ", ".join(DTYPES) if name not in DTYPES else " or ".join(DTYPES[name])
            raise refused(path, f"has a column {name!r:.40} of type {dtype!r:.20}, expected {known}; {_AGAIN}")
    for name in COLUMNS[:2]:
        if name not in header.columns:
            raise refused(path, f"the column {name!r} is missing; {_AGAIN}")
    found = checksum(content)
    if found != header.checksum:
        raise refused(
            path,
            f"was edited or damaged: its header says checksum {header.checksum!r:.40}, found {found!r}; {_AGAIN}",
        )
    return header


def rebuilt(path: str | os.PathLike[str], header: Header, columns: Mapping[str, np.ndarray]) -> Schedule:
    """Return the schedule of a header and its columns, checked against the fingerprint.

    Raises
    ------
    FormatError
        A network, collective or column that is not valid, or not the one that was written.
    """
    for name, column in columns.items():
        if len(column) != header.hops:
            raise refused(path, f"column {name!r} has {len(column)} entries, expected {header.hops}; {_AGAIN}")
    try:
        fields = {name: getattr(header.topology, name) for name in TopologyFields.__struct_fields__}
        schedule = Schedule(Topology(**fields), _collective(header.collective), order=header.order,
                            notes=header.notes, measured={}, **columns)  # fmt: skip
        found = schedule.fingerprint
    except (CollbenchError, OverflowError, MemoryError) as error:
        raise refused(path, error or "does not fit in memory") from error
    if found != header.fingerprint:
        raise refused(path, f"was edited or damaged: expected fingerprint {header.fingerprint!r:.40}, found {found!r}; "
                            f"{_AGAIN}")  # fmt: skip
    return schedule


def checksum(header: Mapping[str, Any]) -> str:
    """Return a hash of a header's values, whatever their layout in the file."""
    kept = {name: value for name, value in header.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:32]


def _collective(fields: CollectiveFields) -> Collective:
    """Return the collective of its fields."""
    if fields.kind == "custom":
        before, after, reduces = fields.conditions or ([], [], False)
        return custom(fields.num_npus, before, after, reduces=reduces, weights=fields.weights)
    weights = None if fields.weights is None else np.array(fields.weights)
    groups = tuple(tuple(group) for group in fields.groups)
    return Collective(fields.kind, fields.num_npus, groups, fields.chunks, fields.root, fields.shards,
                      tuple(fields.pairs), weights)  # fmt: skip


def _plain(value: Any, what: str) -> Any:
    """Return a value as what JSON gives back: lists for tuples and arrays, Python numbers for numpy's."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist() if value.dtype.kind in "biufU" else _plain(value.tolist(), what)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(entry, f"{what}, entry {key}") for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, what) for entry in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ScheduleError(
        f"cannot save the schedule: {what} is a {type(value).__name__}; expected text, numbers, lists or text-keyed "
        "mappings of them"
    )
