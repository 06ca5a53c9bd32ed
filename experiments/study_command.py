"""The command line of every ``reproduce_*.py``: the same options, folders, one-line complaints and exit status.

The full study is ``NAME.yaml`` in its folder of files and its results are in ``results/NAME``; the quick one is
``NAME_quick.yaml``, with results in ``results/NAME/quick``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from experiments.interruption import ending, signalled, watch
from topologies.cores import usable_cores
from topologies.exceptions import CollbenchError

CONFIGS = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Command:
    """What a command runs.

    Attributes
    ----------
    name : str
        Of the study.
    description, quick : str
        For ``--help``; the second says what ``--quick`` runs.
    configs : Path
        Folder of the study's files.
    reproduce : callable
        Takes the file, the folder of results and a number of jobs, and returns the exit status.
    draw : callable
        Takes the file and the folder, runs nothing, and returns the exit status.
    """

    name: str
    description: str
    quick: str
    configs: Path
    reproduce: Callable[[Path, Path, int], int]
    draw: Callable[[Path, Path], int]

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command and return its exit status; 130 and 143 after Ctrl-C and SIGTERM."""
        usual = Path("results", self.name)
        parser = _Parser(prog=f"reproduce_{self.name}", description=self.description)
        parser.add_argument("--quick", action="store_true", help=self.quick)
        parser.add_argument("--out", type=Path, metavar="DIR", help=f"default: {usual}, or {usual / 'quick'}")
        parser.add_argument("--jobs", type=_jobs, default=usable_cores(), metavar="N", help="runs at a time")
        parser.add_argument("--draw", action="store_true", help="run nothing: tables and figures of the results in DIR")
        arguments = parser.parse_args(argv)
        config = self.configs / f"{self.name}{'_quick' if arguments.quick else ''}.yaml"
        out = arguments.out or (usual / "quick" if arguments.quick else usual)
        try:
            watch()
            return self.draw(config, out) if arguments.draw else self.reproduce(config, out, arguments.jobs)
        except BaseException as error:
            if (kind := signalled(error)) is not None:
                word, status = ending(kind)
                print(f"{word}; what was finished is in {out}, the same command goes on from there", file=sys.stderr)
                return status
            if isinstance(error, OSError):
                print(f"cannot write into {out}: {error.strerror or error}; choose another --out", file=sys.stderr)
            elif isinstance(error, CollbenchError):
                print(error, file=sys.stderr)
            else:
                raise
        return 1


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def _jobs(text: str) -> int:
    """Return a number of jobs."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1024, found {text!r}")
    return int(text)
