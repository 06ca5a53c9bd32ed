"""Runs on a dask cluster: records as from the slots of this machine, but from the workers of a scheduler over TCP.

Dask gives each run to a worker, and to another when that one dies. One record is taken for each run, however often it
was begun.
"""

from __future__ import annotations

import logging
import math
import pickle
import queue
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from experiments.evaluate import one_line
from experiments.interruption import Terminated
from experiments.runner.remote import RemoteRun, code_here, packed, packed_network
from experiments.runner.run import Run, names_file
from experiments.runner.worker import failure
from topologies import CollbenchError

#: Seconds until a scheduler must have answered, until it is said that there are no workers, and for taking leave.
_CONNECT_S, _PATIENCE_S, _LEAVE_S = 10.0, 5.0, 5.0

#: How often it is looked whether a run is finished, and whether there are workers, in seconds.
_LOOK_EVERY_S, _LOOK_FOR_WORKERS_EVERY_S = 0.05, 1.0


def records_from(
    address: str, runs: Sequence[Run], memory_limit_mb: float | None = None
) -> Generator[tuple[Run, dict[str, Any]], None, None]:
    """Yield each run with its record, as plain values, when it is finished; what is left at the end is cancelled.

    Runs that are to be done alone come last, one after another.

    Parameters
    ----------
    address : str
        Of the scheduler: ``tcp://host:port``.
    runs : sequence of Run
    memory_limit_mb : float or None
        Of each run.

    Raises
    ------
    CollbenchError
        Dask is missing, no scheduler answers or it is lost, or a worker has other code than there is here.
    """
    if not runs:
        return
    campaign = _Campaign(address, memory_limit_mb)
    alone = [run for run in runs if run.alone]
    try:
        for run, record in campaign.records([run for run in runs if not run.alone]):
            if record is not None:
                yield run, record
            else:  # dask blames whatever a worker had when it died; alone, a run shows whose fault it was
                alone.append(run)
        for each in alone:
            for run, record in campaign.records([each]):
                yield run, _deadly(run) if record is None else record
    finally:
        campaign.close()


