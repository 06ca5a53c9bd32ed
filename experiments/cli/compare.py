"""``collbench compare``: many synthesizers on the same problems, best first, under one rule of tuning."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import (
    number,
    print_json,
    print_table,
    progress,
    remark,
    require_writable,
    reserved_stdout,
    share,
)
from experiments.cli.parameters import (
    build_collective,
    collective_option,
    collective_options,
    json_option,
    model_options,
    parse_assignments,
    run_options,
    topology_option,
)
from experiments.cli.program import Failure
from experiments.cli.values import SecondsType, SizesType, SynthesizerType

if TYPE_CHECKING:
    from experiments.record import Record
    from synthesizers import Synthesizer
    from topologies import Topology

_HEADERS = ("synthesizer", "time\nus", "algbw\nGB/s", "busbw\nGB/s", "effi-\nciency", "bound\nus", "trans-\nfers",
            "synth.\ns", "chan-\nnels", "thread-\nblocks", "steps", "scr.", "veri-\nfied")  # fmt: skip


@click.command()
@topology_option
@collective_option
@click.option("-s", "--size", "sizes", type=SizesType(), required=True, help="Bytes with units, such as 1MiB,64MiB.")
@click.option("-m", "--synthesizer", "choices", multiple=True, metavar="NAME[:KEY=VALUE,…]|file:FILE",
              help="A synthesizer with options, or the algorithm of a file; again for another (default: all that there "
              "are).")  # fmt: skip
@collective_options
@run_options
@model_options
@click.option(
    "--kill-after",
    "kill_after_s",
    type=SecondsType(),
    help="End each run after this long (default: plugins after 10 minutes, collbench's own never).",
)
@click.option("--csv", "csv_file", type=click.Path(), help="File for all records as comma-separated values.")
@json_option
def compare(
    topology: Topology,
    kind: str,
    sizes: list[int],
    choices: tuple[str, ...],
    seed: int,
    time_limit_s: float | None,
    latency: str,
    switching: str,
    kill_after_s: float | None,
    csv_file: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Compare synthesizers on the same problems: a table for each size, best first.

    Every synthesizer that can cut its chunks into pieces runs with pieces=auto, so that all are tuned alike. With
    --chunks they all keep those chunks instead (pieces=1). An option given with -m (-m tacos:pieces=4) wins over both.
    An algorithm of MSCCL XML or TE-CCL, or a schedule that was saved, takes part as file:ALGO.xml.

    What is unsupported or fails stands at the end, with the reason; so does a plugin that cannot be imported. Plugins
    run in a process of their own. Exit status 1: nothing worked for some size.
    """
    from experiments.apart import Runs, unusable
    from simulator import LinkModel
    from synthesizers import Problem, discover
    from topologies import format_bytes

    collective = build_collective(topology, kind, **asked)
    entrants = _entrants(choices, asked["chunks"])
    if csv_file is not None:
        require_writable(csv_file)
    broken = [] if choices else [plugin for plugin in discover().values() if plugin.synthesizer is None]
    model = LinkModel(latency, switching)
    problems = [Problem(topology, collective, size, model, seed, time_limit_s) for size in sizes]
    results: list[list[tuple[str, Record]]] = []
    with Runs(kill_after_s) as runs:
        for problem in problems:
            rows = [(plugin.name, unusable(problem, plugin)) for plugin in broken]
            for label, synthesizer, options in entrants:
                with progress(f"{label}: {kind} {format_bytes(problem.size)} on {topology.name}"), reserved_stdout():
                    record = runs.evaluate(problem, synthesizer, options)
                if record.status == "ok" and record.reason:
                    remark(f"{label}: {record.reason}")
                rows.append((label, record))
            results.append(sorted(rows, key=_rank))
            if not as_json:
                _print(results[-1])
    if csv_file is not None:
        _write_csv([row for rows in results for row in rows], csv_file)
    if as_json:
        print_json(
            {
                "topology": topology.name,
                "collective": kind,
                "sizes": sizes,
                "latency": latency,
                "switching": switching,
                "records": [_content(label, record) for rows in results for label, record in rows],
            }
        )
    hopeless = [format_bytes(rows[0][1].size) for rows in results if rows[0][1].status != "ok"]
    if hopeless:
        raise Failure(f"no synthesizer made a schedule of {kind} on {topology.name} for {', '.join(hopeless)}: see the "
                      "reasons, or choose others with -m")  # fmt: skip


