"""``collbench convert``: a schedule from one kind of file to another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import print_facts, print_json, progress, remark, require_writable
from experiments.cli.parameters import json_option
from experiments.cli.program import Failure
from experiments.cli.reading import is_schedule, proven, read, require_same, stated_problem
from experiments.cli.values import SizeType, TopologyType

if TYPE_CHECKING:
    from schedules import Schedule
    from schedules.msccl import Deployment
    from topologies import Topology

#: Endings of files that can be written.
_SUFFIXES = (".xml", ".parquet", ".json")


@click.command()
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("-t", "--topology", type=TopologyType(),
              help="Network of IN; MSCCL XML and TE-CCL name none, and need it unless OUT is MSCCL XML.")  # fmt: skip
@click.option("--instances", type=click.IntRange(1, 64), help="MSCCL XML: copies that share the bytes (default: 1).")
@click.option("--in-place/--out-of-place", default=None,
              help="MSCCL XML: for calls whose output is their input, or a part of it, or is neither (default: as in "
                   "IN, or out of place).")  # fmt: skip
@click.option("--protocol", type=click.Choice(["Simple", "LL", "LL128"]),
              help="MSCCL XML: protocol of the runtime (default: as in IN, or Simple).")  # fmt: skip
@click.option("--min-bytes", type=SizeType(),
              help="MSCCL XML: the least size of calls that it is for (default: as in IN, or any).")  # fmt: skip
@click.option("--max-bytes", type=SizeType(),
              help="MSCCL XML: the size of calls from which on it is not (default: as in IN, or none).")  # fmt: skip
@click.option("--name", help="MSCCL XML: name of the algorithm (default: as in IN, or collective and network).")
@click.option("--to", type=click.Choice(["chakra"]), help="OUT is a folder of execution traces for ASTRA-sim.")
@click.option("-s", "--size", type=SizeType(), help="With --to chakra: bytes (default: those that IN was made for).")
@json_option
def convert(
    source: str,
    target: str,
    topology: Topology | None,
    instances: int | None,
    in_place: bool | None,
    protocol: str | None,
    min_bytes: int | None,
    max_bytes: int | None,
    name: str | None,
    to: str | None,
    size: int | None,
    as_json: bool,
) -> None:
    """Write the schedule of file IN as file OUT: .parquet or .json (collbench's own), or .xml (MSCCL).

    With --to chakra, OUT is a new folder: execution traces for ASTRA-sim, one for each NPU, and what runs them.

    IN is told by its content. It is verified first, and MSCCL XML is run by an interpreter before it is written: a
    schedule that is wrong is not written. What MSCCL's runtime could not run is said.
    """
    import msgspec

    asked = {"in_place": in_place, "protocol": protocol, "min_bytes": min_bytes, "max_bytes": max_bytes}
    asked = {key: value for key, value in asked.items() if value is not None}
    of_msccl = [
        f"--{key.replace('_', '-')}" if value is not False else "--out-of-place" for key, value in asked.items()
    ]
    of_msccl += ["--instances"] * (instances is not None) + ["--name"] * (name is not None)
    if to == "chakra":
        if of_msccl:
            raise click.UsageError(f"{', '.join(of_msccl)}: of MSCCL XML only; leave out")
        with progress(f"converting {source}"):
            found = _write_traces(source, target, topology, size)
        if as_json:
            print_json(found)
        else:
            print_facts([("written to", target), ("collective", found["collective"]), ("bytes", f"{found['size']:,}"),
                         ("transfers", f"{found['transfers']:,}")])  # fmt: skip
        return
    if size is not None:
        raise click.UsageError("--size is for --to chakra: other files are of no particular size")
    suffix = Path(target).suffix.lower()
    if suffix not in _SUFFIXES:
        known = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
        raise click.UsageError(f"cannot write {target!r}: expected a name that ends in {known}")
    if suffix != ".xml" and of_msccl:
        raise click.UsageError(f"{', '.join(of_msccl)}: of MSCCL XML only; leave out, or name OUT *.xml")
    if max_bytes is not None and max_bytes <= (min_bytes or 0):
        raise click.UsageError(f"--max-bytes is {max_bytes}; expected more than --min-bytes, {min_bytes or 0}")
    if os.path.realpath(source) == os.path.realpath(target):
        raise click.UsageError(f"{target} would overwrite the file to be converted; give another name")
    require_writable(target)
    with progress(f"converting {source}"):
        schedule = _read(source, topology, suffix)
        if suffix == ".xml":
            needs = _write_msccl(schedule, target, name, instances or 1, asked)
        else:
            from schedules import save_schedule

            needs = None
            save_schedule(schedule, target)
    content: dict[str, Any] = {
        "in": source,
        "out": target,
        "collective": schedule.collective.kind,
        "num_npus": schedule.topology.num_npus,
        "transfers": schedule.num_hops,
        **({} if needs is None else msgspec.structs.asdict(needs)),
    }
    if needs is not None and needs.over:
        remark(f"{target} is past the limits of MSCCL's runtime: {needs.over}")
    if as_json:
        print_json(content)
        return
    facts = [("written to", target), ("collective", schedule.collective.describe())]
    if needs is not None:
        facts += [
            ("written as", needs.coll),
            ("channels", str(needs.channels)),
            ("threadblocks", f"{needs.threadblocks} a GPU"),
            ("steps", f"{needs.steps} a threadblock"),
            ("scratch", f"{needs.scratch} chunks, of {needs.chunks} in the buffer"),
        ]
    print_facts(facts)


def _read(source: str, topology: Topology | None, suffix: str) -> Schedule:
    """Return the verified schedule of a file."""
    from schedules.msccl import is_msccl_file, load_msccl
    from schedules.msccl.connections import connections_of
    from schedules.teccl import connections_of as pairs_of
    from schedules.teccl import is_teccl_file, load_teccl

    if suffix == ".xml" and topology is None:
        # Between two files that name no links, any network with the connections will do.
        if is_msccl_file(source):
            topology = connections_of(load_msccl(source))
        elif is_teccl_file(source):
            topology = pairs_of(load_teccl(source))
    content = read(source, topology)
    if not is_schedule(content):
        raise Failure(f"{source} is a list of transfers, which has no collective; only schedules can be converted")
    require_same(source, content.topology, topology)
    return proven(source, content)


def _write_msccl(
    schedule: Schedule, target: str, name: str | None, instances: int, asked: dict[str, Any]
) -> Deployment:
    """Write MSCCL XML as asked for, else as in a file that it came from, and return what it asks of a GPU."""
    from schedules.msccl import deployment_of, export_msccl, meant_of, parse_msccl
    from topologies.atomic import write_text

    known = schedule.notes.get("algorithm")
    given = {**(meant_of(schedule) or {}), **asked}
    text = export_msccl(schedule, name or (known if isinstance(known, str) else ""), instances=instances, **given)
    write_text(target, text)
    return deployment_of(parse_msccl(text))


def _write_traces(source: str, target: str, topology: Topology | None, size: int | None) -> dict[str, Any]:
    """Write execution traces, say what stands in the way of running them, and return what was written."""
    from schedules.chakra import transfers_of, write_chakra

    schedule = _read(source, topology, "")
    size, _ = stated_problem(source, schedule, size)
    caveat = write_chakra(schedule, size, target)
    if caveat:
        remark(f"{target}: {caveat}")
    return {
        "in": source,
        "out": target,
        "collective": schedule.collective.kind,
        "num_npus": schedule.topology.num_npus,
        "size": size,
        "transfers": len(transfers_of(schedule, size)),
        "caveat": caveat,
    }
