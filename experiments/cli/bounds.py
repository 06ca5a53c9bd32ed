"""``collbench bound``: what no schedule can beat, and what sets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from experiments.cli.output import number, print_facts, print_json, progress
from experiments.cli.parameters import (
    build_collective,
    collective_option,
    collective_options,
    json_option,
    model_options,
    size_option,
    topology_option,
)

if TYPE_CHECKING:
    from topologies import Topology


@click.command()
@topology_option
@collective_option
@size_option
@collective_options
@model_options
@json_option
def bound(topology: Topology, kind: str, size: int, latency: str, switching: str, as_json: bool, **asked: Any) -> None:
    """Print the lower bound of a collective on a network, its parts and what binds it.

    The bound holds for every schedule, chunking and link model. The quantised bound is of schedules that keep --chunks
    and send each chunk by itself; the ReduceScatter + AllGather bound is of an AllReduce in two phases.
    """
    from simulator import LinkModel, algbw_gbps, busbw_gbps, quantised_bound_us, rsag_bound_us
    from simulator import bound as lower_bound
    from synthesizers import Problem
    from topologies import format_bytes

    collective = build_collective(topology, kind, **asked)
    model = LinkModel(latency, switching)
    Problem(topology, collective, size, model)  # refuses a network that is not connected
    with progress(f"bounds of {kind} on {topology.name}"):
        found = lower_bound(topology, collective, size, model)
        quantised = quantised_bound_us(topology, collective, size, model)
        two_phase = rsag_bound_us(topology, collective, size, model)
    if as_json:
        print_json(
            {
                "topology": topology.name,
                "collective": kind,
                "size": size,
                "num_npus": topology.num_npus,
                "chunks": collective.chunks,
                "latency": latency,
                "switching": switching,
                "bound_us": found.time_us,
                "latency_bound_us": found.latency_us,
                "bandwidth_bound_us": found.bandwidth_us,
                "bound_by": found.binding,
                "quantised_bound_us": quantised,
                "rsag_bound_us": two_phase,
                "bound_algbw_gbps": algbw_gbps(size, found.time_us),
                "bound_busbw_gbps": busbw_gbps(collective, size, found.time_us),
            }
        )
        return
    click.echo(f"{collective.describe()}, {format_bytes(size)} on {topology.name}")
    print_facts(
        [
            ("bound", f"{number(found.time_us)} us"),
            ("set by", found.binding),
            ("latency part", f"{number(found.latency_us)} us"),
            ("bandwidth part", f"{number(found.bandwidth_us)} us"),
            ("quantised bound", f"{number(quantised)} us ({collective.chunks} chunks per shard, {latency})"),
            ("two-phase bound", f"{number(two_phase)} us" if two_phase is not None else "– (all_reduce only)"),
            ("algbw at most", f"{number(algbw_gbps(size, found.time_us))} GB/s"),
        ]
    )
