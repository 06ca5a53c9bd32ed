"""Schedules in collbench's own files: Parquet for any size, JSON for small ones. What is read is decided by content."""

from __future__ import annotations

import os
from pathlib import Path

from schedules.files.header import FORMAT, refused
from schedules.files.parquet import MAGIC, read_parquet, write_parquet
from schedules.files.text import read_json, write_json
from schedules.schedule import Schedule
from topologies.atomic import atomic_path
from topologies.exceptions import FormatError

__all__ = ["is_schedule_file", "load_schedule", "save_schedule"]


def save_schedule(schedule: Schedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule; the file appears whole or not at all.

    Parameters
    ----------
    schedule : Schedule
        It comes back exactly: fingerprint, names and notes. Tuples and numpy values in notes come back as lists and
        Python numbers.
    path : path
        ``.parquet`` for any size, ``.json`` for at most a million hops.

    Raises
    ------
    FormatError
        Another suffix.
    ScheduleError
        Too many hops for JSON, or a note that is not text, a number, or a list or mapping of them.
    CollbenchError
        The folder is missing or not writable.
    """
    forms = {".parquet": write_parquet, ".json": write_json}
    suffix = Path(path).suffix.lower()
    if suffix not in forms:
        raise FormatError(f"cannot write {path}: expected a name that ends in .parquet or .json, found {suffix!r}")
    with atomic_path(path) as temporary:
        forms[suffix](schedule, temporary)


def load_schedule(path: str | os.PathLike[str]) -> Schedule:
    """Return the schedule of a file that `save_schedule` wrote, whatever its name.

    Raises
    ------
    FormatError
        The file cannot be read, or is truncated, foreign, edited, of another version, or not a valid schedule.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(200)
        if start.startswith(MAGIC):
            return read_parquet(path)
        if start.lstrip().startswith((b"{", b"[")):
            return read_json(path)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    found = f"a file that starts with {start[:12]!r}" if start else "an empty file"
    raise refused(path, f"not a schedule of collbench: expected Parquet or JSON of format {FORMAT!r}, found {found}")


def is_schedule_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like collbench's own schedule, whole or not, of this version or another.

    A Parquet file that has lost its end may have been one: `load_schedule` says what is wrong with it.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(200)
            if not start.startswith(MAGIC):
                return start.lstrip().startswith(b"{") and f'"{FORMAT}"'.encode() in start
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            tail = file.read()
            footer = int.from_bytes(tail[:4], "little")
            if tail[4:] != MAGIC or footer > size - 8:
                return True
            file.seek(size - 8 - footer)
            return FORMAT.encode() in file.read(footer)
    except OSError:
        return False
