"""A slot: one persistent worker process, the limits of what it does, and its end when a run goes past them.

Each slot has a pool of one (pebble), so it is known which process does which run, and a killed worker can leave no lock
that another would wait for.
"""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import CancelledError, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
from pebble import ProcessExpired, ProcessPool

from experiments.runner.worker import PID, SINCE, attempt, failure, start

if TYPE_CHECKING:
    from experiments.runner.run import Run

#: How often limits are looked at, in seconds, and how often the memory of processes that a run has started.
_LOOK_EVERY_S = 0.05
_LOOK_AT_CHILDREN_EVERY_S = 1.0

#: A solver told of its limit may take this much longer to hand back what it has: a factor and seconds.
_GRACE = (1.1, 1.0)

#: Compiling, verifying and scoring together may take this many times the limit, and these seconds at least.
_AROUND = (10.0, 120.0)


class Stopped(Exception):
    """The slot was stopped during a run."""


class Slot:
    """One worker, used by one thread.

    Parameters
    ----------
    memory_limit_mb : float or None
        Of the worker and the processes that it starts; past it, it is killed.
    """

    def __init__(self, memory_limit_mb: float | None = None) -> None:
        self._limit = memory_limit_mb
        self._clock = get_context("spawn").RawArray("d", 2)
        self._pool: ProcessPool | None = None
        self._stopped = threading.Event()
        self._idle_mb = 0.0
        self._children: tuple[float, float] = (0.0, 0.0)  # MB, and when they were looked at

    def perform(self, run: Run) -> dict[str, Any]:
        """Return the record of a run as plain values; one past its limits, or whose process died, is a record too.

        Raises
        ------
        Stopped
            `stop` was called.
        """
        # A worker may be killed at any moment: Ctrl-C is for the main thread alone, here and in whatever starts here.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._recycle()
        future = self._opened().schedule(attempt, args=(run,))
        began: float | None = None
        fault: tuple[str, str] | None
        while True:
            try:
                return future.result(timeout=_LOOK_EVERY_S)
            except TimeoutError:
                if self._stopped.is_set():
                    fault = ("failed", "stopped")
                else:
                    began = began or (time.monotonic() if future.running() else None)
                    fault = self._fault(run, began)
            except ProcessExpired as error:
                fault = ("failed", _death(error.exitcode))
            except (BrokenProcessPool, CancelledError):
                fault = ("failed", "its process could not be started")
            except Exception as error:  # ours to mend, but one run must not end the others
                fault = ("failed", f"{type(error).__name__}: {' '.join(str(error).split())}")
            if fault is not None:
                self._close()
                if self._stopped.is_set():
                    raise Stopped
                found: dict[str, Any] = msgspec.to_builtins(failure(run, run.problem(), *fault))
                return found

    def stop(self) -> None:
        """End the worker, from any thread."""
        self._stopped.set()
        self._kill()

    def close(self) -> None:
        """End the worker when it has nothing to do."""
        self._close()

    def _opened(self) -> ProcessPool:
        """Return the pool, begun if there is none."""
        if self._pool is None:
            self._clock[PID] = self._clock[SINCE] = 0.0
            context: Any = get_context("spawn")
            self._pool = ProcessPool(1, initializer=start, initargs=(self._clock,), context=context)
            self._idle_mb = 0.0
        return self._pool

    def _recycle(self) -> None:
        """Give up a worker that has kept a quarter of the limit from earlier runs: it is not the next one's fault."""
        if self._limit is None or self._pool is None:
            return
        held = self._memory_mb()
        self._idle_mb = self._idle_mb or held
        if held - self._idle_mb > self._limit / 4:
            self._close()

    def _fault(self, run: Run, began: float | None) -> tuple[str, str] | None:
        """Return status and reason if the run is past a limit."""
        now, since, limit = time.monotonic(), self._clock[SINCE], run.time_limit_s
        if limit is not None and since and now - since > limit * _GRACE[0] + _GRACE[1]:
            return "timeout", f"its synthesis took longer than the time limit of {limit:g} s"
        around = None if limit is None else max(limit * _AROUND[0], _AROUND[1])
        if around is not None and began is not None and now - began > around:
            return "timeout", f"compiling, synthesis, verification and scoring took longer than {around:g} s"
        if self._limit is not None and self._memory_mb() > self._limit:
            return "out of memory", f"it took more than the memory limit of {self._limit:g} MB"
        return None

    def _memory_mb(self) -> float:
        """Return the memory of the worker and, looked at less often, of the processes that it has started."""
        pid = int(self._clock[PID])
        if not pid:
            return 0.0
        with suppress(psutil.Error):
            worker = psutil.Process(pid)
            if time.monotonic() - self._children[1] > _LOOK_AT_CHILDREN_EVERY_S:
                held = 0.0
                for child in worker.children(recursive=True):
                    with suppress(psutil.Error):
                        held += child.memory_info().rss / 1e6
                self._children = held, time.monotonic()
            return float(worker.memory_info().rss / 1e6) + self._children[0]
        return 0.0

    def _kill(self) -> None:
        """Kill the worker with the processes that it has started."""
        pid = int(self._clock[PID])
        if not pid:
            return
        with suppress(psutil.Error):
            worker = psutil.Process(pid)
            for process in [*worker.children(recursive=True), worker]:
                with suppress(psutil.Error):
                    process.kill()

    def _close(self) -> None:
        """End the worker and its pool."""
        self._kill()
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None
        self._children = (0.0, 0.0)


def _death(code: int | None) -> str:
    """Return in words how a process died."""
    if code is None or code >= 0:
        return f"its process ended by itself, with exit status {code}"
    name = signal.Signals(-code).name if -code in {each.value for each in signal.Signals} else f"signal {-code}"
    return f"its process died ({name}){', perhaps for want of memory' if name == 'SIGKILL' else ''}"
