"""The report as one file: text, tables and schedules packed, script and style inlined; equal results, equal bytes.

The page may not load anything and runs no script but its own: its security policy names the hashes of both scripts.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from experiments.report.content import content_of, table_frame
from experiments.report.markup import Markup, element, together
from experiments.report.overview import description, headings, ranking_table, summary
from experiments.report.packing import packed
from experiments.report.reading import Source, joined, read_sources
from experiments.report.schedules import Kept, kept_schedules

if TYPE_CHECKING:
    from experiments.tables.layout import Table

_PAGE = Path(__file__).parent / "page"

#: Parts of the script in the order in which they build on each other.
_SCRIPTS = ("unpacking", "formatting", "building", "state", "theme", "selecting", "choices", "summarising", "grid",
            "later", "points", "panels", "plot_busbw", "plot_bars", "plot_efficiency", "plot_scaling", "plot_pareto",
            "plots", "columns", "problems", "problem", "main")  # fmt: skip

_STYLES = ("page", "tables", "plots", "print")


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes
    ----------
    html : str
        The whole page.
    rows : int
        Rows of results in it.
    schedules : Kept
        Those that it plays, and those that it cannot.
    remarks : list of str
        What could not be done.
    """

    html: str
    rows: int
    schedules: Kept
    remarks: list[str]


def report(paths: Sequence[str], players: int, step: Callable[[str], None] = lambda _: None) -> Report:
    """Return the report of results.

    Parameters
    ----------
    paths : sequence of str
        Results files, or folders of ``collbench run``.
    players : int
        How many schedules it is to play, at most.
    step : callable
        Told what is being done.

    Raises
    ------
    FormatError
        A file that is not there, or holds no results.
    """
    from plotly.offline import get_plotlyjs

    from experiments.report.player import SCRIPT, STYLE
    from experiments.tables.ranking import ranking

    sources = read_sources(paths)
    rows = joined(sources)
    step(f"{len(rows):,} rows")
    content = content_of(rows)
    kept = kept_schedules(content, sources, players, step)
    tables, remarks = _tables(sources)
    title = f"{headings(sources)} – collbench report"
    frames = {"rows": content.shown(), "problems": content.problems}
    said = []
    for at, table in enumerate(tables):
        frames[f"table{at}"], head = table_frame(table)
        said.append(head)
    meta = {**content.meta(), "title": title, "tables": said, "schedules": kept.entries, "refused": kept.refused}
    plotly, script = get_plotlyjs(), SCRIPT + _script()
    text = Template(_read("page.html.template")).substitute(
        policy=_policy(script, plotly),
        title=together(title),
        style=f"{''.join(_read(f'{name}.css') for name in _STYLES)}{STYLE}",
        name="collbench report",
        heading=together(headings(sources)),
        summary=summary(rows, len(content.problems)),
        descriptions=together(*(description(source, len(sources) > 1) for source in sources)),
        ranking=ranking_table(ranking(rows)) if len(rows) else element("p", "There are no rows.", class_="remark"),
        players=_told(kept),
        version=version("collbench"),
        plotly_version=_plotly_version(plotly),
        results=packed(frames, meta),
        schedules=together(
            *(
                element("script", Markup(text), type="application/octet-stream", id=f"schedule-{at}")
                for at, text in enumerate(kept.texts)
            )
        ),
        plotly=plotly,
        script=script,
    )
    return Report(text, len(rows), kept, [*remarks, *(source.remark for source in sources if source.remark)])


def _tables(sources: Sequence[Source]) -> tuple[list[Table], list[str]]:
    """Return the tables that the experiment files ask for, the usual one without a file, and which cannot be drawn."""
    from experiments.files import TableLayout
    from experiments.tables.layout import lay_out
    from topologies import OptionError

    found: list[Table] = []
    remarks = []
    for source in sources:
        if source.rows.empty:
            continue
        for layout in source.experiment.tables if source.experiment is not None else [TableLayout()]:
            title = layout.title or (source.name if len(sources) > 1 else "")
            try:
                table = lay_out(source.rows, layout.sides, layout.columns, layout.value, layout.normalise, title)
            except (OptionError, KeyError) as error:  # a file may lack a column, and so its values
                remarks.append(f"a table of {source.name} could not be drawn: {error}")
                continue
            found.append(table)
    return found, remarks


def _told(kept: Kept) -> Markup:
    """Return what the page says of its schedules."""
    left = kept.possible - len(kept.entries) - len(kept.refused)
    parts = [
        f"{len(kept.entries):,} of {kept.possible:,} schedules can be played here, the best of each problem first."
    ]
    if kept.refused:
        parts.append(f"{len(kept.refused):,} could not be put into this page; the pages of their problems say why.")
    if left:
        parts.append(f"{left:,} were left out to keep it small: collbench report --players N puts N of them in.")
    return element("p", " ".join(parts)) if kept.possible else Markup("")


@cache
def _script() -> str:
    """Return the script of the page, in a function of its own."""
    return "".join(['(() => {\n"use strict";\n', *(_read(f"{name}.js") for name in _SCRIPTS), "})();\n"])


@cache
def _read(name: str) -> str:
    """Return a file of the page."""
    return (_PAGE / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return the security policy: nothing is loaded, and no script runs but these.

    Neither evaluates text, but programs that drive browsers do (playwright's ``wait_for_function``), so that is let be.
    """
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"


def _plotly_version(source: str) -> str:
    """Return the version that plotly.js says it has."""
    found = re.search(r"plotly\.js v(\S+)", source[:500])
    return found[1] if found else ""
