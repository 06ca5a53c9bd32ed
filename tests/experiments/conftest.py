"""A package of misbehaving synthesizers, found through its entry points by the program and by its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]

CODE = """
import os, signal, subprocess, sys, time
import numpy as np
from synthesizers import OptionsBase, Synthesizer, find
from topologies import SynthesisError

class Base(Synthesizer):
    reference = "a test"
    class Options(OptionsBase, frozen=True):
        seconds: float = 0.0
    def right(self, problem):
        inner = find("direct")
        return inner.synthesize(problem, inner.Options(pieces=1))

class Patient(Base):
    name = "patient"
    def synthesize(self, problem, options):
        with open(os.environ.get("COUNT", os.devnull), "a") as file:
            file.write(f"{problem.size} {problem.seed}\\n")
        time.sleep(options.seconds)
        return self.right(problem)

class Lonely(Base):
    name = "lonely"
    def synthesize(self, problem, options):
        try:
            os.mkdir(os.environ["COUNT"])
        except FileExistsError:
            raise SynthesisError("somebody else is here") from None
        time.sleep(options.seconds)
        os.rmdir(os.environ["COUNT"])
        return self.right(problem)

class Endless(Base):
    name = "endless"
    def synthesize(self, problem, options):
        while True:
            pass

class Stubborn(Base):
    name = "stubborn"
    def synthesize(self, problem, options):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(os.environ["COUNT"], "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        child.wait()

class Hungry(Base):
    name = "hungry"
    def synthesize(self, problem, options):
        kept = []
        while True:
            kept.append(np.ones(5_000_000))
            time.sleep(0.01)

class Greedy(Base):
    name = "greedy"
    def synthesize(self, problem, options):
        raise MemoryError

class Crashing(Base):
    name = "crashing"
    def synthesize(self, problem, options):
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)

class Leaving(Base):
    name = "leaving"
    def synthesize(self, problem, options):
        os._exit(7)

class Reading(Base):
    name = "reading"
    class Options(OptionsBase, frozen=True):
        file: str = ""
    def synthesize(self, problem, options):
        with open(options.file) as file:
            content = file.read()
        if problem.seed:
            raise SynthesisError(f"{options.file} holds {content}")
        return self.right(problem).with_notes(file=options.file, content=content)

class Deadly(Base):
    name = "deadly"
    def synthesize(self, problem, options):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

class Exiting(Base):
    name = "exiting"
    def synthesize(self, problem, options):
        raise SystemExit("gone")

class Refusing(Base):
    name = "refusing"
    def supports(self, problem):
        return "only on Sundays"
    def synthesize(self, problem, options):
        raise AssertionError

class Vague(Base):
    name = "vague"
    def supports(self, problem):
        return False
    def synthesize(self, problem, options):
        raise AssertionError

class Failing(Base):
    name = "failing"
    def synthesize(self, problem, options):
        if os.environ.get("MENDED"):
            return self.right(problem)
        if os.environ.get("DEADLY"):
            os._exit(7)
        raise SynthesisError("no tree\\nhere")

class Wrong(Base):
    name = "wrong"
    def synthesize(self, problem, options):
        schedule = self.right(problem)
        return schedule.selected(np.arange(schedule.num_hops - 1))

class Chatty(Base):
    name = "chatty"
    def synthesize(self, problem, options):
        print("a solver says hello")
        os.system("echo and so does its child")
        return self.right(problem)
"""
NAMES = (
    "patient", "endless", "stubborn", "hungry", "greedy", "crashing", "leaving", "exiting", "refusing", "failing",
    "wrong", "chatty", "lonely", "deadly", "reading", "vague",
)  # fmt: skip


@pytest.fixture
def program(tmp_path):
    """Return a function that runs collbench in a folder of its own, with the misbehaving synthesizers installed."""
    package = tmp_path / "plugins"
    installed = package / "misbehaving-1.0.dist-info"
    installed.mkdir(parents=True)
    (package / "misbehaving.py").write_text(CODE)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    entries = [f"{name} = misbehaving:{name.capitalize()}" for name in NAMES] + ["absent = misbehaving:Absent"]
    (installed / "entry_points.txt").write_text("[collbench.synthesizers]\n" + "\n".join(entries) + "\n")

    everywhere = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (package, ROOT)))}

    def start(*args, **environment):
        """Return the running program."""
        return subprocess.Popen(
            [sys.executable, "-c", "from experiments.cli import main; main()", *map(str, args)],
            cwd=tmp_path,
            env=everywhere | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(*args, **environment):
        """Return how the program ended: status, standard output and error."""
        started = start(*args, **environment)
        stdout, stderr = started.communicate(timeout=240)
        return SimpleNamespace(status=started.returncode, stdout=stdout, stderr=stderr)

    run.start, run.folder, run.environment = start, tmp_path, everywhere
    return run
