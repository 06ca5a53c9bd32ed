"""The folder of finished runs: a file for each, under the hash of all that determines it, there whole or not at all.

Schedules that are kept lie beside them, under the same hash.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from experiments.record import Record
from experiments.runner.run import Run
from topologies import CollbenchError
from topologies.atomic import atomic_path

#: Statuses of runs that came to nothing; what a synthesizer does not support is an answer.
FAILURES = ("failed", "invalid", "timeout", "out of memory")


#: Under this key a run's schedule, the content of its file, travels with its record.
SCHEDULE = "schedule_file"

#: A schedule of more hops is not kept: what made it makes it again.
KEPT_HOPS = 2**22


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """A file: the record, and the limit that the key does not hold."""

    key: str
    memory_limit_mb: float | None
    record: Record


class Store:
    """Finished runs under ``FOLDER/runs``, and their schedules under ``FOLDER/schedules``.

    Parameters
    ----------
    folder : Path
        Of the results; made if it is missing.
    memory_limit_mb : float or None
        Of runs now; one that ran out of memory under another limit is not finished.
    """

    def __init__(self, folder: Path, memory_limit_mb: float | None = None) -> None:
        self.folder = folder
        self.memory_limit_mb = memory_limit_mb

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the folder to this process inside the ``with`` block, and sweep what killed ones have left.

        Raises
        ------
        CollbenchError
            Another process has it, or it cannot be written.
        """
        try:
            (self.folder / "runs").mkdir(parents=True, exist_ok=True)
            with open(self.folder / ".lock", "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise CollbenchError(f"another collbench run writes into {self.folder}; wait, or choose another "
                                         "--out") from None  # fmt: skip
                for left in [*self.folder.glob(".*-*"), *self.folder.glob("runs/*/.*-*"),
                             *self.folder.glob("schedules/*/.*-*")]:  # fmt: skip
                    left.unlink(missing_ok=True)
                yield
        except OSError as error:
            raise CollbenchError(
                f"cannot write into {self.folder}: {error.strerror or error}; choose another --out"
            ) from error

    def load(self, run: Run) -> Record | None:
        """Return the record of a run; None if it is missing, damaged, ended by another limit, or lacks its schedule."""
        key = run.key()
        try:
            stored = msgspec.json.decode(self._path(key).read_bytes(), type=_Stored)
        except (OSError, msgspec.DecodeError):
            return None
        other = stored.record.status == "out of memory" and stored.memory_limit_mb != self.memory_limit_mb
        hops = stored.record.transfers if run.keep_schedule and stored.record.status == "ok" else None
        missing = hops is not None and hops <= KEPT_HOPS and not schedule_path(self.folder, key).is_file()
        return None if other or missing or stored.key != key else stored.record

    def save(self, run: Run, record: dict[str, Any]) -> Record:
        """Store and return a record, given as plain values; its schedule before it, so that no record lacks its own."""
        key = run.key()
        schedule = record.pop(SCHEDULE, None)
        if schedule is not None:
            kept = schedule_path(self.folder, key)
            kept.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(kept) as temporary:
                temporary.write_bytes(schedule)
        stored = _Stored(key, self.memory_limit_mb, msgspec.convert(record, Record, strict=False))
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            temporary.write_bytes(msgspec.json.encode(stored))
        # Read back, so that a row is the same whether it was stored now or earlier.
        return msgspec.json.decode(path.read_bytes(), type=_Stored).record

    def _path(self, key: str) -> Path:
        """Return the file of a key; folders by the first two digits keep each of them small."""
        return self.folder / "runs" / key[:2] / f"{key}.json"


def schedule_path(folder: Path, key: str) -> Path:
    """Return where the schedule of a run is kept."""
    return folder / "schedules" / key[:2] / f"{key}.parquet"
