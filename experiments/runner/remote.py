"""A run on its way to a worker of a cluster, and what the worker does with it.

A worker does it only if it would do the same as the one who asks: results are stored under a key that holds the
versions and the code of here.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from experiments.runner.run import Run, network, release
from experiments.runner.sources import code_of, scoring_code
from experiments.runner.thread_slot import thread_slot
from synthesizers.registry import load
from topologies import CollbenchError, OptionError, save_topology
from topologies.atomic import atomic_path


class ForeignWorkerError(CollbenchError):
    """A worker that has another collbench, or another synthesizer, than the one who asks."""


class Code(msgspec.Struct, frozen=True):
    """What a result comes from, apart from the problem and the options.

    Attributes
    ----------
    release, scoring : str
        Versions of collbench and of its schedules; hash of the code that scores.
    synthesizer : str
        Version and hash of the code; empty if it cannot be used.
    fault : str
        Why it cannot.
    """

    release: str
    scoring: str
    synthesizer: str
    fault: str = ""


class RemoteRun(msgspec.Struct, frozen=True):
    """A run, and what a worker must know to do it.

    Attributes
    ----------
    run : Run
    campaign : str
        Who asks.
    memory_limit_mb : float or None
    code : Code
        That the run's key holds.
    files : dict
        What is in the files that its options name, by their names.
    """

    run: Run
    campaign: str
    memory_limit_mb: float | None
    code: Code
    files: dict[str, bytes]


@cache
def code_here(name: str) -> Code:
    """Return what results of a synthesizer come from in this process; kept, because every run asks for it."""
    synthesizer, fault = None, ""
    try:
        synthesizer, fault = (plugin := load(name)).synthesizer, plugin.error or ""
    except OptionError as error:
        fault = str(error)
    made_by = f"{synthesizer.version} {code_of(synthesizer)}" if synthesizer is not None else ""
    return Code(release(), scoring_code(), made_by, fault)


def packed(task: RemoteRun) -> bytes:
    """Return a run such that ``pickle.loads(packed(task), buffers=[network])`` does it: it is `perform` of the two.

    So schedulers need no collbench to pass runs on, and a worker that lacks it fails in the run. A task that it could
    not even read would end that worker, which may be another's.
    """
    # What stands for the network; that a buffer goes apart is told by returning nothing.
    return pickle.dumps(_Call(perform, task, pickle.PickleBuffer(b"")), protocol=5, buffer_callback=lambda _: None)


class _Call:
    """A call, which is made when this is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._function, self._arguments = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._function, self._arguments


def packed_network(name: str) -> bytes:
    """Return what a topology file holds, as it travels."""
    with TemporaryDirectory() as folder:
        save_topology(network(name), path := Path(folder, "network.json"))
        return path.read_bytes()


def perform(task: RemoteRun, network: bytes) -> dict[str, Any]:
    """Return the record of a run as plain values; called in a thread of a dask worker.

    Parameters
    ----------
    task : RemoteRun
    network : bytes
        What the run's topology file holds, which this machine may not have; nothing if there is none.

    Raises
    ------
    ForeignWorkerError
        This worker would do something else.
    Stopped
        Nobody waits for the run any more.
    """
    from distributed import get_worker

    worker = get_worker()
    _require_same_code(task, worker.address)
    places = {}
    for name, content in (task.files | ({task.run.topology: network} if network else {})).items():
        digest = hashlib.sha256(name.encode() + content).hexdigest()[:32]
        file = Path(worker.local_directory) / f"collbench-{digest}{Path(name).suffix}"
        if not file.exists():
            with atomic_path(file) as temporary:
                temporary.write_bytes(content)
        places[name] = str(file)
    run = msgspec.structs.replace(task.run, places=places)
    key = worker.get_current_task()

    def is_wanted() -> bool:
        state = worker.state.tasks.get(key)
        return state is not None and state.state != "cancelled"

    return thread_slot().perform(run, task.campaign, task.memory_limit_mb, is_wanted)


def _require_same_code(task: RemoteRun, address: str) -> None:
    """Refuse to do a run by other code than its key says."""
    name, asked = task.run.synthesizer, task.code
    if not asked.synthesizer:
        return  # it is broken, and the row will say so
    here = code_here(name)
    if here == asked:
        return
    if here.release != asked.release:
        fault = f"has {here.release}, here it is {asked.release}"
    elif here.scoring != asked.scoring:
        fault = f"has other code of {here.release} than there is here"
    elif here.fault:
        fault = f"cannot use {name}: {here.fault}"
    else:
        fault = f"has other code of {name} than there is here"
    raise ForeignWorkerError(f"worker {address} {fault}; install the same there, and start the workers anew")
