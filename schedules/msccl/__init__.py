"""MSCCL XML: schedules out to its runtime, others' algorithms in, and a judge of both.

`export_msccl` writes a schedule, `load_msccl` and `parse_msccl` read a file, `judge` says whether an algorithm computes
what it names, `schedule_of` makes a schedule of it on a network, and `deployment_of` says what it asks of a GPU.
"""

from __future__ import annotations

from schedules.msccl.algorithm import Algorithm
from schedules.msccl.deployment import Deployment, deployment_of
from schedules.msccl.faults import MscclFault
from schedules.msccl.importing import meant_of, schedule_of
from schedules.msccl.interpreter import Verdict, judge
from schedules.msccl.parsing import MscclFormatError, is_msccl_file, load_msccl, parse_msccl
from schedules.msccl.program import program_of
from schedules.msccl.writing import format_msccl
from schedules.schedule import Schedule
from topologies.exceptions import ScheduleError

__all__ = [
    "Algorithm",
    "Deployment",
    "MscclFault",
    "MscclFormatError",
    "Verdict",
    "deployment_of",
    "export_msccl",
    "format_msccl",
    "is_msccl_file",
    "judge",
    "load_msccl",
    "meant_of",
    "parse_msccl",
    "program_of",
    "schedule_of",
]


def export_msccl(
    schedule: Schedule,
    name: str = "",
    in_place: bool = False,
    instances: int = 1,
    protocol: str = "Simple",
    min_bytes: int = 0,
    max_bytes: int = 0,
) -> str:
    """Return a schedule as MSCCL XML that the judge has accepted.

    A route of several links is one send: the runtime finds its way. What the runtime has no name for (groups, lists of
    pairs, Gather, Scatter, custom collectives) is written as ``custom``: each GPU's input holds the chunks that it
    starts with, its output those that it must end with, by ascending number.

    Parameters
    ----------
    schedule : Schedule
        One that computes its collective; see `schedules.verify`.
    name : str
        By default the collective's and the network's.
    in_place : bool
        For calls in which the output is the input, or a part of it.
    instances : int
        Copies of the algorithm, on channels of their own, that share the bytes.
    protocol : str
        ``Simple``, ``LL`` or ``LL128``.
    min_bytes, max_bytes : int
        A runtime may choose it for calls of so many bytes, but fewer than `max_bytes`; 0: of any number.

    Raises
    ------
    ScheduleError
        What MSCCL cannot express, or a schedule that is wrong.
    """
    if instances < 1:
        raise ScheduleError(f"expected at least one instance, found {instances}")
    if max_bytes and not 0 <= min_bytes < max_bytes:
        raise ScheduleError(f"expected sizes from min_bytes up to more than that, found {min_bytes} and {max_bytes}")
    name = name or f"{schedule.collective.kind}_{schedule.topology.name}"
    program = program_of(schedule, name, in_place, instances)
    text = format_msccl(program._replace(protocol=protocol, min_bytes=min_bytes, max_bytes=max_bytes))
    verdict = judge(parse_msccl(text))
    if verdict.status == "invalid":
        raise ScheduleError(f"the schedule cannot be written as MSCCL XML, its steps go wrong there: {verdict.reason}")
    return text
