"""The options that commands share, and the collective that they describe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from experiments.cli.values import CollectiveType, GroupType, PairsType, SecondsType, SizeType, TopologyType

if TYPE_CHECKING:
    from schedules import Collective
    from topologies import Topology

_Command = TypeVar("_Command", bound=Callable[..., Any])

# Written out, because the package that defines them is too slow to import for --help; a test holds them equal.
LATENCIES = ("blocking", "pipelined")
SWITCHINGS = ("cut_through", "store_and_forward")
ROOTED = ("broadcast", "reduce", "gather", "scatter")


def options(*decorators: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Return the decorator that adds several options, in the order given."""

    def add(command: _Command) -> _Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


topology_option = click.option(
    "-t", "--topology", type=TopologyType(), required=True, help="Network: KIND:SHAPE[@BANDWIDTH,LATENCY], or a file."
)
collective_option = click.option(
    "-c", "--collective", "kind", type=CollectiveType(), required=True, help="Collective, such as all_reduce."
)
size_option = click.option(
    "-s", "--size", type=SizeType(), required=True, help="Bytes with a unit, such as 1GiB; counted as nccl-tests does."
)
collective_options = options(
    click.option("--chunks", type=click.IntRange(min=1), help="Chunks per shard (default: 1)."),
    click.option("--group", "groups", type=GroupType(), multiple=True,
                 help="NPUs of a group in rank order; again for another, disjoint one (default: all NPUs)."),
    click.option("--root", type=click.IntRange(min=0), help="Rank of the root within its group (default: 0)."),
    click.option("--pairs", type=PairsType(), help="Source and destination NPUs of send_recv: 0-1,2-3."),
)  # fmt: skip
model_options = options(
    click.option("--latency", type=click.Choice(LATENCIES), default="blocking", show_default=True,
                 help="Whether a transfer holds its link for its latency too."),
    click.option("--switching", type=click.Choice(SWITCHINGS), default="cut_through", show_default=True,
                 help="How routes of several links pass switches."),
)  # fmt: skip
run_options = options(
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of all randomness."),
    click.option("--time-limit", "time_limit_s", type=SecondsType(), help="Budget of each solver, in seconds."),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")


def build_collective(
    topology: Topology,
    kind: str,
    chunks: int | None,
    groups: Sequence[Sequence[int]],
    root: int | None,
    pairs: Sequence[tuple[int, int]] | None,
) -> Collective:
    """Return the collective that the shared options describe; wrong usage where they do not fit together."""
    from schedules import collective
    from topologies import CollectiveError

    if root is not None and kind not in ROOTED:
        raise click.UsageError(f"--root is of {', '.join(ROOTED)} only; {kind} has no root, leave it out")
    if (kind == "send_recv") != (pairs is not None):
        needs = "needs --pairs, such as --pairs 0-1,2-3" if pairs is None else "takes no --pairs, leave them out"
        raise click.UsageError(f"{kind} {needs}")
    if kind == "send_recv" and groups:
        raise click.UsageError("send_recv takes no --group: its --pairs say who takes part")
    try:
        return collective(
            kind, topology.num_npus, groups=groups or None, chunks=chunks or 1, root=root or 0, pairs=pairs or ()
        )
    except CollectiveError as error:
        raise click.UsageError(str(error)) from error


def parse_assignments(texts: Sequence[str]) -> dict[str, str]:
    """Return the names and values of ``key=value`` texts; wrong usage for another form or a name given twice."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.UsageError(f"option {text!r}: expected key=value, such as pieces=4")
        if key.strip() in found:
            raise click.UsageError(f"option {key.strip()!r} is given twice; give it once")
        found[key.strip()] = value
    return found
