"""Ctrl-C and termination: never a failed row, never a partial file."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import interruption
from experiments.evaluate import evaluate
from experiments.interruption import raise_if_interrupted
from schedules import collective
from synthesizers import OptionsBase, Problem, Synthesizer
from topologies import ring

COMMAND = Path(sys.executable).with_name("collbench")


class Compiled(Synthesizer):
    """Fails as compiled code does when Ctrl-C comes in the middle of it."""

    name = "compiled"
    reference = "a test"
    Options = OptionsBase

    def synthesize(self, problem, options):
        """Raise a SystemError that a KeyboardInterrupt is behind."""
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("returned a result with an exception set") from interrupt


class TestRaiseIfInterrupted:
    def test_nothing_happened(self):
        """Without Ctrl-C nothing is raised, whatever the error."""
        raise_if_interrupted()
        raise_if_interrupted(ValueError("no"))

    def test_hidden_in_another_error(self):
        """An interrupt that an error came of is found, however deep."""
        deep = SystemError("a")
        deep.__cause__ = RuntimeError("b")
        deep.__cause__.__context__ = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted(deep)

    def test_swallowed(self, monkeypatch):
        """A noted Ctrl-C counts even if no exception of it was left."""
        monkeypatch.setattr(interruption, "_raised", [KeyboardInterrupt])
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()

    def test_silent_in_a_callback(self, monkeypatch, capsys):
        """A signal inside a callback of compiled code prints nothing, and any other error is still told of."""
        monkeypatch.setattr(sys, "unraisablehook", interruption._unraisable)

        class Callback:
            def __init__(self, error):
                self.error = error

            def __del__(self):  # Python can raise nothing from here either
                raise self.error

        for error in (KeyboardInterrupt(), interruption.Terminated()):
            Callback(error)
        assert capsys.readouterr().err == ""
        Callback(ValueError("a fault"))
        assert "ValueError: a fault" in capsys.readouterr().err

    @pytest.mark.parametrize(("raised", "said"), [([], True), ([KeyboardInterrupt], False)])
    def test_half_made(self, monkeypatch, capsys, raised, said):
        """What a signal has left of an object may fail as it goes, which is news only where no signal came."""
        monkeypatch.setattr(interruption, "_raised", raised)
        monkeypatch.setattr(sys, "unraisablehook", interruption._unraisable)

        class Wrapper:
            def __init__(self):
                raise ValueError  # as a signal's handler does, before there is a pointer

            def __del__(self):
                del self.pointer

        with pytest.raises(ValueError):
            Wrapper()
        assert ("object has no attribute 'pointer'" in capsys.readouterr().err) == said

    def test_never_a_row(self):
        """A run that was interrupted inside compiled code is not a failure of the synthesizer."""
        with pytest.raises(KeyboardInterrupt):
            evaluate(Problem(ring(4), collective("all_gather", 4), 4), Compiled())


#: The console script, with a signal at the moment when the command line would be imported.
EARLY = """
import os, sys
from experiments.start import main

class Signal:
    def find_spec(name, path, target=None):
        if name == "experiments.cli":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Signal)
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_while_importing(number, status):
    """A signal that comes before the command line is there ends with one line too."""
    code = EARLY.format(number=int(number))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == status
    assert ended.stderr == f"collbench: {interruption.ending(interruption.KINDS[number])[0]}; nothing was written\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("delay", [0.6, 1.1, 1.7, 2.3])
def test_nothing_is_left(tmp_path, number, status, delay):
    """Whenever the signal comes there is one line or all is done, and never a part of a file."""
    words = ["synthesize", "-t", "mesh:40x40", "-c", "all_reduce", "-s", "1GB", "-m", "tacos", "--out", "s.parquet"]
    with subprocess.Popen([COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(delay)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    left = {path.name for path in tmp_path.iterdir()}
    assert b"Traceback" not in errors
    if process.returncode == 0:
        assert left == {"s.parquet"}
    else:
        assert process.returncode == status
        assert len(errors.strip().splitlines()) == 1
        assert left == set()
