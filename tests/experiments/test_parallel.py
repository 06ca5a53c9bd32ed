"""Work on several processes: everything comes back, and what dies costs itself alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import psutil
import pytest

from experiments.isolation import EndedError
from experiments.parallel import outcomes


def perform(power: int, number: int) -> tuple[int, int]:
    """Return a power and the process that computed it; some numbers end it, raise, or wait for ever."""
    if number == 13:
        os._exit(7)
    if number == 14:
        raise ValueError("fourteen")
    if number == 15:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=True)
    print("standard output is for the answer")
    return number**power, os.getpid()


def _sleepers() -> list[psutil.Process]:
    """Return what tasks have started."""
    return [child for child in psutil.Process().children(recursive=True) if "time.sleep(600)" in str(child.cmdline())]


class TestOutcomes:
    @pytest.mark.parametrize("jobs", [1, 2])
    def test_all_come_back(self, jobs, capfd):
        """Each result comes with the position of its task, from another process, whose output is not the answer."""
        found = dict(outcomes(partial(perform, 2), list(range(8)), jobs))
        assert {at: square for at, (square, _) in found.items()} == {number: number**2 for number in range(8)}
        assert os.getpid() not in {process for _, process in found.values()}
        assert capfd.readouterr().out == ""

    def test_nothing_to_do(self):
        """Without tasks there is nothing to come."""
        assert list(outcomes(perform, [], 2)) == []

    def test_a_process_that_dies(self):
        """What dies is said to have, and the others come all the same."""
        found = dict(outcomes(partial(perform, 1), [1, 13, 2, 3], 2))
        assert [found[at][0] for at in (0, 2, 3)] == [1, 2, 3]
        assert isinstance(found[1], EndedError)
        assert "exit code 7" in str(found[1])

    def test_an_error_is_raised(self):
        """What a task raises is raised here."""
        with pytest.raises(ValueError, match="fourteen"):
            list(outcomes(partial(perform, 1), [14], 1))

    def test_a_reader_that_leaves(self):
        """When the reader has enough, no process is left, not even what a task has started and waits for."""
        before = set(psutil.Process().children(recursive=True))
        with closing(outcomes(partial(perform, 1), [15, 2], 2)) as found:
            assert next(found)[1][0] == 2
            while not _sleepers():
                time.sleep(0.05)
            sleepers = _sleepers()
        assert not psutil.wait_procs(sleepers, timeout=10)[1]
        left = [child for child in psutil.Process().children(recursive=True) if child not in before]
        assert [child for child in left if "resource_tracker" not in " ".join(child.cmdline())] == []
