"""What a worker of a cluster checks before it does a run, and what is said when there is no cluster."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from experiments.runner import remote
from experiments.runner.cluster import records_from
from experiments.runner.remote import ForeignWorkerError, RemoteRun, code_here
from experiments.runner.run import Run
from topologies import CollbenchError

RUN = Run(topology="ring:4", collective="all_gather", size=1, synthesizer="ring", label="ring")


def task(**changes):
    """Return a run on its way, from a place where something is other than here."""
    from msgspec.structs import replace

    return RemoteRun(RUN, "a campaign", None, replace(code_here("ring"), **changes), {})


class TestCode:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"release": "collbench 99, schedules 1"}, "has collbench .*, here it is collbench 99, schedules 1"),
            ({"scoring": "0"}, "has other code of collbench .* than there is here"),
            ({"synthesizer": "1 0"}, "has other code of ring than there is here"),
        ],
    )
    def test_others_are_refused(self, changes, expected):
        """A worker with another release or other code says what is other, and what to do."""
        with pytest.raises(ForeignWorkerError, match=f"^worker tcp://w:1 {expected}; install the same there"):
            remote._require_same_code(task(**changes), "tcp://w:1")

    def test_missing_plugin(self, monkeypatch):
        """A worker without the synthesizer says so."""
        monkeypatch.setattr(remote, "code_here", lambda name: code_here("rings"))
        with pytest.raises(ForeignWorkerError, match="cannot use ring: unknown synthesizer 'rings'"):
            remote._require_same_code(task(), "tcp://w:1")

    def test_same_is_not_refused(self):
        """The same code is right; a synthesizer that is broken where the run comes from is a row, not a refusal."""
        remote._require_same_code(task(), "tcp://w:1")
        remote._require_same_code(task(synthesizer="", fault="broken"), "tcp://w:1")


class TestPacked:
    def test_passed_on_without_collbench(self):
        """A process that lacks collbench can read a task and send it on; to do it is an error that can be caught."""
        sent = pickle.dumps((pickle.loads, remote.packed(task()), {"buffers": [b""]}))
        program = (
            "import pickle, sys\n"
            "function, payload, settings = pickle.load(sys.stdin.buffer)\n"
            "try:\n    function(payload, **settings)\n"
            "except ModuleNotFoundError as error:\n    print(error.name)\n"
        )
        done = subprocess.run([sys.executable, "-I", "-S", "-c", program], input=sent, capture_output=True, check=True)
        assert done.stdout.decode().strip() == "experiments"


class TestMissing:
    def test_dask(self, monkeypatch):
        """Without dask, one line says how to get it; without runs, it is not needed."""
        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(CollbenchError, match=r"needs dask; install it with: pip install 'collbench\[dask\]'"):
            next(records_from("tcp://127.0.0.1:9", [RUN]))
        assert list(records_from("tcp://127.0.0.1:9", [])) == []
