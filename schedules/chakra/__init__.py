"""Chakra execution traces out: a schedule for ASTRA-sim (Won et al., ISPASS'23), with the files that run it.

`write_chakra` fills a folder: ``trace.R.et`` is what NPU R sends and receives, ``workload.R.et`` the one collective
that ASTRA-sim is asked for and carries out by the trace, beside them the system, memory and network files.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from schedules.chakra.encoding import COLLECTIVE, COMPUTE, RECEIVE, SEND, metadata, node
from schedules.chakra.transfers import Transfer, transfers_of
from schedules.schedule import Schedule
from topologies.atomic import atomic_path, write_text
from topologies.dimensions import dimensions
from topologies.exceptions import ScheduleError, TopologyError
from topologies.writers.astra_yaml import text_of

__all__ = ["Transfer", "transfers_of", "write_chakra"]

#: Collectives that ASTRA-sim carries out by a trace: its name in the system file, its number in the schema.
_CUSTOM = {
    "all_reduce": ("all-reduce", 0), "all_gather": ("all-gather", 2), "all_to_all": ("all-to-all", 6),
    "reduce_scatter": ("reduce-scatter", 7),
}  # fmt: skip


def write_chakra(schedule: Schedule, size: int, folder: str | os.PathLike[str]) -> str:
    """Write the traces of a schedule and the files that run them.

    Parameters
    ----------
    schedule : Schedule
        One that computes its collective; see `schedules.verify`.
    size : int
        Bytes of the collective: traces hold those of each transfer.
    folder : path
        A new folder, or an empty one.

    Returns
    -------
    str
        What to know before running them: why there is no network file, or which network takes it; empty if nothing.

    Raises
    ------
    ScheduleError
        A folder with files in it, or transfers of no bytes.
    CollbenchError
        The folder cannot be written.
    """
    folder = Path(folder)
    transfers = transfers_of(schedule, size)
    if any(not transfer.nbytes for transfer in transfers):
        raise ScheduleError(f"at {size} bytes some chunks have none, and ASTRA-sim sends no empty messages; give more")
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise ScheduleError(f"{folder} has files in it, which would be mixed up with these; name a new folder")
    except OSError as error:
        raise ScheduleError(f"cannot write {folder}: {error.strerror or error}") from error
    kind = _CUSTOM.get(schedule.collective.kind)
    for npu, nodes in enumerate(_nodes(transfers, schedule.topology.num_npus)):
        _write(folder / f"trace.{npu}.et", nodes)
        if kind is not None:
            attributes = [("is_cpu_op", "bool", 0), ("comm_type", "int64", kind[1]), ("comm_size", "int64", size)]
            _write(folder / f"workload.{npu}.et", [node(0, schedule.collective.kind, COLLECTIVE, (), attributes)])
    system = {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1, "local-mem-bw": 50}
    custom = {} if kind is None else {f"{kind[0]}-implementation-custom": ["trace"]}
    write_text(folder / "system.json", json.dumps(system | custom, indent=2) + "\n")
    write_text(folder / "memory.json", json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}, indent=2) + "\n")
    try:
        network = text_of(schedule.topology)
    except TopologyError:
        return (
            f"no network.yml: {schedule.topology.name} is no product of rings, fully connected and switched "
            "dimensions, with equal links in each, and ASTRA-sim's analytical network knows no others"
        )
    write_text(folder / "network.yml", network)
    if len(dimensions(schedule.topology)) > 1:
        return "network.yml has several dimensions: ASTRA-sim's congestion-aware network takes one, only the other does"
    return ""


def _nodes(transfers: list[Transfer], num_npus: int) -> list[list[bytes]]:
    """Return the nodes of each NPU: transfer t is node 2t where it leaves, 2t + 1 where it arrives; its tag is t."""
    nodes: list[list[bytes]] = [[] for _ in range(num_npus)]
    for tag, transfer in enumerate(transfers):
        ends = [("comm_src", "int32", transfer.source), ("comm_dst", "int32", transfer.target)]
        attributes = [
            ("is_cpu_op", "bool", 0), ("comm_type", "int64", 0), *ends, ("comm_size", "int64", transfer.nbytes),
            ("comm_tag", "int32", tag),
        ]  # fmt: skip
        after = [2 * earlier + 1 for earlier in sorted(transfer.after)]
        nodes[transfer.source].append(node(2 * tag, f"send {tag}", SEND, after, attributes))
        nodes[transfer.target].append(node(2 * tag + 1, f"receive {tag}", RECEIVE, (), attributes))
    for mine in nodes:
        if not mine:  # ASTRA-sim waits forever for an NPU that has nothing to do
            mine.append(node(0, "nothing", COMPUTE, (), [("is_cpu_op", "bool", 0)]))
    return nodes


def _write(path: Path, nodes: list[bytes]) -> None:
    """Write one file, whole or not at all."""
    with atomic_path(path) as temporary:
        Path(temporary).write_bytes(metadata() + b"".join(nodes))
