"""``collbench synthesize``: one synthesizer on one problem; its schedule verified, scored and written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import (
    number,
    print_facts,
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
    size_option,
    topology_option,
)
from experiments.cli.program import Failure
from experiments.cli.values import SynthesizerType

if TYPE_CHECKING:
    from experiments.record import Record
    from schedules import Schedule
    from synthesizers import Synthesizer
    from topologies import Topology

#: Endings of files that a schedule can be written to.
_SUFFIXES = (".xml", ".parquet", ".json")


@click.command()
@topology_option
@collective_option
@size_option
@click.option("-m", "--synthesizer", type=SynthesizerType(), required=True, help="See collbench list synthesizers.")
@click.option("-o", "--option", "assignments", multiple=True, metavar="KEY=VALUE", help="Option of the synthesizer.")
@collective_options
@run_options
@model_options
@click.option(
    "--out", type=click.Path(), help="File for the schedule, .parquet, .json or .xml (MSCCL; convert has options)."
)
@json_option
def synthesize(
    topology: Topology,
    kind: str,
    size: int,
    synthesizer: Synthesizer,
    assignments: tuple[str, ...],
    seed: int,
    time_limit_s: float | None,
    latency: str,
    switching: str,
    out: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Make a schedule, verify it, and score it beside the bound.

    Options of the synthesizer have their own defaults here; compare tunes them (see its help). With -m auto the best of
    all synthesizers within a budget is taken, and the league of all is printed.
    """
    from experiments.evaluate import evaluate
    from experiments.interruption import raise_if_interrupted
    from simulator import LinkModel
    from synthesizers import Problem, parse_options
    from synthesizers.auto import Auto
    from topologies import OptionError

    collective = build_collective(topology, kind, **asked)
    options = parse_assignments(assignments)
    try:
        parse_options(synthesizer, options)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    if out is not None:
        if Path(out).suffix.lower() not in _SUFFIXES:
            raise click.BadParameter(
                f"cannot write {out!r}: expected a name that ends in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}",
                param_hint="'--out'",
            )
        require_writable(out)
    problem = Problem(topology, collective, size, LinkModel(latency, switching), seed, time_limit_s)
    with progress(f"{synthesizer.name}: {kind} on {topology.name}"), reserved_stdout():
        record, schedule = evaluate(problem, synthesizer, options)
    if schedule is None:
        if as_json:
            print_json(_content(record))
        raise Failure(f"{synthesizer.name} on {topology.name}, {kind}: {record.status}: {record.reason}")
    if record.reason:
        remark(f"{synthesizer.name}: {record.reason}")
    raise_if_interrupted()
    if out is not None:
        _save(record, schedule, out)
    if as_json:
        league = {"league": schedule.notes["league"]} if "league" in schedule.notes else {}
        print_json(_content(record) | league | ({"out": out} if out is not None else {}))
        return
    _print(record, out)
    if isinstance(synthesizer, Auto):
        _print_league(schedule)


def _content(record: Record) -> dict[str, Any]:
    """Return a record as plain values."""
    import msgspec

    content: dict[str, Any] = msgspec.to_builtins(record)
    return content


def _save(record: Record, schedule: Schedule, out: str) -> None:
    """Write the schedule with what it was made for, so that it can be simulated again without being told."""
    from experiments.record import made_for
    from schedules import save_schedule
    from schedules.msccl import export_msccl
    from topologies.atomic import write_text

    if out.lower().endswith(".xml"):
        write_text(out, export_msccl(schedule))
    else:
        save_schedule(schedule.with_notes(**made_for(record)), out)


def _print(record: Record, out: str | None) -> None:
    """Print a record for a reader."""
    from topologies import format_bytes

    click.echo(f"{record.synthesizer}: {record.collective} {format_bytes(record.size)} on {record.topology}")
    facts = [
        ("time", f"{number(record.time_us)} us ({record.latency}, {record.switching})"),
        ("bound", f"{number(record.bound_us)} us, set by {record.bound_by}"),
        ("efficiency", share(record.efficiency)),
        ("algbw", f"{number(record.algbw_gbps)} GB/s"),
        ("busbw", f"{number(record.busbw_gbps)} GB/s"),
        ("transfers", f"{record.transfers:,}"),
        ("link use", f"{share(record.mean_utilisation)} mean, {share(record.max_utilisation)} most"),
        ("synthesis", f"{number(record.synthesis_s)} s"),
        ("verified", "yes"),
    ]
    if record.planned_us is not None:
        facts.insert(1, ("planned", f"{number(record.planned_us)} us by the synthesizer itself"))
    if out is not None:
        facts.append(("written to", out))
    print_facts(facts)


def _print_league(schedule: Schedule) -> None:
    """Print who was tried by `auto`: what was timed, best first, then the others with the reason."""
    league = schedule.notes["league"]
    timed = [
        (line["name"], number(line["time_us"]), share(line["efficiency"]))
        for line in league
        if line["time_us"] is not None
    ]
    print_table(("league", "time\nus", "effi-\nciency"), timed, f"\nchosen: {schedule.notes['chosen']}", right=(1, 2))
    others = [(line["name"], f"{line['status']}:", line["reason"]) for line in league if line["time_us"] is None]
    if others:
        print_table(("not timed", "", "reason"), others)
