"""What every ``reproduce_*.py`` does with its command line, as a function, as a file and as a module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experiments import reproduce_failures, reproduce_scaling, reproduce_taccl, reproduce_tacos, reproduce_topoopt

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.parametrize(
    "script",
    [reproduce_failures, reproduce_scaling, reproduce_taccl, reproduce_tacos, reproduce_topoopt],
    ids=lambda script: script.__name__.split("_")[-1],
)


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--jobs", "two"], ["--fast"], ["more"]])
def test_bad_arguments(script, arguments, capsys):
    """A wrong argument is one line and status 2."""
    with pytest.raises(SystemExit) as stop:
        script.main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_unwritable(script, tmp_path, capsys):
    """An output folder that cannot be made is one line and status 1."""
    (tmp_path / "file").write_text("")
    assert script.main(["--quick", "--out", str(tmp_path / "file" / "in")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("as_module", [False, True])
def test_runs_both_ways(script, as_module):
    """It can be run as a file and as a module."""
    command = ["-m", script.__name__] if as_module else [f"{script.__name__.replace('.', '/')}.py"]
    done = subprocess.run([sys.executable, *command, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert "--quick" in done.stdout
