"""From results and schedules to files: which figures there are, what they are called; all are drawn, then written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.plots import RESULT_KINDS
from experiments.plots.simulated import Simulated
from topologies import CollbenchError, format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: More problems than these are not drawn schedule by schedule unless they are chosen.
_PROBLEMS = 12


@dataclass(frozen=True)
class Drawing:
    """What is to be drawn.

    Attributes
    ----------
    kind : str
        One of `RESULT_KINDS` or `SCHEDULE_KINDS`.
    content : DataFrame or list of Simulated
    prefix : str
        Before the names of its files.
    """

    kind: str
    content: Any
    prefix: str = ""


def of_results(
    files: Sequence[Path], kinds: Iterable[str], size: int | None = None, only: Sequence[str] = ()
) -> list[Drawing]:
    """Return what is drawn from results.

    Parameters
    ----------
    files : sequence of Path
        Results files, or folders of `collbench run`.
    kinds : iterable of str
        Kinds of schedules are drawn for each problem, a schedule for each label: that of its first run that is ok.
    size : int, optional
        Bytes; only rows of this size.
    only : sequence of str
        Patterns, as of ``collbench run --only``.

    Raises
    ------
    CollbenchError
        Results that cannot be read or drawn, a schedule that cannot be had again; more than a dozen problems to draw
        schedules of.
    """
    from experiments.plots.rows import read

    kinds = list(kinds)
    tables = [kind for kind in kinds if kind in RESULT_KINDS]
    found = {}
    if tables:
        columns = dict.fromkeys(column for kind in tables for column in import_module(_module(kind)).COLUMNS)
        rows = read(files, columns, size, only)
        found = {kind: [Drawing(kind, rows)] for kind in tables}
    if len(tables) < len(kinds):
        problems = _problems(files, size, only)
        found |= {kind: [Drawing(kind, schedules, prefix) for prefix, schedules in problems]
                  for kind in kinds if kind not in tables}  # fmt: skip
    return [drawing for kind in kinds for drawing in found[kind]]


def draw(drawings: Iterable[Drawing], folder: Path) -> list[Path]:
    """Draw and write everything, and return the files.

    Raises
    ------
    CollbenchError
        Something cannot be drawn, and then nothing is written; the folder cannot be written.
    """
    from experiments.plots.style import save, styled

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CollbenchError(f"cannot write into {folder}: {error.strerror or error}; choose another --out") from error
    figures: list[tuple[str, Figure]] = []
    with styled():
        # All of them before any is written: what cannot be drawn leaves no half of a set behind.
        for drawing in drawings:
            found = import_module(_module(drawing.kind)).figures(drawing.content)
            figures += [(drawing.prefix + name, figure) for name, figure in found]
        names = _told_apart([name for name, _ in figures])
        return [path for name, (_, figure) in zip(names, figures, strict=True) for path in save(figure, folder, name)]


def _told_apart(names: Sequence[str]) -> list[str]:
    """Return names with a number after those that stand before already: the same kind drawn of other rows."""
    found: dict[str, None] = {}
    for name in names:
        count, free = 1, name
        while free in found:
            count += 1
            free = f"{name}_{count}"
        found[free] = None
    return list(found)


def _module(kind: str) -> str:
    """Return the module that draws a kind."""
    return f"experiments.plots.{kind}"


def _problems(files: Sequence[Path], size: int | None, only: Sequence[str]) -> list[tuple[str, list[Simulated]]]:
    """Return a prefix and the schedules of each problem in results."""
    from experiments.plots.rows import read
    from experiments.tables.repeats import PROBLEM, numbered

    found: list[tuple[str, list[Simulated]]] = []
    for file in files:
        rows = read([file], (), size, only)
        rows = rows[rows["status"] == "ok"]
        rows = rows.assign(problem=numbered(rows, PROBLEM)).drop_duplicates(["problem", "series"])
        if rows["problem"].nunique() + len(found) > _PROBLEMS:
            raise CollbenchError(
                f"{file}: schedules of {rows['problem'].nunique()} problems, more than {_PROBLEMS} at a time; choose "
                "some with --only '*mesh:4x4*' or --size"
            )
        for _, of_it in rows.groupby("problem", sort=False):
            first = of_it.iloc[0]
            name = _file_name(f"{first['topology']}_{first['collective']}_{format_bytes(int(first['size']))}")
            found.append((f"{name}_", [_simulated(row, file) for row in of_it.to_dict("records")]))
    return found


def _simulated(row: dict[str, Any], file: Path) -> Simulated:
    """Return the timeline of a row's schedule."""
    from experiments.replay import link_model, schedule_of
    from simulator import timeline

    schedule = schedule_of(row, file if file.is_dir() else file.parent)
    return Simulated(_file_name(row["series"]), timeline(schedule, int(row["size"]), link_model(row)), row["series"])


def _file_name(text: str) -> str:
    """Return a text as a part of a file's name."""
    return re.sub(r"[^\w.]+", "-", text)
