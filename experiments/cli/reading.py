"""Files that commands take: schedules of collbench, MSCCL and TE-CCL, lists of transfers, told apart by content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from experiments.cli.parameters import LATENCIES, SWITCHINGS
from experiments.cli.program import Failure
from experiments.cli.values import TopologyType

if TYPE_CHECKING:
    from schedules import Schedule
    from simulator import LinkModel
    from topologies import Topology

file_argument = click.argument("file", type=click.Path())
same_topology_option = click.option(
    "-t",
    "--topology",
    type=TopologyType(),
    help="The network that the file must be for, another one is an error; of MSCCL and TE-CCL, the one it is run on.",
)


def read(file: str, topology: Topology | None = None) -> Any:
    """Return the schedule or the transfers of a file, told apart by its content.

    An algorithm of MSCCL and flows of TE-CCL become schedules on `topology`: their files name no links.
    """
    from schedules import is_schedule_file, load_schedule
    from schedules.msccl import is_msccl_file
    from schedules.teccl import is_teccl_file

    if is_schedule_file(file):
        return load_schedule(file)
    if is_msccl_file(file) or is_teccl_file(file):
        return outside_schedule(file, topology)
    try:
        with open(file, "rb") as opened:
            start = opened.read(200).lstrip()
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror or error}") from error
    if not start.startswith(b"{"):
        found = f"one that starts with {bytes(start[:12])!r}" if start else "an empty file"
        raise Failure(
            f"{file}: expected a schedule of collbench, MSCCL XML, TE-CCL or a JSON list of transfers, found {found}"
        )
    from simulator import load_transfers

    return load_transfers(file)


def outside_schedule(file: str, topology: Topology | None) -> Schedule:
    """Return the schedule of a file of MSCCL or TE-CCL on a network; a file that is wrong is named with the place."""
    from schedules import msccl, teccl
    from topologies import FormatError, ScheduleError

    xml = msccl.is_msccl_file(file)
    if topology is None:
        kind = "MSCCL XML" if xml else "TE-CCL's output"
        raise Failure(f"{file} is {kind}, which says nothing of links: name the network, such as --topology dgx1")
    try:
        if xml:
            return msccl.schedule_of(msccl.load_msccl(file), topology)
        return teccl.schedule_of(teccl.load_teccl(file), topology)
    except FormatError:
        raise
    except ScheduleError as error:
        raise Failure(f"{file}: {error}") from error


def is_schedule(content: object) -> bool:
    """Return whether what was read is a schedule, not a list of transfers."""
    from schedules import Schedule

    return isinstance(content, Schedule)


def proven(file: str, schedule: Schedule) -> Schedule:
    """Return a schedule that was verified; one that is wrong is never timed."""
    from schedules import verify
    from topologies import VerificationError

    try:
        verify(schedule)
    except VerificationError as error:
        raise Failure(f"{file} is invalid and is not timed: {error}") from error
    return schedule


def stated_problem(
    file: str, schedule: Schedule, size: int | None = None, latency: str | None = None, switching: str | None = None
) -> tuple[int, LinkModel]:
    """Return the size and link model asked for, else those that a schedule was made for."""
    from simulator import LinkModel

    notes = schedule.notes
    size = notes.get("size") if size is None else size
    if not isinstance(size, int) or isinstance(size, bool):
        raise click.UsageError(f"{file} does not say for how many bytes it was made: give --size, such as -s 1GiB")
    return size, LinkModel(
        latency or notes.get("latency") or LATENCIES[0], switching or notes.get("switching") or SWITCHINGS[0]
    )


def require_same(file: str, found: Topology, asked: Topology | None) -> None:
    """Refuse a file for another network than the one asked for."""
    if asked is None or asked == found:
        return
    shown = [f"{each.name} ({each.num_npus} NPUs, {each.num_links} links)" for each in (found, asked)]
    raise Failure(f"{file} is for the network {shown[0]}, --topology is another one: {shown[1]}; leave --topology out")
