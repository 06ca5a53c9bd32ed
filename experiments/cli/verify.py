"""``collbench verify``: whether a schedule computes its collective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import print_json, progress, remark
from experiments.cli.parameters import json_option
from experiments.cli.program import Failure
from experiments.cli.reading import file_argument, is_schedule, read, require_same, same_topology_option

if TYPE_CHECKING:
    from topologies import Topology


@click.command()
@file_argument
@same_topology_option
@json_option
def verify(file: str, topology: Topology | None, as_json: bool) -> int:
    """Say whether a schedule computes its collective: valid, or invalid and the first fault (exit status 1).

    FILE is a schedule of collbench, MSCCL XML or JSON of TE-CCL. MSCCL XML is run by an interpreter, whatever its
    timing; with --topology it is then taken over as a schedule on that network, which is verified too. Of a custom
    collective of MSCCL, and of flows without a demand, nobody says what must come out: cannot verify (exit status 1).
    """
    from schedules.msccl import is_msccl_file
    from schedules.teccl import is_teccl_file

    with progress(f"verifying {file}"):
        if is_msccl_file(file):
            verdict = _of_msccl(file, topology)
        else:
            verdict = _of_teccl(file, topology) if is_teccl_file(file) else _of_schedule(file, topology)
    told = verdict["verdict"] + (f": {verdict['reason']}" if verdict["reason"] else "")
    if as_json:
        print_json(verdict)
        if not verdict["verified"]:
            remark(f"{file} is {told}" if verdict["verdict"] == "invalid" else f"{file}: {told}")
    else:
        click.echo(told)
    return 0 if verdict["verified"] else 1


def _of_schedule(file: str, topology: Topology | None) -> dict[str, Any]:
    """Return what the verifier says of a schedule of collbench."""
    from schedules import verify as prove
    from topologies import VerificationError

    content = read(file)
    if not is_schedule(content):
        raise Failure(f"{file} is a list of transfers, which has no collective to verify; simulate it instead")
    require_same(file, content.topology, topology)
    fault, hop = "", None
    try:
        prove(content)
    except VerificationError as error:
        fault, hop = " ".join(str(error).split()), error.hop
    return {
        "topology": content.topology.name,
        "collective": content.collective.kind,
        "transfers": content.num_hops,
        "verified": not fault,
        "verdict": "invalid" if fault else "valid",
        "reason": fault,
        "hop": hop,
    }


def _of_msccl(file: str, topology: Topology | None) -> dict[str, Any]:
    """Return what the judge says of an algorithm; of one that a network is given for, the verifier too."""
    from schedules import verify as prove
    from schedules.msccl import MscclFormatError, judge, load_msccl, schedule_of

    try:
        algorithm = load_msccl(file)
    except MscclFormatError as error:
        reason = str(error).removeprefix(f"{file}, ")
        return {"verified": False, "verdict": "invalid", "reason": reason, "line": error.line}
    verdict = judge(algorithm)
    fault = verdict.fault
    found: dict[str, Any] = {
        "collective": algorithm.collective,
        "num_npus": len(algorithm.gpus),
        "verified": verdict.status == "valid",
        "verdict": verdict.status,
        "reason": verdict.reason,
        "line": None if fault is None else fault.line,
    }
    if topology is not None and verdict.status == "valid":
        schedule = schedule_of(algorithm, topology)
        prove(schedule)
        found |= {"topology": topology.name, "transfers": schedule.num_hops}
    return found


def _of_teccl(file: str, topology: Topology | None) -> dict[str, Any]:
    """Return what the verifier says of flows on a network, by default that of their own pairs of GPUs."""
    from schedules import verify as prove
    from schedules.teccl import connections_of, load_teccl, schedule_of
    from topologies import FormatError, VerificationError

    try:
        flows = load_teccl(file)
    except FormatError as error:
        return {"verified": False, "verdict": "invalid", "reason": str(error).removeprefix(f"{file}: ")}
    found: dict[str, Any] = {"num_npus": len(flows.gpus), "verified": False, "reason": ""}
    if not flows.demand:
        return found | {"verdict": "cannot verify", "reason": "no known postcondition"}
    try:
        schedule = schedule_of(flows, connections_of(flows) if topology is None else topology)
        prove(schedule)
    except VerificationError as error:
        return found | {"verdict": "invalid", "reason": str(error)}
    found |= {"collective": schedule.collective.kind, "transfers": schedule.num_hops}
    return found | {"verified": True, "verdict": "valid"}
