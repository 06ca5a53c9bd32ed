"""What ``reproduce_*.py`` of one synthesizer do: run a shipped experiment file with the engine, then write the figures.

As with `collbench run`, the same command goes on where it was stopped. Options, files and folders are those of
`study_command`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.conclusion import complaints, conclude
from experiments.files import Experiment, expand, read_experiment
from experiments.runner.campaign import Plan, carry_out, plan
from experiments.runner.store import Store
from experiments.study_command import CONFIGS, Command
from topologies.atomic import write_text

if TYPE_CHECKING:
    import pandas as pd


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


def main(study: Study, argv: Sequence[str] | None = None) -> int:
    """Run the command of a study and return its exit status."""
    command = Command(
        study.name,
        study.description,
        "small networks, few sizes: about a minute",
        CONFIGS,
        lambda config, out, jobs: reproduce(study, config, out, jobs),
        lambda config, out: draw(study, config, out),
    )
    return command.main(argv)


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
