"""``collbench simulate``: how long a schedule, or a list of plain transfers, takes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import number, print_facts, print_json, print_table, progress, require_writable, share
from experiments.cli.parameters import LATENCIES, SWITCHINGS, json_option
from experiments.cli.reading import (
    file_argument,
    is_schedule,
    proven,
    read,
    require_same,
    same_topology_option,
    stated_problem,
)
from experiments.cli.values import SizeType

if TYPE_CHECKING:
    from schedules import Schedule
    from simulator import LinkModel, Timeline, TransferList
    from topologies import Topology

#: Segments of the critical path that a table shows.
_SEGMENTS = 40

#: Above this many hops their starts and ends are not kept, unless the critical path is asked for.
_TIMELINE_HOPS = 2**23


@click.command()
@file_argument
@same_topology_option
@click.option("-s", "--size", type=SizeType(), help="Bytes with a unit (default: the size that the file was made for).")
@click.option("--latency", type=click.Choice(LATENCIES), help="Default: as the file says, else blocking.")
@click.option("--switching", type=click.Choice(SWITCHINGS), help="Default: as the file says, else cut_through.")
@click.option("--critical-path", is_flag=True, help="Show the chain of hops and waits that explains the time.")
@click.option(
    "--trace", type=click.Path(), metavar="FILE.json", help="File for a trace, to be opened in ui.perfetto.dev."
)
@click.option("--player", type=click.Path(), metavar="FILE.html", help="File for a page that plays the schedule.")
@json_option
def simulate(
    file: str,
    topology: Topology | None,
    size: int | None,
    latency: str | None,
    switching: str | None,
    critical_path: bool,
    trace: str | None,
    player: str | None,
    as_json: bool,
) -> None:
    """Print how long a schedule takes, beside the bound; it is verified first.

    FILE is a schedule of collbench, MSCCL XML (on the network that --topology names), or a list of transfers with
    routes and dependencies (the JSON form in which ASTRA-sim's answers are kept). The links of such a list are
    pipelined and store_and_forward unless its units say otherwise.
    """
    if trace is not None:
        _require_file("--trace", trace, (".json",), file)
    if player is not None:
        _require_file("--player", player, (".html", ".htm"), file)
    content = read(file, topology)
    require_same(file, content.topology, topology)
    with progress(f"simulating {file}"):
        if is_schedule(content):
            result = _schedule_result(file, content, size, latency, switching, critical_path, trace, player)
        elif size is not None:
            raise click.UsageError(f"{file} is a list of transfers, which has its own bytes: leave --size out")
        elif critical_path or player is not None:
            asked = "--critical-path" if critical_path else "--player"
            raise click.UsageError(f"{file} is a list of transfers: {asked} needs a schedule of collbench")
        else:
            result = _transfers_result(content, latency, switching, trace)
    if as_json:
        print_json(result)
        return
    _print(result)


def _require_file(option: str, path: str, suffixes: tuple[str, ...], file: str) -> None:
    """Refuse a name of another kind than the option writes, or that of the file to be simulated."""
    if not path.lower().endswith(suffixes):
        raise click.UsageError(f"{option} {path}: expected a name that ends in {' or '.join(suffixes)}")
    if os.path.realpath(path) == os.path.realpath(file):
        raise click.UsageError(f"{option} {path} would overwrite the file to be simulated; give another name")
    require_writable(path)


def _schedule_result(
    file: str,
    schedule: Schedule,
    size: int | None,
    latency: str | None,
    switching: str | None,
    critical_path: bool,
    trace: str | None,
    player: str | None,
) -> dict[str, Any]:
    """Return the record of a schedule file, by the names of the JSON form."""
    from simulator import algbw_gbps, bound, busbw_gbps, simulate_us, timeline

    notes = schedule.notes
    size, model = stated_problem(file, schedule, size, latency, switching)
    if trace is not None:
        from experiments.trace import require_traceable, slices_of_schedule, write_trace

        require_traceable(schedule.num_hops)
    if player is not None:
        from experiments.report.player import player_data, require_playable, standalone
        from topologies.atomic import write_text

        require_playable(schedule)
    # A plan is of one size and link model: beside another it would mislead.
    planned_for = notes.get("size"), notes.get("latency")
    proven(file, schedule)
    topology, collective = schedule.topology, schedule.collective
    times = timeline(schedule, size, model) if critical_path or schedule.num_hops <= _TIMELINE_HOPS else None
    time_us = times.time_us if times is not None else simulate_us(schedule, size, model)
    limit = bound(topology, collective, size, model)
    use = times.utilisation() if times is not None and topology.num_links else None
    result: dict[str, Any] = {
        "topology": topology.name,
        "collective": collective.kind,
        "size": size,
        "num_npus": topology.num_npus,
        "chunks": collective.chunks,
        "latency": model.latency,
        "switching": model.switching,
        "synthesizer": notes.get("synthesizer", ""),
        "verified": True,
        "time_us": time_us,
        "planned_us": notes.get("planned_us") if planned_for == (size, model.latency) else None,
        "bound_us": limit.time_us,
        "bound_by": limit.binding,
        "efficiency": limit.time_us / time_us if time_us > 0 else 1.0,
        "algbw_gbps": algbw_gbps(size, time_us),
        "busbw_gbps": busbw_gbps(collective, size, time_us),
        "transfers": schedule.num_hops,
        "max_utilisation": None if use is None else float(use.max()),
        "mean_utilisation": None if use is None else float(use.mean()),
    }
    if critical_path and times is not None:
        result["critical_path"] = _segments(times)
    if trace is not None and times is not None:
        write_trace(slices_of_schedule(times), trace)
        result["trace"] = trace
    if player is not None:
        write_text(player, standalone(player_data(schedule, size, model, os.path.basename(file))))
        result["player"] = player
    return result


def _segments(times: Timeline) -> list[dict[str, Any]]:
    """Return the critical path as plain values."""
    return [
        {
            "start_us": segment.start_ps / 1e6,
            "until_us": segment.until_ps / 1e6,
            "hop": segment.hop,
            "chunk": segment.chunk,
            "link": segment.link,
            "link_name": times.schedule.topology.link_name(segment.link),
            "reason": segment.reason,
            "cause": segment.cause,
            "waited_us": segment.waited_ps / 1e6,
        }
        for segment in times.critical_path()
    ]


def _transfers_result(
    transfers: TransferList, latency: str | None, switching: str | None, trace: str | None
) -> dict[str, Any]:
    """Return the times of a list of transfers, by the names of the JSON form."""
    from simulator import simulate_transfers

    model = _stated_model(transfers.units, latency, switching)
    if trace is not None:
        from experiments.trace import require_traceable, slices_of_transfers, write_trace

        require_traceable(len(transfers.links))
    start, end, total = simulate_transfers(transfers, model)
    time_us = total / 1e6
    result: dict[str, Any] = {
        "topology": transfers.topology.name,
        "num_npus": transfers.topology.num_npus,
        "latency": model.latency,
        "switching": model.switching,
        "time_us": time_us,
        "transfers": transfers.num_transfers,
        "hops": len(transfers.links),
    }
    if transfers.expected_ns is not None:
        result["expected_ns"] = transfers.expected_ns
        result["over_expected_ns"] = time_us * 1e3 - transfers.expected_ns
    if trace is not None:
        write_trace(slices_of_transfers(transfers, model, start, end), trace)
        result["trace"] = trace
    return result


def _stated_model(units: str, latency: str | None, switching: str | None) -> LinkModel:
    """Return the link model asked for, else what the units of a file of transfers state, else ASTRA-sim's."""
    from simulator import LinkModel

    stated = units.lower().replace("-", " ").replace("_", " ")
    latency = latency or ("blocking" if "blocking" in stated else "pipelined")
    return LinkModel(latency, switching or ("cut_through" if "cut through" in stated else "store_and_forward"))


def _print(result: dict[str, Any]) -> None:
    """Print a result for a reader."""
    facts = [("time_us", f"{result['time_us']:.6f}".rstrip("0").rstrip("."))]
    if "expected_ns" in result:
        facts.append(
            ("expected_ns", f"{result['expected_ns']:g} (found {result['over_expected_ns']:+.3f} ns beside it)")
        )
    facts += [("network", result["topology"]), ("links", f"{result['latency']}, {result['switching']}")]
    if "collective" in result:
        facts += [
            ("collective", f"{result['collective']}, {result['size']} bytes"),
            ("bound_us", f"{number(result['bound_us'])}, set by {result['bound_by']}"),
            ("efficiency", share(result["efficiency"])),
            ("algbw", f"{number(result['algbw_gbps'])} GB/s"),
            ("busbw", f"{number(result['busbw_gbps'])} GB/s"),
            ("link use", f"{share(result['mean_utilisation'])} mean, {share(result['max_utilisation'])} most"),
            ("verified", "yes"),
        ]
    facts.append(("transfers", f"{result['transfers']:,}"))
    if "trace" in result:
        facts.append(("trace", f"{result['trace']} (open it in https://ui.perfetto.dev)"))
    if "player" in result:
        facts.append(("player", f"{result['player']} (open it in a browser)"))
    print_facts(facts)
    path = result.get("critical_path", [])
    if path:
        rows = [
            (number(s["start_us"]), number(s["until_us"] - s["start_us"]), str(s["hop"]), s["link_name"],
             str(s["chunk"]), s["reason"] + (f" (waited {number(s['waited_us'])} us)" if s["waited_us"] else ""))
            for s in path[:_SEGMENTS]
        ]  # fmt: skip
        title = f"critical path, {len(path)} segments" + (f", the first {_SEGMENTS}" if len(path) > _SEGMENTS else "")
        print_table(
            ("from us", "for us", "hop", "link", "chunk", "not sooner because of"), rows, title, right=(0, 1, 2, 4)
        )
