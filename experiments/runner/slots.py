"""Several slots at work on a list of runs: records come as they are finished, and all ends when the reader ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Sequence
from typing import Any

from experiments.runner.run import Run
from experiments.runner.slot import Slot, Stopped


def records_of(
    runs: Sequence[Run], jobs: int = 1, memory_limit_mb: float | None = None
) -> Generator[tuple[Run, dict[str, Any]], None, None]:
    """Yield each run with its record, as plain values, when it is finished; in any order with several jobs.

    Parameters
    ----------
    runs : sequence of Run
    jobs : int
        Worker processes.
    memory_limit_mb : float or None
        Of each.
    """
    todo: queue.SimpleQueue[Run] = queue.SimpleQueue()
    for run in runs:
        todo.put(run)
    done: queue.SimpleQueue[tuple[Run, dict[str, Any]] | BaseException] = queue.SimpleQueue()
    slots = [Slot(memory_limit_mb) for _ in range(min(jobs, len(runs)))]
    threads = [threading.Thread(target=_work, args=(slot, todo, done), daemon=True) for slot in slots]
    try:
        for thread in threads:
            thread.start()
        for _ in runs:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        for slot in slots:
            slot.stop()
        for thread in threads:
            thread.join(timeout=10)


def _work(slot: Slot, todo: queue.SimpleQueue[Run], done: queue.SimpleQueue[Any]) -> None:
    """Do runs in one slot until there are none left."""
    try:
        while True:
            run = todo.get_nowait()
            done.put((run, slot.perform(run)))
    except (queue.Empty, Stopped):
        pass
    except BaseException as error:  # a defect: the reader raises it
        done.put(error)
    finally:
        slot.close()
