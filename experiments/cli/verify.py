"""``collbench verify``: whether a schedule computes its collective."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Say whether a schedule computes its collective: valid, or invalid and why (exit status 1)."""
    from schedules import verify as prove
    from topologies import VerificationError

    content = read(file)
    if not is_schedule(content):
        raise Failure(f"{file} is a list of transfers, which has no collective to verify; simulate it instead")
    require_same(file, content.topology, topology)
    fault, hop = "", None
    try:
        with progress(f"verifying {file}"):
            prove(content)
    except VerificationError as error:
        fault, hop = " ".join(str(error).split()), error.hop
    if as_json:
        print_json(
            {
                "topology": content.topology.name,
                "collective": content.collective.kind,
                "transfers": content.num_hops,
                "verified": not fault,
                "reason": fault,
                "hop": hop,
            }
        )
        if fault:
            remark(f"{file} is invalid: {fault}")
    else:
        click.echo(f"invalid: {fault}" if fault else "valid")
    return 1 if fault else 0
