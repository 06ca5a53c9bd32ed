"""Flows of TE-CCL (Liu et al., SIGCOMM'24) in: its JSON as a schedule that is verified and compared like any other.

`load_teccl` and `parse_teccl` read a file, `schedule_of` makes a schedule of it on a network, and `connections_of` is
the network of the file's own GPU pairs, for those who only ask whether the flows are right. `collective_of` is
what they achieve.
"""

from __future__ import annotations

from schedules.teccl.importing import collective_of, connections_of, schedule_of
from schedules.teccl.parsing import Flow, Flows, is_teccl_file, load_teccl, parse_teccl

__all__ = [
    "Flow",
    "Flows",
    "collective_of",
    "connections_of",
    "is_teccl_file",
    "load_teccl",
    "parse_teccl",
    "schedule_of",
]
