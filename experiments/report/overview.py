"""The top of a report: what was run and on what, and the ranking; HTML that needs no script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from experiments.record import DEFECT
from experiments.report.content import names_of
from experiments.report.markup import Markup, element, together
from topologies import format_bytes

if TYPE_CHECKING:
    import pandas as pd

    from experiments.report.reading import Source
    from experiments.tables.layout import Table


def summary(rows: pd.DataFrame, problems: int) -> Markup:
    """Return how many rows there are, and of which status."""
    counts = rows["status"].value_counts(sort=False) if len(rows) else {}
    order = sorted(counts.items(), key=lambda item: (item[0] != "ok", item[0] == "unsupported"))
    parts = [_count(len(rows), "row"), _count(problems, "problem"), _count(rows["label"].nunique(), "synthesizer")]
    marks = [
        element("span", f"{count:,} {status}", class_="mark", data_status=status if status else "none")
        for status, count in order
    ]
    defects = int(rows["reason"].str.startswith(DEFECT).sum()) if len(rows) else 0
    if defects:
        text = f"{_count(defects, 'score')} above a provable bound: a defect of the bench, see the reasons"
        marks.append(element("span", text, class_="mark", data_status="defect"))
    return element("p", ", ".join(parts), " ", *marks, class_="summary")


def description(source: Source, named: bool) -> Markup:
    """Return what was run in an experiment, and on what; under its name, if there are several."""
    rows = source.rows
    facts: list[tuple[str, str]] = []
    if len(rows):
        facts += [
            ("networks", _names(rows, "topology")),
            ("collectives", _names(rows, "collective")),
            ("sizes", names_of([format_bytes(int(size)) for size in sorted(rows["size"].unique())], 12)),
            ("groups", _unless(rows, "group", ("all", ""))),
            ("roots", _unless(rows, "root", ("0",))),
            ("pairs", _unless(rows, "pairs", ("",))),
            ("chunks asked for", _unless(rows, "chunks", ())),
            ("link model", "; ".join(filter(None, (_names(rows, "latency"), _names(rows, "switching"))))),
            ("seeds", _names(rows, "seed")),
            ("repeats", f"{rows['repeat'].nunique():,}" if "repeat" in rows else ""),
        ]
    if source.experiment is not None:
        limits = source.experiment.limits
        times = limits.time_limit_s if isinstance(limits.time_limit_s, list) else [limits.time_limit_s]
        limited = [f"{time:g} s of synthesis" for time in times if time is not None]
        limited += [f"{limits.memory_limit_mb:,.0f} MB of memory"] if limits.memory_limit_mb else []
        facts.append(("limits of a run", ", ".join(limited) or "none"))
    facts += [("machine", _names(rows, "machine")), ("versions", _names(rows, "versions"))]
    said = source.experiment.description if source.experiment is not None else ""
    pairs = [together(element("dt", name), element("dd", text)) for name, text in facts if text]
    return element(
        "article",
        *([element("h2", source.name)] if named else []),
        *([element("p", said)] if said else []),
        *([element("p", source.remark, class_="remark")] if source.remark else []),
        element("dl", *pairs, class_="facts"),
        *([_synthesizers(rows)] if len(rows) else []),
    )


def ranking_table(table: Table) -> Markup:
    """Return a short table as it is, its first column of names as heads of rows."""
    head = [element("th", name, scope="col", **_side(at < table.sides)) for at, name in enumerate(table.head)]
    lines = []
    for line in table.lines:
        cells = [element("th" if at == 1 else "td", cell.text, **({"scope": "row"} if at == 1 else {}),
                         **_side(at < table.sides)) for at, cell in enumerate(line)]  # fmt: skip
        lines.append(element("tr", *cells))
    caption = element("caption", table.title)
    return _scrolled("table of the ranking", caption, element("thead", element("tr", *head)), element("tbody", *lines))


def _synthesizers(rows: pd.DataFrame) -> Markup:
    """Return the synthesizers of an experiment with their versions and options, and what came of their runs."""
    statuses = sorted(rows["status"].unique(), key=lambda status: (status != "ok", status != "unsupported", status))
    heads = ["synthesizer", "plugin", "version", "options", *statuses]
    right = len(heads) - len(statuses)
    head = [element("th", name, scope="col", **_side(at < right)) for at, name in enumerate(heads)]
    lines = []
    for label, of_it in rows.groupby("label", sort=False):
        options = names_of(list(map(_options, of_it["options"].unique())), 3) if "options" in rows else ""
        counts = of_it["status"].value_counts()
        cells = [element("th", str(label), scope="row")]
        cells += [element("td", text) for text in (_names(of_it, "synthesizer"), _names(of_it, "version"))]
        cells += [element("td", options, class_="options")]
        cells += [element("td", f"{counts.get(status, 0):,}", **_side(False)) for status in statuses]
        lines.append(element("tr", *cells))
    return _scrolled("table of the synthesizers", element("thead", element("tr", *head)), element("tbody", *lines))


def _scrolled(name: str, *parts: Markup) -> Markup:
    """Return a table in a region that scrolls by itself, with the keyboard too."""
    return element("div", element("table", *parts), class_="scrolled", role="region", aria_label=name, tabindex="0")


def _side(left: bool) -> dict[str, str]:
    """Return the attributes of a cell of a name, or of a number."""
    return {} if left else {"class_": "number"}


def _options(text: Any) -> str:
    """Return options as a user types them, from JSON."""
    try:
        given = json.loads(text) if isinstance(text, str) and text else {}
    except ValueError:
        return str(text)
    if not isinstance(given, dict):
        return str(text)
    said = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    return ", ".join(f"{key}={value}" for key, value in said.items() if value != "") or "none"


def _names(rows: pd.DataFrame, column: str) -> str:
    """Return the different values of a column that are there; of many the first."""
    if column not in rows:
        return ""
    return names_of([_word(value) for value in rows[column].dropna().unique() if _word(value)], 12)


def _unless(rows: pd.DataFrame, column: str, usual: Iterable[str]) -> str:
    """Return the values of a column, or nothing where all of them are what is usual."""
    text = _names(rows, column)
    return "" if text in usual else text


def _word(value: Any) -> str:
    """Return a value; a whole number without its fraction."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _count(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def headings(sources: Sequence[Source]) -> str:
    """Return the title of a report."""
    return names_of([source.name for source in sources], 3)
