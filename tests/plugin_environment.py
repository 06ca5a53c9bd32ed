"""A throw-away Python environment in which plugins are installed as a user installs them.

It reuses the libraries of the running environment, so nothing is downloaded: `pip` takes folders only, without their
dependencies and without a build environment of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Programs that the environment has, and the arguments with which Python becomes them.
_PROGRAMS = {
    "collbench": ["-c", "from experiments.cli import main; main()"],
    "pytest": ["-m", "pytest", "-p", "no:cacheprovider"],
}


class PluginEnvironment:
    """A virtual environment with collbench and without pip, which is borrowed.

    Parameters
    ----------
    folder : Path
        Where to make it.
    """

    def __init__(self, folder: Path) -> None:
        self._run([sys.executable, "-m", "venv", "--without-pip", str(folder)], ROOT)
        self.python = folder / "bin" / "python"
        (library,) = folder.glob("lib/python*/site-packages")
        borrowed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        # This copy of collbench comes first, whatever else is installed.
        (library / "borrowed.pth").write_text("\n".join([str(ROOT), *borrowed]) + "\n")

    def run(self, program: str, *arguments: str | Path, cwd: Path, timeout: float = 120, **environment: str):
        """Return the finished process of one of the programs."""
        command = [self.python, *_PROGRAMS[program], *arguments]
        return self._run(list(map(str, command)), cwd, timeout, environment, check=False)

    def install(self, folder: Path, editable: bool = False):
        """Install the package in a folder, and return the finished process."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--quiet", "--disable-pip-version-check"]
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir"]
        target = ["--editable", folder] if editable else [folder]
        return self._run(list(map(str, [*pip, "install", *options, *target])), folder.parent)

    @staticmethod
    def _run(command: list[str], cwd: Path, timeout: float = 120, environment: dict[str, str] | None = None,
             check: bool = True):  # fmt: skip
        """Return a finished process; PYTHONPATH would come before what the environment holds."""
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(command, cwd=cwd, timeout=timeout, capture_output=True, text=True,
                              env=variables | (environment or {}))  # fmt: skip
        assert not check or done.returncode == 0, done.stderr
        return done
