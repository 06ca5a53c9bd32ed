"""``collbench list``: synthesizers, topologies, collectives and experiments that there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import print_json, print_table
from experiments.cli.parameters import ROOTED, json_option
from experiments.cli.program import Commands

if TYPE_CHECKING:
    from synthesizers.registry import Plugin


@click.group("list", cls=Commands)
def listing() -> None:
    """List what there is: synthesizers, topologies, collectives, experiments."""


@listing.command("synthesizers")
@json_option
def list_synthesizers(as_json: bool) -> None:
    """List the synthesizers with their options and defaults; a broken plugin with its error."""
    from synthesizers import discover

    entries = [_synthesizer(plugin) for plugin in discover().values()]
    if as_json:
        print_json({"synthesizers": entries})
        return
    rows = []
    for entry in entries:
        defaults = ", ".join(f"{key}={_shown(value)}" for key, value in entry["options"].items())
        broken = f"cannot be used: {entry['error']}" if entry["error"] else ""
        rows.append((entry["name"], broken or defaults or "none", entry["reference"] or entry["source"]))
    print_table(("synthesizer", "options (-o key=value) and defaults", "reference"), rows)


@listing.command("topologies")
@json_option
def list_topologies(as_json: bool) -> None:
    """List the kinds of short names, KIND:SHAPE[@BANDWIDTH,LATENCY], each with an example."""
    from topologies import KINDS

    entries = [
        {"kind": kind, "example": example, "description": description} for kind, (example, description) in KINDS.items()
    ]
    _print("topologies", entries, as_json)


@listing.command("collectives")
@json_option
def list_collectives(as_json: bool) -> None:
    """List the collectives."""
    from schedules import KINDS

    extra = dict.fromkeys(ROOTED, "--root") | {"send_recv": "--pairs", "custom": "Python only"}
    entries = [
        {"name": kind, "description": description, "options": extra.get(kind, "")}
        for kind, description in KINDS.items()
    ]
    _print("collectives", entries, as_json)


@listing.command("experiments")
@json_option
def list_experiments(as_json: bool) -> None:
    """List the experiment files and the scripts that redo a paper's evaluation."""
    folder = Path(__file__).parent.parent
    entries = []
    for kind, pattern in (("config", "configs/*.yaml"), ("script", "reproduce_*.py")):
        for path in sorted(folder.glob(pattern)):
            entry = {"name": path.stem, "kind": kind, "description": _first_words(path), "path": str(path)}
            entries.append(entry)
    if as_json or entries:
        _print("experiments", entries, as_json)
    else:
        click.echo("no experiments are installed")


def _print(title: str, entries: list[dict[str, str]], as_json: bool) -> None:
    """Print entries that all have the same fields."""
    if as_json:
        print_json({title: entries})
        return
    print_table(tuple(entries[0]), [tuple(entry.values()) for entry in entries])


def _synthesizer(plugin: Plugin) -> dict[str, Any]:
    """Return what a user wants to know of a plugin, broken or not."""
    import msgspec

    synthesizer, error, options = plugin.synthesizer, plugin.error, {}
    if synthesizer is not None:
        try:
            options = msgspec.to_builtins(synthesizer.Options())
        except Exception as fault:  # a plugin may be anybody's
            error = f"its options have no defaults: {' '.join(str(fault).split())}"
    return {
        "name": plugin.name,
        "reference": synthesizer.reference if synthesizer is not None else None,
        "version": synthesizer.version if synthesizer is not None else None,
        "options": options,
        "source": plugin.source,
        "error": error,
    }


def _shown(value: object) -> str:
    """Return an option's value as a user would type it."""
    return str(value).lower() if isinstance(value, bool) else "''" if value == "" else str(value)


def _first_words(path: Path) -> str:
    """Return the first comment or docstring line of a file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        first = file.readline().strip()
    return first.strip('#" ') if first.startswith(("#", '"')) else ""
