"""Tables in four forms: aligned for a terminal, Markdown, LaTeX (booktabs) and comma-separated values."""

from __future__ import annotations

import csv
import io

from experiments.tables.layout import Cell, Table

FORMATS = ("terminal", "markdown", "latex", "csv")

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "±": r"$\pm$", "×": r"$\times$", "÷": r"$\div$",
    "▲": r"$\uparrow$", "▼": r"$\downarrow$",
})  # fmt: skip


def written(table: Table, form: str) -> str:
    """Return a table as text that ends with a line end; `form` is one of `FORMATS`."""
    return {"terminal": _terminal, "markdown": _markdown, "latex": _latex, "csv": _csv}[form](table)


def _terminal(table: Table) -> str:
    """Return aligned columns; a star marks the best."""
    rows = [list(table.head), *([f"{cell.text}{'*' if cell.best else ''}" for cell in line] for line in table.lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            text.ljust(width) if at < table.sides else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "  ".join("─" * width for width in widths)
    return "\n".join([table.title, "", lines[0], rule, *lines[1:]]) + "\n"


def _markdown(table: Table) -> str:
    """Return a Markdown table, padded so that it reads as plain text too; the best in bold."""
    body = [[_bold(cell, "**", "**").replace("|", r"\|") for cell in line] for line in table.lines]
    rows = [[name.replace("|", r"\|") for name in table.head], *body]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"| {' | '.join(map(str.ljust, row, widths))} |" for row in rows]
    rules = ["-" * (width + 1) + ("-" if at < table.sides else ":") for at, width in enumerate(widths)]
    return "\n".join([f"**{table.title}**", "", lines[0], f"|{'|'.join(rules)}|", *lines[1:]]) + "\n"


def _latex(table: Table) -> str:
    """Return a LaTeX table for the package booktabs; the best in bold."""
    sides = "l" * table.sides + "r" * (len(table.head) - table.sides)
    head = " & ".join(name.translate(_LATEX) for name in table.head)
    body = [" & ".join(_bold(Cell(cell.text.translate(_LATEX), cell.best), r"\textbf{", "}") for cell in line)
            for line in table.lines]  # fmt: skip
    lines = [
        rf"\begin{{table}}\centering\caption{{{table.title.translate(_LATEX)}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *(rf"{line} \\" for line in body),
        r"\bottomrule",
        r"\end{tabular}\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _csv(table: Table) -> str:
    """Return comma-separated values, as shown but without marks and thousands separators."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.head)
    for line in table.lines:
        writer.writerow([cell.text if at < table.sides else cell.text.replace(",", "") for at, cell in enumerate(line)])
    return text.getvalue()


def _bold(cell: Cell, before: str, after: str) -> str:
    """Return the text of a cell, marked if it is the best."""
    return f"{before}{cell.text}{after}" if cell.best else cell.text
