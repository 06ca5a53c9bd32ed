"""A dask cluster on this machine, as a user would start it: each part is a process group of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil

HOST = "127.0.0.1"


class Processes:
    """Python modules that run as programs, each in a process group of its own.

    Parameters
    ----------
    folder : Path
        Where they run; for logs too.
    environment : dict
        Of all.
    """

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment
        self.started = []
        folder.mkdir()

    def start(self, module, *args, **environment):
        """Start a module and return its process."""
        with open(self.folder / f"{len(self.started)}.log", "w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *map(str, args)], cwd=self.folder,
                env=self.environment | environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        self.started.append(process)
        return process

    def kill(self, process):
        """Kill a process with all that it has started, without warning."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self):
        """Kill everything."""
        for process in self.started:
            self.kill(process)


class Cluster(Processes):
    """A scheduler and its workers, which talk over TCP."""

    def __init__(self, folder, environment):
        super().__init__(folder, environment)
        contact = folder / "scheduler.json"
        self.scheduler = self.start("distributed.cli.dask_scheduler", "--host", HOST, "--port", "0", "--no-dashboard",
                                    "--scheduler-file", contact)  # fmt: skip
        self.address = wait_for(lambda: _address_in(contact))

    def worker(self, **environment):
        """Start a worker of one thread, with its nanny, and return the nanny's process."""
        return self.start("distributed.cli.dask_worker", self.address, "--nworkers", "1", "--nthreads", "1",
                          "--no-dashboard", "--local-directory", self.folder, **environment)  # fmt: skip


def _address_in(contact):
    """Return the address that a scheduler has written; None if it has not yet, or only half."""
    with suppress(OSError, ValueError):
        return json.loads(contact.read_text())["address"]


def wait_for(answer, seconds=60.0):
    """Return what a function returns once that is true."""
    deadline = time.monotonic() + seconds
    while not (found := answer()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def slots_of(worker):
    """Return the processes in which a worker, given by its nanny, does runs."""
    found = []
    with suppress(psutil.Error):
        for each in psutil.Process(worker.pid).children(recursive=True):
            with suppress(psutil.Error):
                # The worker itself is a child of its nanny.
                if each.ppid() != worker.pid and "spawn_main" in " ".join(each.cmdline()):
                    found.append(each)
    return found