def _entrants(choices: Sequence[str], chunks: int | None) -> list[tuple[str, Synthesizer, dict[str, Any]]]:
    """Return (label, synthesizer, options) of what is compared, tuned alike."""
    from experiments.fairness import tuned_alike
    from synthesizers import available
    from synthesizers.outside import Outside
    from synthesizers.registry import FILE
    from topologies import OptionError

    found: list[tuple[str, Synthesizer, dict[str, Any]]] = []
    for text in dict.fromkeys(choices or available()):
        if text.startswith(FILE):
            found.append((text, Outside(text.removeprefix(FILE)), {}))
            continue
        name, _, given = text.partition(":")
        synthesizer = SynthesizerType().convert(name, None, click.get_current_context())
        options = parse_assignments(_split(given))
        try:
            tuned = tuned_alike(synthesizer, options, chunks)
        except OptionError as error:
            raise click.UsageError(str(error)) from error
        found.append((text, synthesizer, tuned))
    if not found:
        raise Failure("no synthesizer works here; collbench list synthesizers shows why")
    return found


def _split(given: str) -> list[str]:
    """Return the assignments of ``rings=2,order=0,3,1``: a part without ``=`` goes on with the value before it."""
    parts: list[str] = []
    for part in given.split(",") if given else []:
        if "=" in part or not parts:
            parts.append(part)
        else:
            parts[-1] += f",{part}"
    return parts


def _rank(row: tuple[str, Record]) -> tuple[bool, float, str]:
    """Return what rows are sorted by: what worked by time, then the others by name."""
    label, record = row
    worked = record.status == "ok" and record.time_us is not None
    return not worked, record.time_us if worked and record.time_us is not None else 0.0, label


def _print(rows: list[tuple[str, Record]]) -> None:
    """Print the table of one size."""
    from topologies import format_bytes

    first = rows[0][1]
    title = f"{first.collective} {format_bytes(first.size)} on {first.topology} ({first.latency}, {first.switching})"
    lines = [
        (label, number(record.time_us), number(record.algbw_gbps, 2), number(record.busbw_gbps, 2),
         share(record.efficiency), number(record.bound_us), f"{record.transfers or 0:,}",
         number(record.synthesis_s, 3), _count(record.channels), _count(record.threadblocks), _count(record.steps),
         _count(record.scratch), "yes" if record.verified else "no")
        for label, record in rows
        if record.status == "ok"
    ]  # fmt: skip
    if lines:
        print_table(_HEADERS, lines, title, right=tuple(range(1, 12)))
    else:
        click.echo(title)
    for label, record in rows:
        if record.status == "ok" and record.over_limits:
            click.echo(f"* {label} is past the limits of MSCCL's runtime: {record.over_limits}")
    others = [(label, f"{record.status}:", record.reason) for label, record in rows if record.status != "ok"]
    if others:
        print_table(("not timed", "", "reason"), others)
    click.echo(f"bound {number(first.bound_us)} us, set by {first.bound_by}\n")


def _count(value: int | None) -> str:
    """Return a number of things for a reader; a dash where they were not counted."""
    return "–" if value is None else f"{value:,}"


def _content(label: str, record: Record) -> dict[str, Any]:
    """Return a record as plain values, with what it is called in the table."""
    import msgspec

    content: dict[str, Any] = msgspec.to_builtins(record)
    return {"label": label, **content}


def _write_csv(rows: list[tuple[str, Record]], path: str) -> None:
    """Write all records, whole or not at all."""
    import msgspec

    from topologies.atomic import write_text

    text = io.StringIO()
    contents = [_content(label, record) for label, record in rows]
    for content in contents:
        for key in ("options", "stages"):
            content[key] = msgspec.json.encode(content[key]).decode()
    table = csv.DictWriter(text, list(contents[0]), lineterminator="\n")
    table.writeheader()
    for content in contents:
        # NaN, which differs from itself, is as empty as None.
        table.writerow({key: value for key, value in content.items() if value is not None and value == value})
    write_text(path, text.getvalue())
