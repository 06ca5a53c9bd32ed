"""The JSON form, for small schedules that people read, compare and send: the header, then a list per column."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import numpy as np

from schedules.files.header import COLUMNS, FORMAT, header_of, parsed, rebuilt, refused
from schedules.schedule import Schedule
from topologies.exceptions import ScheduleError

MAX_HOPS = 1_000_000


def write_json(schedule: Schedule, path: Path) -> None:
    """Write a schedule to a new file.

    Raises
    ------
    ScheduleError
        More than a million hops.
    """
    if schedule.num_hops > MAX_HOPS:
        raise ScheduleError(
            f"the schedule has {schedule.num_hops} hops; expected at most {MAX_HOPS} for JSON: save it as .parquet"
        )
    content = header_of(schedule)
    content |= {name: getattr(schedule, name).tolist() for name in content["columns"]}
    # A line for each field: a difference between two files shows which column changed.
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii")


def read_json(path: str | os.PathLike[str]) -> Schedule:
    """Return the schedule of a JSON file.

    Raises
    ------
    FormatError
        A file that is truncated, damaged, foreign, edited or of another version.
    """
    raw = Path(path).read_bytes()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        if FORMAT.encode() in raw[:200]:
            raise refused(path, f"truncated or damaged ({error}); write it again with save_schedule") from error
        raise refused(path, f"not JSON ({error}); expected a {FORMAT} file") from error
    lists = {}
    if isinstance(content, dict):
        lists = {name: content.pop(name) for name in COLUMNS if name in content}
    header = parsed(path, content)
    columns = {}
    for name, dtype in header.columns.items():
        if name not in lists:
            raise refused(path, f"the column {name!r} is missing; write it again with save_schedule")
        try:
            entries = msgspec.convert(lists[name], list[bool] if dtype == "bool" else list[int])
            columns[name] = np.array(entries, dtype)
        except (msgspec.ValidationError, OverflowError) as error:
            raise refused(path, f"column {name!r}: {error}; write it again with save_schedule") from error
    extra = [name for name in lists if name not in header.columns]
    if extra:
        raise refused(path, f"has a column {extra[0]!r:.40}, expected {', '.join(header.columns)} only")
    return rebuilt(path, header, columns)