class _Campaign:
    """What one program asks of a cluster.

    Parameters
    ----------
    address : str
    memory_limit_mb : float or None
    """

    def __init__(self, address: str, memory_limit_mb: float | None) -> None:
        self._address = address
        self._memory_limit_mb = memory_limit_mb
        # In all keys: the cluster may still have results of other campaigns.
        self._id = uuid.uuid4().hex
        self._asked = 0
        self._networks: dict[str, Any] = {}
        self._contents: dict[str, bytes] = {}
        self._waiting: dict[str, tuple[Run, Any]] = {}
        self._client = _connected(address)

    def records(self, runs: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any] | None]]:
        """Yield each run with its record when it is finished; with None, if workers have died while they had it."""
        from distributed.scheduler import KilledWorker

        for future, found in self._completed(self._ask(runs)):
            run, _ = self._waiting.pop(future.key)
            future.release()  # else it would be done again when the worker that has it dies
            # Not by the future's status: that worker may have died since.
            if isinstance(found, dict):
                yield run, found
                continue
            if not isinstance(found, tuple):
                raise self._lost()
            error = found[1]  # class, error, traceback
            if isinstance(error, KilledWorker):
                yield run, None
            elif isinstance(error, CollbenchError):
                raise error
            elif isinstance(error, ImportError):
                raise CollbenchError(f"a worker of the cluster at {self._address} cannot import collbench "
                                     f"({one_line(error)}); install it there")  # fmt: skip
            else:
                raise CollbenchError(f"the cluster at {self._address} cannot do {run.describe()}: {one_line(error)}")

    def close(self) -> None:
        """Take back what is still asked for, and leave the cluster."""
        with suppress(Exception):  # it may have left us
            self._client.cancel([future for _, future in self._waiting.values()], force=True)
        with suppress(Exception):
            self._client.close(timeout=_LEAVE_S)

    def _ask(self, runs: Sequence[Run]) -> list[Any]:
        """Return futures of runs."""
        futures: list[Any] = []
        for name, group in groupby(runs, key=lambda run: run.topology):
            tasks = [
                RemoteRun(run, self._id, self._memory_limit_mb, code_here(run.synthesizer), self._files(run))
                for run in group
            ]
            keys = [f"collbench-run-{self._id}-{self._asked + index}" for index in range(len(tasks))]
            # Without the timeout, what is asked for at about the same time would be done in turns.
            futures += self._client.map(pickle.loads, [packed(task) for task in tasks], key=keys, pure=False,
                                        fifo_timeout="0 ms", buffers=[self._network(name)])  # fmt: skip
            self._asked += len(tasks)
        self._waiting |= {future.key: (run, future) for run, future in zip(runs, futures, strict=True)}
        return futures

    def _files(self, run: Run) -> dict[str, bytes]:
        """Return what is in the files that the options of a run name."""
        names = [value for value in run.options.values() if names_file(value)]
        for name in names:
            if name not in self._contents:
                self._contents[name] = Path(name).read_bytes()
        return {name: self._contents[name] for name in names}

    def _network(self, name: str) -> Any:
        """Return a future of what a topology file holds; nothing of a short name, which is known everywhere."""
        if name not in self._networks:
            self._networks[name] = b""
            if Path(name).is_file():
                key = f"collbench-network-{self._id}-{len(self._networks)}"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # dask finds large ones remarkable
                    # A task and not data: it is done again when the worker that has it dies.
                    self._networks[name] = self._client.submit(bytes, packed_network(name), key=key)
        return self._networks[name]

    def _completed(self, futures: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield each future that is done with what it holds; say when there is nobody who could do them."""
        from distributed import as_completed

        completed = as_completed(futures, loop=self._client.loop, with_results=True, raise_errors=False)
        looked = manned = time.monotonic()
        try:
            while not completed.is_empty():
                if completed.has_ready():
                    yield next(completed)
                    continue
                if self._client.status != "running":
                    raise self._lost()
                time.sleep(_LOOK_EVERY_S)
                if time.monotonic() - looked > _LOOK_FOR_WORKERS_EVERY_S:
                    looked = time.monotonic()
                    manned = manned if self._is_deserted() else looked
                if looked - manned > _PATIENCE_S:
                    print(f"collbench: the scheduler at {self._address} has no workers; waiting for some (dask worker "
                          f"{self._address} starts one)", file=sys.stderr, flush=True)  # fmt: skip
                    manned = math.inf  # said once, until there are some
        except (KeyboardInterrupt, Terminated):
            deadline = time.monotonic() + _LEAVE_S
            while self._has_finished(completed) and time.monotonic() < deadline:
                if completed.has_ready():
                    yield next(completed)
                else:
                    time.sleep(_LOOK_EVERY_S)
            raise

    def _has_finished(self, completed: Any) -> bool:
        """Return whether there is a finished run whose record has not been taken."""
        return completed.has_ready() or any(future.status == "finished" for _, future in self._waiting.values())

    def _is_deserted(self) -> bool:
        """Return whether the scheduler has no workers."""
        with suppress(Exception):  # it may be gone; the futures tell
            return not self._client.nthreads()
        return False

    def _lost(self) -> CollbenchError:
        """Return the error for a scheduler that has gone, or has forgotten us."""
        return CollbenchError(f"lost the scheduler at {self._address}; finished runs are kept, the same command goes "
                              "on from there")  # fmt: skip


def _connected(address: str) -> Any:
    """Return a client of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise CollbenchError("--scheduler needs dask; install it with: pip install 'collbench[dask]'") from error
    # What dask says of lost connections would stand between our lines; what matters becomes one of them.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    answer: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def connect() -> None:
        try:
            answer.put(Client(address, timeout=_CONNECT_S, name="collbench", set_as_default=False))
        except Exception as error:
            answer.put(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions of libraries there
        # In a thread: where something else listens, such as a scheduler's web page, dask would wait for ever.
        threading.Thread(target=connect, daemon=True).start()
        try:
            found = answer.get(timeout=_CONNECT_S + 2)
        except queue.Empty:
            found = OSError("what listens there is no scheduler")
    if not isinstance(found, Exception):
        return found
    reason = one_line(found).replace(f" to {address}", "")
    raise CollbenchError(f"no dask scheduler answers at {address} ({reason}); start one with dask scheduler, which "
                         "prints its address") from found  # fmt: skip


def _deadly(run: Run) -> dict[str, Any]:
    """Return the record of a run that takes its workers with it."""
    reason = "every worker of the cluster that had it died, also when it had nothing else to do (KilledWorker)"
    record: dict[str, Any] = msgspec.to_builtins(failure(run, run.problem(), "failed", reason))
    return record | {"machine": ""}  # it was not this one
