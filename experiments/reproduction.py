"""What every ``reproduce_*.py`` does: run a shipped experiment file with the engine, then write the paper's figures.

The full file is ``configs/NAME.yaml`` and its results are in ``results/NAME``; the quick one is
``configs/NAME_quick.yaml``, with results in ``results/NAME/quick``. As with `collbench run`, the same command goes on
where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from experiments.conclusion import complaints, conclude
from experiments.files import Experiment, expand, read_experiment
from experiments.interruption import Terminated, signalled, watch
from experiments.runner.campaign import Plan, carry_out, plan
from experiments.runner.store import Store
from topologies.atomic import write_text
from topologies.exceptions import CollbenchError

if TYPE_CHECKING:
    import pandas as pd

_CONFIGS = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Study:
    """The evaluation of a paper.

    Attributes
    ----------
    name : str
        Of its experiment file.
    description : str
        For ``--help``.
    write : callable
        Takes the rows of results and their folder, writes the paper's tables and figures there, and returns what to
        print.
    """

    name: str
    description: str
    write: Callable[[pd.DataFrame, Path], list[str]]


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def main(study: Study, argv: Sequence[str] | None = None) -> int:
    """Run the command of a study and return its exit status."""
    usual = Path("results", study.name)
    parser = _Parser(prog=f"reproduce_{study.name}", description=study.description)
    parser.add_argument("--quick", action="store_true", help="small networks, few sizes: about a minute")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"default: {usual}, or {usual / 'quick'}")
    parser.add_argument("--jobs", type=_jobs, default=os.cpu_count() or 1, metavar="N", help="runs at a time")
    parser.add_argument("--draw", action="store_true", help="run nothing: tables and figures of the results in DIR")
    arguments = parser.parse_args(argv)
    config = _CONFIGS / f"{study.name}{'_quick' if arguments.quick else ''}.yaml"
    out = arguments.out or (usual / "quick" if arguments.quick else usual)
    try:
        watch()
        return draw(study, config, out) if arguments.draw else reproduce(study, config, out, arguments.jobs)
    except BaseException as error:
        if (kind := signalled(error)) is not None:
            word, status = ("told to end", 143) if kind is Terminated else ("interrupted", 130)
            print(f"{word}; what was finished is in {out}, the same command goes on from there", file=sys.stderr)
            return status
        if isinstance(error, OSError):
            print(f"cannot write into {out}: {error.strerror or error}; choose another --out", file=sys.stderr)
        elif isinstance(error, CollbenchError):
            print(error, file=sys.stderr)
        else:
            raise
    return 1


def reproduce(study: Study, config: Path, out: Path, jobs: int = 1) -> int:
    """Run an experiment file, and write the tables and figures of a study.

    Parameters
    ----------
    study : Study
    config : Path
        The experiment file.
    out : Path
        Folder of the results; made if it is missing.
    jobs : int
        Runs at a time; those that the file wants alone are done alone.

    Returns
    -------
    status : int
        1 if nothing worked or a score was above its bound, which is a defect of the bench; else 0. What fails is a row.

    Raises
    ------
    CollbenchError
        A mistake in the file; the folder cannot be written.
    KeyboardInterrupt
        After the finished runs have been written.
    """
    experiment, document = read_experiment(str(config))
    runs = expand(experiment, document)
    store = Store(out, experiment.limits.memory_limit_mb)
    with store.claimed():
        work = plan(runs, store)
        write_text(out / "experiment.yaml", config.read_text(encoding="utf-8"))
        carry_out(work, store, jobs, config.stem)
        _draw(study, experiment, out)
    return _verdict(work)


def draw(study: Study, config: Path, out: Path) -> int:
    """Write the tables and figures of a study from the results in a folder, print what it says, and return 0.

    Raises
    ------
    CollbenchError
        There are no results, or the folder cannot be written.
    """
    _draw(study, read_experiment(str(config))[0], out)
    return 0


def _draw(study: Study, experiment: Experiment, out: Path) -> None:
    """Write what the experiment file and the study ask for, and print what there is."""
    found = conclude(experiment, out)
    said = study.write(found.rows, out)
    print("\n".join([*said, *map(str, found.plots)]))
    for text in found.remarks:
        print(text, file=sys.stderr)


def _verdict(work: Plan) -> int:
    """Say aloud on standard error what went wrong, and return the exit status."""
    status, said = complaints([record for record in work.records if record is not None])
    for text in said:
        print(text, file=sys.stderr)
    return status


def _jobs(text: str) -> int:
    """Return a number of jobs."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1024, found {text!r}")
    return int(text)
