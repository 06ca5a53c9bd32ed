"""The slot of a thread of a cluster's worker: it lasts from run to run, and nothing of it is left behind.

The worker's own machinery cannot end a run that it has begun. So a thread beside looks after the slots of this process:
a run that nobody waits for any more is stopped, a slot that has long had nothing to do is closed, and all end when the
process ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import current_process
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

from experiments.runner.slot import Slot, Stopped

if TYPE_CHECKING:
    from experiments.runner.run import Run

#: How often slots are looked at, and how long one with nothing to do is kept, in seconds.
_LOOK_EVERY_S = 0.5
_KEPT_S = 10.0


class ThreadSlot:
    """The slot of one thread.

    A new one is made for each campaign: its process has then imported the code as it is now.
    """

    def __init__(self) -> None:
        self._slot: Slot | None = None
        self._purpose: tuple[str, float | None] | None = None
        self._is_wanted: Callable[[], bool] | None = None  # of the run under way
        self._idle_since = time.monotonic()
        self._busy = threading.Lock()

    def perform(
        self, run: Run, campaign: str, memory_limit_mb: float | None, is_wanted: Callable[[], bool]
    ) -> dict[str, Any]:
        """Return the record of a run as plain values; see `Slot.perform`.

        Raises
        ------
        Stopped
            The run is not wanted any more.
        """
        with self._busy:
            self._is_wanted = is_wanted
            try:
                while True:
                    if self._slot is None or self._purpose != (campaign, memory_limit_mb):
                        self._close()
                        self._slot, self._purpose = Slot(memory_limit_mb), (campaign, memory_limit_mb)
                    try:
                        return self._slot.perform(run)
                    except Stopped:  # this slot does nothing any more
                        self._slot = None
                        if _ended or not is_wanted():
                            raise
            finally:
                self._is_wanted, self._idle_since = None, time.monotonic()

    def look(self) -> None:
        """Stop a run that is not wanted; close the slot if it has had nothing to do for long."""
        is_wanted, slot = self._is_wanted, self._slot
        if is_wanted is not None:
            if slot is not None and not is_wanted():
                slot.stop()
        elif slot is not None and time.monotonic() - self._idle_since > _KEPT_S and self._busy.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._busy.release()

    def stop(self) -> None:
        """End the slot at once, whatever it does."""
        if (slot := self._slot) is not None:
            slot.stop()

    def _close(self) -> None:
        """Close the slot, which has nothing to do."""
        if self._slot is not None:
            self._slot.close()
            self._slot = None


_here = threading.local()
_all: list[ThreadSlot] = []
_begin = threading.Lock()
_ended = False


def thread_slot() -> ThreadSlot:
    """Return the slot of this thread."""
    if not hasattr(_here, "slot"):
        _here.slot = ThreadSlot()
        with _begin:
            if not _all:
                # Dask makes its workers daemons, which may have no children. Ours end with them by themselves.
                current_process().daemon = False
                Finalize(None, _end, exitpriority=1)  # before multiprocessing waits for children
                threading.Thread(target=_look_after, daemon=True).start()
            _all.append(_here.slot)
    slot: ThreadSlot = _here.slot
    return slot


def _look_after() -> None:
    """Look at all slots now and then, as long as this process lives."""
    while True:
        time.sleep(_LOOK_EVERY_S)
        for slot in tuple(_all):
            with suppress(Exception):  # a slot that ends by itself meanwhile
                slot.look()


def _end() -> None:
    """End all slots, with this process."""
    global _ended
    _ended = True
    for slot in _all:
        slot.stop()
